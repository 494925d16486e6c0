"""The coding environment."""

import json
import sys
import time

import gymnasium as gym
import pytest
from coding_tasks import POSITIVE_ONLY, RIGHT, WRONG, act, make_task

from rlanything_envs import Verdict
from rlanything_envs.coding.env import CodingEnv, problem_of
from rlanything_envs.coding.messages import MAX_OBSERVATION_LENGTH
from rlanything_envs.errors import EpisodeOver, InfrastructureError
from rlanything_task_pools import Task, TaskFormatError
from rlanything_verifiers.coding import Run, SandboxError

ID = "RLAnything/Coding-v0"
TASK = make_task()
INFO = ["task_id", "action", "command", "turn", "turns_left", "public_verdicts", "hidden_counts", "sandbox", "outcome"]


def make(**arguments):
    return gym.make(ID, **{"tasks": [TASK]} | arguments)


@pytest.fixture
def env():
    return make()


def test_an_episode_from_first_try_to_success(env):
    observation, info = env.reset(seed=0)
    assert observation.startswith("Print the sum of two integers.")
    assert "Sample 2\nInput:\n5 5\nOutput:\n10\n" in observation
    assert "2 s of processor time, 512 MiB" in observation
    assert observation.endswith("Turns left: 8.")
    assert list(info) == INFO
    assert (info["task_id"], info["turn"], info["turns_left"], info["outcome"]) == (TASK.id, 0, 8, None)

    observation, reward, terminated, truncated, info = env.step(act("RUN", "print(input() * 2)", "ab"))
    assert observation == "RUN: finished.\nOutput:\nabab\nTurns left: 7."
    assert (reward, terminated, truncated, info["outcome"], info["action"]) == (0.0, False, False, None, "RUN")

    observation, reward, terminated, truncated, info = env.step(act("TEST", "print(3)"))
    assert observation == (
        "TEST: 1 of 2 samples accepted.\nSample 1: accepted\n"
        "Sample 2: wrong answer (token 1: expected '10', got '3')\nTurns left: 6."
    )
    assert info["public_verdicts"] == ["AC", "WA"]
    assert (reward, terminated, truncated, info["outcome"], info["hidden_counts"]) == (0.0, False, False, None, {})

    observation, reward, terminated, truncated, info = env.step(act("SUBMIT", RIGHT))
    assert observation == "SUBMIT: 4 of 4 hidden tests accepted: 4 accepted."
    assert (reward, terminated, truncated, info["outcome"]) == (1.0, True, False, Verdict.SUCCESS)
    assert info["hidden_counts"] == {"AC": 4}
    assert info["public_verdicts"] == []
    assert json.loads(json.dumps(info))["outcome"] == 1
    with pytest.raises(EpisodeOver):
        env.unwrapped.step("RUN")


@pytest.mark.parametrize(("mode", "reward"), [("all", 0.0), ("fraction", 0.75)])
def test_rewards_of_a_program_that_is_partly_right(mode, reward):
    env = make(reward=mode)
    env.reset()
    observation, got, terminated, _, info = env.step(act("SUBMIT", POSITIVE_ONLY))
    assert (got, terminated, info["outcome"]) == (reward, True, Verdict.FAILURE)
    assert info["hidden_counts"] == {"AC": 3, "WA": 1}
    assert observation == "SUBMIT: 3 of 4 hidden tests accepted: 3 accepted, 1 wrong answer."


def test_giving_up_and_running_out_of_turns():
    env = make(max_turns=2, reward="fraction")
    env.reset()
    _, reward, terminated, truncated, info = env.step("I cannot do it.\nGIVE_UP")
    assert (reward, terminated, truncated, info["outcome"]) == (0.0, True, False, Verdict.FAILURE)
    env.reset()
    env.step("hello")
    observation, reward, terminated, truncated, info = env.step(act("TEST", RIGHT))
    assert observation.endswith("This was the last turn.")
    assert (reward, terminated, truncated, info["outcome"]) == (0.0, True, False, Verdict.FAILURE)


def test_one_turn():
    env = make(max_turns=1)
    observation, _ = env.reset()
    assert "RUN" not in observation
    _, reward, terminated, _, info = env.step(f"The answer:\n```python\n{RIGHT}\n```")
    assert (reward, terminated, info["outcome"], info["turns_left"]) == (1.0, True, Verdict.SUCCESS, 0)
    env.reset()
    observation, reward, terminated, _, info = env.step("42")
    assert "No action was taken" in observation
    assert (reward, terminated, info["outcome"]) == (0.0, True, Verdict.FAILURE)


