"""Pictures of the viewer for README and docs: ``python scripts/picture_viewer.py RUN``, for a run named quickstart.

Needs Chromium and the test tools (playwright).
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
SIZE = {"width": 1280, "height": 800}
EPISODE = "episode/10/0"
SECONDS = 2.5
"""Time for which each picture of the film is shown."""
SETTLED = 1000
"""Milliseconds after which a page shows what it has loaded."""
WIDTH, COLOURS = 960, 64


def main() -> None:
    """Photograph the overview and an episode, and film a walk from the results to the votes on a step."""
    server = ViewServer(Site(Path(sys.argv[1])))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
        frames = list(_walk(page, server))
        browser.close()
    pictures = [Image.open(io.BytesIO(frame)).convert("RGB") for frame in frames]
    for name, picture in (("viewer-overview.png", pictures[0]), ("viewer-episode.png", pictures[-2])):
        picture.save(FIGURES / name)
    small = [picture.resize((WIDTH, WIDTH * picture.height // picture.width)).quantize(COLOURS) for picture in pictures]
    small[0].save(
        FIGURES / "viewer.gif",
        save_all=True,
        append_images=small[1:],
        duration=int(1000 * SECONDS),
        loop=0,
        optimize=True,
    )


def _walk(page: Page, server: ViewServer) -> Iterator[bytes]:
    """Results, curves, tasks that adapted, and an episode with its votes."""
    run = f"http://127.0.0.1:{server.port}/#/quickstart"
    page.goto(server.url)
    page.wait_for_selector(".charts")
    page.wait_for_timeout(SETTLED)
    yield page.screenshot()
    page.evaluate("document.querySelector('.charts').scrollIntoView()")
    yield page.screenshot()
    page.goto(f"{run}/tasks")
    page.wait_for_timeout(SETTLED)  # the page before has tables too
    yield page.screenshot()
    page.goto(f"{run}/{EPISODE}")
    page.wait_for_selector("li.turn")
    yield page.screenshot()
    page.locator("li.turn").nth(4).click()
    page.wait_for_timeout(SETTLED)
    yield page.screenshot()


if __name__ == "__main__":
    main()
