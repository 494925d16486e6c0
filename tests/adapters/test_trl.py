"""The adapter for TRL, in a real `GRPOTrainer` whose model's words are given to it."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from scripted_trainer import trained
from worlds import FAILING, WORLDS, World, break_engine

from rlanything_envs import Conversation
from rlanything_envs.adapters.rows import generated_rows, pool_rows, task_rows
from rlanything_envs.adapters.trl import OVER, TextEnvironment, text_environment
from rlanything_envs.errors import InfrastructureError, InvalidAction
from rlanything_envs.osworld.desktop import Desktop
from rlanything_task_pools import PoolError, Task, TaskFormatError, TaskPool, UnknownTask
from rlanything_task_pools.errors import UnknownName
from rlanything_task_pools.knobs import KnobError

ALFWORLD = WORLDS[0]
ONE = [{"prompt": [{"role": "user", "content": ""}]}]


# --- the environment alone ---


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_an_episode(world: World) -> None:
    task = world.task()
    with text_environment(world.env_id, **world.arguments) as factory:
        env = factory()
        (row,) = task_rows([task], prompt="Play.")
        assert env.reset(**row)
        *_, last = [env.act(answer) for answer in world.answers(task)]
        assert last.endswith(OVER)
        assert env.get_reward() == 1.0
        assert (env.act("again"), env.get_reward()) == (OVER, 1.0)
        env.reset(**row)
        env.act(world.idle)
        assert env.get_reward() == 0.0  # left unfinished


def test_what_the_model_is_offered_is_one_tool() -> None:
    public = {name for name in dir(TextEnvironment) if not name.startswith("_")}
    assert public == {"reset", "get_reward", "act"}


def test_seeds_draw_tasks() -> None:
    with text_environment(ALFWORLD.env_id) as factory:
        env, other = factory(), factory()
        assert env.reset(seed=3) == other.reset(seed=3) != env.reset(seed=4)


def test_rows_that_are_no_tasks_end_the_training() -> None:
    with text_environment(ALFWORLD.env_id) as factory:
        env = factory()
        for wrong, error in (("alfworld-0123456789abcdef", UnknownTask), ("{", TaskFormatError)):
            with pytest.raises(error):
                env.reset(task=wrong)


def test_an_action_that_is_no_text_is_the_models_mistake() -> None:
    with text_environment(ALFWORLD.env_id) as factory:
        env = factory()
        env.reset(seed=0)
        with pytest.raises(InvalidAction):
            env.act(3)  # type: ignore[arg-type]
        assert (env.failure, env.get_reward()) == (None, 0.0)


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_a_broken_engine_gives_no_reward(world: World) -> None:
    made: list[gym.Env[Any, Any]] = []

    def make() -> gym.Env[Any, Any]:
        arguments = {"observation": "text"} if world.domain == "osworld" else {}
        made.append(gym.make(world.env_id, **world.arguments, **arguments))
        return made[-1]

    (row,) = task_rows([world.task()])
    with text_environment(make) as factory:
        env = factory()
        env.reset(**row)
        break_engine(made[0])
        said = env.act(world.answers(world.task())[0])
        assert "does not count" in said
        assert env.act("again") == said
        assert env.failure
        assert env.get_reward() is None


def test_what_nobody_expected_is_no_reward_either() -> None:
    class Buggy(gym.Env[str, str]):
        def reset(self, **_: Any) -> tuple[str, dict[str, Any]]:
            return "hello", {"task_id": "buggy-1", "outcome": None}

        def step(self, action: str) -> Any:
            raise KeyError(action)

    with text_environment(Buggy) as factory:
        env = factory()
        env.reset()
        env.act("look")
        assert env.get_reward() is None


def test_a_machine_that_fails_all_the_time_ends_the_training() -> None:
    with text_environment(FAILING, patience=2) as factory:
        env = factory()
        for _ in range(2):
            env.reset()
            env.act("look")
            assert env.get_reward() is None
        env.reset()
        env.act("look")
        with pytest.raises(InfrastructureError, match=r"3 episodes in a row.*the disk is full"):
            env.get_reward()


# --- rows ---


def test_rows_of_a_generator_and_of_a_pool(tmp_path: Path) -> None:
    rows = generated_rows("alfworld", 3, seed=5, prompt="Play.", kinds=["simple"])
    tasks = [Task.from_json(row["task"]) for row in rows]
    assert [task.traits["seed"] for task in tasks] == [5, 6, 7]
    assert rows[0]["prompt"] == [{"role": "user", "content": "Play."}]
    with TaskPool.create(tmp_path / "pool.sqlite", tasks):
        pass
    assert pool_rows(tmp_path / "pool.sqlite", "Play.") == rows
    with pytest.raises(UnknownName):
        generated_rows("chess", 1)
    with pytest.raises(KnobError):
        generated_rows("alfworld", 1, kinds=["juggle"])
    with pytest.raises(PoolError, match="no task pool at"):
        pool_rows(tmp_path / "no.sqlite")


@pytest.mark.slow
def test_rows_of_desktops_begin_on_the_installed_one(bwrap_desktop: Desktop) -> None:
    """Whatever program a generated task is about: none is refused, and none ends as a failure of the machine."""
    with Conversation("RLAnything/OSWorld-v0", backend=bwrap_desktop) as conversation:
        for row in generated_rows("osworld", 6):
            conversation.start(row["task"])
            assert conversation.answer("DONE").info["outcome"] == -1


# --- the real trainer ---


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_the_trainer_plays_and_rewards(world: World, tmp_path: Path) -> None:
    task = world.task()
    answers = world.answers(task)

    def answer(place: int, text: str) -> str | None:
        """Those in even places solve the task, the others give up at once; later only the first are asked."""
        played = text.count("<call>")
        if OVER in text or (played == 0 and place % 2):
            return None
        return answers[played]

    with text_environment(world.env_id, **world.arguments) as factory:
        batch = trained(answer, factory, task_rows([task], "Play."), 2, tmp_path)
    advantages = sorted(batch["advantages"].tolist())
    assert advantages[0] == pytest.approx(-advantages[1], abs=1e-3)
    assert advantages[1] > 0.5
    assert (batch["log"]["reward"], batch["log"]["tools/failure_frequency"]) == (0.5, 0)
    winner = batch["texts"][int(batch["advantages"].argmax())]
    assert winner.count("<call>") == len(answers)
    # Only what the model wrote is learnt: its calls and its closing word.
    assert int((batch["tool_mask"] == 0).sum()) > 0


def test_failed_episodes_are_masked_by_the_trainer(tmp_path: Path) -> None:
    task = ALFWORLD.task()
    answers = ALFWORLD.answers(task)
    kinds = cycle([ALFWORLD.env_id, FAILING])  # the second and the fourth environment break at the first step

    def answer(place: int, text: str) -> str | None:
        played = text.count("<call>")
        lost = played == 0 and place == 2
        return None if OVER in text or "does not count" in text or lost else answers[played]

    with text_environment(lambda: gym.make(next(kinds))) as factory:
        batch = trained(answer, factory, task_rows([task]), 4, tmp_path)
    assert batch["log"]["reward"] == pytest.approx(0.5)  # of one episode won and one lost, and of no others
    advantages = batch["advantages"].tolist()
    assert sorted(round(advantage, 2) for advantage in advantages) == [-0.71, 0.0, 0.0, 0.71]
    masked = [text for text, advantage in zip(batch["texts"], advantages, strict=True) if advantage == 0]
    assert all("does not count" in text for text in masked)


def test_a_batch_without_a_single_reward_teaches_nothing(tmp_path: Path) -> None:
    with text_environment(FAILING) as factory:
        batch = trained(lambda _, text: None if "<call>" in text else "look", factory, ONE, 2, tmp_path)
    assert batch["advantages"].tolist() == [0.0, 0.0]
    assert batch["log"]["train_loss"] == 0
