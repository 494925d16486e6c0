"""Alarms of each failure signature. Metrics rows of a run come in, sentences go out, some with keys that help.

The limits lie well outside the values of healthy runs of the hard regime (``python -m studies table1 --regime hard``);
``docs/howto/failures.md`` has the figures. Every value is a mean over a window of iterations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from rlanything_agents.feedback.percent import percent, points
from rlanything_agents.runs.monitors.series import Rows, Series, pick
from rlanything_envs.curriculum.llm_rewriter import GENERATOR_ERROR

__all__ = ["Alarm", "infrastructure", "judge_collapse", "policy_collapse", "reward_hacking", "task_drift"]

Alarm = str | tuple[str, str]
"""A sentence; or one with the keys of the configuration to turn against it, in place of those of its signature."""

JUDGE_ONE_SIDED = 0.1
"""Share of +1 among the votes on solved episodes, or of -1 among those on failed ones, at or below which the reward
model always gives the same answer. Healthy: at least 0.17 in a single iteration."""
JUDGE_MU = 1.0
"""Sum of these two shares at or below which votes carry no information about outcomes (Theorem 1 of the paper)."""
JUDGE_MIXED = 0.005
"""Share of judged items with differing votes, at or below which the reward model has nothing to learn from; only
where the share was higher in the first iterations. Healthy: at least 0.02."""
JUDGE_UNPARSABLE = 0.2
"""Share of votes or tests that cannot be parsed. Healthy, for step judges: at most 0.04."""
JUDGE_CHANCE = 0.52
"""Balanced accuracy against the domain's true labels, where it has them, at or below which votes are guesses."""
JUDGE_FALL = 0.1
"""Drop of this accuracy since the first iterations."""
JUDGE_IDLE = 0.9
"""Share of iterations in which a reward model that learns has no sample to learn from."""

HACKING_RISE = 0.3
"""Rise of the mean vote on the steps of failed episodes (from -1 to 1) since the first iterations, while success does
not rise."""
HACKING_REPEATED = 0.3
"""Share of the steps that repeat one of the two actions before them..."""
HACKING_REPEATED_RISE = 0.15
"""... and its rise since the first iterations, while success does not rise."""

POLICY_KEPT = 0.02
"""Share of groups with a learning signal, at or below which the policy no longer learns."""
UNTAUGHT = (
    "lower policy_trainer.learning_rate, imitate longer (warm_start.demonstrations), or change the tasks "
    "(curriculum.knobs); when the run has ended, `rlanything pool profile RUN --agent run:RUN` measures which of its "
    "tasks still teach"
)
"""What helps a policy that no longer learns."""
POLICY_OUTSIDE = 0.97
"""Share of groups on one side of the band, at or above which tasks are too hard, or too easy, to learn from. Healthy:
at most 0.95, of 4 groups an iteration (``python -m studies table1 --file configs/study/critic.yaml --regime four``)."""
POLICY_ENTROPY = 0.01
"""Entropy in nats per sampled token, at or below which the policy is deterministic. Healthy: at least 0.02."""
POLICY_ENTROPY_RISE = 3.0
"""Rise of the entropy since the first iterations, as a factor."""
POLICY_KL = 0.5
"""KL divergence of one update in nats per token, as the median of the last iterations. Healthy: at most 0.1."""
POLICY_LENGTH = 3.0
"""Growth or shrinkage of the words per turn since the first iterations, as a factor."""
POLICY_UNREADABLE = 0.5
"""Share of turns whose answer holds no action. Healthy: 0 with choices, at most 0.3 of a pretrained model's free
answers."""
POLICY_LOST = 0.2
"""Success as a share of its best value so far..."""
POLICY_HAD = 0.1
"""... where that best value was at least this. Harder tasks do not count as collapse: see ``task_drift``."""

TASKS_FAR = 0.25
"""Share of slots whose task is farther from its root task than the drift limit."""
TASKS_DRIFT = 0.7
"""Mean distance of the tasks from their root tasks. Healthy: at most 0.47."""
TASKS_DIVERSITY = 0.5
"""Distance between the tasks as a share of its value in the first iterations."""
TASKS_DUPLICATES = 0.25
"""Share of slots whose task is in another slot too."""
TASKS_VALID = 0.1
"""Share of proposals proved solvable, at or below which the rewriter is of no use."""
TASKS_ACCEPTED = 0.02
"""Share of tried candidates that are accepted, at or below which the rewriter misses the band."""
TASKS_DECISIONS = 20
"""Fewest proposals, or decisions, in the window for the last two shares to count."""
TASKS_UNSOLVED = 0.5
"""Share of trials in which neither the task nor its rewrite was ever solved, of half as many decisions at least."""

MACHINERY_ERRORS = 0.1
"""Share of episodes ended by an infrastructure failure."""
MACHINERY_UNANSWERED = 0.5
"""Share of requests to a language model's service without an answer."""

TRUTH = {
    "judge_quality.process_balanced": "balanced accuracy of its votes against the planner",
    "judge_quality.ut": "share of its tests that agree with every correct program",
}
"""Metrics against the ground truth, each from the domains that have it, with their descriptions."""


