"""Tasks without a verifier: real episodes whose outcomes are scripted, and hidden from everything that learns."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rlanything_agents.config import RunConfig
from rlanything_agents.config.section import ANY
from rlanything_agents.domains.supervision import get_supervision
from rlanything_agents.feedback import success_threshold
from rlanything_agents.rollout.environments import make_envs
from rlanything_agents.rollout.tasks import generate_tasks
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.rollout.workers import LocalWorkers, Play
from rlanything_agents.runs.learners import Learners
from rlanything_agents.runs.loop import Loop
from rlanything_envs.curriculum import ScriptedRewriter
from rlanything_task_pools import Outcome, Task, TaskPool, get_domain

SMALL = {"hidden_size": 16, "layers": 1, "heads": 2, "intermediate_size": 32}
CONFIG = {
    "name": "verifier",
    "seed": 5,
    "threads": 1,
    "policy": SMALL,
    "reward_model": SMALL,
    "rollout": {"tasks": 4, "rollouts": 4, "max_steps": 2, "environments": 16},
    "feedback": {"lam": 0.5, "reliability": "batch", "policy_band": None, "judge_band": None,
                 "judge_baseline": "batch", "unparsable_reward": -2.0},
    "judge": {"votes": 3, "steps": 64, "scope": "useful"},
    "curriculum": {"pool_size": 6, "scheduler": "learnability", "acceptance": "paper", "band": [0.8, 0.9]},
}  # fmt: skip
VERIFIED = 2
Results = Callable[[int, int], int]
"""Outcome of an episode by its slot and its number in the group."""


class Scripted(LocalWorkers):
    """Workers whose episodes end as ``results`` says."""

    results: Results

    def play(self, tasks: Sequence[Task], how: Play, tags: Any = None, progress: Any = None, ended: Any = None) -> Any:
        slots = [int(tag.split(",")[0].removeprefix("slot ")) for tag in tags]
        episodes: list[Trajectory] = []
        for place, (t, slot) in enumerate(zip(super().play(tasks, how, tags, progress), slots, strict=True)):
            outcome = self.results(slot, place % 4)
            episodes.append(dataclasses.replace(t, outcome=outcome, score=float(outcome > 0)))
        ended(0, episodes)
        return episodes


@dataclasses.dataclass
class Course:
    """What two iterations left."""

    weights: dict[str, torch.Tensor]
    outcomes: list[tuple[int, Outcome]]
    events: list[tuple[int, str]]
    rows: list[dict[str, Any]]
    episodes: list[dict[str, Any]]


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Course]]:
    envs = make_envs(RunConfig.model_validate(CONFIG), 16)
    tasks = generate_tasks(get_domain("alfworld"), "train", range(6), ANY)

    @cache
    def run(results: Results, others: str = "judged") -> Course:
        config = RunConfig.model_validate({**CONFIG, "verifier": {"tasks": VERIFIED, "share": 0.5, "others": others}})
        folder: Path = tmp_path_factory.mktemp("course")
        learners = Learners(config, folder / "models")
        reviewer = get_supervision("alfworld").reviewer(config, learners.judge_model)
        workers = Scripted(config, learners, envs)
        workers.results = results
        rows, episodes = [], []
        with TaskPool.create(folder / "pool.sqlite", tasks) as pool:
            loop = Loop(config, learners, reviewer, pool, [], ScriptedRewriter(), workers)
            for _ in range(2):
                iteration = loop.iterate(rows)
                rows.append(iteration.metrics)
                episodes += iteration.episodes
            outcomes = [(record.slot, record.outcome) for record in pool.outcomes()]
            events = [(event.slot, event.kind) for event in pool.events()]
        weights = {
            f"{role}.{name}": weight.detach().clone()
            for role, learner in learners.both.items()
            for name, weight in learner.model.state_dict().items()
        }
        learners.close()
        return Course(weights, outcomes, events, rows, episodes)

    yield run
    for env in envs:
        env.close()


def mixed(slot: int, number: int) -> int:
    return 1 if (slot + number) % 3 else -1


def hidden_flipped(slot: int, number: int) -> int:
    return mixed(slot, number) * (1 if slot < VERIFIED else -1)


def all_flipped(slot: int, number: int) -> int:
    return -mixed(slot, number)


def same_weights(one: Course, other: Course, role: str) -> bool:
    return all(torch.equal(w, other.weights[name]) for name, w in one.weights.items() if name.startswith(role))


@pytest.mark.parametrize("others", ["judged", "shorter"])
def test_no_update_and_no_decision_reads_a_hidden_outcome(course: Callable[..., Course], others: str) -> None:
    one, other = course(mixed, others), course(hidden_flipped, others)
    assert same_weights(one, other, "policy")
    assert same_weights(one, other, "judge")
    assert one.outcomes == other.outcomes
    assert one.events == other.events
    assert one.episodes == other.episodes, "votes, rewards and advantages"
    for key in ("feedback", "policy", "judge", "tasks", "curriculum"):
        assert [row[key] for row in one.rows] == [row[key] for row in other.rows], key
    assert [row["success"] for row in one.rows] != [row["success"] for row in other.rows], "curves show the truth"
    assert [row["verifier"]["scored"] for row in one.rows] == [row["verifier"]["scored"] for row in other.rows]
    if others == "judged":
        right = [row["verifier"]["precision"] for row in one.rows if row["verifier"]["precision"] is not None]
        assert right, "nothing is called solved"
        wrong = [row["verifier"]["precision"] for row in other.rows if row["verifier"]["precision"] is not None]
        assert wrong == pytest.approx([1 - share for share in right])


def test_what_is_not_hidden_is_read(course: Callable[..., Course]) -> None:
    """The same comparison as above, with the power to fail."""
    one, other = course(mixed), course(all_flipped)
    assert not same_weights(one, other, "policy")
    assert not same_weights(one, other, "judge")
    assert one.outcomes != other.outcomes


@pytest.mark.slow
def test_known_outcomes_are_read(course: Callable[..., Course]) -> None:
    one, other = course(mixed, "known"), course(hidden_flipped, "known")
    assert not same_weights(one, other, "policy")
    assert "verifier" not in one.rows[0]


def test_a_task_without_a_verifier_is_neither_measured_nor_rewritten(course: Callable[..., Course]) -> None:
    found = course(mixed)
    assert {slot for slot, _ in found.events} == {0, 1}, "half of their episodes fail, which is outside of the band"
    assert {slot < VERIFIED for slot, _ in found.outcomes} == {True, False}
    for slot, outcome in found.outcomes:
        assert (outcome.success is None) == (slot >= VERIFIED)
        assert outcome.score == float(bool(outcome.success))


def test_half_of_each_batch_has_a_verifier(course: Callable[..., Course]) -> None:
    found = course(mixed)
    for number in (1, 2):
        slots = {episode["slot"] for episode in found.episodes if episode["iteration"] == number}
        assert len(slots) == 4
        assert {0, 1} < slots
    assert found.rows[0]["verifier"]["hidden"] == 8


def test_votes_above_a_threshold_have_succeeded(course: Callable[..., Course]) -> None:
    """With the threshold that errs least on all episodes with a verifier so far."""
    found = course(mixed)
    known: list[tuple[float, int]] = []
    kinds = set()
    for number, row in enumerate(found.rows, 1):
        episodes = [e for e in found.episodes if e["iteration"] == number]
        mean = [round(np.mean([[vote or 0 for vote in turn["votes"]] for turn in e["turns"]]), 9) for e in episodes]
        known += [(m, e["outcome"]) for m, e in zip(mean, episodes, strict=True) if e["slot"] < VERIFIED]
        assert sorted((round(m, 9), o) for m, o in row["verifier"]["scored"]) == sorted(known[-8:])
        threshold = success_threshold(*np.array(known, dtype=float).T)
        verified = [e for e in episodes if e["slot"] < VERIFIED]
        assert [e["outcome"] for e in verified] == [mixed(e["slot"], at % 4) for at, e in enumerate(verified)]
        hidden = [(m, e) for m, e in zip(mean, episodes, strict=True) if e["slot"] >= VERIFIED]
        assert [e["outcome"] for _, e in hidden] == [1 if m > threshold else -1 for m, _ in hidden]
        kinds |= {e["outcome"] for _, e in hidden}
        called = [mixed(e["slot"], place % 4) == 1 for place, (m, e) in enumerate(hidden) if m > threshold]
        assert row["verifier"]["precision"] == (pytest.approx(np.mean(called)) if called else None)
    assert kinds == {1, -1}, "the threshold tells no hidden episodes apart"
