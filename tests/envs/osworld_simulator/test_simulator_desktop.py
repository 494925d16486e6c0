"""The simulator is a desktop like the others: its client, its tree, its picture."""

import ast
import inspect
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulator_hands import COMPONENT, Hands, box_of

from rlanything_envs.errors import SettingError
from rlanything_envs.osworld import desktop as package
from rlanything_envs.osworld.desktop import BACKENDS, DesktopError, GuestRefusal, make_desktop
from rlanything_envs.osworld.desktop.protocol import Client, Desktop
from rlanything_envs.osworld.desktop.simulator import SimulatorDesktop
from rlanything_envs.osworld.desktop.simulator.client import SimulatorClient
from rlanything_envs.osworld.desktop.simulator.drawing import Canvas
from rlanything_envs.osworld.desktop.simulator.nodes import draw
from rlanything_envs.osworld.desktop.simulator.tree import NAMESPACE, PREFIXES

HOME = "/home/user"


def test_it_is_made_as_the_others() -> None:
    made = make_desktop("simulator", screen=(800, 600))
    assert "simulator" in BACKENDS
    with pytest.raises(DesktopError, match="start"):
        _ = made.client
    with made:
        assert isinstance(made, Desktop)
        assert made.client.screen_size() == (800, 600)
        assert made.client.screenshot_array().shape == (600, 800, 3)
    made.close()
    for wrong in ({"screen": (10, 10)}, {"colour": 1}):
        with pytest.raises(SettingError):
            make_desktop("simulator", **wrong)


def test_it_has_every_method_with_its_parameters() -> None:
    for name, wanted in inspect.getmembers(Client, inspect.isfunction):
        if not name.startswith("_"):
            assert inspect.signature(getattr(SimulatorClient, name)) == inspect.signature(wanted), name


def test_the_vocabulary_of_the_tree_is_the_guests() -> None:
    source = ast.parse((Path(package.__file__).parent / "guest/tree.py").read_text())
    values = {ast.unparse(node.targets[0]): node.value for node in source.body if isinstance(node, ast.Assign)}
    assert ast.literal_eval(values["_NAMESPACE"]) == NAMESPACE
    union = values["_PREFIXES"]
    assert isinstance(union, ast.BinOp)
    assert ast.literal_eval(union.left) | ast.literal_eval(union.right) == PREFIXES


def test_reset_brings_the_pristine_home() -> None:
    with make_desktop("simulator") as made:
        made.client.upload("~/x", b"1")
        made.client.launch("mousepad")
        made.reset()
        assert made.client.read_file("~/x") is None
        assert made.client.execute("ls").output.split() == [
            "Desktop", "Documents", "Downloads", "Music", "Pictures", "Public", "Templates", "Videos",
        ]  # fmt: skip
        assert made.client.window_size("mousepad") is None


def test_files(hands: Hands) -> None:
    client = hands.client
    client.upload("$HOME/a/b.bin", b"\0\xff")
    assert client.read_file("a/b.bin") == client.read_file("~/a/b.bin") == b"\0\xff"
    assert client.read_file("a") is None
    assert client.list_directory("~/a") == {
        "type": "directory",
        "name": "a",
        "children": [{"type": "file", "name": "b.bin"}],
    }
    assert client.list_directory("nothing") is None
    with pytest.raises(GuestRefusal):
        client.upload("~/a", b"")
    assert client.wallpaper() is None
    client.change_wallpaper("~/a/b.bin")
    assert client.wallpaper() == b"\0\xff"


