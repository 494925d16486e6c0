"""Oracle agents: the keys of a task win it, those of its siblings do not."""

from collections.abc import Iterator

import gymnasium as gym
import pytest
from scripted_desktop import KINDS, SCRIPTED

from rlanything_agents.domains.osworld.oracle import Oracle, play_oracle
from rlanything_envs.osworld.desktop import Desktop
from rlanything_envs.osworld.env import OSWorldEnv
from rlanything_task_pools import Task, TaskFormatError
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


@pytest.mark.parametrize("kind", KINDS)
def test_an_oracle_wins_with_its_own_keys_only(env: gym.Env, kind: str) -> None:
    task = task_of(kind)
    won = play_oracle(env, task)
    assert (won.outcome, won.score, won.error) == (1, 1.0, ""), won
    assert won.actions[-1] == "DONE"
    assert len(won.actions) == len(Oracle(task))
    sibling = next(name for name in read_payload(task.payload).evaluators if name != read_payload(task.payload).current)
    lost = play_oracle(env, task, sibling)
    assert lost.outcome == -1
    assert lost.score < 1


def test_the_hardest_rung_is_won_too(env: gym.Env) -> None:
    for kind in KINDS:
        assert play_oracle(env, task_of(kind, 1.0)).outcome == 1, kind


def test_an_oracle_says_done_for_ever() -> None:
    oracle = Oracle(task_of("count_lines"))
    actions = [oracle.act() for _ in range(len(oracle) + 2)]
    assert actions[-3:] == ["DONE"] * 3
    assert "DONE" not in actions[: len(oracle) - 1]


def test_a_task_without_known_keys_is_refused() -> None:
    task = task_of("count_lines")
    other = Task(domain=task.domain, goal=task.goal, payload={**task.payload, "source": {"id": "somewhere"}})
    with pytest.raises(TaskFormatError, match=r"osworld-"):
        Oracle(other)


@pytest.mark.slow
def test_oracles_win_on_a_real_desktop(bwrap_desktop: Desktop) -> None:
    """At least eight tasks of six kinds, by keyboard and mouse alone; nobody waits for a program that is slow."""
    real = OSWorldEnv(60, backend=bwrap_desktop, observation=("accessibility_text",))
    tasks = [task_of(kind, difficulty) for kind in TERMINAL_AND_FILES for difficulty in (0.0, 1.0)]
    played = [(task.traits["kind"], play_oracle(real, task)) for task in tasks]
    won = [kind for kind, result in played if result.outcome == 1]
    assert len(won) >= 8, [(kind, result.score) for kind, result in played]
    assert len(set(won)) >= 6
