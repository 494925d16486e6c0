"""Episodes of an interactive problem."""

import gymnasium as gym
import pytest
from coding_tasks import ASKS, GUESSES, act, make_interactive_task

from rlanything_envs.coding.env import CodingEnv
from rlanything_verifiers.coding import Sandbox, SandboxUnsupported

TASK = make_interactive_task()


@pytest.fixture
def env():
    return gym.make("RLAnything/Coding-v0", tasks=[TASK])


def test_the_opening_shows_a_conversation_and_says_how_to_talk(env):
    observation, _ = env.reset(seed=0)
    assert "Sample 1\nKnown to the judge only:\n3\nConversation:\n> ? 5\n< no\n" in observation
    assert "Flush after each line" in observation
    assert "reads standard input" not in observation


def test_each_action(env):
    env.reset(seed=0)
    observation, *_ = env.step(act("RUN", ASKS, "yes\nyes\nyes"))
    assert observation.startswith("RUN: finished.\nOutput:\n? 5\n? 7\n? 8\n! 8\n"), "the answers are the agent's"
    observation, _, _, _, info = env.step(act("TEST", GUESSES))
    assert info["public_verdicts"] == ["AC"]
    observation, _, _, _, info = env.step(act("TEST", "print('! 6')"))
    assert info["public_verdicts"] == ["WA"]
    assert "> ! 6" in observation
    _, reward, terminated, truncated, info = env.step(act("SUBMIT", ASKS))
    assert (reward, terminated, truncated, info["outcome"]) == (1.0, True, False, 1)
    assert info["hidden_counts"] == {"AC": 3}


def test_a_guess_gets_the_share_that_it_is_right_about():
    env = gym.make("RLAnything/Coding-v0", tasks=[TASK], reward="fraction")
    env.reset(seed=0)
    observation, reward, *_, info = env.step(act("SUBMIT", "print('! 4')"))
    assert reward == pytest.approx(1 / 3)
    assert info["outcome"] == -1
    assert "> !" not in observation, "conversations of hidden tests are not shown"


def test_a_backend_that_cannot_is_named_at_the_reset(monkeypatch):
    env = CodingEnv(tasks=[TASK])
    with Sandbox(1) as sandbox:
        sandbox.tier = "docker"
        monkeypatch.setattr(env, "_sandbox", lambda: sandbox)
        with pytest.raises(SandboxUnsupported, match="backend='process'"):
            env.reset()
