"""What a critic remembers between iterations: the evidence of the last ones, stored in each checkpoint."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rlanything_agents.feedback.critic import Critic, Evidence

__all__ = ["CriticMemory"]

REMEMBERED = 5
"""Iterations whose episodes fit a critic, the present one included; earlier ones are those of another policy."""
FILE = "critic.npz"


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
        columns = {f"{name}-{n}": getattr(one, name) for n, one in self._known.items() for name in Evidence.__slots__}
        if columns:
            np.savez(folder / FILE, allow_pickle=False, **columns)

    def load(self, folder: Path) -> None:
        """Remember what a checkpoint holds."""
        self._known = {}
        if not (folder / FILE).exists():
            return
        with np.load(folder / FILE, allow_pickle=False) as stored:
            for n in sorted({int(key.rpartition("-")[2]) for key in stored}):
                tasks, *sums = (stored[f"{name}-{n}"] for name in Evidence.__slots__)
                self._known[n] = Evidence(tuple(tasks.tolist()), *sums)
