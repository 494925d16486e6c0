"""A supervised start: the policy imitates an exploring expert, the judge a rule of thumb with noise."""

from rlanything_agents.warmstart.fit import Row, fit
from rlanything_agents.warmstart.lessons import demonstrate, judge_rows

__all__ = ["Row", "demonstrate", "fit", "judge_rows"]
