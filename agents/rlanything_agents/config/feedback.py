"""Keys of the feedback, and its named presets."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from rlanything_task_pools import UnknownName

Share = Annotated[float, Field(ge=0, le=1)]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Band = tuple[Share, Share]
CREDITS = {
    "vote": "rlanything_agents.feedback.credits:vote",
    "return": "rlanything_agents.feedback.credits:return_to_go",
    "gigpo": "rlanything_agents.feedback.credits:return_to_go",
}
"""Name of each credit rule -> its function as ``module:function``; see `rlanything_agents.feedback.credits`."""
WITHOUT_VOTES = frozenset({"gigpo"})
"""Rules of `CREDITS` that read the environment's rewards instead of votes."""
CRITIC = "critic"
"""Credit by a critic, which takes no rule for a single episode: it is fitted on all of them."""


def _known(name: str) -> str:
    if name not in CREDITS and name != CRITIC:
        raise ValueError(f"there is no credit rule {name!r}: choose one of {', '.join((*CREDITS, CRITIC))}")
    return name


Credit = Annotated[str, AfterValidator(_known)]


class FeedbackConfig(BaseModel):
    """Formulas that turn outcomes and votes into advantages. The defaults of single keys are those of the paper.

    Attributes:
        outcome_weight: Weight of the outcome in the policy's reward, ``R_i = outcome_weight * O + lam * ...``
            (paper: 1). 0 leaves step-wise rewards only. The reward model is always scored against the outcome,
            the only ground truth of its votes.
        lam: Weight of the credit of a step, by default the reward model's view of it, in the integrated reward
            (lambda; paper: 1). With ``credit: gigpo`` it is that method's omega.
        credit: Rule of `CREDITS` that turns votes into credit for the policy. ``"vote"``: a step's own mean vote
            (paper). It is myopic: going back and forth can earn more than an honest search. ``"return"``: the
            discounted sum of the mean votes from this step on. Back and forth cancel in it, but a long search collects
            more of it than a quick solution. ``"gigpo"`` (arXiv 2505.10978) needs no reward model: the episode's own
            discounted return, where a solved episode earns 1 at its last step and a failed one nothing, standardised
            over the steps of the group that answer the same message, times `lam`, is added to the outcome
            standardised over the episodes; `lone` and `shared_weight` have no part in it. ``"critic"``: the votes are
            no reward. A regression on the verified episodes of other tasks turns them into the value of each state,
            and the advantage of a step is what the values change by from there on, up to the true outcome
            (`rlanything_agents.feedback.critic`). `lam` and `gamma` have no part in it.
        baseline: What a reward is compared with. ``"group"``: the mean of the group at the same step index, over its
            spread (paper). ``"pooled"``, for outcomes without votes and for the critic: the mean of the other episodes
            of the group, shrunk towards the other groups (arXiv 2511.03710). Nothing is divided by a spread, and no
            group is dropped: `policy_band`, `silent`, `lone` and `shared_weight` have no part in it.
        gamma: Discount of the returns, in [0, 1].
        lone: Advantage at a step index that only one trajectory reaches. ``"zero"``: one value has no spread,
            so its advantage is 0 (paper). ``"raw"``: the integrated reward itself, not standardised (released
            code).
        shared_weight: Factor, in [0, 1], on advantages at step indices where every live trajectory shares the
            outcome: only the reward model's noise is left there, scaled up to unit variance (1 = paper,
            0 = masked).
        policy_band: Inclusive band of group accuracy outside which the policy learns nothing; ``None`` = no
            filter.
        silent: Treatment of groups whose valid outcomes are all failures. ``"drop"``: `policy_band` decides.
            ``"return"``: the policy learns from them by the reward model's credit alone. Only with a
            `credit` other than ``"vote"``: a policy farms even faultless myopic labels there.
        judge_band: As `policy_band`, for the reward model (released code: 0.2 to 0.8). Forecasts know no band.
        unparsable_reward: Raw reward of an unparsable judgement. ``None`` puts S = 0 into ``R * S``, which is
            0 and so beats a wrong vote; the released code gives -2.
        balance: Train the reward model on equally many steps of solved and of failed trajectories (see
            `judged_steps`). Forecasts are never balanced: the Brier score would be that of other chances.
        overlong: Treatment of episodes that were cut off because their next turn would have outgrown the context.
            ``"fail"``: they count as failed. ``"mask"``: as an infrastructure failure they are no reward, neither for
            the policy nor for the reward model nor in the statistics of their group (DAPO's overlong filtering, TRL's
            ``mask_truncated_completions``); in the task pool they stay failures. An episode that ran out of steps has
            failed in any case.
        teach_format: Whether a group that a band leaves out still teaches the format, to a model of whose answers in it
            some can be read and others not: readable answers get a positive advantage and unreadable ones a negative
            one, whatever they say (see `format_advantages`). Without it a pretrained policy that solves nothing yet
            gets no sample at all (paper).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcome_weight: Weight = 1.0
    lam: Weight = 1.0
    credit: Credit = "vote"
    baseline: Literal["group", "pooled"] = "group"
    gamma: Share = 0.95
    lone: Literal["zero", "raw"] = "zero"
    shared_weight: Share = 1.0
    policy_band: Band | None = (1 / 8, 7 / 8)
    silent: Literal["drop", "return"] = "drop"
    judge_band: Band | None = (0.2, 0.8)
    unparsable_reward: float | None = Field(default=None, allow_inf_nan=False)
    balance: bool = False
    overlong: Literal["fail", "mask"] = "fail"
    teach_format: bool = False

    @model_validator(mode="after")
    def _bands_are_ordered(self) -> Self:
        for name, band in (("policy_band", self.policy_band), ("judge_band", self.judge_band)):
            if band is not None and band[0] > band[1]:
                raise ValueError(f"{name}: the lower end {band[0]} exceeds the upper end {band[1]}; swap them")
        return self

    @model_validator(mode="after")
    def _silent_groups_are_not_farmed(self) -> Self:
        if self.silent == "return" and self.credit in WITHOUT_VOTES:
            raise ValueError(
                f"silent='return' with credit={self.credit!r}: groups that all failed have no return; drop one of them"
            )
        if self.silent == "return" and self.credit == "vote":
            raise ValueError(
                "silent='return' with credit='vote': on groups that all failed a myopic vote is farmed by going to "
                "and fro; choose credit 'return'"
            )
        return self

    @model_validator(mode="after")
    def _a_pooled_baseline_is_one_of_outcomes(self) -> Self:
        if self.credit == CRITIC and self.baseline != "pooled":
            raise ValueError("credit='critic' corrects the pooled baseline: set baseline='pooled' too")
        if self.baseline == "pooled" and self.credit != CRITIC and (self.lam or self.credit in WITHOUT_VOTES):
            raise ValueError(
                f"baseline='pooled' with credit={self.credit!r} and lam={self.lam}: it is a baseline of outcomes; set "
                "lam to 0, or credit to critic"
            )
        return self

    @property
    def reads_votes(self) -> bool:
        """Whether the policy's advantages depend on votes of the reward model."""
        return self.credit == CRITIC or (self.lam != 0 and self.credit not in WITHOUT_VOTES)

    @classmethod
    def preset(cls, name: str) -> FeedbackConfig:
        """Preset of a name: ``recommended`` and ``outcome`` (no reward model), ``pooled`` (none either), ``paper``,
        ``reference``, ``masked`` or ``critic``.

        Raises:
            UnknownName: There is no preset of this name.
        """
        try:
            return PRESETS[name]
        except KeyError:
            raise UnknownName(f"feedback preset {name!r}: choose one of {', '.join(PRESETS)}") from None

    @property
    def label(self) -> str:
        """Name of the preset with the fewest differences from these settings, and the differences."""
        settings = self.model_dump()
        changed = {
            name: [f"{key}={value}" for key, value in settings.items() if value != getattr(preset, key)]
            for name, preset in PRESETS.items()
        }
        nearest = min(changed, key=lambda name: len(changed[name]))
        return nearest + (f" with {', '.join(changed[nearest])}" if changed[nearest] else "")


PRESETS: dict[str, FeedbackConfig] = {
    "paper": FeedbackConfig(),
    "reference": FeedbackConfig(lone="raw", unparsable_reward=-2.0),
    "outcome": FeedbackConfig(lam=0.0),
    "pooled": FeedbackConfig(lam=0.0, baseline="pooled"),
    "critic": FeedbackConfig(credit="critic", baseline="pooled", unparsable_reward=-2.0, balance=True),
    "masked": FeedbackConfig(
        lam=0.2, shared_weight=0.0, unparsable_reward=-2.0, balance=True, overlong="mask", teach_format=True
    ),
    "recommended": FeedbackConfig(lam=0.0, unparsable_reward=-2.0, balance=True, overlong="mask", teach_format=True),
}
