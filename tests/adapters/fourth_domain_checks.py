"""Tests of the example of a fourth domain; `test_example_domains.py` runs them where it is installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from number_path import DOMAIN, ENV_ID, LARGEST, MOVES, OPERATIONS, Puzzle, make_task, paths
from typer.testing import CliRunner

from rlanything_agents.tools.cli import app
from rlanything_envs import AdaptiveDifficulty, Conversation
from rlanything_envs.adapters.trl import text_environment
from rlanything_envs.testing import check_text_env
from rlanything_task_pools import Domain, KnobError, Rejection, Task, TaskFormatError, TaskPool, get_domain


def test_it_is_found_by_its_name() -> None:
    assert get_domain("numberpath") is DOMAIN
    assert isinstance(DOMAIN, Domain)


def test_its_environment_keeps_the_contract() -> None:
    check_text_env(ENV_ID)


def test_a_conversation_is_won_by_the_proof() -> None:
    task = DOMAIN.generate(4, length=5)
    with Conversation(ENV_ID) as conversation:
        turn = conversation.start(task)
        assert turn.commands == sorted(task.payload["operations"])
        for operation in task.proof:
            assert not turn.done
            turn = conversation.answer(f"I think of {operation}.\nSo: **{operation}**")
        assert (turn.won, turn.reward) == (True, 1.0)


def test_adapters_know_it_too() -> None:
    task = DOMAIN.generate(0)
    with text_environment(ENV_ID) as factory:
        env = factory()
        env.reset(task=task.to_json())
        for operation in task.proof:
            env.act(operation)
        assert env.get_reward() == 1.0


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(2, 6))
def test_generated_tasks_are_proved(seed: int, length: int, operations: int) -> None:
    task = DOMAIN.generate(seed, length=length, operations=operations)
    assert task == DOMAIN.generate(seed, length=length, operations=operations)
    assert (len(task.proof), DOMAIN.verify(task)) == (length, None)
    assert Task.from_json(task.to_json()).id == task.id


def test_knobs_that_cannot_be() -> None:
    for knobs in ({"length": 0}, {"length": MOVES + 1}, {"operations": 1}, {"size": 3}):
        with pytest.raises(KnobError):
            DOMAIN.generate(0, **knobs)
    with pytest.raises(KnobError):
        DOMAIN.with_operators(["goal"])


@given(st.integers(0, LARGEST), st.sets(st.sampled_from(OPERATIONS), min_size=1).map(sorted).map(tuple))
def test_paths_lead_where_they_say(start: int, operations: tuple[str, ...]) -> None:
    puzzle = Puzzle(start, start, operations)
    for target, path in paths(start, operations).items():
        number = start
        for operation in path:
            number = puzzle.after(number, operation)
        assert number == target


@pytest.mark.parametrize("direction", ["harder", "easier"])
def test_every_proposal_becomes_a_proved_task(direction: Any) -> None:
    task = DOMAIN.generate(1)
    for proposal in DOMAIN.propose(task, direction, np.random.default_rng(0))[:40]:
        rewritten = DOMAIN.validate(task, proposal, direction=direction, author="scripted")
        assert isinstance(rewritten, Task)
        assert DOMAIN.verify(rewritten) is None
        assert (len(rewritten.proof) > len(task.proof)) == (direction == "harder")
        assert (rewritten.parent, rewritten.root) == (task.id, task.id)


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["target", "start", "x"]), inner),
    max_leaves=6,
)


@given(json_like, st.sampled_from(["harder", "easier"]))
def test_what_a_model_writes_is_a_proved_task_or_rejected(proposal: Any, direction: Any) -> None:
    result = DOMAIN.validate(DOMAIN.generate(2), proposal, direction=direction, author="model")
    assert isinstance(result, Rejection) or DOMAIN.verify(result) is None


@pytest.mark.parametrize(
    ("proposal", "reason"),
    [
        ({"target": 8, "start": 1}, "malformed"),
        ({"target": True}, "malformed"),
        ({"target": LARGEST + 1}, "malformed"),
        ({"target": 3}, "already_true"),
        ({"target": 4}, "unsolvable"),
        ({"target": 5}, "wrong_direction"),
    ],
)
def test_rejections_have_reasons(proposal: Any, reason: str) -> None:
    puzzle = Puzzle(3, 9, ("triple", "add 4", "halve")[:1])
    task = make_task(puzzle, puzzle.path() or ())
    if reason == "wrong_direction":
        task = make_task(Puzzle(3, 7, ("add 1",)), ("add 1",) * 4)
    result = DOMAIN.validate(task, proposal, direction="harder", author="model")
    assert isinstance(result, Rejection)
    assert result.reason == reason


@given(json_like, json_like, json_like)
def test_payloads_of_unknown_origin_are_read_or_refused(start: Any, target: Any, operations: Any) -> None:
    try:
        task = Task(domain="numberpath", goal="x", payload={"start": start, "target": target, "operations": operations})
    except ValueError:  # what no task can hold
        return
    assert isinstance(DOMAIN.verify(task), str)


def test_files(tmp_path: Path) -> None:
    task = DOMAIN.generate(3)
    (tmp_path / "task.json").write_text(task.to_json())
    assert DOMAIN.load(tmp_path / "task.json") == task
    (tmp_path / "false.json").write_text(json.dumps({**json.loads(task.to_json()), "proof": ["double"]}))
    with pytest.raises(TaskFormatError, match="its proof leads"):
        DOMAIN.load(tmp_path / "false.json")


def test_tasks_adapt_to_an_expert_and_the_pool_is_sound(tmp_path: Path) -> None:
    path = tmp_path / "pool.sqlite"
    roots = [DOMAIN.generate(seed, length=2) for seed in range(3)]
    TaskPool.create(path, roots).close()
    env = AdaptiveDifficulty(
        gym.make(ENV_ID),
        pool=path,
        rewriting="inline",
        rewriter="scripted",
        acceptance="recommended",
        rollouts=4,
        seed=0,
    )
    tasks = env.pool
    for episode in range(120):
        _, info = env.reset(seed=0 if episode == 0 else None)
        for operation in tasks.task(info["task_id"]).proof:
            _, reward, *_ = env.step(operation)
        assert reward == 1.0
    env.close()

    def pool(*arguments: str) -> Any:
        result = CliRunner().invoke(app, ["pool", *arguments])
        assert result.exit_code == 0, result.output
        return result.output

    proposed = [json.loads(line) for line in pool("show", str(path), "--log", "--json").splitlines()]
    assert {event["kind"] for event in proposed} >= {"proposed"}
    assert len(pool("show", str(path), "--json").splitlines()) == 3
    assert "sound" in pool("verify", str(path))
    pool("lineage", str(path))
