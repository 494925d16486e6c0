"""What agents write, and what is read from it."""

import ast
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_envs.errors import Unreadable
from rlanything_envs.osworld.actions import MAX_ACTION_LENGTH, Action, read_action
from rlanything_envs.osworld.computer_13 import ACTION_TYPES, Computer13, action_of, read_dictionary
from rlanything_envs.osworld.coordinates import absolute, to_pixels

CLICK = "pyautogui.click(1, 2)"
SCREEN = (1920, 1080)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        (CLICK, Action(CLICK)),
        (f"```python\n{CLICK}\n```", Action(CLICK)),
        (f"I will click.\n```\n{CLICK}\n```\nThat should do.", Action(CLICK)),
        (f"```python\nfirst()\n```\nNo, rather:\n```py\n{CLICK}\n```", Action(CLICK)),
        (f"<think>```python\nbad()\n``` DONE</think>\n```python\n{CLICK}\n```", Action(CLICK)),
        (f"```python\n{CLICK}", Action(CLICK)),
        (f"```python {CLICK}```", Action(CLICK)),
        (f"Action: `{CLICK}`", Action(CLICK)),
        (f"Thought: the button.\nAction: {CLICK}\n", Action(CLICK)),
        (f"~~~\n{CLICK}\n~~~", Action(CLICK)),
        (f"```python\r\n{CLICK}\r\n```\r\n", Action(CLICK)),
        (f"```python\n{CLICK}```", Action(CLICK)),
        (f"```python\nimport pyautogui\n{CLICK}; pyautogui.press('a')\nDONE\n```", None),
        ("```\nx = '''\nDONE\n'''\npyautogui.write(x)\n```", Action("x = '''\nDONE\n'''\npyautogui.write(x)")),
        (f"```python\n{CLICK}\n# Done.\n```", Action(f"{CLICK}\n# Done.")),
        ("I have moved the file.\n## DONE", Action(word="DONE")),
        ("DONE", Action(word="DONE")),
        ("done.", Action(word="DONE")),
        ("```\nFAIL\n```", Action(word="FAIL")),
        ("```WAIT```", Action(word="WAIT")),
        ("**WAIT**", Action(word="WAIT")),
        ("The task is finished now.\n\nAction: DONE", Action(word="DONE")),
        (f"{CLICK}\nWAIT", Action(CLICK, "WAIT")),
        ("for i in range(3):\n    pyautogui.press('a')", Action("for i in range(3):\n    pyautogui.press('a')")),
    ],
)
def test_what_is_read(text, action):
    if action is None:
        action = Action(f"import pyautogui\n{CLICK}; pyautogui.press('a')", "DONE")
    assert read_action(text) == action


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        ("look", "no code"),
        ("I am done with it", "no code"),
        ("I would FAIL you", "no code"),
        ("```python\n\n```", "block is empty"),
        (CLICK + "\x00", "null"),
        ("x" * (MAX_ACTION_LENGTH + 1), "longer than"),
        ("(" * 5000, "no code"),
    ],
)
def test_what_is_no_action(text, reason):
    with pytest.raises(Unreadable, match=reason):
        read_action(text)


@given(
    st.text(max_size=300)
    | st.lists(
        st.sampled_from(["```", "python", "\n", "DONE", "pyautogui.press('a')", "a ", "`", "</think>"]), max_size=20
    ).map("".join)
)
def test_any_text_is_read_or_refused(text):
    try:
        action = read_action(text)
    except Unreadable:
        return
    assert action.code or action.word
    assert action.name in ("CODE", "WAIT", "DONE", "FAIL")
    assert action.code.strip("\n") == action.code
    assert all(line.strip() in text for line in action.code.split("\n"))  # nothing is made up


# Relative coordinates


