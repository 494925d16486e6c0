"""Numbered marks on a screen, and code that names places by them."""

import re

import gymnasium as gym
import numpy as np
import pytest
from osworld_tasks import make
from scripted_desktop import SCRIPTED

from rlanything_envs.errors import Unreadable
from rlanything_envs.osworld.accessibility import Element, Line, linearise
from rlanything_envs.osworld.marks import draw_marks, list_marks, marked, with_marks

SAVE = Line(Element("push-button", "Save", "", "", 100, 50, 40, 20, frozenset({"enabled"})), "the button")
NAME = Line(Element("text", "Name", "", "", 30, 90, 60, 20, frozenset({"enabled", "editable"})), "the field")
MARKED = {**SCRIPTED, "screen": [800, 600], "observation": ["screenshot", "marks", "instruction", "message"]}


def test_marks_are_drawn_and_listed_with_their_numbers() -> None:
    assert list_marks([SAVE, NAME]) == "1 the button\n2 the field"
    white = np.full((120, 160, 3), 255, np.uint8)
    drawn = draw_marks(white, [SAVE, NAME])
    assert (drawn[40, 80:121] == (225, 29, 72)).all(), "the upper edge of the first box"
    assert (white == 255).all()
    assert (drawn[70:72, 140:] == 255).all()


def test_code_gets_the_places_that_it_names() -> None:
    assert with_marks("pyautogui.click(mark_2)", [SAVE, NAME]) == "mark_2 = (30, 90)\npyautogui.click(mark_2)"
    assert with_marks("pyautogui.click(1, 2)", []) == "pyautogui.click(1, 2)"
    for code in ("pyautogui.click(mark_3)", "pyautogui.click(mark_0)"):
        with pytest.raises(Unreadable, match=r"no mark [03] on the screen; there are 2"):
            with_marks(code, [SAVE, NAME])


def test_marks_and_text_agree_and_what_is_off_the_screen_has_no_mark() -> None:
    shown = 'xmlns:st="https://accessibility.ubuntu.example.org/ns/state" st:showing="true" st:enabled="true"'
    place = 'xmlns:cp="https://accessibility.ubuntu.example.org/ns/component" cp:size="(10, 10)" cp:screencoord='
    tree = f"<desktop-frame><label name='Size' {shown} {place}'(10, 10)'/><push-button {shown} {place}'(30, 10)'/>"
    tree += f"<push-button name='far' {shown} {place}'(900, 10)'/>"
    tree += f"<frame name='new' {shown} st:active='true' {place}'(0, 100)'>"
    tree += "".join(f"<push-button name='{n}' {shown} {place}'(20, 200)'/>" for n in range(199)) + "</frame>"
    lines = linearise(tree + "</desktop-frame>").split("\n")
    assert lines[0] == 'frame "new" (5, 105) active', "its 200 lines leave no room for the window behind"
    assert [line.text for line in marked(tree + "</desktop-frame>", (800, 600))] == lines[:-1]
    assert [line.text for line in marked(tree.partition("<frame")[0] + "</desktop-frame>", (800, 600))] == [
        'label "Size" (15, 15)',
        'push-button beside "Size" (35, 15)',
    ]


def test_an_episode_with_marks() -> None:
    env = gym.make("RLAnything/OSWorld-v0", tasks=[make()], **MARKED)
    observation, _ = env.reset()
    assert env.observation_space.contains(observation)
    assert "mark_3 stands for" in observation["message"]
    assert re.search(r'^\d+ text .*text="hello"', observation["marks"], re.MULTILINE)
    _, _, _, _, info = env.step("pyautogui.click(mark_999)")
    assert (info["command"], "no mark 999" in info["message"]) == ("unreadable", True)
    for action in ("pyautogui.press('end')", "pyautogui.write(' you')", "pyautogui.hotkey('ctrl', 's')"):
        env.step(action)
    assert env.step("DONE")[1] == 1.0
    env.close()


@pytest.mark.parametrize("other", [{"action_space": "computer_13"}, {"relative_coordinates": 1000}])
def test_marks_are_pixels_in_code(other: dict) -> None:
    with pytest.raises(ValueError, match="marks need action_space='pyautogui'"):
        gym.make("RLAnything/OSWorld-v0", tasks=[make()], **MARKED, **other)
