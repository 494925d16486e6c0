"""Solutions by mouse and keyboard for every generated kind, which see nothing but the text of the observation.

Each clicks only what is named in a line of ``accessibility_text`` at that moment; what is not in the text cannot be
clicked. So a full score shows both: the kind can be solved as a person would, and nothing that it needs is on the
screen alone. ``python -m benchmarks.osworld_tasks`` prints the scores.
"""

import re
from collections.abc import Callable

from rlanything_envs.osworld.env import OSWorldEnv
from rlanything_task_pools import Task
from rlanything_task_pools.osworld import generate
from rlanything_task_pools.osworld.generate import HELD_OUT

__all__ = ["MOUSE", "Hands", "NotInTheText", "easiest", "solve"]

_LOOKS = 12
"""Observations in which something that a click has opened may come."""
_CENTRE = re.compile(r"\((-?\d+), (-?\d+)\)[a-z ]*$")


class NotInTheText(Exception):
    """What a solution looks for is not in the text."""


class Hands:
    """A player that knows the text of the last observation.

    Args:
        env: an environment whose observations have ``accessibility_text``.
        task: what is played.
    """

    def __init__(self, env: OSWorldEnv, task: Task) -> None:
        self._env = env
        self.goal = task.goal
        self.quoted = re.findall(r'"([^"]*)"', task.goal)
        self.text: str = env.reset(seed=0, options={"task": task})[0]["accessibility_text"]

    def act(self, code: str) -> float:
        """Send an action, and see what it changes.

        Raises:
            RuntimeError: the episode ended with an error.
        """
        observation, reward, _, _, info = self._env.step(code)
        if info["error"] or info["agent_crash"]:
            raise RuntimeError(f"{code}: {info['error'] or info['agent_crash']}")
        self.text = observation["accessibility_text"]
        return float(reward)

    def lines(self, start: str) -> list[str]:
        """The lines of the text that begin so."""
        return [line for line in self.text.splitlines() if line.startswith(start)]

    def place(self, start: str, number: int = 0) -> str:
        """Where the first line that begins so says that its element is, or another one of them.

        Raises:
            NotInTheText: there is none, and none comes.
        """
        for _ in range(_LOOKS):
            found = self.lines(start)
            if len(found) > max(number, ~number) and (centre := _CENTRE.search(found[number])):
                return f"{centre[1]}, {centre[2]}"
            self.act("WAIT")
        raise NotInTheText(f"no line {start} in the text:\n{self.text}")

    def click(self, *starts: str, number: int = 0, how: str = "click") -> None:
        """Click one element after the other."""
        for start in starts:
            self.act(f"pyautogui.{how}({self.place(start, number)})")

    def drag(self, start: str, end: str) -> None:
        """Drag one element to another."""
        self.act(f"pyautogui.moveTo({self.place(start)}); pyautogui.dragTo({self.place(end)}, duration=1)")

    def press(self, *keys: str) -> None:
        """Press keys, or several at once: ``ctrl+a``."""
        self.act("; ".join(f"pyautogui.hotkey({', '.join(map(repr, key.split('+')))})" for key in keys))

    def write(self, text: str) -> None:
        """Type a text."""
        self.act(f"pyautogui.write({text!r})")

    def fill(self, start: str, text: str, number: int = 0) -> None:
        """Replace what is in an entry."""
        self.click(start, number=number)
        self.press("ctrl+a")
        self.write(text)

    def line_of(self, word: str) -> tuple[int, str]:
        """Number and content of the first line with a word in the editor's text."""
        shown = self.lines('text text="')[0].partition('text="')[2].rpartition('" (')[0]
        lines = shown.replace('\\"', '"').split("\\n")
        return next((number, line) for number, line in enumerate(lines) if word in line)

    def replace_line(self, number: int, text: str) -> None:
        """Replace a line of the editor's text."""
        self.click('text text="')
        self.press("ctrl+home", *["down"] * number, "home", "shift+end")
        self.write(text)


def easiest(kind: str) -> Task:
    """The easiest task of a kind."""
    return generate(1, "valid_unseen" if kind in HELD_OUT else "train", kinds=kind, difficulty=0.0)


