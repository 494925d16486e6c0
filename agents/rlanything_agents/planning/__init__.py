"""What a run will need and how long it will take, worked out before it starts.

`plan_run` counts: models, memory, tokens, where each phase runs. `forecast` simulates iterations on a cluster, event by
event. `checks` looks for everything that would stop a run and can be known without weights.
"""

from rlanything_agents.planning.errors import PlanError, UnknownSize
from rlanything_agents.planning.forecast import Forecast, Interval, forecast, forecast_sweep
from rlanything_agents.planning.plan import RunPlan, demand_of, plan_run
from rlanything_agents.planning.schedules import SCHEDULES, Schedule, simulate

__all__ = [
    "SCHEDULES",
    "Forecast",
    "Interval",
    "PlanError",
    "RunPlan",
    "Schedule",
    "UnknownSize",
    "demand_of",
    "forecast",
    "forecast_sweep",
    "plan_run",
    "simulate",
]
