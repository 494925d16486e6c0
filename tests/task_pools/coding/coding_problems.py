"""A hand-made coding task whose right and wrong programs are known."""

from typing import Any

from rlanything_task_pools import Task
from rlanything_task_pools.coding import make_task, read_payload

RIGHT = "a, b = map(int, input().split())\nprint(a + b)\n"
WRONG = "a, b = map(int, input().split())\nprint(a - b)\n"
STATEMENT = "Sum\n\nThe input holds two integers a and b on a line. Print their sum.\n"


def sum_payload(**fields: Any) -> dict[str, Any]:
    """Sums of two numbers."""
    payload = {
        "statement": STATEMENT,
        "public": [{"stdin": "1 2\n", "stdout": "3\n"}],
        "hidden": [{"stdin": "2 2\n", "stdout": "4\n"}, {"stdin": "-5 3\n", "stdout": "-2\n"}],
        "wrong": [WRONG],
    }
    return payload | fields


def sum_task(**fields: Any) -> Task:
    """The task of `sum_payload`, with its proof."""
    return make_task(read_payload(sum_payload(**fields)), (RIGHT,), {"split": "train"})
