"""The page of the viewer and its files; it loads no other script or style."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable

from jinja2 import Environment, PackageLoader, StrictUndefined

__all__ = ["MEDIA_TYPES", "STYLES", "page", "policy", "scripts", "static"]

STYLES = ("base.css", "parts.css")
SCRIPTS = (
    "format.js", "charts.js", "parts.js",
    "runs.js", "compare.js", "overview.js", "tasks.js", "slot.js", "episodes.js", "episode.js", "app.js",
)  # fmt: skip
MEDIA_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}


def scripts(live: bool) -> tuple[str, ...]:
    """Names of the scripts, in the order of loading."""
    return ("dom.js", "server.js" if live else "files.js", *SCRIPTS)


def static(name: str) -> Traversable | None:
    """A file of the page by its name; None for any other name."""
    known = {*STYLES, *scripts(live=True), *scripts(live=False), "icon.svg"}
    return files("rlanything_agents.tools.view").joinpath("static", name) if name in known else None


def policy(live: bool) -> str:
    """The content security policy: this page's own files and nothing else, and no markup made from text."""
    # Files have no origin, so 'self' matches nothing there; an export allows every script of the folder instead.
    own, connections, sinks = ("'self'", "'self'", "'none'") if live else ("file:", "'none'", "data-files")
    parts = [
        "default-src 'none'",
        f"script-src {own}",
        f"style-src {own}",
        f"img-src {own}",
        f"connect-src {connections}",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        f"trusted-types {sinks}",
    ]
    if live:
        parts.append("frame-ancestors 'none'")  # effective in a header only
    return "; ".join(parts)


def page(title: str, live: bool) -> str:
    """The HTML page, the same for all resources."""
    environment = Environment(
        loader=PackageLoader("rlanything_agents.tools.view", "templates"), autoescape=True, undefined=StrictUndefined
    )
    template = environment.get_template("page.html.j2")
    return template.render(title=title, live=live, policy=policy(live), styles=STYLES, scripts=scripts(live))
