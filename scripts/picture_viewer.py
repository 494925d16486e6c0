"""Pictures of the viewer for README and docs: ``python scripts/picture_viewer.py RUN``, for a run named quickstart.

With the folder of a benchmark it is one picture: the screens of its first episode. Needs Chromium and the test tools
(playwright).
"""

import io
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from rlanything_agents.tools.view import Site
from rlanything_agents.tools.view.server import ViewServer

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
PACE, SETTLED = 2500, 1000
"""Milliseconds for which each picture of the film is shown, and after which a page shows what it has loaded."""
WIDTH, COLOURS = 960, 64


def main() -> None:
    """Photograph the overview and an episode, and film a walk from the results to the votes on a step."""
    run = Path(sys.argv[1])
    server = ViewServer(Site(run))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(server.url)
        page.wait_for_selector(".results")
        walk = _turns if (run / "benchmark.json").exists() else _walk
        frames = list(walk(page, f"http://127.0.0.1:{server.port}/#/{run.name}"))
    pictures = [Image.open(io.BytesIO(frame)).convert("RGB") for frame in frames]
    names = ["viewer-screens.png"] if walk is _turns else ["viewer-overview.png", "viewer-episode.png"]
    for name, picture in zip(names, (pictures[0], *pictures[-2:-1]), strict=True):
        picture.save(FIGURES / name)
    if walk is _turns:
        return
    small = [picture.resize((WIDTH, WIDTH * picture.height // picture.width)).quantize(COLOURS) for picture in pictures]
    small[0].save(FIGURES / "viewer.gif", save_all=True, append_images=small[1:], duration=PACE, loop=0, optimize=True)


def _turns(page: Page, run: str) -> Iterator[bytes]:
    """The turns of an episode: each screen with a mark where the action beside it clicked."""
    page.set_viewport_size({"width": WIDTH, "height": 2 * WIDTH})
    page.goto(f"{run}/episode/0/0")
    page.wait_for_timeout(SETTLED)
    page.evaluate("document.querySelector('.turn:last-child').remove()")
    yield page.locator("ol.turns").screenshot()


def _walk(page: Page, run: str) -> Iterator[bytes]:
    """Results, curves, tasks that adapted, and an episode with its votes."""
    page.wait_for_timeout(SETTLED)
    yield page.screenshot()
    page.evaluate("document.querySelector('.charts').scrollIntoView()")
    yield page.screenshot()
    for place in ("tasks", "episode/10/0"):
        page.goto(f"{run}/{place}")
        page.wait_for_timeout(SETTLED)
        yield page.screenshot()
    page.locator("li.turn").nth(4).click()
    page.wait_for_timeout(SETTLED)
    yield page.screenshot()


if __name__ == "__main__":
    main()
