"""A curriculum that is live inside a stock `GRPOTrainer`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from datasets import Dataset, IterableDataset
from scripted_trainer import trained
from transformers import TrainerCallback
from worlds import FAILING, WORLDS

from rlanything_envs import Conversation
from rlanything_envs.adapters.rows import group_rows
from rlanything_envs.adapters.trl import OVER, log_curriculum, text_environment
from rlanything_envs.curriculum import CurriculumSource
from rlanything_envs.errors import SettingError
from rlanything_task_pools import TaskPool

ALFWORLD = WORLDS[0]


@pytest.fixture
def pool(tmp_path: Path) -> TaskPool:
    return TaskPool.create(tmp_path / "pool.sqlite", [ALFWORLD.task(seed) for seed in range(3)])


def half_of_the_rewrites(pool: TaskPool) -> Callable[[int, str], str | None]:
    """A model that solves every task it began with, and of a rewrite the first of two episodes."""
    conversation = Conversation(ALFWORLD.env_id)
    known: dict[str, tuple[str, list[str]]] = {}

    def answer(place: int, text: str) -> str | None:
        for slot in pool.slots:
            for task in (pool.active(slot), pool.candidate(slot)):
                if task is not None and task.id not in known:
                    known[task.id] = conversation.start(task).text, ALFWORLD.answers(task)
        played = text.count("<call>")
        (task_id,) = [task_id for task_id, (opening, _) in known.items() if opening in text]
        gives_up = played == 0 and place % 2 and pool.task(task_id).rewrite is not None
        return None if OVER in text or gives_up else known[task_id][1][played]

    return answer


def test_rows_without_end() -> None:
    rows = list(islice(group_rows(prompt="Play.", name="run"), 3))
    assert rows == list(group_rows(3, prompt="Play.", name="run"))
    assert [row["group"] for row in rows] == ["run-1", "run-2", "run-3"]
    assert rows[0]["prompt"] == [{"role": "user", "content": "Play."}]


@pytest.mark.parametrize("endless", [True, False])
def test_the_pool_changes_while_the_trainer_trains_and_logs_it(pool: TaskPool, tmp_path: Path, endless: bool) -> None:
    rows = IterableDataset.from_generator(group_rows) if endless else Dataset.from_list(list(group_rows(4)))
    reported: list[dict[str, Any]] = []

    class Reporter(TrainerCallback):  # type: ignore[misc]
        """In the place of W&B's."""

        def on_log(self, *_: Any, logs: dict[str, Any], **__: Any) -> None:
            reported.append(dict(logs))

    def prepare(trainer: Any) -> None:
        trainer.add_callback(Reporter)
        log_curriculum(trainer, source)

    with (
        CurriculumSource(pool, rollouts=2, rewriting="inline") as source,
        text_environment(ALFWORLD.env_id, source=source) as factory,
    ):
        answer, settings = half_of_the_rewrites(pool), {"max_steps": 6, "logging_steps": 1}
        batch = trained(answer, factory, rows, 2, tmp_path, prepare, **settings)
        assert not {"in_band", "accuracy"} & source.metrics().keys(), "nothing was played since the last entry"
    counts = pool.counts()
    entries = [entry for entry in reported if "loss" in entry]
    assert [entry["curriculum/groups"] for entry in entries] == [1, 2, 3, 4, 5, 6]
    assert entries[-1]["curriculum/accepted"] == counts["accepted"]
    assert entries[-1]["curriculum/pool_size"] == counts["tasks"]
    assert entries[0]["curriculum/in_band"] == 0, "all its episodes were solved"
    assert entries[0].items() <= batch["logs"][0].items()
    assert counts["accepted"] > 0
    assert (counts["outcomes"], counts["errors"]) == (12, 0)
    groups = Counter(record.batch for record in pool.outcomes())
    assert list(groups.values()) == [2] * 6
    slot = pool.events(kind="accepted")[0].slot
    first, *rewrites = pool.lineage(pool.active(slot).id)
    assert first.id == pool.first(slot)
    assert all(task.rewrite is not None and task.rewrite.direction == "harder" for task in rewrites)


def test_two_groups_of_a_batch_play_different_tasks(pool: TaskPool, tmp_path: Path) -> None:
    with (
        CurriculumSource(pool, rollouts=2, rewriting="inline") as source,
        text_environment(ALFWORLD.env_id, source=source) as factory,
    ):
        rows = IterableDataset.from_generator(group_rows)
        trained(half_of_the_rewrites(pool), factory, rows, 2, tmp_path, per_device_train_batch_size=4)
    assert len({record.slot for record in pool.outcomes()}) == 2
    assert Counter(record.slot for record in pool.outcomes()).most_common() == [
        (slot, 2) for slot in dict.fromkeys(record.slot for record in pool.outcomes())
    ]


def test_failed_machinery_is_no_outcome(pool: TaskPool) -> None:
    with (
        CurriculumSource(pool, rollouts=2, rewriting="inline") as source,
        text_environment(lambda: gym.make(FAILING), source=source) as factory,
    ):
        for env in (factory(), factory()):
            env.reset(group="1")
            env.act("look")
            assert (env.get_reward(), env.get_reward()) == (None, None)
    assert pool.counts()["errors"] == 2
    assert pool.events() == []


def test_a_group_without_a_source_is_refused() -> None:
    with text_environment(ALFWORLD.env_id) as factory, pytest.raises(SettingError, match="give text_environment"):
        factory().reset(group="1")
