"""The smallest tasks a pool can hold, for the tests of the pool."""

from rlanything_task_pools import Outcome, Rewrite, Task

__all__ = ["child", "outcome", "root"]


def root(number: int) -> Task:
    return Task(domain="toy", goal=f"reach {number}", payload={"target": number}, proof=("go",), traits={"n": number})


def child(parent: Task, target: int, direction: str = "easier") -> Task:
    rewrite = Rewrite(direction=direction, author="scripted", change={"target": target}, critique="too far")
    return Task(
        domain="toy", goal=f"reach {target}", payload={"target": target}, proof=("go", "on"),
        parent=parent.id, root=parent.root or parent.id, rewrite=rewrite,
    )  # fmt: skip


def outcome(success: bool | None = True, role: str = "active", actor: str = "policy-1") -> Outcome:
    return Outcome(success=success, score=float(bool(success)), steps=4, actor=actor, role=role)
