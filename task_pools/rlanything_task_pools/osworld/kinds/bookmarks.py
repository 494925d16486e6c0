"""Bookmarks of the browser: folders and sites on the bookmarks bar."""

import hashlib
import json
from collections.abc import Sequence

from rlanything_task_pools.osworld.checks import both, later, ruled
from rlanything_task_pools.osworld.kinds.base import Kind, Level, State, draw_several, launched
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream

PATH = "/home/user/.config/google-chrome/Default/Bookmarks"
CLOCK = "13300000000000000"
"""A moment as the browser writes it."""

Site = tuple[str, str]
"""Name and address."""


def make(rng: RngStream, words: Words) -> State:
    """A browser with one folder and one site on the bookmarks bar."""
    old, first, second = (topic.capitalize() for topic in draw_several(rng, words.topics, 3))
    kept, new = (_site(name) for name in draw_several(rng, words.sites, 2))
    add = "The menu with three dots in the bookmark manager adds folders and bookmarks."

    def level(goal: str, folders: list[str], sites: list[Site], steps: float) -> Level:
        names = {"type": "bookmark_bar_folders_names", "names": [old, *folders]}
        asked = {"type": "bookmarks"}
        named = ruled("is_expected_bookmark_names", asked, {"expected": dict([kept, *sites])})
        check = both(ruled("is_expected_bookmarks", asked, names), named)
        return Level(
            f"In the web browser, {goal}. Keep what is there.",
            later(check, 3),
            {PATH: _file([old, *folders], [kept, *sites])},
            steps,
            ("Ctrl+Shift+O opens the bookmark manager.", add),
        )

    at = f'the address {new[1]} under the name "{new[0]}"'
    return State(
        files={PATH: _file([old], [kept])},
        levels=[
            level(f'make a folder named "{first}" on the bookmarks bar', [first], [], 4),
            level(f"put a bookmark on the bookmarks bar for {at}", [], [new], 5),
            level(f'make two folders named "{first}" and "{second}" on the bookmarks bar', [first, second], [], 7),
            level(
                f'make a folder named "{first}" on the bookmarks bar, and beside it a bookmark for {at}',
                [first],
                [new],
                8,
            ),
        ],
        opened=[launched("google-chrome")],
    )


def _site(name: str) -> Site:
    return name.capitalize(), f"https://www.{name}.example/"


def _file(folders: Sequence[str], sites: Sequence[Site]) -> bytes:
    children: list[dict[str, object]] = [{"children": [], "type": "folder", "name": name} for name in folders]
    children += [{"type": "url", "name": name, "url": url} for name, url in sites]
    roots = {}
    for number, name in enumerate(("bookmark_bar", "other", "synced"), 1):
        inside = children if name == "bookmark_bar" else []
        roots[name] = {"children": inside, "type": "folder", "name": name, **_marks(number)}
    for number, child in enumerate(children, 4):
        child.update(_marks(number))
    return (json.dumps({"roots": roots, "version": 1}, indent=1) + "\n").encode()


def _marks(number: int) -> dict[str, str]:
    digest = hashlib.sha256(str(number).encode()).hexdigest()
    guid = f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"
    return {"id": str(number), "guid": guid, "date_added": CLOCK}


KIND = Kind("bookmarks", ("chrome",), make)
