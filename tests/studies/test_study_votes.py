"""Votes of the planner in the place of a reward model's."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from rlanything_agents.config import RunConfig
from rlanything_agents.feedback import batch_feedback
from rlanything_agents.reward_models.judged_group import JudgedGroup
from rlanything_agents.reward_models.step_judge import StepVotes
from rlanything_agents.reward_models.step_reviewer import stored_trajectory
from rlanything_envs.curriculum import Assignment
from rlanything_task_pools import get_domain
from studies import votes
from studies.plan import StudyError
from studies.votes import TrueVotes

STEP = {"thought": "", "action": "look", "observation": "", "command": "ok"}
RECORD = {"tag": "", "opening": "", "steps": [STEP] * 2, "outcome": -1, "error": ""}
CONFIG = RunConfig.model_validate(
    {"name": "r", "feedback": {"credit": "return", "gamma": 1.0, "silent": "return"}, "judge": {"votes": 0}}
)


def group(scores: tuple[float, ...] = (-1.0, 1.0)) -> JudgedGroup:
    task = get_domain("alfworld").generate(0)
    episodes = [
        stored_trajectory(
            {"task_id": task.id, "tag": "", "opening": "", "steps": [STEP] * 2, "outcome": -1, "error": "", "score": s}
        )
        for s in scores
    ]
    return JudgedGroup(Assignment(0, task, "active"), episodes, [[StepVotes([], ())] * 2 for _ in episodes])


def with_truth(monkeypatch: pytest.MonkeyPatch, **functions: Any) -> None:
    monkeypatch.setattr(votes, "get_supervision", lambda domain: SimpleNamespace(**functions))


def test_potentials_vote_so_that_the_return_from_a_step_is_the_progress_until_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = {-1.0: [-1.0, -0.75, -0.5], 1.0: [-1.0, -0.5, -1.0]}
    with_truth(monkeypatch, potentials=lambda payload, t: found[t.score])
    (voted,) = TrueVotes(CONFIG, "potential").judged([group()], 1)
    assert [scores.ravel().tolist() for scores in voted.scores()] == [[0.25, 0.25], [0.5, -0.5]]
    (feedback,) = batch_feedback([(voted.outcomes, voted.scores())], CONFIG.feedback)
    assert [r.tolist() for r in feedback.rewards] == [[-0.5, -0.75], [-1.0, -1.5]]
    assert [a.tolist() for a in feedback.policy] == [[1.0, 1.0], [-1.0, -1.0]], "a group that all failed teaches"


def test_labels_vote_and_a_domain_without_them_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with_truth(monkeypatch, true_labels=lambda payload, t: [1, -1])
    given = group()
    (voted,) = TrueVotes(CONFIG, "oracle").judged([given], 1)
    assert [scores.tolist() for scores in voted.scores()] == [[[1.0], [-1.0]]] * 2
    assert voted == replace(given, votes=voted.votes)
    with_truth(monkeypatch, true_labels=lambda payload, t: None)
    with pytest.raises(StudyError, match="the domain alfworld has no such truth"):
        TrueVotes(CONFIG, "oracle").judged([given], 1)
