"""The desktop environment, on a scripted stand-in of a desktop; `osworld/` has the tests on a real one."""

import json
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from osworld_tasks import HAS_TEXT, INFEASIBLE, INSTRUCTION, PATH, SETUP, SOLUTION, make
from scripted_desktop import SCRIPTED

from rlanything_envs import Verdict
from rlanything_envs.errors import EpisodeOver, InfrastructureError, InvalidAction, SettingError
from rlanything_envs.osworld.desktop import DesktopError, make_desktop
from rlanything_envs.osworld.env import OSWorldEnv, problem_of
from rlanything_envs.osworld.view import OBSERVATIONS
from rlanything_task_pools import Task, TaskFormatError

ID = "RLAnything/OSWorld-v0"
TASK = make()
SMALL = {**SCRIPTED, "screen": [800, 600]}
INFO = ["task_id", "instruction", "evaluator", "action", "command", "turn", "turns_left", "message"]
INFO += ["outcome", "error", "agent_crash", "independent"]


def made(**arguments):
    return gym.make(ID, **{"tasks": [TASK], "observation": "text", **SMALL, **arguments})


@pytest.fixture
def env():
    env = made()
    yield env
    env.close()


def play(env, actions):
    """The last of what the actions came to."""
    for action in actions:
        result = env.step(action)
    return result


# --- an episode ---


def test_an_episode_from_the_task_to_the_score(env):
    observation, info = env.reset(seed=0)
    assert observation.startswith(f"Task: {INSTRUCTION}\n\nSend one action a message: Python code")
    assert "the screen has 800 by 600" in observation
    assert 'text="hello"' in observation
    assert observation.endswith("\nTurns left: 15.")
    assert list(info) == INFO
    assert (info["task_id"], info["evaluator"], info["turn"], info["outcome"]) == (TASK.id, "evaluator1", 0, None)
    for turn, action in enumerate(SOLUTION, 1):
        observation, reward, terminated, truncated, info = env.step(f"```python\n{action}\n```")
        assert (reward, terminated, truncated, info["outcome"]) == (0.0, False, False, None)
        assert (info["action"], info["turn"], info["turns_left"], info["message"]) == ("CODE", turn, 15 - turn, "")
        assert info["command"] == "ok"
    assert observation.startswith("Screen:\n")
    assert 'text="hello you"' in observation
    observation, reward, terminated, truncated, info = env.step("DONE")
    assert (reward, terminated, truncated, info["outcome"]) == (1.0, True, False, Verdict.SUCCESS)
    assert (info["action"], info["error"]) == ("DONE", "")
    assert json.loads(json.dumps(info))["outcome"] == 1
    with pytest.raises(EpisodeOver):
        env.unwrapped.step("DONE")


def test_done_too_early_is_a_failure(env):
    env.reset()
    _, reward, terminated, truncated, info = play(env, [*SOLUTION[:2], "DONE"])
    assert (reward, terminated, truncated, info["outcome"]) == (0.0, True, False, Verdict.FAILURE)


@pytest.mark.parametrize("limit", ["max_turns", "max_episode_steps"])
@pytest.mark.parametrize(("actions", "reward"), [(SOLUTION, 1.0), (SOLUTION[:2], 0.0)])
def test_the_last_turn_is_scored(actions, reward, limit):
    env = made(**{limit: len(actions)})
    env.reset()
    _, got, terminated, truncated, info = play(env, actions)
    assert (got, terminated, truncated) == (reward, False, True)
    assert info["outcome"] == (Verdict.SUCCESS if reward else Verdict.FAILURE)
    with pytest.raises(EpisodeOver):
        env.unwrapped.step("DONE")


def test_code_and_a_word_in_one_turn(env):
    env.reset()
    _, reward, terminated, *_ = env.step("\n".join([*SOLUTION, "DONE"]))
    assert (reward, terminated) == (1.0, True)


@pytest.mark.parametrize(
    ("evaluator", "last", "reward"),
    [
        (INFEASIBLE, "FAIL", 1.0),
        (INFEASIBLE, "DONE", 0.0),
        (INFEASIBLE, "pyautogui.press('a')", 0.0),
        (HAS_TEXT, "FAIL", 0.0),
    ],
)
def test_infeasible_tasks(evaluator, last, reward):
    """Upstream's rule: only the last action counts, and giving up is right where nothing could be done."""
    env = made(tasks=[make(evaluator)], max_turns=4)
    env.reset()
    _, got, _, _, info = play(env, [*SOLUTION, last])
    assert got == reward
    assert info["outcome"] == (1 if reward else -1)


