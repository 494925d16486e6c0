"""Monitors recognise failures of learning: metrics rows of a run come in; alarms go out, as sentences by signature.

- `alarms`: the checks with their limits; `signatures`: the list of them, `watch` after an iteration, `health` of a run.
- `verdict`: whether a run learnt, in one sentence, and why not.
- `series`: windows over one metric; `behaviour`: metrics of the episodes themselves; `hook`: calls them in a run.
"""

from rlanything_agents.runs.monitors.behaviour import behaviour
from rlanything_agents.runs.monitors.signatures import SIGNATURES, Health, Signature, health, watch
from rlanything_agents.runs.monitors.verdict import Verdict, apart, verdict

__all__ = ["SIGNATURES", "Health", "Signature", "Verdict", "apart", "behaviour", "health", "verdict", "watch"]
