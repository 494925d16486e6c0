"""The same keys on the simulator and on the real desktop leave the same files."""

import time
from collections.abc import Callable, Mapping

import pytest

from rlanything_envs.osworld.desktop import make_desktop
from rlanything_envs.osworld.desktop.protocol import Client, Desktop

HOME = "/home/user"
PATIENCE = 30.0
"""Seconds for a real program to show its window or store a file."""


def until(ready: Callable[[], bool]) -> None:
    """Wait for a real program; the simulator is ready at once."""
    end = time.monotonic() + PATIENCE
    while not ready() and time.monotonic() < end:
        time.sleep(0.2)


def both(real: Desktop, play: Callable[[Client], object]) -> tuple[object, object]:
    """What a play gives on the real desktop, and on the simulator."""
    real.reset()
    with make_desktop("simulator", screen=(1280, 720)) as simulated:
        return play(real.client), play(simulated.client)


def opened(client: Client, path: str, data: bytes, ready: str) -> None:
    client.upload(path, data)
    client.open_file(path)
    until(lambda: ready in client.accessibility_tree())
    if client.health().own:
        time.sleep(1.0)  # the real window takes keys a little after it can be seen


def act(client: Client, *lines: str) -> None:
    for line in lines:
        assert client.act(line).returncode == 0


def key(*combos: str) -> str:
    return "; ".join(f"pyautogui.hotkey({', '.join(repr(name) for name in combo.split('+'))})" for combo in combos)


def cases(lines: Mapping[str, tuple[str, ...]]) -> list[object]:
    """Parameters of a test; all but the first take long."""
    return [
        pytest.param(value, id=name, marks=() if i == 0 else pytest.mark.slow)
        for i, (name, value) in enumerate(lines.items())
    ]


EDITS = {
    "append": (key("ctrl+end"), "pyautogui.write('more & <tags>\\nlast')"),
    "replace a line": (key("down", "home", "shift+end"), "pyautogui.write('new')"),
    "cut and paste": (key("shift+down", "ctrl+x", "ctrl+end", "ctrl+v"),),
    "everything": (key("ctrl+a"), "pyautogui.write('only')"),
    "words": (key("ctrl+right", "ctrl+shift+right", "delete"),),
    "backspace and undo": (key("end", "backspace", "backspace"), "pyautogui.write('zz')", key("ctrl+z")),
    "up and down": (key("end", "down", "down", "up"), "pyautogui.write('!')"),
    "collapse": (key("shift+right", "shift+right", "left"), "pyautogui.write('x')"),
}


@pytest.mark.parametrize("lines", cases(EDITS))
def test_editor(real: Desktop, lines: tuple[str, ...]) -> None:
    path = f"{HOME}/Desktop/a.txt"

    def play(client: Client) -> object:
        opened(client, path, b"hello wide world\nab\nthird line\n", "hello wide")
        act(client, *lines, key("ctrl+s"))
        until(lambda: "*~/Desktop" not in client.accessibility_tree())
        return client.read_file(path)

    first, second = both(real, play)
    assert second == first


MANAGED = {
    "rename": (key("home", "down", "f2"), "pyautogui.write('new')", key("enter")),
    "new folder": (key("ctrl+shift+n"), "pyautogui.write('zoo')", key("enter")),
    "move into a folder": (key("end", "ctrl+x", "home", "enter"), "time.sleep(1)", key("ctrl+v")),
    "delete": (key("end", "delete"), "time.sleep(1)", key("enter")),
    "first key down": (key("down", "f2"), "pyautogui.write('new')", key("enter")),
    "select by pattern": (key("ctrl+s"), "pyautogui.write('*.TXT')", key("enter"), key("delete"), key("enter")),
    "type a path": ("pyautogui.write('~/Desktop/sub')", key("enter"), key("ctrl+a"), key("delete"), key("enter")),
    "type ahead": ("pyautogui.write('b.')", key("esc", "f2"), "pyautogui.write('new')", key("enter")),
}


@pytest.mark.parametrize("lines", cases(MANAGED))
def test_file_manager(real: Desktop, lines: tuple[str, ...]) -> None:
    folder = f"{HOME}/Desktop"

    def play(client: Client) -> object:
        for name in ("A.txt", "b.txt", "sub/x"):
            client.upload(f"{folder}/{name}", name.encode())
        client.open_file(folder)
        until(lambda: 'name="b.txt"' in client.accessibility_tree())
        for line in lines:
            act(client, line)
            if client.health().own:
                time.sleep(0.7)
        return client.list_directory(folder)

    first, second = both(real, play)
    assert second == first


def test_terminal(real: Desktop) -> None:
    lines = [
        "mkdir a && cd a",
        "printf '%s\\n' pear fig apple > f",
        "sort f | head -n 2 > g; wc -l < f >> g",
        "cat nope",
    ]

    def play(client: Client) -> object:
        client.launch(["gnome-terminal"])
        until(lambda: "$" in (client.terminal_output() or ""))
        for line in lines:
            act(client, f"pyautogui.write({line + chr(10)!r})")
        until(lambda: "nope: No" in (client.terminal_output() or ""))
        return client.read_file("~/a/g"), client.terminal_output()

    first, second = both(real, play)
    assert second == first


def test_escape_in_the_terminal(real: Desktop) -> None:
    def play(client: Client) -> object:
        client.launch(["gnome-terminal"])
        until(lambda: "$" in (client.terminal_output() or ""))
        escape = key("esc")
        act(client, escape, "pyautogui.write('echo hi\\n')", escape, "pyautogui.write('12ab\\n')")
        act(client, "pyautogui.write('echo one two')", escape, "pyautogui.write('bX')", key("end"))
        act(client, escape, key("backspace"), "pyautogui.write('Y')", escape, key("left"), "pyautogui.write('Z')")
        act(client, escape, key("ctrl+u"), key("enter"), key("alt+3"), "pyautogui.write('x last\\n')")
        until(lambda: "xxx: command" in (client.terminal_output() or ""))
        return client.terminal_output()

    first, second = both(real, play)
    assert second == first