def judge_collapse(rows: Rows, window: int) -> Iterator[Alarm]:
    """The reward model gives one answer, writes nonsense, or is at chance.

    A judge that starts at chance on mostly failed episodes is rewarded for calling every step wrong; then all votes
    agree, and no gradient leads out of it. Its own training reward does not show this, so the alarms compare votes
    with outcomes, and with the true labels where the domain has them.
    """

    def series(key: str) -> Series:
        return Series(rows, key, window)

    if series("judge.loss").broken:
        yield "the reward model's loss is not a number"
    unparsable = series("feedback.unparsable_rate").soon  # of many votes already in the first iteration
    if unparsable is not None and unparsable >= JUDGE_UNPARSABLE:
        yield f"{percent(unparsable, 0)} of the reward model's answers cannot be read"
        return  # the other metrics are of few votes
    if (idle := series("behaviour.judge_idle").now) is not None and idle >= JUDGE_IDLE:
        yield f"the reward model had no sample to learn from in {percent(idle, 0)} of the iterations"
    for key, calls in (("p_plus", "solved episodes say right"), ("p_minus", "failed episodes say wrong")):
        if (share := series(f"feedback.{key}").now) is not None and share <= JUDGE_ONE_SIDED:
            yield f"only {percent(share, 0)} of the votes on {calls}: its answers are constant"
    if (mu := series("feedback.mu").now) is not None and mu <= JUDGE_MU:
        yield f"votes do not predict outcomes: mu = p+ + p- is {mu:.2f}"
    mixed = series("feedback.mixed_rate")
    if mixed.first is not None and mixed.now is not None and mixed.first > JUDGE_MIXED >= mixed.now:
        yield f"the reward model's votes differ on only {percent(mixed.now)} of the steps: it has nothing to learn from"
    if (balanced := series("judge_quality.process_balanced").now) is not None and balanced <= JUDGE_CHANCE:
        accuracy = percent(balanced, 0)
        yield f"the reward model's balanced accuracy against the planner is {accuracy}, no better than chance"
    for key, what in TRUTH.items():
        if (change := series(key).change) is not None and -change >= JUDGE_FALL:
            yield f"the {what} has fallen by {-100 * change:.0f} points"


_RISE = 0.02
"""Least change of success that counts: about two standard errors of the mean of five iterations of 128 episodes."""


def reward_hacking(rows: Rows, window: int) -> Iterator[Alarm]:
    """The policy collects reward from the judge without solving the tasks.

    Step rewards that are right for each step can still be collected without end: leaving a goal and returning to it
    earns a good vote each time. So the alarms watch for rising votes on failed episodes, and for repeated actions,
    while success does not rise.
    """

    def series(key: str) -> Series:
        return Series(rows, key, window)

    if (success := series("success.active").change) is None or success >= _RISE:
        return
    if (vote := series("behaviour.vote_lost").change) is not None and vote >= HACKING_RISE:
        yield f"the mean vote on failed episodes has risen by {vote:.2f} while success changed by {points(success, 0)}"
    repeated = series("behaviour.repeated")
    now, change = repeated.now, repeated.change
    if now is not None and change is not None and now >= HACKING_REPEATED and change >= HACKING_REPEATED_RISE:
        more, gained = points(change, 0), points(success, 0)
        yield f"{percent(now, 0)} of the steps repeat an action just taken, {more}; success changed by {gained}"


def policy_collapse(rows: Rows, window: int) -> Iterator[Alarm]:
    """The policy gets no gradient, loses or gains too much entropy, diverges, or forgets.

    A nearly deterministic policy solves all episodes of a group or none; the filter drops such groups, and no
    gradient is left. Adapting the tasks is the remedy; without it, check whether the pool is too easy or too hard.
    """

    def series(key: str) -> Series:
        return Series(rows, key, window)

    for key in ("policy.loss", "policy.grad_norm"):
        if series(key).broken:
            yield f"the policy's {key.partition('.')[2]} is not a finite number"
    if (readable := series("actions.readable").soon) is not None and 1 - readable >= POLICY_UNREADABLE:
        yield f"{percent(1 - readable, 0)} of the policy's answers contain no readable action"
    success = series("success.active")
    kept = series("feedback.policy_kept").now
    others = (series(f"feedback.{key}").now for key in ("silent_kept", "policy_format"))
    outside = False
    for key, what, turn in (
        ("below", "too hard", "imitate longer (warm_start.demonstrations) or take easier tasks (curriculum.knobs)"),
        ("above", "too easy", "take harder tasks (curriculum.knobs) or let them adapt (curriculum.rewriter)"),
    ):
        if (share := series(f"curriculum.{key}").now) is not None and share >= POLICY_OUTSIDE:
            outside = True
            yield f"{percent(share, 0)} of the groups are {what}", turn
    taught = None if kept is None else kept + sum(share or 0.0 for share in others)
    if taught is not None and taught <= POLICY_KEPT and not outside:
        won = "" if success.now is None else f", {percent(success.now, 0)} of the episodes are solved"
        yield f"{percent(taught, 0)} of the groups gave the policy a gradient{won}", UNTAUGHT
    entropy = series("policy.entropy")
    if entropy.now is not None and entropy.now <= POLICY_ENTROPY:
        yield f"the policy is almost deterministic: entropy {entropy.now:.4f} nats"
    if entropy.first and entropy.now is not None and (rise := entropy.now / entropy.first) >= POLICY_ENTROPY_RISE:
        yield f"the policy's entropy is {rise:.1f} times what it was"
    if (moves := series("policy.kl").last) and (move := median(moves)) >= POLICY_KL:
        yield f"the policy moves by {move:.2f} nats a token in an update"
    words = series("behaviour.words")
    if words.first and words.now is not None:
        growth = words.now / words.first
        if growth >= POLICY_LENGTH or growth <= 1 / POLICY_LENGTH:
            yield f"a turn has {words.now:.0f} words; at first it had {words.first:.0f}"
    if success.best is not None and success.now is not None and success.best >= POLICY_HAD:
        share = success.now / success.best
        if share <= POLICY_LOST:
            yield f"success fell from {percent(success.best, 0)} to {percent(success.now, 0)}"


