"""OSWorld's `DesktopEnv` on our environment."""

import io
import json
import subprocess

import numpy as np
import pytest
from isolated import ROOT, Isolated
from PIL import Image
from scripted_desktop import SCRIPTED, ScriptedClient, ScriptedDesktop

from rlanything_envs.adapters.osworld import DesktopEnv
from rlanything_envs.errors import EpisodeOver, InfrastructureError
from rlanything_envs.osworld.clicks import Click, clicks_of, mark_clicks
from rlanything_envs.osworld.desktop import DesktopError
from rlanything_envs.osworld.env import OSWorldEnv
from rlanything_task_pools.task import TaskFormatError

PATH = "/home/user/Desktop/a.txt"
EXAMPLE = {
    "id": "a-task",
    "snapshot": "os",
    "instruction": "Add the word you at the end of a.txt and save it.",
    "config": [
        {"type": "execute", "parameters": {"command": f"printf hello > {PATH}", "shell": True}},
        {"type": "open", "parameters": {"path": PATH}},
    ],
    "evaluator": {
        "postconfig": [{"type": "sleep", "parameters": {"seconds": 0.1}}],
        "func": "exact_match",
        "result": {"type": "vm_command_line", "command": f"cat {PATH}", "shell": True},
        "expected": {"type": "rule", "rules": {"expected": "hello you"}},
    },
}
CODE = ["pyautogui.press('end')", "pyautogui.write(' you')", "pyautogui.hotkey('ctrl', 's')"]
ACTIONS = [
    {"action_type": "PRESS", "parameters": {"key": "end"}},
    {"action_type": "TYPING", "parameters": {"text": " you"}},
    {"action_type": "HOTKEY", "parameters": {"keys": ["ctrl", "s"]}},
]


@pytest.mark.parametrize("word", ["DONE", "FAIL"])
def test_an_agent_that_breaks_its_desktop_and_says_done_has_failed(word):
    class Dying(ScriptedClient):
        dead = False

        def observe(self, *args, **options):
            if self.dead:
                raise DesktopError("no answer")
            return super().observe(*args, **options)

    class Fragile(ScriptedDesktop):
        def reset(self):
            self._client = Dying(self._screen)

        def intact(self):
            return True

    desktop = Fragile((1920, 1080))
    env = DesktopEnv(backend=desktop)
    env._env.settle = None
    env.reset(task_config={**EXAMPLE, "config": []})
    env.step(CODE[0])
    desktop.client.dead = True
    assert env.step(word)[1:3] == (0.0, True)
    assert env.evaluate() == 0.0
    env.close()


@pytest.fixture
def env(bwrap_desktop):
    env = DesktopEnv(provider_name="docker", headless=True, backend=bwrap_desktop)
    yield env
    env.close()


def test_a_loop_written_for_osworld(env):
    seen = env.reset(task_config=EXAMPLE)
    assert set(seen) == {"screenshot", "accessibility_tree", "terminal", "instruction"}
    assert Image.open(io.BytesIO(seen["screenshot"])).size == (1920, 1080)
    assert seen["instruction"] == env.instruction == EXAMPLE["instruction"]
    assert "hello" in seen["accessibility_tree"]
    assert env.task_id == "a-task"
    for action in CODE:
        seen, reward, done, info = env.step(action, pause=0)
        assert (reward, done, info) == (0.0, False, {})
    assert "hello you" in seen["accessibility_tree"]
    seen, reward, done, info = env.step("DONE")
    assert (reward, done, info) == (0.0, True, {"done": True})
    assert "hello you" in seen["accessibility_tree"]
    assert env.evaluate() == env.evaluate() == 1
    assert env.action_history == [*CODE, "DONE"]
    with pytest.raises(EpisodeOver):
        env.step(CODE[0])
    env.reset(task_config=EXAMPLE)
    assert env.action_history == []
    assert env.evaluate() == 0, "without a last word the state counts as well"


@pytest.mark.slow
def test_giving_up(env):
    env.reset(task_config=EXAMPLE)
    for action in CODE:
        env.step(action)
    assert env.step("FAIL")[2:] == (True, {"fail": True})
    assert env.evaluate() == 0
    env.reset(task_config={**EXAMPLE, "evaluator": {"func": "infeasible"}})
    env.step("FAIL")
    assert env.evaluate() == 1
    env.reset(task_config={**EXAMPLE, "evaluator": {"func": "infeasible"}})
    env.step("FAIL")
    env.step("WAIT")
    assert env.evaluate() == 0, "the last action counts"


def test_a_second_look_takes_no_turn(env):
    env.reset(task_config=EXAMPLE)
    env.controller.execute_python_command("pyautogui.write('x')")
    assert "xhello" in env._get_obs()["accessibility_tree"]
    assert env.action_history == []
    bare = OSWorldEnv(**SCRIPTED, observation=["screenshot"])
    with pytest.raises(EpisodeOver):
        bare.look()
    first, _ = bare.reset(seed=0)
    assert np.array_equal(bare.look()["screenshot"], first["screenshot"])
    assert bare.step("WAIT")[4]["turn"] == 1
    bare.close()


