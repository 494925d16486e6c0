"""Rewrite operators, one file a noun: each proposes changes of one sort and reads proposals of that sort."""

from collections.abc import Iterable

from rlanything_task_pools.alfworld.operators.change import Change, Operator, Parent, Refused
from rlanything_task_pools.alfworld.operators.goal import GoalOperator, KindOperator, TypesOperator
from rlanything_task_pools.alfworld.operators.house import HouseOperator
from rlanything_task_pools.alfworld.operators.scene import SceneOperator
from rlanything_task_pools.alfworld.operators.start import StartOperator
from rlanything_task_pools.domain import UnknownOperator

__all__ = ["DEFAULT", "OPERATORS", "Change", "Operator", "Parent", "Refused", "check_operators"]

OPERATORS: dict[str, Operator] = {
    operator.name: operator
    for operator in (GoalOperator(), TypesOperator(), KindOperator(), SceneOperator(), StartOperator(), HouseOperator())
}
"""All operators by name. ``types`` and ``kind`` are halves of ``goal``."""

DEFAULT = ("goal",)


def check_operators(names: Iterable[str]) -> tuple[str, ...]:
    """Names of operators, each once, in their order.

    Raises:
        UnknownOperator: There is no operator of a name, or no name is given.
    """
    chosen = tuple(dict.fromkeys((names,) if isinstance(names, str) else names))
    for name in chosen:
        if name not in OPERATORS:
            raise UnknownOperator(f"alfworld has no rewrite operator {name!r}; choose from {', '.join(OPERATORS)}")
    if not chosen:
        raise UnknownOperator(f"no rewrite operator is enabled; choose from {', '.join(OPERATORS)}")
    return chosen
