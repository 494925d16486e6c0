"""Tests of the adapter for verifiers; `test_verifiers.py` runs them where verifiers is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from canary_search import found_in
from canary_tasks import CASES, MARKERS, Case
from pydantic import ValidationError
from worlds import FAILING, ONE_QUICKLY, SEEN, WORLDS, World, break_engine

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))  # verifiers finds environments as modules: here the example

import prime_verifiers as example  # noqa: E402
import verifiers.v1 as vf  # noqa: E402

from rlanything_envs import Conversation  # noqa: E402
from rlanything_envs.adapters import verifiers as adapter  # noqa: E402
from rlanything_task_pools import TaskPool  # noqa: E402


def turn_of(messages: list[dict[str, Any]]) -> int:
    return sum(message["role"] == "assistant" for message in messages)


def played(player: example.Player, taskset: dict[str, Any], /, **settings: Any) -> list[Any]:
    return example.play(player, taskset={"id": "prime_verifiers", **taskset}, **settings)


def pool_of(world: World, folder: Path, count: int = 1) -> dict[str, Any]:
    """Settings of a taskset with the first tasks of a world."""
    path = folder / "pool.sqlite"
    TaskPool.create(path, [world.task(seed) for seed in range(count)]).close()
    return {"env_id": world.env_id, "arguments": world.arguments, "pool": str(path)}


def test_the_package_is_the_real_one() -> None:
    assert vf.__name__ == "verifiers.v1"
    assert issubclass(adapter.TextEnv, vf.Env)
    assert "site-packages" in vf.__file__


@pytest.mark.parametrize("world", ONE_QUICKLY, ids=str)
def test_a_pool_is_won(world: World, tmp_path: Path) -> None:
    tasks = [world.task(seed) for seed in range(2)]
    with Conversation(world.env_id, **world.arguments) as conversation:
        answers = {conversation.start(task).text: world.answers(task) for task in tasks}
    episodes = played(lambda said: answers[said[0]["content"]][turn_of(said)], pool_of(world, tmp_path, 2))
    assert [episode.ok for episode in episodes] == [True, True]
    for episode, task in zip(episodes, tasks, strict=True):
        (trace,) = episode.traces
        assert (trace.reward, trace.metrics["success"], trace.info["task_id"]) == (1.0, 1.0, task.id)
        assert trace.num_turns == len(world.answers(task))


@pytest.mark.parametrize("world", ONE_QUICKLY, ids=str)
def test_a_seed_is_an_episode_and_a_loss_is_a_reward_of_zero(world: World) -> None:
    taskset = {"env_id": world.env_id, "arguments": world.arguments, "first_seed": 5, "count": 2}
    episodes = played(lambda said: world.idle, taskset, player={"max_turns": 2})
    for seed, episode in zip((5, 6), episodes, strict=True):
        (trace,) = episode.traces
        with Conversation(world.env_id, **world.arguments) as conversation:
            turn = conversation.start(seed=seed)
        assert (trace.info["task_id"], trace.messages[0].content) == (turn.info["task_id"], turn.text)
        assert (episode.ok, trace.num_turns, trace.stop_condition) == (True, 2, "max_turns")
        assert {name: reward.score for name, reward in trace.rewards.items()} == {"score": 0.0}


@pytest.mark.parametrize("world", ONE_QUICKLY, ids=str)
def test_a_broken_engine_is_an_error_of_the_episode(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = watched(monkeypatch)

    def player(said: list[dict[str, Any]]) -> str:
        break_engine(made[-1].env)
        return world.answers(world.task())[0]

    (episode,) = played(player, pool_of(world, tmp_path))
    assert not episode.ok
    assert [error.type for error in episode.errors] == ["EnvError"]
    assert "InfrastructureError" in episode.errors[0].message
    assert not episode.traces[0].rewards


def test_a_failed_episode_is_played_again_where_retries_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, world = watched(monkeypatch), WORLDS[0]

    def player(said: list[dict[str, Any]]) -> str:
        if len(made) == 1:
            break_engine(made[0].env)
        return world.answers(world.task())[turn_of(said)]

    (episode,) = played(player, pool_of(world, tmp_path), retries={"max_retries": 1})
    assert (episode.ok, len(made), episode.traces[0].reward) == (True, 2, 1.0)


def watched(monkeypatch: pytest.MonkeyPatch) -> list[Conversation]:
    """All conversations that the adapter makes from now on."""
    made: list[Conversation] = []

    class Watched(Conversation):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            made.append(self)

    monkeypatch.setattr(adapter, "Conversation", Watched)
    return made


def test_a_failure_that_is_an_outcome_is_an_error_too() -> None:
    (episode,) = played(lambda said: "look", {"env_id": FAILING, "count": 1})
    assert not episode.ok
    assert "the disk is full" in episode.errors[0].message
    assert not episode.traces[0].rewards


@pytest.mark.parametrize("wrong", [{"count": 0}, {"first_seed": -1}, {"knobs": {}}])
def test_settings_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        vf.resolve_env_config({"taskset": {"id": "prime_verifiers", **wrong}})


def test_a_player_that_fails_has_no_reward() -> None:
    def player(said: list[dict[str, Any]]) -> str:
        raise ConnectionAbortedError

    (episode,) = played(player, {"count": 1})
    (trace,) = episode.traces
    assert not episode.ok
    assert trace.errors[-1].type == "ProviderError"
    assert not trace.rewards


@pytest.mark.slow
def test_the_command_line_of_verifiers(tmp_path: Path) -> None:
    taskset = pool_of(WORLDS[0], tmp_path)
    answers = WORLDS[0].answers(WORLDS[0].task())
    with example.served(lambda said: answers[turn_of(said)]) as url:
        command = [str(Path(sys.executable).with_name("vf-eval")), "prime_verifiers", "--no-push", "--no-rich"]
        command += ["--client.base-url", url, "--client.api-key-var", "NO_KEY", "--model", "player"]
        command += ["--env.taskset.pool", taskset["pool"], "--output-dir", str(tmp_path), "--run.name", "one"]
        env = {**os.environ, "PYTHONPATH": str(EXAMPLES)}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = (tmp_path / "one" / "traces.jsonl").read_text().splitlines()
    (trace,) = json.loads(line)["traces"]
    assert trace["rewards"]["score"]["score"] == 1.0


@pytest.mark.slow
def test_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    example.main()
    assert capsys.readouterr().out.count("score 1") == 4


@pytest.mark.parametrize("case", [CASES[0], CASES[-2], CASES[-1]], ids=str)
def test_nothing_secret_of_a_task_reaches_the_player(case: Case, tmp_path: Path) -> None:
    TaskPool.create(tmp_path / "pool.sqlite", [case.task]).close()
    taskset = {"env_id": case.env_id, "arguments": case.arguments, "pool": str(tmp_path / "pool.sqlite")}
    for answers in case.episodes[1:3]:
        seen: list[Any] = []

        def answered(said: list[dict[str, Any]], answers: tuple[str, ...] = answers, seen: list[Any] = seen) -> str:
            seen.append(said)
            return answers[min(turn_of(said), len(answers) - 1)]

        played(answered, taskset)
        assert seen
        assert found_in(seen, MARKERS) == set()


def test_screens_are_image_parts() -> None:
    taskset = {"env_id": SEEN.env_id, "arguments": SEEN.arguments, "first_seed": 0, "count": 1}
    seen: list[Any] = []

    def player(said: list[dict[str, Any]]) -> str:
        seen.append(said)
        return "WAIT" if len(seen) == 1 else "DONE"

    (episode,) = played(player, taskset)
    assert episode.ok
    for message in [message for message in seen[-1] if message["role"] == "user"]:
        assert [part["type"] for part in message["content"]] == ["image_url", "text"]
    assert [part.type for part in episode.traces[0].messages[0].content] == ["image_url", "text"]
