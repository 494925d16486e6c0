"""What goes wrong in learning, recognised from a run's metrics: pure functions of the rows, with limits from the
configuration (section ``monitors``).

Each signature is one file: `judge_collapse`, `reward_hacking`, `policy_collapse`, `task_drift`, `infrastructure`.
"""

from rlanything_agents.runs.monitors.behaviour import behaviour
from rlanything_agents.runs.monitors.signatures import SIGNATURES, Health, Signature, health, watch

__all__ = ["SIGNATURES", "Health", "Signature", "behaviour", "health", "watch"]
