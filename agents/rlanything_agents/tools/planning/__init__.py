"""Resources of a run before it starts, behind ``rlanything train --dry-run``. A configuration comes in; a plan and
findings about obstacles go out. Only the pilot reads weights.

- `plan`: models, memory, tokens and the place of each phase; `show`: the plan as tables.
- `models`, `sizes`, `published`: shapes of models; `cards`: memory of GPUs.
- `demand`: steps, votes and tokens of an iteration; `memory`, `footprint`: bytes of each phase.
- `checks`: everything that would stop the run; `pilot`: how long it takes, from a few short episodes.
"""

from rlanything_agents.tools.planning.errors import UnknownSize
from rlanything_agents.tools.planning.plan import RunPlan, plan_run

__all__ = ["RunPlan", "UnknownSize", "plan_run"]