def task_drift(rows: Rows, window: int) -> Iterator[Alarm]:
    """Tasks move far from their roots, become alike, or are no longer rewritten."""
    if not rows:
        return
    tasks, newest = rows[-1].get("tasks", {}), rows[-1].get("curriculum", {})
    slots = max(1, tasks.get("slots", 1))
    far, twice = len(newest.get("far", ())) / slots, newest.get("duplicates", 0) / slots
    if far >= TASKS_FAR:
        yield f"{percent(far, 0)} of the tasks are far from their roots"
    if twice >= TASKS_DUPLICATES:
        yield f"{percent(twice, 0)} of the slots hold a duplicate of another task"
    if (drift := Series(rows, "curriculum.drift", window).now) is not None and drift >= TASKS_DRIFT:
        yield f"the mean distance of the tasks from their roots is {drift:.2f}"
    diversity = Series(rows, "curriculum.diversity", window)
    if diversity.first and diversity.now is not None:
        share = diversity.now / diversity.first
        if share <= TASKS_DIVERSITY:
            yield f"the tasks have become alike: {percent(share, 0)} of the first diversity"
    yield from _rewriting(rows, window)


def _rewriting(rows: Rows, window: int) -> Iterator[Alarm]:
    """Alarms on the shares of proved proposals and of accepted tasks in the last window."""
    if len(rows) < window:
        return
    now, before = _Counts.of(rows[-1]), _Counts.of(rows[-window - 1]) if len(rows) > window else _Counts()
    proved, proposals = now.proved - before.proved, now.proposals - before.proposals
    accepted, decided = now.accepted - before.accepted, now.decided - before.decided
    if proposals >= TASKS_DECISIONS and proved / proposals <= TASKS_VALID:
        yield f"{proved} of {proposals} proposals could be proved"
    if decided >= TASKS_DECISIONS and accepted / decided <= TASKS_ACCEPTED:
        yield f"{accepted} of {decided} tried tasks were accepted"
    unsolved = now.unsolved - before.unsolved
    if 2 * decided >= TASKS_DECISIONS and unsolved / decided >= TASKS_UNSOLVED:
        said = f"{unsolved} of {decided} trials compared a task never solved with another never solved"
        yield said, "take easier tasks (curriculum.knobs) or imitate longer (warm_start.demonstrations)"


@dataclass(frozen=True, slots=True)
class _Counts:
    """Cumulative counts of proposals and decisions up to an iteration, without failures of the service."""

    proved: int = 0
    proposals: int = 0
    accepted: int = 0
    decided: int = 0
    unsolved: int = 0

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> _Counts:
        found = row.get("curriculum", {})
        proved, accepted = found.get("proposed", 0), found.get("accepted", 0)
        discarded = sum(n for reason, n in found.get("discarded", {}).items() if reason != GENERATOR_ERROR)
        return cls(
            proved,
            proved + discarded,
            accepted,
            accepted + sum(found.get("rejected", {}).values()),
            found.get("unsolved", 0),
        )


def infrastructure(rows: Rows, window: int) -> Iterator[Alarm]:
    """Too many episodes, or requests to the service of a language model, fail.

    Infrastructure failures are masked and never a reward, but a run with many masked episodes learns from fewer
    than its configuration says.
    """
    if (errors := Series(rows, "behaviour.errors", window).now) is not None and errors >= MACHINERY_ERRORS:
        yield f"{percent(errors, 0)} of the episodes ended in an infrastructure error"
    elif rows and pick(rows[-1], "behaviour.errors") == 1.0:  # reported at once, without a full window
        yield "every episode of this iteration ended in an infrastructure error"
    recent = rows[-window:]
    requests, failed = (
        sum(sum(pick(row, f"rewriter.{key}") or 0.0 for key in keys) for row in recent)
        for keys in (("requests",), ("unanswered", "skipped"))
    )
    if requests and failed / requests >= MACHINERY_UNANSWERED:
        yield f"{failed:.0f} of {requests:.0f} requests to the rewriter's service had no answer"
