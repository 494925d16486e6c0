"""Heuristic labels of steps, from the messages alone: training data for the warm start of a judge.

They use neither the state of the world nor a plan, so some are wrong: every new place counts as a good one while
something is sought, and needed detours count as useless. The ground truth, `labels`, is kept for evaluation. What is
sought and what is a search is one definition for both, `Belief`.
"""

from __future__ import annotations

from rlanything_agents.domains.alfworld.belief import APPLIANCES, LAMP, Belief
from rlanything_agents.reward_models.step_prompts import Judgement
from rlanything_agents.rollout.trajectory import Step, Trajectory
from rlanything_envs.alfworld.texts import kind_of_name

__all__ = ["heuristic_labels"]


def heuristic_labels(trajectory: Trajectory) -> list[Judgement]:
    """Judgements of the steps of an episode, one per step."""
    belief = Belief(trajectory.full_opening)
    earlier: set[str] = set()
    result = []
    for step in trajectory.steps:
        label = _label(belief, step, earlier)
        sought = belief.sought
        if belief.update(step.full) and sought:
            label = Judgement("discovery", 1)
        result.append(label)
        earlier.add(step.action)
    return result


def _label(belief: Belief, step: Step, earlier: set[str]) -> Judgement:
    """Judgement of a step that searches nothing."""
    task = belief.task
    verb, _, rest = step.action.partition(" ")
    if step.full.startswith("Nothing happens"):
        return Judgement("refused", -1)
    named = kind_of_name(rest)
    if verb == "take":
        return _judged(named == task.object and belief.holding is None, "progress")
    if verb in APPLIANCES:
        return _judged(verb == task.kind and named == task.object and belief.holding not in belief.prepared, "progress")
    if verb == "move":
        ready = task.kind not in APPLIANCES or belief.holding in belief.prepared
        at_target = kind_of_name(rest.partition(" to ")[2]) == task.receptacle
        return _judged((named == task.object and at_target and ready) or named != task.object, "progress")
    if verb == "use":
        return _judged(task.kind == "look" and belief.holding is not None, "progress")
    if step.action in earlier:
        return Judgement("repeated", -1)
    place = rest.removeprefix("to ") if verb == "go" else rest
    if verb in ("go", "open") and _wanted(belief, kind_of_name(place), place):
        return Judgement("discovery", 1)
    return Judgement("useless", -1)


def _wanted(belief: Belief, kind: str, place: str) -> bool:
    """Whether a visit may help: the place of a wanted thing that was seen, then appliance or target receptacle."""
    task, held = belief.task, belief.holding
    if held is None or kind_of_name(held) != task.object:
        kept = task.kind in ("simple", "two") and kind == task.receptacle
        return not kept and any(where == place for where, _ in belief.found(task.object))
    if task.kind == "look":
        return any(where == place for where, _ in belief.found(LAMP))
    if task.kind in APPLIANCES and held not in belief.prepared:
        return kind == APPLIANCES[task.kind]
    return kind == task.receptacle


def _judged(good: bool, reason: str) -> Judgement:
    return Judgement(reason, 1) if good else Judgement("useless", -1)
