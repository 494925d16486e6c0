"""Readers of the actions that trained models write: answers in their published forms, and what they must refuse."""

import ast
import json
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_envs.errors import Unreadable
from rlanything_envs.osworld.actions import Action, read_action
from rlanything_envs.osworld.clicks import Click, clicks_of
from rlanything_envs.osworld.coordinates import Scale
from rlanything_envs.osworld.messages import how_to_act
from rlanything_envs.osworld.readers import READERS
from rlanything_envs.osworld.readers.computer_use import written
from rlanything_task_pools.osworld import DOMAIN, keys

SCREEN = (1920, 1080)


def reading(name: str, text: str, scale: Scale | None = None) -> Action:
    return READERS[name].read(text, SCREEN, READERS[name].scale if scale is None else scale)


def call(**arguments: Any) -> str:
    return f"<tool_call>\n{json.dumps({'name': 'computer_use', 'arguments': arguments})}\n</tool_call>"


QWEN = """\
The file manager shows the folder.

Action: Click the "Save" button in the toolbar.
<tool_call>
{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [500, 250]}}
</tool_call>"""
TARS = """\
Thought: I see the "Save" button in the toolbar. To store the sheet, I click it.
Action: click(start_box='<|box_start|>(500,250)<|box_end|>')"""


@pytest.mark.parametrize(
    ("name", "answer", "code", "word"),
    [
        ("computer_use", QWEN, "pyautogui.click(960, 270, button='left')", None),
        ("computer_use", f"<think>{QWEN}</think>{call(action='wait', time=3)}", "", "WAIT"),
        ("computer_use", call(action="terminate", status="success"), "", "DONE"),
        ("computer_use", call(action="terminate", status="failure"), "", "FAIL"),
        ("computer_use", '{"action": "left_click", "coordinate": [1000, 1000]}', "pyautogui.click(1919, 1079, ", None),
        ("computer_use", '{"name": "computer_use", "arguments": {"action": "wait"}}', "", "WAIT"),
        ("computer_use", call(action="triple_click", coordinate=[0, 0]), "click(0, 0, button='left', clicks=3)", None),
        ("computer_use", call(action="right_click"), "pyautogui.click(button='right')", None),
        ("computer_use", call(action="key", keys=["ctrl", "S"]), "pyautogui.hotkey('ctrl', 'S')", None),
        ("computer_use", call(action="key", keys=["Return"]), "pyautogui.press('return')", None),
        ("computer_use", call(action="type", text="it's\n"), 'pyautogui.write("it\'s\\n")', None),
        ("computer_use", call(action="scroll", pixels=-5), "pyautogui.vscroll(-5)", None),
        ("computer_use", call(action="hscroll", pixels=5), "pyautogui.hscroll(5)", None),
        (
            "computer_use",
            call(action="mouse_move", coordinate=[0, 0]) + call(action="left_click_drag", coordinate=[500, 500]),
            "pyautogui.moveTo(0, 0)\npyautogui.dragTo(960, 540, button='left')",
            None,
        ),
        (
            "computer_use",
            call(action="wait") + call(action="type", text="a") + call(action="terminate"),
            "time.sleep(2)\npyautogui.write('a')",
            "DONE",
        ),
        ("computer_use", "The task is done.\nDONE", "", "DONE"),
        ("ui_tars", TARS, "pyautogui.click(960, 270, button='left')", None),
        ("ui_tars", "Thought: x\nAction: click(start_box='(500,250)')", "pyautogui.click(960, 270", None),
        ("ui_tars", "```\nThought: x\nAction: click(point='<point>500 250</point>')\n```", "click(960, 270", None),
        ("ui_tars", "Action: left_double(start_box='[490, 240, 510, 260]')", "pyautogui.doubleClick(960, 270)", None),
        ("ui_tars", "Action: right_single(start_box='(0.5, 0)')", "pyautogui.rightClick(1, 0)", None),
        ("ui_tars", "Action: hover(start_box='(0,0)')", "pyautogui.moveTo(0, 0)", None),
        (
            "ui_tars",
            "Action: drag(start_box='(0,0)', end_box='(500,500)')",
            "pyautogui.moveTo(0, 0)\npyautogui.dragTo(960, 540, button='left')",
            None,
        ),
        ("ui_tars", "Action: hotkey(key='ctrl s')", "pyautogui.hotkey('ctrl', 's')", None),
        ("ui_tars", "Action: hotkey(key='ctrl++')", "pyautogui.hotkey('ctrl', '+')", None),
        ("ui_tars", "Action: press(key='arrowdown')", "pyautogui.keyDown('down')", None),
        ("ui_tars", r"Action: type(content='it\'s\n')", 'pyautogui.write("it\'s\\n")', None),
        ("ui_tars", "Action: type(content='it's')", 'pyautogui.write("it\'s")', None),
        (
            "ui_tars",
            "Action: scroll(start_box='(500,500)', direction='down')",
            "pyautogui.moveTo(960, 540)\npyautogui.vscroll(-5)",
            None,
        ),
        ("ui_tars", "Action: wait()", "", "WAIT"),
        ("ui_tars", "Action: finished(content='I'm done.')", "", "DONE"),
        ("ui_tars", "Action: call_user()", "", "FAIL"),
        (
            "ui_tars",
            "Action: click(start_box='(0,0)')\n\ntype(content='a')",
            "pyautogui.click(0, 0, button='left')\npyautogui.write('a')",
            None,
        ),
        ("openai", '{"type": "click", "button": "left", "x": 960, "y": 270}', "pyautogui.click(960, 270", None),
        (
            "openai",
            '{"type": "computer_call", "call_id": "c1", "action": {"type": "keypress", "keys": ["CTRL", "ARROWDOWN"]}}',
            "pyautogui.hotkey('ctrl', 'down')",
            None,
        ),
        (
            "openai",
            '{"type": "computer_call", "actions": [{"type": "type", "text": "a"}, {"type": "wait"}]}',
            "pyautogui.write('a')",
            "WAIT",
        ),
        (
            "openai",
            '{"type": "scroll", "x": 1, "y": 2, "scroll_x": 0, "scroll_y": 300}',
            "pyautogui.moveTo(1, 2)\npyautogui.vscroll(-3)",
            None,
        ),
        (
            "openai",
            '{"type": "drag", "path": [{"x": 1, "y": 2}, {"x": 3, "y": 4}]}',
            "pyautogui.moveTo(1, 2)\npyautogui.mouseDown(button='left')\npyautogui.moveTo(3, 4)\npyautogui.mouseUp(",
            None,
        ),
        ("openai", '{"type": "screenshot"}', "", "WAIT"),
        ("openai", '{"type": "keypress", "keys": ["CTRL", "A"]}', "pyautogui.hotkey('ctrl', 'a')", None),
        ("anthropic", '{"action": "key", "text": "ctrl+minus"}', "pyautogui.hotkey('ctrl', '-')", None),
        (
            "anthropic",
            '{"action": "key", "text": "Down Return"}',
            "pyautogui.press('down')\npyautogui.press('return'",
            None,
        ),
        ("openai", "The sheet is saved.\nDONE", "", "DONE"),
        ("anthropic", 'I click.\n{"action": "left_click", "coordinate": [960, 270]}', "pyautogui.click(960, 270", None),
        (
            "anthropic",
            '{"type": "tool_use", "id": "t", "name": "computer", "input": {"action": "key", "text": "ctrl+Page_Down"}}',
            "pyautogui.hotkey('ctrl', 'pagedown')",
            None,
        ),
        (
            "anthropic",
            '{"action": "left_click", "coordinate": [1, 2], "text": "shift"}',
            "pyautogui.keyDown('shift')\npyautogui.click(1, 2, button='left')\npyautogui.keyUp('shift')",
            None,
        ),
        (
            "anthropic",
            '{"action": "scroll", "coordinate": [1, 2], "scroll_direction": "left", "scroll_amount": 4}',
            "pyautogui.moveTo(1, 2)\npyautogui.hscroll(-4)",
            None,
        ),
        (
            "anthropic",
            '{"action": "left_click_drag", "start_coordinate": [1, 2], "coordinate": [3, 4]}',
            "pyautogui.moveTo(1, 2)\npyautogui.dragTo(3, 4, button='left')",
            None,
        ),
        (
            "anthropic",
            '{"action": "hold_key", "text": "a", "duration": 1.5}',
            "pyautogui.keyDown('a')\ntime.sleep(1.5)\npyautogui.keyUp('a')",
            None,
        ),
        ("anthropic", '{"action": "screenshot"}', "", "WAIT"),
        ("anthropic", "FAIL", "", "FAIL"),
    ],
)
def test_recorded_answers(name: str, answer: str, code: str, word: str | None) -> None:
    action = reading(name, answer)
    assert action.word == word
    assert code in action.code if code else not action.code
    ast.parse(action.code)


