"""Screens of real desktops with what is on them: random clicks in many tasks, after the clicks that solve the task.

A screen's labels are the elements of its accessibility tree that nothing covers. Each task is a file, so an interrupted
collection continues where it ended. Tasks of the two parts differ in seed, split and look.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import rlanything_envs  # noqa: F401 (registers the environments)
from rlanything_agents.runs.folder import write_atomically
from rlanything_envs.errors import InfrastructureError
from rlanything_envs.message import Image, parts_of
from rlanything_envs.osworld.accessibility import Element, read_elements, worth_reading
from rlanything_task_pools import Task
from rlanything_task_pools.osworld import generate

__all__ = ["KINDS", "PARTS", "SCREEN", "SOLVED", "Named", "Screen", "collect", "named", "screens", "solution"]

SCREEN = (640, 384)
"""Width and height: the smallest multiples of 32 at which the file manager's menus and dialogs fit."""
SOLVED = ("sort_files", "rename_files")
"""Kinds whose easiest tasks are solved by pointing: a file is dragged into a folder; a file is chosen, and its new
name, which the task quotes, is typed."""
KINDS = (*SOLVED, "edit_text", "edit_config")
"""Kinds of tasks whose programs start in seconds: the file manager and the text editor."""
PARTS = {"train": ("train", 1), "held-out": ("valid_seen", 2)}
"""Split and look number of the tasks of each part."""
DESKTOPS = 2
"""Desktops in parallel."""

_TURNS = 12
"""Turns in a task: those of its solution, and random clicks."""
_ESCAPE = '{"action": "key", "keys": ["escape"]}'
"""After a click that changed nothing: a dialog may be in the way."""
_WINDOWS = frozenset({"alert", "dialog", "file-chooser", "frame", "window"})
_CLICKED = frozenset({"check-box", "combo-box", "icon", "menu", "menu-item", "page-tab", "push-button", "radio-button"})
_AVOIDED = re.compile(r"quit|exit|log out|close|leave|delete|trash|GIMP|LibreOffice|Browser|Settings", re.IGNORECASE)
"""Clicks that would end a program, after which screens are alike, or start one that takes long."""
_LARGEST = 1 / 16
"""Greatest share of the screen of an element that counts as a place: a click into a window's list hits it anywhere."""
_LONGEST = 40
_PANEL = 40
"""Greatest height in pixels of the panel, which is above all windows."""


@dataclass(frozen=True, slots=True)
class Named:
    """An element with a name: ``x`` and ``y`` are its centre in pixels."""

    name: str
    x: int
    y: int
    width: int
    height: int

    def holds(self, x: float, y: float) -> bool:
        """Whether a click there hits it."""
        return _covers(self, x, y)


@dataclass(frozen=True, slots=True)
class Screen:
    """A screen with its elements, and the turn in which it was seen.

    Attributes:
        task: Name of the task's file.
        png: The picture.
        elements: Named elements that nothing covers.
        text: Text of the turn, as an agent reads it.
        answer: What solves the task from here; empty where the clicks are random.
    """

    task: str
    png: bytes
    elements: tuple[Named, ...]
    text: str
    answer: str


