"""What a critic remembers between iterations: the evidence of the last ones, stored in each checkpoint."""

from __future__ import annotations

import json
from pathlib import Path

from safetensors import safe_open
from safetensors.numpy import save_file

from rlanything_agents.feedback.critic import Critic, Evidence

__all__ = ["CriticMemory"]

REMEMBERED = 5
"""Iterations whose episodes fit a critic, the present one included; earlier ones are those of another policy."""
FILE = "critic.safetensors"
SUMS = ("gram", "moment", "square")


class CriticMemory:
    """The evidence of the last iterations. An iteration that is run again replaces what it said before."""

    def __init__(self) -> None:
        self._known: dict[int, Evidence] = {}

    def critic(self, iteration: int, evidence: Evidence) -> Critic:
        """Remember the evidence of an iteration; return the critic that knows it and those before it."""
        self._known = {n: one for n, one in self._known.items() if iteration - REMEMBERED < n < iteration}
        self._known[iteration] = evidence
        return Critic(self._known.values())

    def save(self, folder: Path) -> None:
        """Store the evidence in a checkpoint, to the last bit."""
        sums = {f"{name}-{n}": getattr(one, name) for n, one in self._known.items() for name in SUMS}
        if sums:
            save_file(sums, folder / FILE, {str(n): json.dumps(one.tasks) for n, one in self._known.items()})

    def load(self, folder: Path) -> None:
        """Remember what a checkpoint holds."""
        self._known = {}
        if not (folder / FILE).exists():
            return
        with safe_open(folder / FILE, "np") as stored:
            for n, tasks in sorted(stored.metadata().items(), key=lambda item: int(item[0])):  # sums are in this order
                sums = (stored.get_tensor(f"{name}-{n}") for name in SUMS)
                self._known[int(n)] = Evidence(tuple(json.loads(tasks)), *sums)