@pytest.mark.parametrize(
    ("name", "answer", "fault"),
    [
        ("computer_use", "I click on Save.", "no action"),
        ("computer_use", "<tool_call>left_click</tool_call>", "not JSON"),
        ("computer_use", "<tool_call>[1]</tool_call>", "not an object"),
        ("computer_use", call(action="left_click", coordinate=[500]), "coordinate must be"),
        ("computer_use", call(action="left_click", coordinate=[1001, 0]), "x must be a number up to 1000"),
        ("computer_use", call(action="left_click", coordinate=["0); print(1", 0]), "x must be a number"),
        ("computer_use", call(action="left_click", coordinate=[float("nan"), 0]), "x must be a number"),
        ("computer_use", call(action="key", keys=[1]), "not the name of a key"),
        ("computer_use", call(action="run", command="ls"), "no action 'run'"),
        ("computer_use", call(action="wait", shell="ls"), "no parameter 'shell'"),
        ("computer_use", call(action="terminate") + call(action="wait"), "follows the one that ends"),
        ("computer_use", call(action="wait") * 9, "more than 8"),
        ("computer_use", '<tool_call>{"name": "shell", "arguments": {}}</tool_call>', "no tool 'shell'"),
        ("ui_tars", "Thought: x", "no action"),
        ("ui_tars", "Action:", "nothing follows"),
        ("ui_tars", "Action: click(start_box='(500,500)'", "not whole"),
        ("ui_tars", "Action: click(500, 500)", "not whole"),
        ("ui_tars", "Action: click(start_box='here')", "must be a place"),
        ("ui_tars", "Action: click(start_box='(1,2)', point='(1,2)')", "must be a place"),
        ("ui_tars", "Action: click(start_box='(1,2)', start_box='(1,2)')", "twice"),
        ("ui_tars", "Action: click(start_box='(1,2,3)')", "must be a place"),
        ("ui_tars", "Action: click(start_box='(1,2)', run='ls')", "no parameter 'run'"),
        ("ui_tars", "Action: finished()\nclick(start_box='(1,2)')", "follows the one that ends"),
        ("ui_tars", "Action: type(content='a') os.system('b')", "is not a call"),
        ("ui_tars", "Action: system(content='ls')", "no action 'system'"),
        ("openai", '{"type": "click", "x": 1920.6, "y": 0}', "x must be a number up to 1920"),
        ("openai", '{"type": "click", "x": -1, "y": 0}', "on the screen"),
        ("openai", '{"type": "click", "button": "back", "x": 1, "y": 0}', "button must be"),
        ("openai", '{"type": "click", "x": 1, "y": 0, "keys": "ctrl"}', "keys must be a list"),
        ("anthropic", '{"action": "left_click", "coordinate": [1, 2], "text": 0}', "not the name of a key"),
        ("openai", '{"type": "computer_call", "action": 3}', "neither an action nor"),
        ("openai", '{"type": "keypress", "keys": []}', "keys must be"),
        ("openai", '{"type": "drag", "path": [{"x": 1, "y": 2}]}', "2 to 50 points"),
        ("openai", '{"type": "message", "text": "hello"}', "no action of the type"),
        ("anthropic", '{"action": "hold_key", "text": "a", "duration": 1e9}', "duration must be"),
        ("anthropic", '{"action": "scroll", "scroll_direction": "up", "scroll_amount": 101}', "scroll_amount must be"),
        ("anthropic", '{"action": "cursor_position"}', "no action"),
        ("anthropic", '{"name": "bash", "input": {"command": "ls"}}', "there is no action in it"),
    ],
)
def test_what_is_refused(name: str, answer: str, fault: str) -> None:
    with pytest.raises(Unreadable, match=fault):
        reading(name, answer)


