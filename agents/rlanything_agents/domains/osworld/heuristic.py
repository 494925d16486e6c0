"""Heuristic labels of steps, from the messages alone: training data for the warm start of a judge.

They compare the verb of a command and the slot of its thought with the plan, but neither the place of a click nor the
typed text, so they are wrong about steps with the right verb in the wrong place.
"""

from __future__ import annotations

from rlanything_agents.domains.osworld.belief import Belief
from rlanything_agents.domains.osworld.plan import plan
from rlanything_agents.reward_models.step_prompts import Judgement
from rlanything_agents.rollout.trajectory import Step, Trajectory

__all__ = ["heuristic_labels"]


def heuristic_labels(trajectory: Trajectory) -> list[Judgement]:
    """Judgements of the steps of an episode, one per step."""
    belief = Belief(trajectory.full_opening)
    result = []
    last = ""
    for step in trajectory.steps:
        result.append(_label(belief, step, last))
        belief.update(step.action, step.observation)
        last = step.action
    return result


def _label(belief: Belief, step: Step, last: str) -> Judgement:
    about, command = plan(belief)[0]
    verb, wanted = step.action.partition(" ")[0], command.partition(" ")[0]
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
