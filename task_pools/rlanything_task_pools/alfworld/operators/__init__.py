"""Rewrite operators of ALFWorld tasks: each proposes changes of one sort and parses untrusted proposals of that sort.

The choice among operators and the validation of their results are in `rlanything_task_pools.alfworld.rewrite`.
"""

from collections.abc import Iterable

from rlanything_task_pools.alfworld.operators.change import Change, Operator, Parent
from rlanything_task_pools.alfworld.operators.goal import GoalOperator, KindOperator, TypesOperator
from rlanything_task_pools.alfworld.operators.hint import HintOperator
from rlanything_task_pools.alfworld.operators.house import HouseOperator
from rlanything_task_pools.alfworld.operators.scene import SceneOperator
from rlanything_task_pools.alfworld.operators.start import StartOperator
from rlanything_task_pools.knobs import KnobError

__all__ = ["DEFAULT", "FREE", "OPERATORS", "Change", "Operator", "Parent", "check_operators"]

OPERATORS: dict[str, Operator] = {
    operator.name: operator
    for operator in (
        GoalOperator(),
        TypesOperator(),
        KindOperator(),
        SceneOperator(),
        StartOperator(),
        HouseOperator(),
        HintOperator(),
    )
}
"""All operators by name. ``types`` and ``kind`` are halves of ``goal``."""

DEFAULT = ("goal",)
"""Operators of scripted proposals, unless others are named."""

FREE = ("goal", "scene", "start", "hint")
"""Operators of proposals by a language model, unless others are named."""


def check_operators(names: Iterable[str]) -> tuple[str, ...]:
    """Names of operators, each once, in their order.

    Raises:
        KnobError: A name is unknown, or there are no names.
    """
    chosen = tuple(dict.fromkeys((names,) if isinstance(names, str) else names))
    for name in chosen:
        if name not in OPERATORS:
            raise KnobError(f"alfworld has no rewrite operator {name!r}; choose from {', '.join(OPERATORS)}")
    if not chosen:
        raise KnobError(f"no rewrite operator is enabled; choose from {', '.join(OPERATORS)}")
    return chosen
