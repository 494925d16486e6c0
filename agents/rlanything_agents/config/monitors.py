"""Keys of the monitors, which recognise failures of learning."""

from __future__ import annotations

from typing import Literal

from rlanything_agents.config.section import Section

__all__ = ["MonitorsConfig", "SignatureName"]

SignatureName = Literal["judge_collapse", "reward_hacking", "policy_collapse", "task_drift", "infrastructure"]
"""Failure signatures that the monitors recognise; see `rlanything_agents.runs.monitors`."""


class MonitorsConfig(Section):
    """Alarms after every iteration."""

    stop: tuple[SignatureName, ...] = ()
    """Signatures whose first alarm ends the run, with a checkpoint from which it can continue."""