def test_failing_earlier_does_not_count():
    env = made(tasks=[make(INFEASIBLE)])
    env.reset()
    assert play(env, ["I may FAIL\n```python\npyautogui.press('a')\n```", "DONE"])[1] == 0.0


def test_the_state_is_put_in_order_before_it_is_scored():
    """As published tasks do: the document is saved after the agent has finished."""
    command = ["python", "-c", "import pyautogui; import time; pyautogui.hotkey('ctrl', 's');"]
    postconfig = [
        {"type": "activate_window", "parameters": {"window_name": "a.txt - Mousepad"}},
        {"type": "sleep", "parameters": {"seconds": 0.1}},
        {"type": "execute", "parameters": {"command": command}},
    ]
    env = made(tasks=[make({**HAS_TEXT, "postconfig": postconfig})])
    env.reset()
    assert play(env, [*SOLUTION[:2], "DONE"])[1] == 1.0


def test_what_the_agent_has_removed_is_no_infrastructure():
    postconfig = [{"type": "open", "parameters": {"path": "/home/user/Desktop/gone.txt"}}]
    env = made(tasks=[make({**HAS_TEXT, "postconfig": postconfig})])
    env.reset()
    assert play(env, [*SOLUTION, "DONE"])[1] == 1.0
    env = made(tasks=[make(config=[*SETUP, *postconfig])])
    with pytest.raises(DesktopError, match=r"config\[2\] \(open\)"):
        env.reset()


# --- actions ---


@pytest.mark.parametrize("action", ["", "look", "\ud800", "x" * 200_000, "```python\n```", "\x00DONE"])
def test_what_is_no_action_uses_the_turn_and_says_why(action, env):
    env.reset()
    observation, reward, terminated, truncated, info = env.step(action)
    assert observation.startswith("No action was taken: ")
    assert info["message"] in observation
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert (info["turn"], info["action"], info["outcome"]) == (1, None, None)


def test_code_that_fails_is_told(env):
    env.reset()
    _, reward, terminated, truncated, info = env.step("```python\npyautogui.no_such_function()\n```")
    assert (reward, terminated, truncated, info["outcome"], info["action"]) == (0.0, False, False, None, "CODE")
    assert info["message"].startswith("The action failed with exit status 1: ")
    assert "no_such_function" in info["message"]
    assert info["command"] == "impossible"
    assert env.step("What shall I do?")[-1]["command"] == "unreadable"
    assert env.step("print('a\\x1b[2Jb')")[-1]["message"] == "The action printed: a\\x1b[2Jb"


def test_dictionaries():
    env = made(action_space="computer_13", observation=["instruction", "text"])
    observation, _ = env.reset()
    assert '{"action_type": "CLICK", "parameters": {"x": 200, "y": 300}}' in observation["text"]
    actions = [
        {"action_type": "PRESS", "parameters": {"key": "end"}},
        'I type it.\n```json\n{"action_type": "TYPING", "parameters": {"text": " you"}}\n```',
        {"action_type": "HOTKEY", "keys": ["ctrl", "s"]},
        {"action_type": "DONE"},
    ]
    assert play(env, actions)[1] == 1.0
    env.reset()
    _, _, terminated, _, info = env.step({"action_type": "CLICK", "x": 9999, "y": 0})
    assert (terminated, info["action"]) == (False, None)
    assert info["message"] == "No action was taken: CLICK: x must be a number up to 800, not 9999."
    with pytest.raises(InvalidAction):
        env.unwrapped.step(None)


def test_relative_coordinates():
    env = made(relative_coordinates=1000)
    observation, _ = env.reset()
    assert "x and y run from 0 to 1000" in observation
    env.step("pyautogui.moveTo(500, 250)")
    assert env.unwrapped._machine.client.cursor_position() == (400, 150)
    *_, info = env.step("pyautogui.moveTo(*place)")
    assert "relative coordinates" in info["message"]


# --- observations ---


