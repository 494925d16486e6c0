"""A critique on its way: from the votes on steps to a language model's prompt, and to another scripted proposal."""

from collections.abc import Sequence

import numpy as np
import pytest

from rlanything_envs.curriculum import (
    Curriculum,
    JudgedEpisode,
    JudgedStep,
    LLMRewriter,
    Rewriter,
    ScriptedRewriter,
    task_critique,
)
from rlanything_envs.curriculum.critique import BLAME
from rlanything_envs.llm import ScriptedGenerator
from rlanything_task_pools import Outcome, Task, TaskPool
from rlanything_task_pools.alfworld import DOMAIN

TASK = DOMAIN.generate(3, kinds=["heat"], rooms=["Kitchen"])
COMMANDS = ("go to drawer 1", "open drawer 1", "take apple 1 from drawer 1", "heat apple 1 with microwave 1",
            "move apple 1 to sidetable 1")  # fmt: skip


def judged(wrong: Sequence[str]) -> list[JudgedEpisode]:
    """A lost group, in which these kinds of actions were judged wrong and all others right."""
    steps = [JudgedStep(command, "ok", (-1, -1) if command.split()[0] in wrong else (1, 1)) for command in COMMANDS]
    return [JudgedEpisode(TASK.goal, tuple(steps), False)] * 8


def rewritten(rewriter: Rewriter, episodes: Sequence[JudgedEpisode]) -> Task | None:
    """The candidate after a lost group."""
    pool = TaskPool.create(":memory:", [TASK])
    curriculum = Curriculum(pool, rewriter, seed=1)
    (assignment,) = curriculum.assign(1, np.random.default_rng(0))
    lost = [Outcome(success=False, score=0.0, steps=5, actor="p", role="active")] * 8
    curriculum.report(assignment, lost, critique=lambda: task_critique(episodes))
    return pool.candidate(0)


def test_votes_reach_the_prompt_of_a_language_model() -> None:
    prompts = []

    def answer(prompt: object, *_: object) -> str:
        prompts.append(str(prompt))
        return "no"

    rewritten(LLMRewriter(ScriptedGenerator(answer), attempts=1), judged(["heat"]))
    rewritten(LLMRewriter(ScriptedGenerator(answer), attempts=1), judged(["go", "open"]))
    assert f"{BLAME}heat 8 of 8." in prompts[0]
    assert f"{BLAME}go 8 of 8, open 8 of 8." in prompts[1]


@pytest.mark.parametrize(
    ("wrong", "part"), [(["heat"], "kind"), (["go", "open"], "object_type"), (["move"], "receptacle_type")]
)
def test_votes_reach_the_scripted_rewriter(wrong: list[str], part: str) -> None:
    """It eases the part of the task that the blamed actions are for, and that alone where it can."""
    candidate = rewritten(ScriptedRewriter(), judged(wrong))
    assert candidate is not None
    assert candidate.rewrite is not None
    assert part in candidate.rewrite.change
    assert BLAME in candidate.rewrite.critique


def test_other_votes_make_other_proposals() -> None:
    found = {
        tuple(sorted(candidate.rewrite.change.items()))
        for wrong in (["heat"], ["go"], ["move"])
        if (candidate := rewritten(ScriptedRewriter(), judged(wrong))) is not None and candidate.rewrite is not None
    }
    assert len(found) == 3
