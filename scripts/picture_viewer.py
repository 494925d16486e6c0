"""Pictures of the viewer for README and docs: ``python scripts/picture_viewer.py RUN``, for a run named quickstart.

Needs Chromium and the test tools (playwright).
"""

import shutil
import sys
import threading
from pathlib import Path

from playwright.sync_api import sync_playwright

from rlanything_agents.tools.view import Site
from rlanything_agents.tools.view.server import ViewServer

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
SIZE = {"width": 1280, "height": 800}


def main() -> None:
    """Photograph the overview, and the first episode of the tenth iteration."""
    server = ViewServer(Site(Path(sys.argv[1])))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
        page.goto(server.url)
        page.wait_for_selector(".charts")
        page.screenshot(path=FIGURES / "viewer-overview.png")
        page.goto(f"http://127.0.0.1:{server.port}/#/quickstart/episode/10/0")
        page.wait_for_selector("li.turn")
        page.screenshot(path=FIGURES / "viewer-episode.png")
        browser.close()


if __name__ == "__main__":
    main()
