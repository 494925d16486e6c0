"""Hook that watches a run for failures of learning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rlanything_agents.config import RunConfig
from rlanything_agents.runs.hooks import Hook, Iteration
from rlanything_agents.runs.monitors.behaviour import behaviour
from rlanything_agents.runs.monitors.signatures import WINDOW, watch
from rlanything_agents.runs.stopping import RunStopped

__all__ = ["MonitorHook"]


class MonitorHook(Hook):
    """Adds ``behaviour`` and ``alarms`` to each row, and says the new ones.

    Args:
        rows: Metrics of the run so far; the owner appends each row.
        config: Uses ``monitors.stop`` and ``iterations``.
        say: Called with one line for each new alarm.
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]], config: RunConfig, say: Callable[[str], None]) -> None:
        self._rows, self._say = rows, say
        self._window, self._fatal = min(WINDOW, config.iterations), config.monitors.stop
        self._taught = config.judge_learns

    def iterated(self, iteration: Iteration) -> None:
        """Add what is seen; nothing is stopped before the iteration is stored."""
        row = iteration.row
        row["behaviour"] = behaviour(iteration.episodes) | (
            {"judge_idle": float(not row["judge"])} if self._taught else {}
        )
        row["alarms"] = watch([*self._rows, row], self._window)
        known = self._rows[-1].get("alarms", {}) if self._rows else {}
        for signature, alarms in row["alarms"].items():
            if signature not in known:
                self._say(f"warning, iteration {row['iteration']}: {signature}: {'; '.join(alarms)}")

    def stop(self) -> None:
        """End the run for an alarm of ``monitors.stop`` in the newest row.

        Raises:
            RunStopped: There is one.
        """
        row = self._rows[-1]
        if stop := [name for name in row["alarms"] if name in self._fatal]:
            raise RunStopped(
                f"stopped after iteration {row['iteration']}: {'; '.join(row['alarms'][stop[0]])} ({stop[0]}). Its "
                f"checkpoint is kept: the same command resumes, with --set monitors.stop=[] to the end",
                RunStopped.UNHEALTHY,
            )