def test_pixels_of_the_picture_that_a_model_reads() -> None:
    answer = call(action="left_click", coordinate=[1288, 273])
    assert reading("computer_use", answer, (1932.0, 1092.0)).code == "pyautogui.click(1280, 270, button='left')"
    assert reading("ui_tars", "Action: click(point='(1288,273)')", (1932.0, 1092.0)).code.startswith(
        "pyautogui.click(1280, 270"
    )


def test_lines_of_ui_tars_are_not_code() -> None:
    for text in ("Thought: x\nAction: click(start_box='(500,500)')", "Action: click(start_box='(500,500)')"):
        with pytest.raises(Unreadable, match="no code in it"):
            read_action(text)
    assert read_action("Action: pyautogui.click(1, 2)") == Action("pyautogui.click(1, 2)")


@pytest.mark.parametrize("name", READERS)
def test_what_the_manual_shows_can_be_read(name: str) -> None:
    manual = how_to_act(name, SCREEN, READERS[name].scale)
    example = manual.partition("\n")[2].partition("\n- ")[0] if name in ("computer_use", "ui_tars") else manual
    action = reading(name, example.partition("\n")[0] if example is manual else example)
    assert clicks_of(action.code) == [Click("click", 480, 540)]


CODE = st.sampled_from(["'); import os #", '"); print(1) #', "\n import os", "\\", "\\'", "'''", "{}", "é", "a\u2028b"])
TEXT = st.lists(st.text(max_size=8) | CODE, max_size=4).map("".join)


