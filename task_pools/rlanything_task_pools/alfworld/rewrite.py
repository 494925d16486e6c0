"""Rewrites of ALFWorld tasks: another goal, room or start, harder or easier; every proposal is validated."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rlanything_task_pools.alfworld.operators import DEFAULT, OPERATORS, Operator, Parent, Refused
from rlanything_task_pools.alfworld.operators.change import MARGIN, MAX_VALUE, Change, scene_and_goal
from rlanything_task_pools.alfworld.operators.goal import FIELDS, goals_on
from rlanything_task_pools.alfworld.operators.proved import prove_change
from rlanything_task_pools.alfworld.stages import STAGES, Stage, eased_stages
from rlanything_task_pools.task import Direction, Rejection, Rewrite, Task

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
    return turns[:PROPOSALS]


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

    A proposal is that of one operator. For a goal it gives ``kind`` (short or official name), ``object_type`` and
    ``receptacle_type`` (any case), and what it leaves out stays as in the task; for a scene or a start see their
    files. Reasons of rejection: ``malformed``, ``operator_off``, those of the operators, then ``unsolvable``,
    ``already_true``, ``wrong_direction``.

    Args:
        task: The task to rewrite.
        proposal: Untrusted.
        direction: The direction in which `difficulty` must change, by `MARGIN` at least.
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
    if not proved.goes(direction):
        detail = f"difficulty {proved.before:.1f} -> {proved.after:.1f} is not {direction} by {MARGIN} or more"
        return Rejection(reason="wrong_direction", detail=detail)
    payload = {**task.payload, "goal": change.goal.to_dict()}
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


def proposal_schema(
    task: Task, operators: Sequence[str] = DEFAULT, direction: Direction | None = None
) -> dict[str, Any]:
    """JSON schema of the proposals that `validate` reads, with the names this task's room offers."""
    parent = Parent.of(task)
    schemas = [OPERATORS[name].schema(parent, direction) for name in operators]
    return schemas[0] if len(schemas) == 1 else {"oneOf": schemas}


def _blunt(eased: frozenset[Stage], stage: Stage) -> tuple[bool, int]:
    """Sort key: proposals that ease a stage, and of them those that ease little else."""
    return stage not in eased, len(eased) if stage in eased else 0


def _apply(parent: Parent, proposal: object, operators: Sequence[str]) -> Change:
    """The change by the first enabled operator whose proposal this is."""
    known = tuple(dict.fromkeys(name for operator in operators for name in OPERATORS[operator].fields))
    if not isinstance(proposal, Mapping) or not proposal:
        raise Refused("malformed", f"expected an object with some of {', '.join(known)}")
    chosen = _readers(proposal, operators)
    if not chosen:
        stray = next((str(name) for name in proposal if name not in known), None)
        if stray is None:
            raise Refused("malformed", f"the fields {', '.join(map(str, proposal))} do not go together")
        reason = "operator_off" if any(stray in other.fields for other in OPERATORS.values()) else "malformed"
        raise Refused(reason, f"unknown field {stray[:MAX_VALUE]!r}; use some of {', '.join(known)}")
    for operator in chosen[:-1]:
        try:
            return operator.apply(parent, proposal)
        except Refused as refused:
            if refused.rejection.reason != "operator_off":
                raise
    return chosen[-1].apply(parent, proposal)


def _readers(proposal: Mapping[str, Any], operators: Sequence[str]) -> list[Operator]:
    fields = [FIELDS if set(OPERATORS[name].fields) <= set(FIELDS) else OPERATORS[name].fields for name in operators]
    return [
        OPERATORS[name] for name, own in zip(operators, fields, strict=True) if all(given in own for given in proposal)
    ]