def test_commands(hands: Hands) -> None:
    client = hands.client
    assert client.execute(["echo", "$HOME", "*"]).output == "$HOME *\n"
    assert client.execute("echo $HOME ~/x").output == f"$HOME {HOME}/x\n"
    assert client.execute("echo $HOME ~/x *s", shell=True).output.startswith(f"{HOME} {HOME}/x Documents")
    assert client.execute(["bash", "-c", "cd Desktop && pwd"]).output == f"{HOME}/Desktop\n"
    assert client.execute("pwd").output == f"{HOME}\n"
    assert client.execute("nothing 'x").returncode == 127
    missing = client.execute(["gsettings", "get"])
    assert missing.returncode == 127
    assert "gsettings" in missing.error
    assert client.run_bash_script("pwd\nnothing\necho x", working_dir="/tmp").output.startswith("/tmp\nbash: nothing")
    assert client.run_python("print(1)").output == "1\n"
    assert client.run_python("import os").returncode == 1


def test_actions_come_through_execute_too(hands: Hands) -> None:
    hands.client.launch(["mousepad", f"{HOME}/a.txt"])
    hands.type("x")
    code = "import pyautogui; import time; time.sleep(0.5); pyautogui.hotkey('ctrl', 's'); time.sleep(0.5);"
    assert hands.client.execute(["python", "-c", code]).returncode == 0
    assert hands.read("a.txt") == "x"


def test_windows(hands: Hands) -> None:
    client = hands.client
    client.launch("mousepad a.txt")
    client.launch(["gnome-terminal", "--working-directory=/tmp"])
    assert client.window_size("mousepad") == (1280, 703)
    assert client.terminal_output() == "user@desktop:/tmp$"
    client.activate_window("a.txt")
    assert hands.focused().get(f"{COMPONENT}size") is not None
    assert client.terminal_output() is None
    client.activate_window("lxterminal.Lxterminal", strict=True, by_class=True)
    assert client.terminal_output() is not None
    client.close_window("LXTerminal", strict=True)
    client.close_window("no such window")
    assert hands.titles() == ["~/a.txt - Mousepad"]


def test_what_it_has_not_is_an_infrastructure_failure(hands: Hands) -> None:
    for wrong in ("gimp", ["soffice", "--calc"], "google-chrome"):
        with pytest.raises(DesktopError, match=r"(gimp|soffice|google-chrome).*bwrap.*docker") as failure:
            hands.client.launch(wrong)
        assert not isinstance(failure.value, GuestRefusal)
    for path, program in (("a.docx", "Writer"), ("t.xlsx", "Calc"), ("t.csv", "Calc"), ("t.svg", "svg")):
        hands.client.upload(path, b"x")
        with pytest.raises(DesktopError, match=rf"{program}.*{path}.*bwrap.*docker"):
            hands.client.open_file(path)
    with pytest.raises(DesktopError, match="network"):
        hands.client.download_file("https://example.org", "x")
    for missing in ("nothing.txt", "~/nothing"):
        with pytest.raises(GuestRefusal):
            hands.client.open_file(missing)
    with pytest.raises(GuestRefusal):
        hands.client.launch(["thunar", "/nothing"])


def scenes(hands: Hands) -> list[tuple[str, list[str]]]:
    """Things to do, one screen each."""
    hands.client.upload(f"{HOME}/Desktop/a.txt", b"hello\nworld\n")
    return [
        ("", []),
        ("~/Desktop/a.txt", []),
        ("~/Desktop/a.txt", ["alt+e"]),
        ("~/Desktop/a.txt", ["ctrl+o"]),
        ("~/Desktop", []),
        ("~/Desktop", ["end", "f2"]),
        ("lxterminal", []),
    ]


@pytest.mark.parametrize("index", range(7))
def test_each_element_is_on_the_screen_and_shows_its_text(hands: Hands, index: int) -> None:
    """Where the tree says that there is text, the picture is not empty, and its pixels change with the text."""
    path, combos = scenes(hands)[index]
    if path:
        hands.client.open_file(path)
    hands.keys(*combos)
    picture = hands.client.screenshot_array()
    root = ElementTree.fromstring(hands.client.accessibility_tree())
    seen = 0
    for node in root.iter():
        if node.get(f"{COMPONENT}size") is None:
            continue
        x, y, width, height = box_of(node)
        assert x >= 0 and y >= 0 and x + width <= 1280 and y + height <= 720, node.attrib  # noqa: PT018
        says = node.get("name") or node.text
        if node.tag in ("label", "push-button", "menu", "menu-item", "table-cell", "text", "icon") and says:
            part = picture[y + 2 : y + height - 2, x + 2 : x + width - 2].reshape(-1, 3)
            if node.text or node.tag not in ("table-cell", "text"):
                assert len(np.unique(part, axis=0)) > 2, (node.tag, node.attrib)
                seen += 1
    assert seen > 2 or path == "lxterminal"


