"""Monitors: pure functions that recognise failures of learning. Metrics rows of a run and the limits of the section
``monitors`` come in; alarms go out, as sentences by signature.

- `judge_collapse`, `reward_hacking`, `policy_collapse`, `task_drift`, `infrastructure`: one file per signature.
- `signatures`: the list of them, `watch` after an iteration, and `health` of a whole run.
- `series`: windows over one metric; `behaviour`: metrics of the episodes themselves.
"""

from rlanything_agents.runs.monitors.behaviour import behaviour
from rlanything_agents.runs.monitors.signatures import SIGNATURES, Health, Signature, health, watch

__all__ = ["SIGNATURES", "Health", "Signature", "behaviour", "health", "watch"]