@pytest.mark.parametrize(
    ("code", "scale", "expected"),
    [
        ("pyautogui.click(0.5, 0.25)", 1, "pyautogui.click(960, 270)"),
        ("pyautogui.click(x=0.5, y=1.0)", 1, "pyautogui.click(x=960, y=1079)"),
        ("pyautogui.click(500, 500)", 1000, "pyautogui.click(960, 540)"),
        ("pyautogui.moveTo((0.5, 0.5), duration=1)", 1, "pyautogui.moveTo((960, 540), duration=1)"),
        ("pyautogui.moveRel(-0.1, +0.1)", 1, "pyautogui.moveRel(-192, 108)"),
        ("pyautogui.scroll(-5, 0.5, 0.5)", 1, "pyautogui.scroll(-5, 960, 540)"),
        ("pyautogui.scroll(-5, x=0.5, y=0.5)", 1, "pyautogui.scroll(-5, x=960, y=540)"),
        ("pyautogui.click(clicks=2)", 1, "pyautogui.click(clicks=2)"),
        ("pyautogui.click(None, None)", 1, "pyautogui.click(None, None)"),
        ("pyautogui.write('click(0.5, 0.5)')", 1, "pyautogui.write('click(0.5, 0.5)')"),
        ("import pyautogui as p\np.click(0.5, 0.5)", 1, "import pyautogui as p\np.click(960, 540)"),
        ("from pyautogui import click as c\nc(0.5, 0.5)", 1, "from pyautogui import click as c\nc(960, 540)"),
        ("time.sleep(0.5); other.click(0.5, 0.5)", 1, "time.sleep(0.5)\nother.click(0.5, 0.5)"),
    ],
)
def test_relative_coordinates(code, scale, expected):
    assert absolute(code, SCREEN, scale) == expected


def test_coordinates_that_are_worked_out_in_the_guest():
    code = absolute("x = 0.5\npyautogui.click(x, x / 2)", SCREEN, 1)
    clicks = []
    pyautogui = type("", (), {"click": lambda *place: clicks.append(place)})
    exec(code, {"pyautogui": pyautogui})
    assert clicks == [(960, 270)]


@pytest.mark.parametrize(
    "code",
    [
        "pyautogui.click(",
        "pyautogui.click(*place)",
        "pyautogui.click(**place)",
        "pyautogui.click(place)",
        "pyautogui.click('a.png')",
        "pyautogui.click((1, 2, 3, 4))",
        "pyautogui.click(1e400, 0)",
        "pyautogui.click(100, 200)",
        "pyautogui.click(True, 0)",
        "pyautogui.click(1" + "0" * 5000 + ", 0)",
        "-" * 20_000 + "1",
    ],
)
def test_places_that_cannot_be_relative(code):
    with pytest.raises(Unreadable):
        absolute(code, SCREEN, 1)


@given(st.floats(0, 1), st.floats(0, 1), st.integers(320, 8192), st.integers(320, 8192))
def test_relative_places_are_on_the_screen(x, y, width, height):
    call = ast.parse(absolute(f"pyautogui.click({x!r}, {y!r})", (width, height), 1)).body[0].value
    place = [ast.literal_eval(argument) for argument in call.args]
    assert 0 <= place[0] < width
    assert 0 <= place[1] < height
    assert abs(place[0] - x * width) <= 1
    assert to_pixels(0, width, 1) == 0


# computer_13


@pytest.mark.parametrize(
    ("kind", "parameters", "code"),
    [
        ("MOVE_TO", {"x": 3, "y": 4}, "pyautogui.moveTo(3, 4)"),
        ("CLICK", {}, "pyautogui.click(button='left')"),
        (
            "CLICK",
            {"x": 3, "y": 4, "num_clicks": 2, "button": "right"},
            "pyautogui.click(3, 4, button='right', clicks=2)",
        ),
        ("MOUSE_DOWN", {}, "pyautogui.mouseDown(button='left')"),
        ("MOUSE_UP", {"button": "middle"}, "pyautogui.mouseUp(button='middle')"),
        ("RIGHT_CLICK", {}, "pyautogui.rightClick()"),
        ("DOUBLE_CLICK", {"x": 1.4, "y": 0}, "pyautogui.doubleClick(1, 0)"),
        ("DRAG_TO", {"x": 1, "y": 2}, "pyautogui.dragTo(1, 2, button='left')"),
        ("SCROLL", {"dx": 0, "dy": -5}, "pyautogui.vscroll(-5)"),
        ("SCROLL", {"dx": 2, "dy": 3}, "pyautogui.hscroll(2); pyautogui.vscroll(3)"),
        ("TYPING", {"text": "a'); import os"}, """pyautogui.write("a'); import os")"""),
        ("PRESS", {"key": "enter"}, "pyautogui.press('enter')"),
        ("KEY_DOWN", {"key": "shift"}, "pyautogui.keyDown('shift')"),
        ("KEY_UP", {"key": "shift"}, "pyautogui.keyUp('shift')"),
        ("HOTKEY", {"keys": ["ctrl", "c"]}, "pyautogui.hotkey('ctrl', 'c')"),
    ],
)
def test_dictionaries(kind, parameters, code):
    assert action_of({"action_type": kind, "parameters": parameters}, SCREEN) == Action(code)
    assert action_of({"action_type": kind, **parameters}, SCREEN) == Action(code)
    assert read_dictionary(f"So:\n```json\n{json.dumps({'action_type': kind, 'parameters': parameters})}\n```") == {
        "action_type": kind,
        "parameters": parameters,
    }


