"""How the metrics of a run are called in every tracker.

A metrics row of the run folder is a tree, and a metric is called by its way in the tree: ``success/active``,
``policy/loss``, ``judge_quality/process_balanced``, ``curriculum/rejected/not-easier``, ``tasks/accepted``,
``seconds/rollout``. ``alarms/SIGNATURE`` is 1 where a monitor saw something wrong, and 0 elsewhere. Evaluations are
``evaluation/PANEL/rate`` with ``low`` and ``high`` (Wilson, 95 %), and ``evaluation/judge/NAME``. The step is the
iteration; step 0 is the evaluation before the loop.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from rlanything_agents.runs.monitors import SIGNATURES

__all__ = ["named", "of_evaluation", "of_iteration"]

_PANEL = ("rate", "low", "high", "episodes", "errors")
_OTHER = re.compile(r"[^A-Za-z0-9_.-]")
_MOST = 80  # characters of a part of a name


def named(tree: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """The finite numbers of a tree by their names; whatever else is in it is left out."""
    return dict(_numbers(tree, prefix))


def of_iteration(row: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of an iteration by their names."""
    numbers = named({key: value for key, value in row.items() if key != "iteration"})
    if "alarms" in row:
        numbers |= named({signature.name: int(signature.name in row["alarms"]) for signature in SIGNATURES}, "alarms/")
    return numbers


def of_evaluation(result: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of an evaluation by their names."""
    panels = {split: {key: panel.get(key) for key in _PANEL} for split, panel in result.get("panels", {}).items()}
    return named({**panels, "judge": result.get("judge", {})}, "evaluation/")


def _numbers(tree: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, float]]:
    for key, value in tree.items():
        name = prefix + _OTHER.sub("_", str(key))[:_MOST]
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{name}/")
        elif isinstance(value, int | float) and abs(value) <= sys.float_info.max:
            yield name, float(value)