def solve(env: OSWorldEnv, kind: str, task: Task) -> float:
    """The score of the mouse's solution of a kind.

    Raises:
        NotInTheText: an element that it clicks is not in the text.
        RuntimeError: the episode ended with an error.
    """
    hands = Hands(env, task)
    MOUSE[kind](hands)
    return hands.act("DONE")


def _bookmarks(hands: Hands) -> None:
    hands.press("ctrl+shift+o")
    hands.click('push-button "Organize"', 'menu-item "Add new folder"')
    hands.write(hands.quoted[0])
    hands.press("enter")


def _terminal(command: Callable[[Hands], str]) -> Callable[[Hands], None]:
    """What types a command into the open terminal."""

    def solution(hands: Hands) -> None:
        hands.click("terminal ")
        hands.write(command(hands) + "\n")

    return solution


def _count(hands: Hands) -> str:
    source, target = hands.quoted
    return f"wc -l < ~/Desktop/{source} > ~/Desktop/{target}"


def _filter(hands: Hands) -> str:
    source, target = hands.quoted
    return f"head -n {re.findall(r'first ([0-9]+) lines', hands.goal)[0]} ~/Desktop/{source} > ~/Desktop/{target}"


def _permissions(hands: Hands) -> None:
    """By the file manager: a click in the panel puts the terminal away, and the folder's icon is on the desktop."""
    script, folder = hands.quoted
    hands.click('toggle-button "LXTerminal"')
    hands.click(f'icon "{folder}"', how="doubleClick")
    hands.click(f'table-cell "{script}"', how="rightClick")
    hands.click('menu-item "Properties"', 'page-tab "Permissions"')
    hands.click('combo-box "Nobody"', 'menu-item "Anyone"', 'push-button "OK"')


def _write(hands: Hands) -> str:
    name, folder, word = hands.quoted
    return f"echo {word} > ~/Desktop/{folder}/{name}"


def _save(hands: Hands) -> None:
    """By the toolbar of an office program."""
    hands.click('push-button "Save"')


def _document_format(hands: Hands) -> None:
    hands.click("paragraph text=", 'toggle-button "Center"')
    _save(hands)


def _document_text(hands: Hands) -> None:
    hands.click("paragraph text=", number=-1)
    hands.press("end", "enter")
    hands.write(hands.quoted[1])
    _save(hands)


def _saved_in_the_editor(hands: Hands) -> None:
    hands.click('menu "File"', 'menu-item "Save"')


def _set_value(hands: Hands, key: str, goal: str, old: str) -> None:
    """Put the value of the goal in place of the old one in the line of a key."""
    number, line = hands.line_of(key)
    value = re.findall(goal, hands.goal)[0]
    hands.replace_line(number, re.sub(old, rf"\g<1>{value}", line))
    _saved_in_the_editor(hands)


def _append(hands: Hands, text: str) -> None:
    """Write a line at the end of the file in the editor."""
    hands.click('text text="')
    hands.press("ctrl+end")
    hands.write(f"{text}\n")
    _saved_in_the_editor(hands)


def _edit_config(hands: Hands) -> None:
    _set_value(hands, hands.quoted[1], r"to (\S+)\. Save", r"(=\s*).*")


def _edit_csv(hands: Hands) -> None:
    _append(hands, f"{hands.quoted[1]},{','.join(re.findall(r'(?:amount|price) ([0-9]+)', hands.goal))}")


def _edit_json(hands: Hands) -> None:
    _set_value(hands, f'"{hands.quoted[1]}"', r"to (\S+)\. Change", r"(:\s*)[^,]*")


def _edit_text(hands: Hands) -> None:
    _append(hands, hands.quoted[1])


def _gimp_settings(hands: Hands) -> None:
    hands.click('menu "Edit"', 'menu-item "Preferences"')
    label = hands.place('label "Minimal number of undo levels:"').partition(", ")[2]
    entry = next(line for line in hands.lines("spin-button") if f", {label})" in line)
    hands.fill(entry, re.findall(r"to ([0-9]+)", hands.goal)[0])
    hands.click('push-button "OK"')