@pytest.mark.parametrize(
    "action",
    ["", "look", "\ud800", "x" * 200_000, "SUBMIT", "I RUN or TEST it.\n```\nprint(1)\n```", "RUN\n```\n\n```"],
)
def test_what_is_no_action_uses_the_turn_and_says_why(action, env):
    env.reset()
    observation, reward, terminated, truncated, info = env.step(action)
    assert observation.startswith("No action was taken: ")
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert (info["turn"], info["action"], info["command"], info["outcome"]) == (1, None, "unreadable", None)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("print(1 / 0)", "RUN: runtime error.\nOutput:\n(nothing)\nErrors:\nTraceback"),
        ("print(", "SyntaxError: '(' was never closed"),
        ("while True: pass", "RUN: over the limit of processor time."),
        ("x = [0] * 10**9", "RUN: out of memory."),
        ("while True: print('x' * 9999)", "RUN: printed too much."),
        ("print('a' * 5000 + 'b' * 5000)", "a\n[6001 characters left out]\nb"),
        ("import sys\nprint('why', file=sys.stderr)", "RUN: finished.\nOutput:\n(nothing)\nErrors:\nwhy"),
        ("import sys\nsys.stdout.buffer.write(b'\\xff\\x00')", "Output:\n\ufffd\\x00"),
        ("print('\\x1b[2Jred\\u202e\\ttab')", "Output:\n\\x1b[2Jred\\u202e\ttab\n"),
        ("import json\njson.loads('{')", '\n  File "main.py", line 2, in <module>\n  File "json/__init__.py", line '),
    ],
)
def test_what_a_run_says(code, words):
    env = make(tasks=[make_task(limits={"cpu": 0.3})])
    env.reset()
    observation, *_ = env.step(act("RUN", code))
    assert words in observation
    assert len(observation) < 8000
    assert sys.prefix not in observation
    assert sys.base_prefix not in observation


def test_a_program_in_another_language_is_refused_in_words(env):
    env.reset()
    observation, reward, terminated, _, info = env.step("SUBMIT\n```cpp\nint main() {}\n```")
    assert observation.startswith("No action was taken: this task takes Python; your block is C++.\n")
    assert (reward, terminated, info["command"], info["turn"]) == (0.0, False, "impossible", 1)


def test_a_lone_program_is_submitted_in_any_number_of_turns(env):
    env.reset()
    _, reward, terminated, _, info = env.step(f"The answer:\n```python\n{RIGHT}\n```")
    assert (reward, terminated, info["action"], info["command"]) == (1.0, True, "SUBMIT", "ok")


def test_the_last_block_is_the_submission_where_answers_are_code():
    env = make(action_format="code", max_turns=3)
    observation, info = env.reset()
    assert info["command"] is None
    assert "TEST" not in observation
    assert "The last block of your message is submitted" in observation
    observation, _, terminated, _, info = env.step("TEST it")
    assert (terminated, info["command"]) == (False, "unreadable")
    assert "there is no program" in observation
    _, reward, terminated, _, info = env.step(f"TEST\n```\n{WRONG}\n```\nbetter:\n```python\n{RIGHT}\n```")
    assert (reward, terminated, info["action"]) == (1.0, True, "SUBMIT")


# Hidden tests

SECRETS = ("31337", "31341", "77001", "77000", "98765", "98766")
SPIES = [
    RIGHT,
    WRONG,
    "import sys\ndata = sys.stdin.read()\nprint(data)\nprint(data, file=sys.stderr)\nraise ValueError(data)",
    "import sys\nsys.exit(input())",
    "a = input()\nexec(a + ' +')",
    "import sys\nprint(sys.stdin.read() * 100000)",
    "n = int(input().split()[0])\nwhile True: n += 1",
    "f = open('/tmp/secret', 'a')\nf.write(input())",
]


@pytest.mark.parametrize("mode", ["all", "fraction"])
def test_hidden_tests_are_nowhere_to_be_seen(mode):
    env = make(tasks=[make_task(limits={"cpu": 0.3})], reward=mode, render_mode="ansi")
    for spy in SPIES:
        told = [*env.reset()]
        for verb in ("RUN", "TEST", "SUBMIT"):
            told += env.step(act(verb, spy, "1 1"))
        told.append(env.render())
        assert told[-2]["outcome"] in (1, -1)
        text = repr(told)
        assert not [secret for secret in SECRETS if secret in text]


# Infrastructure


class Failing:
    """A sandbox that fails as it is told."""

    tier, identity, workers = "full", "full", 1

    def __init__(self, failure):
        self.failure = failure

    def run(self, program, inputs, limits, stop=None, language="python"):
        if isinstance(self.failure, Exception):
            raise self.failure
        return [self.failure] * len(inputs)