@pytest.mark.slow
def test_computer_13(bwrap_desktop):
    env = DesktopEnv(action_space="computer_13", backend=bwrap_desktop, require_a11y_tree=False)
    seen = env.reset(task_config=EXAMPLE)
    assert seen["accessibility_tree"] is None
    for action in ACTIONS:
        env.step(action)
    env.controller.execute_action("WAIT")
    assert env.step({"action_type": "DONE"})[2] is True
    assert env.evaluate() == 1
    env.close()


def test_the_controller(env, tmp_path):
    env.reset(task_config=EXAMPLE)
    control = env.controller
    assert control.get_file(PATH) == b"hello"
    assert control.get_file("/none") is None
    assert control.get_vm_platform() == env.vm_platform == "Linux"
    assert control.get_vm_screen_size() == env.vm_screen_size == {"width": 1920, "height": 1080}
    assert control.get_vm_desktop_path() == "/home/user/Desktop"
    assert "a.txt" in [child["name"] for child in control.get_vm_directory_tree("/home/user/Desktop")["children"]]
    assert "hello" in control.get_accessibility_tree()
    assert Image.open(io.BytesIO(env.render())).size == (1920, 1080)
    assert control.run_bash_script("echo a")["output"] == "a\n"
    control.start_recording()
    for action in [*CODE, "pyautogui.click(100, 100)"]:
        env.step(action)
    control.end_recording(tmp_path / "a" / "recording.mp4")
    assert (tmp_path / "a" / "recording.mp4").read_bytes()[4:8] == b"ftyp"


def test_what_goes_wrong(env, bwrap_desktop, monkeypatch):
    with pytest.raises(ValueError, match="action_space"):
        DesktopEnv(action_space="other")
    with pytest.raises(TaskFormatError):
        env.reset(task_config={"id": "x"})
    env.reset(task_config=EXAMPLE)
    assert "name 'x'" in env.step("x.y()")[3]["message"]
    _, _, done, info = env.step("no code at all")
    assert (done, "code" in info["message"]) == (False, True)

    def broken(*arguments, **more):
        raise InfrastructureError("the desktop is gone")

    monkeypatch.setattr(env.client, "observe", broken, raising=False)
    monkeypatch.setattr(bwrap_desktop, "intact", lambda: False, raising=False)
    with pytest.raises(InfrastructureError, match="gone"):
        env.step(CODE[0])


@pytest.mark.parametrize(
    ("action", "clicks"),
    [
        ("pyautogui.click(10, 20)", [("click", 10, 20)]),
        ("Now I click.\n```python\npyautogui.rightClick(x=10, y=20.4)\n```", [("right", 10, 20)]),
        ("pyautogui.moveTo(5, 6)\npyautogui.doubleClick()", [("double", 5, 6)]),
        ("pyautogui.click(1, 2); pyautogui.dragTo(9, 9)", [("click", 1, 2), ("drag", 9, 9)]),
        ("pyautogui.moveTo(5, 6)\npyautogui.moveRel(1, -1)\npyautogui.scroll(-3)", [("scroll", 6, 5)]),
        ("pyautogui.scroll(-3, 7, 8)", [("scroll", 7, 8)]),
        ("x = 3\npyautogui.click(x, 4)\npyautogui.click()", []),
        ("pyautogui.click()", []),
        ("pyautogui.click(True, 4)", []),
        ("DONE", []),
        ({"action_type": "CLICK", "parameters": {"x": 3, "y": 4}}, [("click", 3, 4)]),
        ({"command": "pyautogui.click(3, 4)"}, [("click", 3, 4)]),
        ({"action_type": "NONE"}, []),
        (7, []),
    ],
)
def test_places_of_clicks(action, clicks):
    assert clicks_of(action) == [Click(*each) for each in clicks]


def test_marks():
    screen = np.zeros((600, 800, 3), np.uint8)
    for kind in ("click", "double", "right", "drag", "scroll"):
        marked = mark_clicks(screen, [Click(kind, 400, 300)])
        assert marked[300, 400].any()
        assert not marked[:200].any()
    assert not screen.any()
    assert mark_clicks(screen, [Click("click", -5, 10_000)]).shape == screen.shape


@pytest.mark.slow
def test_a_published_agent_plays(bwrap_desktop):
    """The agent of the package desktop-env, in an environment of its own; a script stands for its language model."""
    python = Isolated("osworld").python()
    program = ROOT / "tests" / "adapters" / "osworld_agent_program.py"
    given = json.dumps({"example": EXAMPLE, "code": CODE})
    done = subprocess.run([python, program], input=given, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer == {"score": 1.0, "idle": 0.0, "turns": 4, "images": True}