def collect(folder: Path, tasks: int, *, note: Callable[[str], None] = print) -> None:
    """Play tasks and store their screens; those that are there already are not played again.

    Args:
        folder: Destination, a file a task.
        tasks: Number of tasks: three of four are of the training part.
        note: Receives a line for each task.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [(number, "held-out" if number % 4 == 3 else "train") for number in range(tasks)]
    left = [(number, part) for number, part in wanted if not _file(folder, part, number).exists()]
    lock, begin = threading.Lock(), time.monotonic()

    def play(work: tuple[int, str]) -> None:
        number, part = work
        file = _file(folder, part, number)
        found = _played(number, part)
        write_atomically(file, json.dumps(found))
        with lock:
            done = sum(_file(folder, part, number).exists() for number, part in wanted)
            note(f"{file.stem}: {len(found)} screens; {done}/{tasks} tasks, {time.monotonic() - begin:.0f} s")

    with ThreadPoolExecutor(DESKTOPS) as pool:
        list(pool.map(play, left))


def screens(folder: Path, part: str) -> list[Screen]:
    """The stored screens of a part, in the order of its tasks and turns."""
    return [
        Screen(
            file.stem,
            base64.b64decode(one["png"]),
            tuple(Named(*element) for element in one["elements"]),
            one["text"],
            one["answer"],
        )
        for file in sorted(folder.glob(f"{part}-*.json"))
        for one in json.loads(file.read_text(encoding="utf-8"))
    ]


def named(elements: Sequence[Element], screen: tuple[int, int]) -> list[Named]:
    """The elements with a name whose centre is on the screen and not under a window above theirs.

    Args:
        elements: All elements of a tree, in its order.
        screen: Width and height in pixels.
    """
    windows: list[tuple[Element | None, list[Element]]] = [(None, [])]
    for element in elements:
        if element.role in _WINDOWS:
            windows.append((element, []))
        windows[-1][1].append(element)
    active = max((k for k, (window, _) in enumerate(windows) if window and "active" in window.states), default=0)

    def height(number: int) -> tuple[int, int]:
        window = windows[number][0]
        popped_up = window is not None and window.role == "window" and number > active
        panel = window is not None and window.width == screen[0] and window.height <= _PANEL
        return (2 if popped_up or panel else int(number == active)), number

    order = sorted(range(len(windows)), key=height)
    found: list[Named] = []
    for place, number in enumerate(order):
        above = [window for one in order[place + 1 :] if (window := windows[one][0]) is not None]
        for element in windows[number][1]:
            inside = 0 <= element.x < screen[0] and 0 <= element.y < screen[1]
            small = element.width * element.height <= _LARGEST * screen[0] * screen[1]
            if not (element.name and inside and small and element.role not in _WINDOWS and worth_reading(element)):
                continue
            one = Named(element.name[:_LONGEST], element.x, element.y, element.width, element.height)
            covered = any(_covers(window, element.x, element.y) for window in above)
            if not covered and one not in found:
                found.append(one)
    return found


def task_of(number: int, part: str) -> Task:
    """The task of a number: the kinds in turn, their easiest tasks."""
    return generate(number, PARTS[part][0], kinds=KINDS[number // 4 % len(KINDS)], difficulty=0.0)


def _file(folder: Path, part: str, number: int) -> Path:
    return folder / f"{part}-{number:04}.json"


def _covers(one: Element | Named, x: float, y: float) -> bool:
    return 2 * abs(x - one.x) <= one.width and 2 * abs(y - one.y) <= one.height


def _played(number: int, part: str) -> list[dict[str, Any]]:
    """The screens of a task, fewer where its desktop fails."""
    task, rng = task_of(number, part), np.random.default_rng(number)
    env: gym.Env[Any, Any] = gym.make(
        "RLAnything/OSWorld-v0",
        observation=["screenshot", "accessibility_tree", "instruction", "message"],
        action_space="computer_use",
        instructions=False,
        screen=SCREEN,
        looks=PARTS[part][1],
        max_turns=_TURNS + 1,
    )
    found: list[dict[str, Any]] = []
    seen: list[Named] = []
    quoted = re.findall(r'"([^"]*)"', task.goal)
    solving = True
    with contextlib.closing(env), contextlib.suppress(InfrastructureError):
        observation, _ = env.reset(seed=0, options={"task": task})
        for turn in range(_TURNS):
            elements = read_elements(observation.pop("accessibility_tree"))
            places = named(elements, SCREEN)
            answer = solution(str(task.traits["kind"]), quoted, places, turn) if solving else ""
            solving = bool(answer) and "terminate" not in answer
            if answer or places != seen:
                png, text = _parts(observation, not turn)
                found.append({"png": png, "text": text, "answer": answer, "elements": [_fields(one) for one in places]})
            stuck = places == seen
            click = _ESCAPE if stuck else _random(elements, places, rng)
            seen = [] if stuck else places
            observation, _, terminated, truncated, _ = env.step(answer if solving else click)
            if terminated or truncated:
                break
    return found


def solution(kind: str, quoted: Sequence[str], places: Sequence[Named], turn: int) -> str:
    """The answer that brings a task of `SOLVED` nearer to its end; empty where what it needs is not on the screen.

    Args:
        kind: Kind of the task.
        quoted: What its goal has in quotes.
        places: Elements of the screen.
        turn: Turns so far.
    """
    where = {one.name: _point(one) for one in reversed(places)}
    match kind, turn:
        case "sort_files", 0 if quoted[1] in where and quoted[2] in where:
            return _call("mouse_move", where[quoted[1]]) + _call("left_click_drag", where[quoted[2]])
        case "rename_files", 0 if quoted[1] in where:
            return _call("left_click", where[quoted[1]]) + json.dumps({"action": "key", "keys": ["f2"]})
        case "rename_files", 1:
            every = json.dumps({"action": "key", "keys": ["ctrl", "a"]})
            return every + json.dumps({"action": "type", "text": f"{quoted[2]}\n"})
        case ("sort_files", 1) | ("rename_files", 2):
            return json.dumps({"action": "terminate", "status": "success"})
    return ""


def _call(action: str, point: tuple[int, int]) -> str:
    return json.dumps({"action": action, "coordinate": list(point)})


def _point(one: Named) -> tuple[int, int]:
    """The centre of an element in the coordinates of actions, 0 to 1000."""
    return round(1000 * one.x / (SCREEN[0] - 1)), round(1000 * one.y / (SCREEN[1] - 1))


def _random(elements: Sequence[Element], places: Sequence[Named], rng: np.random.Generator) -> str:
    """A click on something that opens or changes something, or anywhere."""
    shown = {(one.x, one.y): one for one in places if not _AVOIDED.search(one.name)}
    pressed = [shown[one.x, one.y] for one in elements if one.role in _CLICKED and (one.x, one.y) in shown]
    point = (int(rng.integers(1000)), 500)
    if pressed and rng.random() < 0.85:
        point = _point(pressed[rng.integers(len(pressed))])
    return _call("double_click" if rng.random() < 0.15 else "left_click", point)


def _fields(one: Named) -> list[Any]:
    return [one.name, one.x, one.y, one.width, one.height]


def _parts(observation: dict[str, Any], first: bool) -> tuple[str, str]:
    screen, *text = parts_of(observation, first)
    assert isinstance(screen, Image)  # nosec B101 # it is observed
    return base64.b64encode(screen.png).decode(), "".join(map(str, text))