def test_every_observation_is_in_its_space():
    env = made(observation=list(OBSERVATIONS))
    observation, _ = env.reset()
    assert set(observation) == set(OBSERVATIONS)
    assert env.observation_space.contains(observation)
    assert observation["screenshot"].shape == (600, 800, 3)
    assert observation["screenshot"].dtype == np.uint8
    assert observation["accessibility_tree"].startswith("<desktop-frame")
    assert 'text="hello"' in observation["accessibility_text"]
    assert observation["accessibility_text"] in observation["text"]
    assert observation["instruction"] == INSTRUCTION
    assert observation["terminal"] == ""
    assert observation["message"] in observation["text"], "it says how to act"
    after, *_ = env.step("pyautogui.write('x')")
    assert env.observation_space.contains(after)
    assert (after["screenshot"] != observation["screenshot"]).any()


def test_the_terminal():
    config = [{"type": "launch", "parameters": {"command": ["gnome-terminal"]}}]
    env = made(tasks=[make(config=config)], observation=["terminal"])
    env.reset()
    observation, *_ = env.step("pyautogui.write('echo one\\n')")
    assert "one" in observation["terminal"]


@pytest.mark.parametrize("name", list(OBSERVATIONS))
def test_subsets(name):
    env = made(observation=[name])
    assert list(env.reset()[0]) == [name]


def test_the_default_observation():
    env = gym.make(ID, tasks=[TASK], **SMALL)
    assert list(env.observation_space) == ["accessibility_tree", "instruction", "screenshot"]


# --- infrastructure ---


class Failing:
    """A machine whose desktop fails as it is told."""

    independent = True

    def __init__(self, machine, failure):
        self.machine, self.failure = machine, failure

    @property
    def client(self):
        raise self.failure

    def replace(self):
        self.machine.replace()

    def close(self):
        self.machine.close()


def test_a_failing_desktop_is_no_reward_and_no_loss(env):
    env.reset()
    machine = env.unwrapped._machine
    env.unwrapped._machine = Failing(machine, DesktopError("no answer"))
    observation, reward, terminated, truncated, info = env.step("DONE")
    assert (reward, terminated, truncated, info["outcome"]) == (0.0, False, True, "error")
    assert info["error"] == "no answer"
    assert observation.startswith("The desktop failed")
    with pytest.raises(EpisodeOver):
        env.unwrapped.step("DONE")
    env.unwrapped._machine = machine
    env.reset()  # on a new desktop
    assert play(env, [*SOLUTION, "DONE"])[1] == 1.0


def test_a_desktop_that_breaks_down_raises(env):
    env.reset()
    env.unwrapped._machine = Failing(env.unwrapped._machine, KeyError("bug"))
    with pytest.raises(InfrastructureError, match="bug"):
        env.step("DONE")
    with pytest.raises(EpisodeOver):
        env.unwrapped.step("DONE")


def test_a_failing_desktop_still_gives_an_observation_of_the_space():
    env = made(observation=list(OBSERVATIONS))
    env.reset()
    env.unwrapped._machine = Failing(env.unwrapped._machine, DesktopError("no answer"))
    observation, *_ = env.step("DONE")
    assert env.observation_space.contains(observation)
    assert not observation["screenshot"].any()


def test_a_missing_file_of_the_task_is_found_before_the_agent_begins(tmp_path):
    gold = {"type": "cloud_file", "path": "https://example.org/gold.txt", "dest": "gold.txt"}
    env = made(tasks=[make({**HAS_TEXT, "expected": gold})], assets=str(tmp_path))
    with pytest.raises(InfrastructureError, match=r"https://example.org/gold.txt.*rlanything desktop fetch-assets"):
        env.reset()
    path = env.unwrapped.files.path(gold["path"])
    path.parent.mkdir(parents=True)
    path.write_text("hello you")
    env.reset()
    assert play(env, [*SOLUTION, "DONE"])[1] == 1.0


def test_files_are_brought_into_the_desktop(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "a.txt").write_text("hello")
    config = [{"type": "download", "parameters": {"files": [{"url": "asset:a.txt", "path": PATH}]}}, SETUP[1]]
    env = made(tasks=[make(config=config)], assets=str(tmp_path))
    env.reset()
    assert play(env, [*SOLUTION, "DONE"])[1] == 1.0


# --- tasks ---


