"""Oracle agents: the keys of a task win it, those of its siblings do not."""

from collections.abc import Iterator

import gymnasium as gym
import pytest
from scripted_desktop import KINDS, SCRIPTED

from rlanything_agents.domains.osworld.oracle import Oracle
from rlanything_envs.osworld.desktop import Desktop
from rlanything_envs.osworld.env import OSWorldEnv
from rlanything_task_pools import Task
from rlanything_task_pools.osworld import DOMAIN, read_payload
from rlanything_task_pools.osworld.generate import HELD_OUT
from rlanything_task_pools.osworld.kinds import KINDS as OF_DESKTOPS

TERMINAL_AND_FILES = tuple(name for name, kind in OF_DESKTOPS.items() if kind.apps == ("os",))


@pytest.fixture(scope="module")
def env() -> Iterator[gym.Env]:
    made = OSWorldEnv(60, **SCRIPTED, observation=("accessibility_text",))
    yield made
    made.close()


def task_of(kind: str, difficulty: float = 0, seed: int = 7) -> Task:
    split = "valid_unseen" if kind in HELD_OUT else "train"
    return DOMAIN.generate(seed, split, kinds=[kind], difficulty=difficulty)


def play(env: gym.Env, task: Task, evaluator: str | None = None) -> tuple[int | None, float]:
    """Outcome and score of an episode of the oracle."""
    oracle = Oracle(task, evaluator=evaluator)
    _, info = env.reset(options={"task": task})
    over, score = False, 0.0
    while not over:
        _, score, terminated, truncated, info = env.step(oracle.act("", info).action)
        over = terminated or truncated
    return info["outcome"], score


@pytest.mark.parametrize("kind", KINDS)
def test_an_oracle_wins_with_its_own_keys_only(env: gym.Env, kind: str) -> None:
    task = task_of(kind)
    assert play(env, task) == (1, 1.0)
    sibling = next(name for name in read_payload(task.payload).evaluators if name != read_payload(task.payload).current)
    outcome, score = play(env, task, sibling)
    assert outcome == -1
    assert score < 1


def test_the_hardest_rung_is_won_too(env: gym.Env) -> None:
    for kind in KINDS:
        assert play(env, task_of(kind, 1.0)) == (1, 1.0), kind


@pytest.mark.slow
def test_oracles_win_on_a_real_desktop(bwrap_desktop: Desktop) -> None:
    """At least eight tasks of six kinds, by keyboard and mouse alone; nobody waits for a program that is slow."""
    real = OSWorldEnv(60, backend=bwrap_desktop, observation=("accessibility_text",))
    tasks = [task_of(kind, difficulty) for kind in TERMINAL_AND_FILES for difficulty in (0.0, 1.0)]
    played = [(task.traits["kind"], play(real, task)) for task in tasks]
    won = [kind for kind, result in played if result == (1, 1.0)]
    assert len(won) >= 8, played
    assert len(set(won)) >= 6