@given(TEXT, TEXT)
def test_texts_stay_texts(typed: str, key: str) -> None:
    """Whatever is typed or pressed, the code is calls with literal arguments."""
    escaped = typed.replace("\\", "\\\\").replace("'", "\\'")
    answers = {
        "computer_use": call(action="type", text=typed) + call(action="key", keys=[key]),
        "ui_tars": f"Action: type(content='{escaped}')",
        "openai": json.dumps({"type": "type", "text": typed}),
        "anthropic": json.dumps({"action": "type", "text": typed}),
    }
    for name, answer in answers.items():
        try:
            code = reading(name, answer).code
        except Unreadable:
            continue
        for statement in ast.parse(code).body:
            assert isinstance(statement, ast.Expr)
            assert isinstance(statement.value, ast.Call)
            assert all(isinstance(argument, ast.Constant) for argument in statement.value.args)
        written = ast.parse(code).body[0]
        assert isinstance(written, ast.Expr)
        assert isinstance(written.value, ast.Call)
        said = ast.literal_eval(written.value.args[0])
        assert said == typed or name == "ui_tars" or "</think>" in typed or "\r" in typed


def test_demonstrations_are_written_as_they_are_read() -> None:
    """The keys of generated tasks press the same in both forms, in answers that have room for their calls."""
    done: list[tuple[str, ...]] = []
    hands = SimpleNamespace(
        press=lambda key, presses=1: done.extend([("key", key)] * presses),
        hotkey=lambda *keys: done.append(("keys", *keys)),
        write=lambda text: done.append(("text", text)),
    )

    def pressed(codes: Iterable[str]) -> list[tuple[str, ...]]:
        done.clear()
        for code in codes:
            exec(code, {"pyautogui": hands, "time": SimpleNamespace(sleep=lambda _: None)})
        return [*done]

    lines = [line for seed in range(40) for line in keys(DOMAIN.generate(seed))]
    answers = [answer for line in lines for answer in written(line)]
    assert any("sleep" in line for line in lines)
    assert pressed(reading("computer_use", answer).code for answer in answers) == pressed(lines)
    assert len(answers) > len(lines), "an answer has eight calls at most"
    assert [reading("computer_use", *written(word)).word for word in ("DONE", "FAIL")] == ["DONE", "FAIL"]
    for other in ("pyautogui.click(1, 2)", "x = 1", "import os"):
        with pytest.raises(ValueError, match=r"not a call|no action"):
            written(other)