def _make_folders(hands: Hands) -> None:
    hands.click('menu "File"', 'menu-item "Create Folder')
    hands.press("ctrl+a")
    hands.write(hands.quoted[1])
    hands.click('push-button "Create"')


def _office_settings(hands: Hands) -> None:
    hands.click('menu "Tools"', 'menu-item "Options')
    hands.fill('text "First name"', hands.quoted[0])
    hands.click('push-button "OK"')


def _rename_files(hands: Hands) -> None:
    hands.click(f'table-cell "{hands.quoted[1]}"', 'menu "Edit"', 'menu-item "Rename')
    hands.press("ctrl+a")
    hands.write(hands.quoted[2])
    hands.click('push-button "Rename"')


def _sheet_cells(hands: Hands) -> None:
    item, amount = re.findall(r"amount of (\w+) to ([0-9]+)", hands.goal)[0]
    row = next(line for line in hands.text.splitlines() if f'"{item}"' in line).partition('"A')[2].partition('"')[0]
    hands.click(f'table-cell "B{row}"')
    hands.write(f"{amount}\n")
    _save(hands)


def _sheet_format(hands: Hands) -> None:
    hands.drag('table-cell "A1"', 'table-cell "C1"')
    hands.click('toggle-button "Bold"')
    _save(hands)


def _sheet_layout(hands: Hands) -> None:
    hands.click('menu "View"', 'menu "Freeze Cells"', 'menu-item "Freeze First Row"')
    _save(hands)


def _sheet_sort(hands: Hands) -> None:
    """By the dialog, whose drop-downs have no name."""
    hands.click('table-cell "A1"', 'menu "Data"', 'menu-item "Sort..."')
    hands.click('toggle-button beside "Column"')
    hands.click(f'table-cell "{re.findall("by ([a-z]+),", hands.goal)[0]}"', 'push-button "OK"')
    _save(hands)


def _sheet_totals(hands: Hands) -> None:
    cell, target = re.findall(r"cell ([A-Z][0-9]+)", hands.goal)
    above = int(cell[1:]) - 1
    for column, content in ((cell[0], hands.quoted[1]), (target[0], f"=SUM({target[0]}2:{target[0]}{above})")):
        hands.click(f'table-cell "{column}{above}"')
        hands.press("down")
        hands.write(f"{content}\n")
    _save(hands)


def _slide_design(hands: Hands) -> None:
    hands.click('menu "Slide"', 'menu-item "Slide Properties...')
    hands.click('page-tab "Background"', 'toggle-button "Color"', 'list-item "Yellow"', 'push-button "OK"')
    _save(hands)


def _slide_titles(hands: Hands) -> None:
    hands.click("paragraph text=", how="doubleClick")
    hands.press("ctrl+a")
    hands.write(hands.quoted[1])
    hands.press("escape", "escape")
    _save(hands)


def _sort_files(hands: Hands) -> None:
    hands.drag(f'table-cell "{hands.quoted[1]}"', f'table-cell "{hands.quoted[2]}"')


MOUSE: dict[str, Callable[[Hands], None]] = {
    "bookmarks": _bookmarks,
    "count_lines": _terminal(_count),
    "document_format": _document_format,
    "document_text": _document_text,
    "edit_config": _edit_config,
    "edit_csv": _edit_csv,
    "edit_json": _edit_json,
    "edit_text": _edit_text,
    "filter_lines": _terminal(_filter),
    "gimp_settings": _gimp_settings,
    "make_folders": _make_folders,
    "office_settings": _office_settings,
    "permissions": _permissions,
    "rename_files": _rename_files,
    "sheet_cells": _sheet_cells,
    "sheet_format": _sheet_format,
    "sheet_layout": _sheet_layout,
    "sheet_sort": _sheet_sort,
    "sheet_totals": _sheet_totals,
    "slide_design": _slide_design,
    "slide_titles": _slide_titles,
    "sort_files": _sort_files,
    "write_files": _terminal(_write),
}
"""The solution of the easiest task of each kind."""