@pytest.mark.parametrize("failure", [Run("IE", detail="lost"), SandboxError("no workers")])
@pytest.mark.parametrize("verb", ["RUN", "TEST", "SUBMIT"])
def test_a_failing_sandbox_is_no_reward_and_no_loss(verb, failure, env):
    env.reset()
    env.unwrapped._sandbox = lambda: Failing(failure)
    observation, reward, terminated, truncated, info = env.step(act(verb, f"print({time.time_ns()})"))
    assert (reward, terminated, truncated, info["outcome"]) == (0.0, False, True, "error")
    assert observation.startswith("The judge failed")
    with pytest.raises(EpisodeOver):
        env.unwrapped.step("RUN")


def test_a_judge_that_breaks_down_raises(env):
    env.reset()
    env.unwrapped._sandbox = lambda: Failing(KeyError("bug"))
    with pytest.raises(InfrastructureError, match="bug"):
        env.step(act("SUBMIT", f"print({time.time_ns()})"))
    with pytest.raises(EpisodeOver):
        env.unwrapped.step("RUN")

    def broken():
        raise SandboxError("no workers")

    env.unwrapped._sandbox = broken
    with pytest.raises(InfrastructureError, match="no workers"):
        env.reset()


def test_a_failing_checker_is_no_reward_and_no_loss():
    env = make(tasks=[make_task(checker={"kind": "python", "source": "1 / 0"})])
    env.reset()
    _, reward, terminated, truncated, info = env.step(act("SUBMIT", RIGHT))
    assert (reward, terminated, truncated, info["outcome"]) == (0.0, False, True, "error")


# Tasks


def test_functions():
    tests = [{"stdin": "[1, 2]", "stdout": "3"}]
    env = make(tasks=[make_task("Write add.", public=tests, hidden=tests, entry_point="add")])
    observation, _ = env.reset()
    assert "Write the Python 3 function add." in observation
    assert "def add(...)" in observation
    assert "input()" not in observation
    env.step(act("TEST", "def add(a, b): return a - b"))
    _, reward, *_ = env.step(act("SUBMIT", "def add(a, b): return a + b"))
    assert reward == 1.0


def test_a_task_without_samples():
    env = make(tasks=[make_task(public=[])])
    observation, _ = env.reset()
    assert "Sample" not in observation
    observation, _, terminated, _, info = env.step(act("TEST", RIGHT))
    assert "no samples" in observation
    assert (terminated, info["public_verdicts"], info["turn"], info["command"]) == (False, [], 1, "impossible")


def test_long_problems_fit_the_space():
    samples = [{"stdin": f"{i}" * 50_000, "stdout": "x\n" * 20_000} for i in range(9)]
    env = make(tasks=[make_task("s" * 10_000, public=samples)])
    observation, _ = env.reset()
    assert env.observation_space.contains(observation)
    assert len(observation) < MAX_OBSERVATION_LENGTH // 2
    assert "4 more samples are not shown." in observation
    observation, *_ = env.step(act("TEST", "raise ValueError('x' * 1000)"))
    assert len(observation) < 10_000


def test_generated_tasks_are_the_default_and_their_proofs_win():
    env = gym.make(ID)
    _, info = env.reset(seed=1)
    task = env.unwrapped.source.find(info["task_id"])
    assert task.payload["statement"] in env.reset(options={"task": task.id})[0]
    assert env.step(act("SUBMIT", task.proof[0]))[1] == 1.0
    env.reset(options={"task": task})
    assert env.step(act("SUBMIT", task.payload["wrong"][0]))[1] == 0.0


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ({"hidden": []}, "hidden"),
        ({"checker": {"kind": "nope"}}, "is unknown"),
        ({"checker": {"kind": "float", "abs": -1}}, "abs must be"),
        ({"entry_point": "f"}, "must be JSON"),
        ({"limits": {"cpu": 0}}, "cpu"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_tasks_that_cannot_be_played_are_refused_at_the_reset(payload, words, env):
    task = TASK.model_copy(update={"payload": {**TASK.payload, **payload}})
    with pytest.raises(TaskFormatError, match=words):
        env.reset(options={"task": task})
    with pytest.raises(TaskFormatError, match="of the domain 'alfworld'"):
        problem_of(Task(domain="alfworld", goal="x", payload={}))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"max_turns": 0}, "max_turns"),
        ({"max_turns": True}, "max_turns"),
        ({"action_format": "json"}, "choose 'verbs' or 'code'"),
        ({"reward": "some"}, "choose 'all' or 'fraction'"),
        ({"backend": "magic"}, "choose 'process' or 'docker'"),
        ({"render_mode": "human"}, "render_mode"),
        ({"tasks": []}, "empty"),
        ({"tasks": None, "split": "test"}, "choose from train"),
        ({"tasks": None, "knobs": {"difficulty": 2}}, "difficulty"),
    ],
)
def test_wrong_arguments_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        CodingEnv(**{"tasks": [TASK]} | arguments)


# Conformance
