"""The accessibility tree against the published conversion, in the same guest; and LibreOffice's menu bar.

The published code is not part of this package: ``RLANYTHING_OSWORLD`` names a checkout of OSWorld.
"""

import json
import os
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest

from rlanything_envs.osworld.desktop.guest.accessibility import AccessibilityReader
from rlanything_envs.osworld.desktop.guest.interior import InteriorError
from rlanything_envs.osworld.desktop.guest.processes import Finished
from rlanything_envs.osworld.setup import Stage, run_steps

SPACE = "{https://accessibility.ubuntu.example.org/ns/"
SHOWN = f"{SPACE}state}}showing"
PLACE = f"{SPACE}component}}screencoord"
SIZE = f"{SPACE}component}}size"

APPLICATIONS = {
    "mousepad": ["mousepad"],
    "lxterminal": ["gnome-terminal"],
    "thunar": ["nautilus", "/home/user"],
    "chromium": ["google-chrome", "about:blank"],
    "gimp": ["gimp"],
    "writer": ["libreoffice", "--writer"],
}

RUN = """
import json, logging, sys
from concurrent.futures import ThreadPoolExecutor
from typing import *
import lxml.etree, pyatspi
from lxml.etree import _Element
from pyatspi import STATE_SHOWING, Accessible, Component, StateType
from pyatspi import Action as ATAction, Text as ATText, Value as ATValue
logger = logging.getLogger()
{source}
libreoffice_version_tuple = (7, 4)
root = lxml.etree.Element("desktop-frame", nsmap=_accessibility_ns_map_ubuntu)
for application in pyatspi.Registry.getDesktop(0):
    root.append(_create_atspi_node(application, 1))
sys.stdout.write(lxml.etree.tostring(root, encoding="unicode"))
"""


@pytest.fixture(scope="module")
def published() -> str:
    """A program that prints the tree as OSWorld's server makes it."""
    folder = os.environ.get("RLANYTHING_OSWORLD", "")
    file = Path(folder, "desktop_env/server/main.py")
    if not folder or not file.is_file():
        pytest.skip("RLANYTHING_OSWORLD names no checkout of OSWorld")
    text = file.read_text()
    begin = text.index("_accessibility_ns_map = {")
    return RUN.format(source=text[begin : text.index("# A11y tree getter for Windows")])


def start(desktop, command):
    stage = Stage(desktop.client, None, (1920, 1080))
    run_steps([{"type": "launch", "parameters": {"command": command}}], stage, "config")


def shown(node: ET.Element, depth: int = 0) -> list[ET.Element]:
    """The nodes that are shown, with all above them."""
    found = [node]
    for child in node:
        if depth < 2 or child.get(SHOWN) == "true":
            found += shown(child, depth + 1)
    return found


def described(node: ET.Element) -> str:
    """A node without what differs by time: the focus moves, and text is compared without blanks around it."""
    passing = (f"{SPACE}state}}focused", f"{SPACE}state}}active", f"{SPACE}state}}selected")
    attributes = {name: text for name, text in node.attrib.items() if name not in passing}
    attributes["name"] = attributes.get("name", "").partition(" - Memory usage")[0]  # of a tab, once it is known
    return json.dumps([node.tag, sorted(attributes.items()), (node.text or "").strip()])


@pytest.mark.slow
@pytest.mark.parametrize("name", APPLICATIONS)
def test_the_tree_is_the_published_one(desktop, published, name):
    """Without what is not on the screen; LibreOffice's places are corrected."""
    client = desktop.client
    if client.execute(["/usr/bin/python3", "-c", "import pyatspi, lxml.etree; print(1)"]).output != "1\n":
        pytest.skip("the published conversion needs the packages python3-pyatspi and python3-lxml")
    start(desktop, APPLICATIONS[name])
    client.upload("/tmp/published.py", published.encode())
    done = client.execute(["/usr/bin/python3", "/tmp/published.py"], timeout=110)
    assert done.returncode == 0, done.error
    theirs = [node for node in shown(ET.fromstring(done.output)) if node.tag != "desktop-frame"]
    ours = [node for node in shown(ET.fromstring(client.accessibility_tree())) if node.tag != "desktop-frame"]
    if name == "writer":
        for node in [*theirs, *ours]:
            node.attrib.pop(PLACE, None)
            node.attrib.pop(SIZE, None)
    wanted, found = Counter(map(described, theirs)), Counter(map(described, ours))
    missing, extra = wanted - found, found - wanted
    assert len(theirs) > 10
    assert missing.total() + extra.total() <= 0.02 * len(theirs), [*list(missing)[:5], "ours", *list(extra)[:5]]


@pytest.mark.slow
def test_each_menu_of_libreoffice_opens_where_the_tree_has_it(desktop):
    """Its own menu bar claims places that are those of other menus, or of the tool bar."""
    client = desktop.client
    start(desktop, ["libreoffice", "--calc"])
    tree = ET.fromstring(client.accessibility_tree())
    menus = [node for bar in tree.iter("menu-bar") for node in bar if node.get("name") in ("File", "Sheet", "Help")]
    assert len(menus) == 6
    for entry, menu in (("Open...", "File"), ("Insert Cells...", "Sheet"), ("About LibreOffice", "Help")):
        for node in (node for node in menus if node.get("name") == menu):
            x, y, width, height = (
                int(part) for part in (node.get(PLACE) + node.get(SIZE)).replace(")(", ",")[1:-1].split(",")
            )
            client.act(f"pyautogui.click({x + width // 2}, {y + height // 2}); time.sleep(1)")
            assert f'name="{entry}"' in client.accessibility_tree()
            client.act("pyautogui.press('esc', presses=2); time.sleep(0.5)")


def test_a_node_that_vanishes_while_it_is_read_has_no_attributes_and_no_actions(desktop):
    code = """
from types import SimpleNamespace
from guest import tree
node = SimpleNamespace(get_attributes=lambda: None)
tree.Atspi = SimpleNamespace(Action=SimpleNamespace(get_n_actions=lambda _: 2, get_action_name=lambda *_: None))
print(list(tree._attributes(node)), list(tree._actions(node)))
"""
    done = desktop.client.execute(["python", "-c", code])
    assert (done.output.strip(), done.returncode) == ("[] []", 0), done.error


class Crashing:
    """Readings of the tree that end as listed; the last ending stays."""

    def __init__(self, *endings: int) -> None:
        self.endings, self.readings = endings, 0

    def run(self, *_: object, **__: object) -> Finished:
        ending = self.endings[min(self.readings, len(self.endings) - 1)]
        self.readings += 1
        return Finished("<tree/>" if ending == 0 else "", "it broke", ending)


def test_a_reading_that_crashes_is_made_again():
    """libatspi 2.46 crashes where an application ends just before it is connected to."""
    once = Crashing(-11, 0)
    assert AccessibilityReader(once).tree() == "<tree/>"
    assert once.readings == 2


@pytest.mark.parametrize(("ending", "readings"), [(-11, 3), (1, 1)])
def test_a_tree_that_cannot_be_read(ending, readings):
    always = Crashing(ending)
    with pytest.raises(InteriorError, match=f"exit status {ending}: it broke"):
        AccessibilityReader(always).tree()
    assert always.readings == readings
