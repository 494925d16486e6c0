"""Code is read, never run: what is allowed does what PyAutoGUI does, everything else is an error in the result."""

import ast
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from simulator_hands import Hands

from rlanything_envs.osworld import desktop
from rlanything_envs.osworld.desktop.simulator import SimulatorDesktop
from rlanything_envs.osworld.desktop.simulator.interpreter import FUNCTIONS
from rlanything_envs.osworld.desktop.simulator.robot import Robot

GUEST = Path(desktop.__file__).parent / "guest/lib/pyautogui"


def _parameters(function: ast.FunctionDef) -> list[str]:
    names = [argument.arg for argument in function.args.args if argument.arg != "self"]
    return [*names, *(argument.arg for argument in function.args.kwonlyargs)]


def test_functions_and_parameters_are_those_of_the_real_desktop() -> None:
    real = {
        node.name: _parameters(node)
        for name in ("keyboard", "mouse", "picture")
        for node in ast.parse((GUEST / f"{name}.py").read_text()).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }
    source = Path(desktop.__file__).parent / "simulator/robot.py"
    robot = next(
        node for node in ast.parse(source.read_text()).body if isinstance(node, ast.ClassDef) and node.name == "Robot"
    )
    ours = {node.name: _parameters(node) for node in robot.body if isinstance(node, ast.FunctionDef)}
    assert {name: ours[name] for name in real} == real
    exported = next(
        ast.literal_eval(node.value)
        for node in ast.parse((GUEST / "__init__.py").read_text()).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    functions = {name for name in exported if name[0].islower() and not name.startswith("ease") and name != "linear"}
    assert functions <= FUNCTIONS
    assert all(callable(getattr(Robot, name)) for name in FUNCTIONS - {"PAUSE", "FAILSAFE"})


@pytest.mark.parametrize(
    "code",
    [
        "pyautogui.click(100, 200)",
        "import pyautogui\npyautogui.FAILSAFE = False\npyautogui.PAUSE = 0.5\npyautogui.click(x=100, y=200)",
        "import pyautogui as pg; pg.moveTo((100, 200))",
        "from pyautogui import *; moveTo(100, 200, duration=0.2, tween=easeInOutQuad)",
        "from pyautogui import moveTo as go; go(100, 200)",
        "x, y = 100, 200\npyautogui.moveTo(x, y)",
        "place = [100, 200]; pyautogui.moveTo(*place)",
        "pyautogui.moveTo(10 * 10, 400 // 2 + 0)",
        "width, height = pyautogui.size(); pyautogui.moveTo(100, height - 520)",
        "pyautogui.moveTo(0, 0); pyautogui.moveRel(100, 200)",
        "pyautogui.moveTo(90, 190); here = pyautogui.position(); pyautogui.moveTo(here.x + 10, here[1] + 10)",
        "pyautogui.moveTo(80, 180, 0.1); pyautogui.dragTo(100, 200, button=pyautogui.LEFT)",
        "pyautogui.moveTo((90, 190, 20, 20))",
    ],
)
def test_places(hands: Hands, code: str) -> None:
    hands.do(code)
    assert hands.client.cursor_position() == (100, 200)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import os", "ModuleNotFoundError: No module named 'os'"),
        ("__import__('os').system('true')", "NameError"),
        ("open('/etc/passwd')", "NameError"),
        ("().__class__", "AttributeError"),
        ("pyautogui.__dict__", "AttributeError"),
        ("pyautogui.size().__class__", "AttributeError"),
        ("''.join(['a'])", "AttributeError"),
        ("exec('1')", "NameError"),
        ("eval('1')", "NameError"),
        ("lambda: 1", "NotImplementedError"),
        ("[x for x in [1]]", "NotImplementedError"),
        ("while True: pass", "NotImplementedError"),
        ("for i in range(3): pyautogui.press('a')", "NotImplementedError"),
        ("def f(): pass", "NotImplementedError"),
        ("pyautogui.locateOnScreen('a.png')", "AttributeError"),
        ("pyautogui.click('a.png')", "PyAutoGUIException"),
        ("pyautogui.click(1, 2, button='fourth')", "PyAutoGUIException"),
        ("pyautogui.click(1, 2, wrong=3)", "TypeError"),
        ("pyautogui.click([1, 2, 3])", "PyAutoGUIException"),
        ("pyautogui.click(None, [1])", "PyAutoGUIException"),
        ("pyautogui.moveTo(1e300, 1)", "OverflowError"),
        ("pyautogui.moveTo(10**9, 1)", "TypeError"),
        ("pyautogui.write('a' * 10**8)", "TypeError"),
        ("pyautogui.write('a' * 1000000000)", "MemoryError"),
        ("pyautogui.press('a', presses=100000000)", "PyAutoGUIException"),
        ("pyautogui.press([], presses=100000000)", "PyAutoGUIException"),
        ("pyautogui.scroll(100000000)", "PyAutoGUIException"),
        ("pyautogui.click(clicks=100000)", "PyAutoGUIException"),
        ("9999999999 * 9999999999", "OverflowError"),
        ("1 / 0", "ZeroDivisionError"),
        ("click(1, 2)", "NameError: name 'click' is not defined"),
        ("pyautogui.write(", "SyntaxError"),
        ("(" * 5000, "SyntaxError"),
        ("-" * 15000 + "1", "Error"),
        ("a" * 30000, "SyntaxError"),
        ("x\0y", "SyntaxError"),
        ("time.sleep(-1)", "PyAutoGUIException"),
        ("pyautogui.sleep('a')", "PyAutoGUIException"),
        ("pyautogui.PAUSE = 'x'; pyautogui.click()", "PyAutoGUIException"),
        ("del pyautogui", "NotImplementedError"),
        ("pyautogui.click = 3", "NotImplementedError"),
        ("print(*pyautogui)", "TypeError"),
        ("int('9' * 10000)", "ValueError"),
    ],
)
def test_what_is_refused(hands: Hands, code: str, error: str) -> None:
    done = hands.client.act(code)
    assert done.returncode == 1
    assert error in done.error


