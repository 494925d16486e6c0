"""Feedback: outcomes and votes go in, advantages come out; pure NumPy, without models or domains.

One *group* is the set of trajectories of one task, one *batch* the groups of an iteration. Trajectory ``t`` has
an outcome ``O`` in {-1, +1} (``None`` or NaN when the infrastructure failed, or where overlong episodes are masked:
such a trajectory is masked everywhere and never becomes a reward) and, for each of its steps ``i``, ``m`` votes ``S``
of the reward model, which are real numbers: -1 and +1 from a judge, any number from another source, such as a
difference of potentials (`potential_votes`). ``None`` or NaN is a judgement that could not be parsed.

It has two halves:

* for the policy, the integrated reward ``R_i = O + lam * mean_j S_ij``, standardised over the trajectories of
  the group at the same step index ``i`` (`policy`);
* for the reward model, ``R_i * S_ij``, standardised over the ``m`` votes of that step (`judge`).

An advantage of exactly 0 means "leave this sample out". The equations are those of RLAnything (arXiv
2602.02488); the preset ``reference`` follows the released code where it deviates from them.

- ``batch``: both halves on all groups of an iteration, with filters; ``policy`` and ``judge``: one half each;
- ``credits``: rules that turn votes into credit of steps; ``critic``: votes as values of states, fitted to outcomes;
- ``pooled``: a baseline of outcomes from the group and the other groups;
- ``format``: answers that can be read against those that cannot, in groups that the filters leave out;
- ``steps``: steps that train the reward model; ``unit_tests``: feedback between programs and generated tests;
- ``stats``, ``metrics``: diagnostics of an iteration, agreement of votes and outcomes, success rates and judge quality;
- ``arrays``: shared arithmetic.
"""

from rlanything_agents.config.feedback import PRESETS, FeedbackConfig
from rlanything_agents.feedback.arrays import FeedbackError
from rlanything_agents.feedback.batch import GroupFeedback, batch_feedback, group_accuracy, group_feedback, votes_count
from rlanything_agents.feedback.credits import potential_votes
from rlanything_agents.feedback.critic import Critic, evidence_of
from rlanything_agents.feedback.format import format_advantages
from rlanything_agents.feedback.judge import judge_advantages, judge_rewards
from rlanything_agents.feedback.policy import (
    gigpo_advantages,
    integrated_rewards,
    mean_votes,
    policy_advantages,
    step_credit,
)
from rlanything_agents.feedback.pooled import pooled_baselines
from rlanything_agents.feedback.stats import FeedbackStats, Reliability, feedback_stats, reliability
from rlanything_agents.feedback.steps import StepIndex, judged_steps

__all__ = [
    "PRESETS",
    "Critic",
    "FeedbackConfig",
    "FeedbackError",
    "FeedbackStats",
    "GroupFeedback",
    "Reliability",
    "StepIndex",
    "batch_feedback",
    "evidence_of",
    "feedback_stats",
    "format_advantages",
    "gigpo_advantages",
    "group_accuracy",
    "group_feedback",
    "integrated_rewards",
    "judge_advantages",
    "judge_rewards",
    "judged_steps",
    "mean_votes",
    "policy_advantages",
    "pooled_baselines",
    "potential_votes",
    "reliability",
    "step_credit",
    "votes_count",
]