def test_the_picture_follows_the_text(hands: Hands) -> None:
    hands.client.launch("mousepad")
    before = hands.client.screenshot_array()
    assert np.array_equal(before, hands.client.screenshot_array())
    hands.type("x")
    assert not np.array_equal(before, hands.client.screenshot_array())
    assert hands.client.screenshot().startswith(b"\x89PNG")


def test_two_runs_are_the_same() -> None:
    def play() -> tuple[str, bytes, bytes | None]:
        with SimulatorDesktop() as made:
            client = made.client
            client.upload("~/Desktop/t.txt", b"b\na\n")
            client.open_file("~/Desktop/t.txt")
            client.act("pyautogui.write('x\\ty\\n'); pyautogui.hotkey('ctrl', 's')")
            client.launch("lxterminal")
            client.act("pyautogui.write('ls\\n')")
            return client.accessibility_tree(), client.screenshot(), client.read_file("~/Desktop/t.txt")

    assert play() == play()


KEYS = ["enter", "tab", "esc", "backspace", "delete", "f2", "f10", "up", "down", "left", "right", "home", "end"]
KEYS += ["space"]
KEYS += ["pagedown", "a", "c", "v", "x", "z", "s", "n", "o", "f", "r", "d", "h", "l", "w", "b", "f4"]
TEXTS = ["9x", "x\n", "ls; cat *\n", "rm -r ~/Desktop\n", "/home/user/Desktop\n", "1\t2\n", "'", "../..\n"]
ACTS = st.one_of(
    st.builds("pyautogui.press({!r})".format, st.sampled_from(KEYS)),
    st.builds("pyautogui.hotkey({!r}, {!r})".format, st.sampled_from(["ctrl", "shift", "alt"]), st.sampled_from(KEYS)),
    st.builds("pyautogui.hotkey('ctrl', 'shift', {!r})".format, st.sampled_from(KEYS)),
    st.builds("pyautogui.write({!r})".format, st.sampled_from(TEXTS)),
    st.builds(
        "pyautogui.click({}, {}, clicks={}, button={!r})".format,
        st.integers(-5, 700), st.integers(-5, 500), st.integers(1, 3), st.sampled_from(["left", "right"]),
    ),
    st.builds("pyautogui.dragTo({}, {})".format, st.integers(0, 639), st.integers(0, 479)),
    st.builds("pyautogui.scroll({})".format, st.integers(-9, 9)),
)  # fmt: skip
OPENED = st.sampled_from(["a.txt", ".", ""])


@given(OPENED, OPENED, st.lists(ACTS, max_size=25))
def test_any_actions(first: str, second: str, acts: list[str]) -> None:
    """Whatever is done, the desktop stands and can be read and drawn."""
    with SimulatorDesktop((640, 480)) as made:
        client = made.client
        client.upload("~/Desktop/a.txt", b"hello\nworld\n")
        client.upload("~/Desktop/c.csv", b"a,b\n1,2\n")
        for name in (first, second):
            client.open_file(f"~/Desktop/{name}" if name else "lxterminal")
        for act in acts:
            assert client.act(act).returncode == 0
            ElementTree.fromstring(client.accessibility_tree())
        canvas = Canvas(640, 480, (0, 0, 0))
        draw(client._screen.scene(), canvas)
        assert canvas.pixels().shape == (480, 640, 3)