def test_what_was_done_before_an_error_stays(hands: Hands) -> None:
    hands.client.launch("mousepad")
    done = hands.client.act("pyautogui.write('ab')\nprint('x', 1)\npyautogui.nothing()\npyautogui.write('c')")
    assert (done.output, done.returncode) == ("x 1\n", 1)
    assert "line 3" in done.error
    assert hands.focused().text == "ab"


def test_an_unknown_key_is_passed_over_as_on_the_real_desktop(hands: Hands) -> None:
    hands.client.launch("mousepad")
    done = hands.client.act("pyautogui.press('nokey'); pyautogui.press('a')")
    assert done.returncode == 0
    assert "nokey" in done.error
    assert hands.focused().text == "a"


def test_an_action_that_takes_too_long_is_stopped(hands: Hands) -> None:
    done = hands.client.act("time.sleep(80); pyautogui.moveTo(5, 5); time.sleep(20); pyautogui.moveTo(9, 9)")
    assert done.returncode == 127
    assert hands.client.cursor_position() == (5, 5)
    assert hands.client.act("time.sleep(80)").returncode == 0


def test_keys_can_be_held(hands: Hands) -> None:
    hands.client.launch("mousepad")
    hands.do("with pyautogui.hold('shift'):\n    pyautogui.press('a')\n    pyautogui.press('1')")
    hands.do("pyautogui.keyDown('shift'); pyautogui.press('b'); pyautogui.keyUp('shift'); pyautogui.press('c')")
    assert hands.focused().text == "A!Bc"


def test_pictures(hands: Hands) -> None:
    hands.do("pyautogui.screenshot('/tmp/x.png', region=(0, 0, 20, 10))")
    data = hands.client.read_file("/tmp/x.png")
    assert data is not None
    assert data.startswith(b"\x89PNG")
    done = hands.do("print(pyautogui.pixel(1200, 700), pyautogui.pixelMatchesColor(1200, 700, (44, 93, 115)))")
    assert done.output == "(44, 93, 115) True\n"


@given(st.text(max_size=200))
@example("pyautogui.hold('a')")
@example("with pyautogui.hold(): pass")
@example("f'{1!r:>{2}}'")
@example("*a, b = 1, 2")
@example("a = b = (1, 2)")
@example("print(min())")
def test_any_text(code: str) -> None:
    desktop = SimulatorDesktop((640, 480))
    with desktop:
        done = desktop.client.act(code)
    assert done.returncode in (0, 1, 127)


ATOMS = [
    "pyautogui",
    "time",
    "'a'",
    "1",
    "-2.5",
    "None",
    "[]",
    "(1, 2)",
    "print",
    "x",
    "True",
    "''",
    "pyautogui.size()",
]
SHAPES = ["{}({})", "{} = {}", "{} + {}", "{} * {}", "{}[{}]", "{}.click({})", "{}.hotkey({}, *{})", "with {}: {}"]
SHAPES += ["pyautogui.write({})", "pyautogui.click({}, {})", "pyautogui.press({}, {})", "f'{{{}}}'", "{}.PAUSE = {}"]


@given(
    st.lists(st.tuples(st.sampled_from(SHAPES), st.lists(st.sampled_from(ATOMS), min_size=3, max_size=3)), max_size=5)
)
def test_any_code(parts: list[tuple[str, list[str]]]) -> None:
    with SimulatorDesktop((640, 480)) as desktop:
        done = desktop.client.act("\n".join(shape.format(*atoms) for shape, atoms in parts))
    assert done.returncode in (0, 1, 127)
