"""Rewrites of ALFWorld tasks: another goal, room, start or hint; every proposal is proved.

Scripted proposals go in the requested direction by the planner. Those of a language model may change anything that the
room has, all at once; whether they are easier or harder for the agent is for the trial to show.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rlanything_task_pools.alfworld.operators import DEFAULT, FREE, OPERATORS, Parent
from rlanything_task_pools.alfworld.operators.change import MARGIN, MAX_VALUE, Change, scene_and_goal
from rlanything_task_pools.alfworld.operators.goal import FIELDS, check_fit, goals_on
from rlanything_task_pools.alfworld.operators.proved import prove_change
from rlanything_task_pools.alfworld.operators.scene import SceneOperator
from rlanything_task_pools.alfworld.stages import STAGES, Stage, eased_stages
from rlanything_task_pools.domain import LEFT_OUT, some_of
from rlanything_task_pools.task import Direction, Refused, Rejection, Rewrite, Task

__all__ = ["MARGIN", "goals_on", "proposal_schema", "propose", "scene_and_goal", "validate"]

PROPOSALS = 8


def propose(
    task: Task,
    direction: Direction,
    rng: np.random.Generator,
    operators: Sequence[str] = DEFAULT,
    blamed: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Up to `PROPOSALS` rewrites of a task in a direction, best first; the operators take turns.

    Args:
        task: The task to rewrite.
        direction: ``harder`` or ``easier``.
        rng: Decides between near equals, and the order of the operators.
        operators: Names of operators, see `rlanything_task_pools.alfworld.operators`.
        blamed: Kinds of actions to blame, the most blamed first; easier proposals that ease the stage of the first one
            that has a stage come before the others, and of them those that ease no other stage.
    """
    parent = Parent.of(task)
    queues = [OPERATORS[name].propose(parent, direction, rng) for name in operators]
    stage = next((STAGES[action] for action in blamed if action in STAGES), None)
    if direction == "easier" and stage is not None:
        queues = [sorted(queue, key=lambda proposal: _blunt(eased_stages(proposal, parent), stage)) for queue in queues]
    queues = [queue[:PROPOSALS] for queue in queues]
    if len(queues) > 1:
        queues = [queues[i] for i in rng.permutation(len(queues))]
    turns = [queue[i] for i in range(PROPOSALS) for queue in queues if i < len(queue)]
    return [proposal for proposal in turns[:PROPOSALS] if _goes(parent, proposal, direction, operators)]


def validate(
    task: Task,
    proposal: Mapping[str, Any],
    *,
    direction: Direction,
    author: str,
    critique: str = "",
    operators: Sequence[str] = DEFAULT,
) -> Task | Rejection:
    """A proposal as a proved task, or the reason of its rejection.

    A proposal has some of the fields of the operators: ``kind`` (short or official name), ``object_type`` and
    ``receptacle_type`` (any case) for the goal, ``scene``, ``start``, ``hint`` and ``house`` for what their files say.
    What is left out or null stays as in the task. Reasons of rejection: ``malformed``, ``operator_off``, those of the
    operators, then ``unsolvable``, ``already_true``, ``solution_in_hint``.

    Args:
        task: The task to rewrite.
        proposal: Untrusted.
        direction: The requested direction, stored in the task's rewrite; it is not checked.
        author: Stored in the task's rewrite.
        critique: Stored in the task's rewrite.
        operators: Names of operators that are enabled.
    """
    parent = Parent.of(task)
    try:
        change = _apply(parent, proposal, operators)
        proved = prove_change(parent, change)
    except Refused as refused:
        return refused.rejection
    payload = {name: value for name, value in task.payload.items() if name != "hint"} | {"goal": change.goal.to_dict()}
    if proved.hint:
        payload["hint"] = proved.hint
    if change.scene is not parent.scene:
        payload["scene"] = change.scene.to_dict()
    return Task(
        domain=task.domain,
        goal=proved.sentence,
        payload=payload,
        proof=proved.proof,
        traits=proved.traits,
        parent=task.id,
        root=task.root or task.id,
        rewrite=Rewrite(direction=direction, author=author, change=change.record, critique=critique),
    )


def proposal_schema(task: Task, operators: Sequence[str] = FREE) -> dict[str, Any]:
    """JSON schema of the proposals that `validate` reads, with the names this task's room has."""
    parent = Parent.of(task)
    parts = {key: part for name in operators for key, part in OPERATORS[name].properties(parent).items()}
    return some_of(parts, LEFT_OUT)


def _blunt(eased: frozenset[Stage], stage: Stage) -> tuple[bool, int]:
    """Sort key: proposals that ease a stage, and of them those that ease little else."""
    return stage not in eased, len(eased) if stage in eased else 0


def _goes(parent: Parent, proposal: Mapping[str, Any], direction: Direction, operators: Sequence[str]) -> bool:
    """Whether a scripted proposal goes in a direction by its proof; those without a proof are left to `validate`."""
    try:
        return prove_change(parent, _apply(parent, proposal, operators)).goes(direction)
    except Refused:
        return True


def _apply(parent: Parent, proposal: object, operators: Sequence[str]) -> Change:
    """The change of all parts of a proposal together, in the order of the operators.

    Raises:
        Refused: A part is malformed or impossible, or no part changes anything.
    """
    known = tuple(dict.fromkeys(name for operator in operators for name in OPERATORS[operator].fields))
    given = {name: v for name, v in proposal.items() if v is not None} if isinstance(proposal, Mapping) else {}
    if not given and isinstance(proposal, Mapping) and proposal:
        raise Refused("unchanged", "every part is null")
    if not given:
        raise Refused("malformed", f"expected an object with some of {', '.join(known)}")
    if stray := next((str(name) for name in given if name not in {*known, *FIELDS}), None):
        reason = "operator_off" if any(stray in other.fields for other in OPERATORS.values()) else "malformed"
        raise Refused(reason, f"unknown field {stray[:MAX_VALUE]!r}; use some of {', '.join(known)}")
    change, unchanged = Change(parent.scene, parent.goal, {}), None
    for fields in (("house",), ("scene",), FIELDS, ("start",), ("hint",)):
        part = {name: value for name, value in given.items() if name in fields}
        if not part:
            continue
        try:
            change = _joined(change, _part(Parent(parent.task, change.scene, change.goal), part, fields, operators))
        except Refused as refused:
            if refused.rejection.reason != "unchanged":
                raise
            unchanged = refused
    if not change.record:
        raise unchanged or Refused("unchanged", "nothing changes")
    check_fit(change.scene, change.goal)
    return change


def _part(parent: Parent, part: Mapping[str, Any], fields: Sequence[str], operators: Sequence[str]) -> Change:
    """The change of one part by the first enabled operator that makes it."""
    off = Refused("operator_off", f"rewrites of {', '.join(part)} are not enabled")
    for operator in (OPERATORS[name] for name in OPERATORS if name in operators):
        if set(operator.fields) <= set(fields):
            try:
                # The room must fit the goal in the end, not before the goal has changed.
                return (
                    operator.edit(parent, part) if isinstance(operator, SceneOperator) else operator.apply(parent, part)
                )
            except Refused as refused:
                if refused.rejection.reason != "operator_off":
                    raise
                off = refused
    raise off


def _joined(first: Change, then: Change) -> Change:
    return replace(
        then,
        record={**first.record, **then.record},
        clutter=first.clutter + then.clutter,
        traits={**first.traits, **then.traits},
        hint=first.hint if then.hint is None else then.hint,
        fresh=first.fresh or then.fresh,
    )