@pytest.mark.parametrize("word", ["WAIT", "DONE", "FAIL"])
def test_words(word):
    assert action_of({"action_type": word}, SCREEN) == Action(word=word)
    assert action_of(read_dictionary(f" {word}\n"), SCREEN) == Action(word=word)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({}, "unknown"),
        ({"action_type": "JUMP"}, "'JUMP' is unknown"),
        ({"action_type": ["CLICK"]}, "unknown"),
        ({"action_type": "MOVE_TO"}, "x must be a number"),
        ({"action_type": "MOVE_TO", "x": 1}, "y must be"),
        ({"action_type": "MOVE_TO", "x": True, "y": 1}, "x must be"),
        ({"action_type": "MOVE_TO", "x": "1); evil(", "y": 1}, "x must be"),
        ({"action_type": "MOVE_TO", "x": -1, "y": 1}, "on the screen"),
        ({"action_type": "MOVE_TO", "x": 1921, "y": 1}, "up to 1920"),
        ({"action_type": "MOVE_TO", "x": float("nan"), "y": 1}, "x must be"),
        ({"action_type": "CLICK", "num_clicks": 4}, "num_clicks"),
        ({"action_type": "CLICK", "num_clicks": 1.5}, "num_clicks"),
        ({"action_type": "CLICK", "button": "left'"}, "button"),
        ({"action_type": "PRESS", "key": ["a"]}, "key"),
        ({"action_type": "HOTKEY", "keys": "ctrl"}, "keys"),
        ({"action_type": "HOTKEY", "keys": []}, "keys"),
        ({"action_type": "TYPING", "text": 3}, "text"),
        ({"action_type": "TYPING", "text": "a", "speed": 3}, "no parameter 'speed'"),
        ({"action_type": "PRESS", "parameters": "a"}, "parameters must be"),
    ],
)
def test_dictionaries_that_are_refused(value, reason):
    with pytest.raises(Unreadable, match=reason):
        action_of(value, SCREEN)
    assert value not in Computer13(SCREEN)


@pytest.mark.parametrize("text", ["", "click", "{", '{"a": 1}', "[" * 3000, "{" * 3000, "x" * 40_000])
def test_texts_without_a_dictionary(text):
    with pytest.raises(Unreadable):
        read_dictionary(text)


def test_the_last_object_counts():
    text = 'First {"action_type": "WAIT"}, then {"action_type": "PRESS", "parameters": {"key": "a"}} and {"other": {}}'
    assert read_dictionary(text)["action_type"] == "PRESS"


@pytest.mark.parametrize("scale", [0.0, 1.0, 1000.0])
def test_the_space_of_dictionaries(scale):
    space = Computer13(SCREEN, scale, seed=1)
    seen = set()
    for _ in range(300):
        value = space.sample()
        assert value in space
        assert value == json.loads(json.dumps(value))
        code = action_of(value, SCREEN, scale).code
        ast.parse(code)
        seen.add(value["action_type"])
    assert seen == set(ACTION_TYPES)
    assert space == Computer13(SCREEN, scale)
    assert space != Computer13((800, 600), scale)
    assert space.from_jsonable(space.to_jsonable([{"action_type": "WAIT"}])) == [{"action_type": "WAIT"}]
    with pytest.raises(ValueError, match="mask"):
        space.sample(mask=1)


@given(
    st.sampled_from(ACTION_TYPES),
    st.dictionaries(
        st.sampled_from(["x", "y", "text", "key", "keys", "button", "num_clicks", "dx", "dy", "z"]),
        st.text(max_size=8) | st.integers() | st.floats() | st.lists(st.text(max_size=4), max_size=3) | st.none(),
        max_size=4,
    ),
)
def test_code_of_dictionaries_is_calls_with_literals(kind, parameters):
    """Whatever a model puts into a dictionary, nothing but known functions is called in the guest."""
    try:
        code = action_of({"action_type": kind, "parameters": parameters}, SCREEN).code
    except Unreadable:
        return
    for statement in ast.parse(code).body:
        call = statement.value
        assert call.func.value.id == "pyautogui"
        for value in [*call.args, *(keyword.value for keyword in call.keywords)]:
            ast.literal_eval(value)
