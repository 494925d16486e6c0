"""Supervision of each domain: experts that demonstrate, heuristic and true step labels, short judge prompts. Tasks and
episodes come in; demonstrations, labels, prompts and reviewers go out. Nothing else needs the name of a domain.

- `supervision`: `StepSupervision`, the interface, and `get_supervision`, which finds that of a domain.
- `lessons`: demonstrations and labelled steps for the supervised warm start.
- `solutions`, `guesses`: a known solution of a task, and random play, as the upper and lower end of a benchmark.
- `cheats`: agents that must fail every task, for audits.
- `alfworld/`, `coding/`, `osworld/`: one folder per domain.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

__all__ = ["own_module"]


def own_module(domain: str, name: str) -> ModuleType | None:
    """Module of this name in the folder of a domain; None where it has none."""
    place = f"{__name__}.{domain}.{name}"
    if not domain.isidentifier():
        return None
    try:
        return import_module(place)
    except ModuleNotFoundError as error:
        if error.name not in (place, place.rpartition(".")[0]):
            raise
        return None
