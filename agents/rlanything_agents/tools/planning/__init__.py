"""What a run will need, worked out before it starts; behind ``rlanything train --dry-run``.

A configuration comes in. `plan_run` counts models, memory and tokens and says where each phase runs; `checks` looks for
everything that would stop the run and can be known without weights.
"""

from rlanything_agents.tools.planning.errors import UnknownSize
from rlanything_agents.tools.planning.plan import RunPlan, plan_run

__all__ = ["RunPlan", "UnknownSize", "plan_run"]