def test_generated_tasks_are_the_default_and_their_proofs_win():
    env = gym.make(ID, observation="text", max_turns=40, **SMALL)
    observation, info = env.reset(seed=1)
    task = env.unwrapped.source.find(info["task_id"])
    assert task.goal in observation
    assert play(env, [*task.proof, "DONE"])[1] == 1.0
    env.reset(options={"task": task.id})
    assert env.step("DONE")[1] == 0.0


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ({"current": "evaluator9"}, "evaluator9"),
        ({"surprise": 1}, "surprise"),
        ({"config": [{"type": "reboot", "parameters": {}}]}, "reboot"),
        ({"config": [{"type": "open", "parameters": {}}]}, r"config\[0\]: open needs"),
        ({"evaluators": {"evaluator1": {"func": "no_such"}}}, "no_such"),
        ({"evaluators": {"evaluator1": {**INFEASIBLE, "postconfig": [{"type": "x"}]}}}, r"postconfig\[0\]"),
    ],
)
def test_tasks_that_cannot_be_played_are_refused_at_the_reset(payload, words, env):
    task = TASK.model_copy(update={"payload": {**TASK.payload, **payload}})
    with pytest.raises(TaskFormatError, match=words) as caught:
        env.reset(options={"task": task})
    assert task.id in str(caught.value)
    with pytest.raises(TaskFormatError, match="of the domain 'alfworld'"):
        problem_of(Task(domain="alfworld", goal="x", payload={}))


def test_tasks_that_need_an_account_are_refused(env):
    config = [{"type": "login", "parameters": {"settings_file": "x", "platform": "googledrive"}}]
    with pytest.raises(TaskFormatError, match=r"task osworld-\w+: config\[0\]: the step 'login' needs an account"):
        env.reset(options={"task": TASK.model_copy(update={"payload": {**TASK.payload, "config": config}})})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"max_turns": 0}, "max_turns"),
        ({"max_turns": True}, "max_turns"),
        ({"action_space": "keys"}, "choose pyautogui, computer_13, computer_use"),
        ({"backend": "magic"}, "bwrap, docker, vm, http"),
        ({"desktop": {"colour": 1}}, None),
        ({"render_mode": "human"}, "render_mode"),
        ({"observation": "screenshot"}, "'text' or a list of names"),
        ({"observation": []}, "must name something"),
        ({"observation": ["text", "text"]}, "nothing twice"),
        ({"observation": ["smell"]}, "'smell' is unknown"),
        ({"relative_coordinates": -1}, "relative_coordinates"),
        ({"relative_coordinates": float("nan")}, "relative_coordinates"),
        ({"screen": [1, 2]}, "320 to 8192"),
        ({"settle": {"cap": -1}}, "cap"),
        ({"tasks": []}, "empty"),
        ({"tasks": None, "split": "test"}, "choose from train"),
        ({"tasks": None, "knobs": {"difficulty": 2}}, "difficulty"),
    ],
)
def test_wrong_arguments_are_refused(arguments, words):
    if words is None:
        with pytest.raises(SettingError, match="colour"):
            OSWorldEnv(**{"tasks": [TASK], **SMALL, **arguments}).reset()
        return
    with pytest.raises(ValueError, match=words):
        OSWorldEnv(**{"tasks": [TASK], **SMALL, **arguments})


# --- desktops ---


def test_a_given_desktop_is_put_back_and_left_to_its_owner():
    desktop = make_desktop("scripted", screen=(800, 600))
    desktop.start()
    desktop.client.upload("/home/user/Desktop/old.txt", b"x")
    env = made(backend=desktop)
    env.reset()
    assert desktop.client.read_file("/home/user/Desktop/old.txt") is None
    env.close()
    assert desktop.client.read_file(PATH) == b"hello"
    with pytest.raises(SettingError, match="give screen=\\(800, 600\\)"):
        made(backend=desktop, screen=[640, 480]).reset()
    with pytest.raises(SettingError, match="made already"):
        made(backend=desktop, desktop={"network": True})


# --- conformance ---


@pytest.mark.parametrize(
    "arguments", [{}, {"observation": ["screenshot", "terminal"]}, {"action_space": "computer_13"}]
)
def test_gymnasium_has_no_objection(arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(made(tasks=[json.loads(TASK.to_json())], render_mode="rgb_array", **arguments).unwrapped)


def test_pictures(env):
    drawn = made(render_mode="rgb_array")
    drawn.reset()
    before = drawn.render()
    assert (before.shape, before.dtype) == ((600, 800, 3), np.uint8)
    drawn.step("pyautogui.write('x')")
    assert (drawn.render() != before).any()
    drawn.close()
    assert drawn.unwrapped.render().shape == (600, 800, 3)
    env.reset()
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.unwrapped.render() is None
