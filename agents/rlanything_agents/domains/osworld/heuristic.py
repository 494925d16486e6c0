"""Heuristic labels of each step of an episode, from its text alone: what a judge is warmed up with.

They look at what kind of thing was done, and what it was meant to be about, but not at where the click went or at what
was typed: so they are wrong about steps that are right in kind only.
"""

from __future__ import annotations

from rlanything_agents.domains.osworld.belief import Belief
from rlanything_agents.domains.osworld.plan import plan
from rlanything_agents.reward_models.step_prompts import Judgement
from rlanything_agents.rollout.trajectory import Step, Trajectory

__all__ = ["heuristic_labels"]


def heuristic_labels(trajectory: Trajectory) -> list[Judgement]:
    """One judgement per step."""
    belief = Belief(trajectory.full_opening)
    result = []
    last = ""
    for step in trajectory.steps:
        result.append(_label(belief, step, last))
        belief.update(step.action, step.observation)
        last = step.action
    return result


def _label(belief: Belief, step: Step, last: str) -> Judgement:
    about, deed = plan(belief)[0]
    verb, wanted = step.action.partition(" ")[0], deed.partition(" ")[0]
    if step.observation.startswith("refused"):
        return Judgement("refused", -1)
    if step.action == last:
        return Judgement("repeated", -1)
    if verb in ("done", "fail") and verb != wanted:
        return Judgement("early", -1)
    return (
        Judgement("progress", 1)
        if (step.thought.partition(" ")[0], verb) == (about, wanted)
        else Judgement("useless", -1)
    )
