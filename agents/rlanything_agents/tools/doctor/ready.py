"""What a machine is ready for, from the findings of its checks."""

from __future__ import annotations

from collections.abc import Iterable

from rlanything_agents.tools.doctor.machine import EXTRAS
from rlanything_envs.osworld.desktop.doctor import Finding

__all__ = ["ready"]

_PARTS = {
    "AlfWorld": ("play alfworld",),
    "Coding": ("play coding",),
    "OSWorld, simulated": ("play osworld",),
    "OSWorld, real desktops": ("bwrap desktop",),
    "training": ("extra train",),
    "models behind an address": ("extra llm",),
    "vLLM": ("extra vllm",),
}
"""Uses of the library, and the topics that must be good for each."""


def ready(findings: Iterable[Finding]) -> tuple[list[str], list[str]]:
    """Uses of the library that this machine is ready for, and those that lack something.

    A use without a finding (its check was left out) is in neither list.
    """
    good: dict[str, bool] = {}
    for finding in findings:
        if finding.topic == EXTRAS:
            good.update({f"extra {name}": True for name in finding.said.split()})
        elif finding.topic == "missing extras":
            good.update({f"extra {name}": False for name in finding.said.split()})
        else:
            good[finding.topic] = finding.good is True
    known = {use: [good[topic] for topic in topics if topic in good] for use, topics in _PARTS.items()}
    return (
        [use for use, states in known.items() if states and all(states)],
        [use for use, states in known.items() if states and not all(states)],
    )
