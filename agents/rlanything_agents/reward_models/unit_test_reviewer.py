"""Reviewer of a reward model that writes unit tests: it runs the group's programs on the written tests."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rlanything_agents.config import RunConfig
from rlanything_agents.config.feedback import CRITIC, WITHOUT_VOTES
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.feedback import format_advantages
from rlanything_agents.feedback.arrays import ZERO, Floats, mean_of
from rlanything_agents.feedback.pooled import pooled_baselines
from rlanything_agents.feedback.unit_tests import (
    UnitTestFeedback,
    UnitTestQuality,
    unit_test_feedback,
    unit_test_quality,
)
from rlanything_agents.reward_models.judge_model import JudgeModel
from rlanything_agents.reward_models.reviewer import Measure
from rlanything_agents.reward_models.trials import Bench, run_tests
from rlanything_agents.reward_models.unit_tests import TestStyle, UnitTestWriter, WrittenTest
from rlanything_agents.rollout.group import RolloutGroup, rewarded_outcomes
from rlanything_agents.rollout.queries import Answer, Query
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.training.samples import Sample
from rlanything_envs.coding.actions import Action, read_action
from rlanything_envs.coding.messages import FAILED
from rlanything_envs.curriculum import Assignment, Critique, Summariser, task_critique
from rlanything_envs.curriculum.summary import MAX_REASON, JudgedEpisode, JudgedStep
from rlanything_envs.errors import Unreadable
from rlanything_envs.llm.generator import SamplingParams
from rlanything_task_pools import Task
from rlanything_task_pools.coding import Payload, read_payload
from rlanything_task_pools.frozen import canonical_json

__all__ = ["ProgramGroup", "UnitTestReview", "UnitTestReviewer", "hidden_verdicts", "submission"]

RESAMPLES = 2000
"""Bootstrap resamples of the tasks behind an interval; tasks, because tests of one task are not independent."""
MAX_TEXT = 2_000
"""Maximum characters stored of the input and of the output of a written test."""

_SUBMITTED = re.compile(r"SUBMIT: [0-9]+ of [0-9]+ hidden tests accepted: ([0-9]+ [^,.]+(?:, [0-9]+ [^,.]+)*)\.")


@dataclass(frozen=True, slots=True)
class ProgramGroup(RolloutGroup):
    """A rollout group whose programs were run on tests that the reward model wrote.

    Attributes:
        tests: The written tests; none where the reward model was not queried.
        passes: Array of shape (programs, tests): 1 passed, 0 failed, NaN unknown.
    """

    tests: list[WrittenTest]
    passes: Floats

    @property
    def correct(self) -> Floats:
        """Array of shape (programs,): 1 where all hidden tests pass, 0 where not, NaN for an infrastructure failure."""
        return _correct(self.outcomes)

    def scores(self) -> list[Floats]:
        """One array of shape (1, tests) per program: 1 passed, -1 failed, NaN unknown or no test."""
        known = np.array([test.test is not None for test in self.tests], dtype=bool)
        return [np.where(known, 2 * row - 1, np.nan)[None] for row in self.passes]

    def judged_episodes(self) -> list[JudgedEpisode]:
        """The episodes as input of a critique: the votes on each last step are the results of the written tests."""
        votes = [tuple(None if np.isnan(vote) else float(vote) for vote in row[0].tolist()) for row in self.scores()]
        return [
            JudgedEpisode(
                goal=self.assignment.task.goal,
                steps=tuple(
                    JudgedStep(step.action, step.full, *((found, self._reasons(found)) if step is t.steps[-1] else ()))
                    for step in t.steps
                ),
                success=t.success,
                opening=t.full_opening,
            )
            for t, found in zip(self.trajectories, votes, strict=True)
        ]

    def _reasons(self, votes: Sequence[float | None]) -> tuple[str, ...]:
        """What the reward model wrote of a program: the tests that it fails, and then those that it passes."""
        known = [(vote, one.test) for vote, one in zip(votes, self.tests, strict=True) if vote and one.test is not None]
        return tuple(
            f"the program {'fails' if vote < 0 else 'passes'} the test {test.stdin!r} gives {test.stdout!r}"[
                :MAX_REASON
            ]
            for vote, test in sorted(known, key=lambda pair: pair[0])
        )


class UnitTestReviewer:
    """Reviewer of a reward model that writes unit tests.

    Args:
        config: All settings, of which ``judge`` (``votes`` is the number of tests per task, ``steps`` the most that
            train it in one iteration) and ``feedback`` are used; see `unit_test_feedback`.
        model: The language model.
        style: Writes the prompts and parses the answers.

    Raises:
        ValueError: The configuration asks for votes of an oracle, for hidden outcomes, or for credit of single steps.
    """

    success = "code: programs that pass all hidden tests"
    measures = (
        Measure("ut: written tests that every correct program passes", "ut"),
        Measure("detect: and that every wrong program fails", "detect"),
        Measure("answers without a test", "unreadable", -1),
    )
    note = (
        "The reward model writes tests for fixed held-out tasks; ut and detect compare them with the generator's "
        "correct program and its wrong ones, whatever the policy. Their intervals are bootstrapped over the tasks."
    )

    def __init__(self, config: RunConfig, model: JudgeModel, style: TestStyle) -> None:
        if config.feedback.credit in (CRITIC, *WITHOUT_VOTES):
            raise ValueError(
                f"feedback.credit {config.feedback.credit!r}: in coding all steps share the reward of the program; "
                "choose another credit"
            )
        if config.judge.answers == "forecasts":
            raise ValueError("judge.answers forecasts: in coding the reward model writes unit tests; leave it out")
        self.config = config
        self.writer = UnitTestWriter(model.generator, style, model.config.max_tokens)

    def params(self, iteration: int) -> SamplingParams:
        """Sampling parameters of the tests."""
        settings, seed = self.config.judge, seed_of(self.config.seed, "judge", iteration)
        return self.writer.params(tests=max(1, settings.votes), seed=seed, temperature=settings.temperature)

    def queries(self, assignment: Assignment, episodes: Sequence[Trajectory]) -> list[Query]:
        """One query for the task; none for a group whose tests would have no effect."""
        problem = read_payload(assignment.task.payload)
        return [self.writer.query(problem)] if self._is_queried(problem, episodes) else []

    def collate(
        self, assignments: Sequence[Assignment], played: Sequence[list[Trajectory]], answers: Sequence[Answer]
    ) -> list[ProgramGroup]:
        """Run all programs on the tests written for their task."""
        problems = [read_payload(assignment.task.payload) for assignment in assignments]
        queried = [self._is_queried(*pair) for pair in zip(problems, played, strict=True)]
        with_tests = [problem for problem, query in zip(problems, queried, strict=True) if query]
        parsed = iter(self.writer.parse_tests(with_tests, answers))
        written = [next(parsed) if query else [] for query in queried]
        benches = []
        for problem, group, tests in zip(problems, played, written, strict=True):
            programs = [submission(t, problem, self.config.environment_arguments) for t in group]
            languages = {each.code: each.language for each in programs}
            benches.append(Bench(problem, tuple(each.code for each in programs), tuple(tests), languages))
        parts = zip(assignments, played, written, run_tests(benches), strict=True)
        return [ProgramGroup(*part) for part in parts]

    def _is_queried(self, problem: Payload, group: Sequence[Trajectory]) -> bool:
        """Whether tests are written for a group; without a correct program they get no reward."""
        if not self.config.queries_judge:
            return False
        wanted = self.config.judge.scope == "all" or self.config.feedback.lam > 0
        # Answers without a form may be unreadable, which teaches the format where no program is correct.
        free = self.writer.style.form(problem) is None
        formats = self.config.feedback.teach_format and self.config.judge_learns and free
        rewarded = rewarded_outcomes(group, self.config.feedback)
        return wanted or any(outcome == 1 or (formats and outcome is not None) for outcome in rewarded)

    def review(self, groups: Sequence[ProgramGroup], iteration: int = 1) -> UnitTestReview:
        """Reward the programs by the hidden tests, and the written tests by the programs."""
        feedback = [
            unit_test_feedback(
                [t.score for t in group.trajectories],
                _correct(rewarded_outcomes(group.trajectories, self.config.feedback)),
                group.passes,
                self.config.feedback,
                readable=[test.test is not None for test in group.tests],
            )
            for group in groups
        ]
        if self.config.feedback.baseline == "pooled":
            baselines = pooled_baselines([found.rewards for found in feedback])
            gains = [np.nan_to_num(found.rewards - mean) for found, mean in zip(feedback, baselines, strict=True)]
            policies = [np.where(np.abs(each) < ZERO, 0.0, each) for each in gains]
            feedback = [
                replace(found, policy=policy, policy_kept=bool(policy.any()))
                for found, policy in zip(feedback, policies, strict=True)
            ]
        limit = self.config.judge.steps if self.config.judge_learns else 0
        arguments = self.config.environment_arguments
        return UnitTestReview(list(groups), feedback, limit, self.config.feedback.teach_format, arguments)

    def save(self, folder: Path) -> None:
        """Store nothing: an iteration depends on no earlier one."""

    def load(self, folder: Path) -> None:
        """Load nothing."""

    def quality(self, groups: Sequence[ProgramGroup], rng: np.random.Generator) -> dict[str, Any] | None:
        """``ut`` and ``detect`` against the policy's own programs; None where no test was written."""
        written = [test for group in groups for test in group.tests]
        return _rates([(group.correct, group.passes) for group in groups], written) if written else None

    def panel(self, trajectories: Sequence[Trajectory], tasks: Sequence[Task]) -> list[dict[str, Any]]:
        """Held-out tasks with a correct program and wrong ones; the panel does not depend on the policy."""
        return [
            {"payload": json.loads(canonical_json(task.payload)), "correct": task.proof[0]}
            for task in tasks[: len(trajectories)]
            if task.proof and task.payload.get("wrong")
        ]

    def measure(self, panel: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """``ut`` and ``detect`` with 95 % bootstrap intervals over the tasks; see `UnitTestQuality`."""
        settings = self.config.judge
        problems = [read_payload(record["payload"]) for record in panel]
        seed = seed_of(0, "judge panel")
        written = self.writer.write(problems, tests=settings.votes, seed=seed, temperature=settings.temperature)
        benches = [
            Bench(problem, (str(record["correct"]), *problem.wrong), tuple(tests))
            for problem, record, tests in zip(problems, panel, written, strict=True)
        ]
        groups = [(_truth(bench), passes) for bench, passes in zip(benches, run_tests(benches), strict=True)]
        result = _rates(groups, [test for tests in written for test in tests])
        counts = [unit_test_quality([group]) for group in groups]
        return {**result, **_intervals(counts, seed)}

    def measured_on(self, result: Mapping[str, Any]) -> str:
        """Numbers of tests and of tasks."""
        return f"{result['tests']} tests for {result['tasks']} held-out tasks"


@dataclass(frozen=True, slots=True)
class UnitTestReview:
    """Feedback of one iteration from unit tests; see `rlanything_agents.reward_models.reviewer.Review`."""

    groups: list[ProgramGroup]
    feedback: list[UnitTestFeedback]
    limit: int
    """Maximum tests that train the reward model."""
    teach_format: bool
    """See `FeedbackConfig.teach_format`."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the environment."""
    dropped: frozenset[int] = frozenset()
    """Numbers of groups from which neither model learns."""

    def without(self, groups: Collection[int]) -> UnitTestReview:
        """See `rlanything_agents.reward_models.reviewer.Review.without`."""
        return replace(self, dropped=frozenset(groups))

    @property
    def advantages(self) -> list[list[Floats]]:
        """Advantages of the policy, shape (steps,) each.

        All steps of an episode share the advantage of its program; a group outside of the band may teach the format.
        """
        return [self._advantages(number) for number in range(len(self.groups))]

    def _advantages(self, number: int) -> list[Floats]:
        group, found = self.groups[number], self.feedback[number]
        if number in self.dropped:
            return [np.zeros(len(t.steps)) for t in group.trajectories]
        if found.policy_kept or not self.teach_format:
            return [np.full(len(t.steps), a) for t, a in zip(group.trajectories, found.policy, strict=True)]
        return format_advantages(group.readable(), found.correct)

    def samples(self, rng: np.random.Generator) -> list[Sample]:
        """Tests with an advantage, subsampled to the limit."""
        kept = [(g, found) for g, found in enumerate(self.feedback) if g not in self.dropped]
        places = [(g, int(k)) for g, found in kept for k in np.flatnonzero(found.judge)]
        if len(places) > self.limit:
            places = [places[n] for n in sorted(rng.choice(len(places), self.limit, replace=False))]
        return [self.groups[g].tests[k].sample(float(self.feedback[g].judge[k])) for g, k in places]

    def stats(self) -> dict[str, Any]:
        """Shares kept by the filters, numbers of masked results, and mean rewards; None where nothing was counted."""
        found = self.feedback
        known = [f.test_rewards[~np.isnan(f.test_rewards)] for f in found]
        rewards = np.concatenate(known) if known else np.zeros(0)
        counts = Counter(f.accuracy is not None and 0 < f.accuracy < 1 for f in found)
        return {
            "accuracy": mean_of(np.concatenate([f.correct[~np.isnan(f.correct)] for f in found])),
            "fraction": mean_of(np.array([t.score for g in self.groups for t in g.trajectories if t.outcome])),
            "mixed_rate": counts[True] / len(found),
            "masked": sum(int(np.isnan(f.correct).sum()) for f in found),
            "masked_tests": sum(test.failed for group in self.groups for test in group.tests),
            "unparsable_rate": _unreadable([test for group in self.groups for test in group.tests]),
            "test_reward": mean_of(rewards),
            "rewarded_rate": mean_of(rewards > 0),
            "policy_kept": mean_of(np.array([f.policy_kept for f in found])),
            "judge_kept": mean_of(np.array([f.judge_kept for f in found])),
            "policy_format": mean_of(
                np.array([not f.policy_kept and any(a.any() for a in self._advantages(g)) for g, f in enumerate(found)])
            ),
            "judge_format": mean_of(np.array([f.judge_format for f in found])),
            "policy_samples": sum(int(np.count_nonzero(f.policy)) for f in found),
            "judge_samples": sum(int(np.count_nonzero(f.judge)) for f in found),
        }

    def critique(self, group: int, summariser: Summariser | None = None) -> Critique:
        """Summary of the programs and of the tests that the reward model wrote, for the rewriter.

        It ends with the wrong program that passes most hidden tests.
        """
        played = self.groups[group]
        made = task_critique(played.judged_episodes(), summariser)
        scores = [t.score for t in played.trajectories if t.outcome is not None]
        if not scores:
            return made
        lines = [f"On average a program passes {100 * float(np.mean(scores)):.0f} % of the hidden tests.", made.text]
        wrong = [t for t in played.trajectories if t.outcome == -1]
        if wrong:
            nearest = max(wrong, key=lambda t: t.score)
            program = submission(nearest, read_payload(played.assignment.task.payload), self.arguments).code
            # It is the policy's text: no line of it passes for one of the rewriter's prompt.
            quoted = "\n".join(f"| {line}" for line in program[:2000].splitlines() if line.strip())
            lines.append(f"A wrong program that passes {100 * nearest.score:.0f} %:\n{quoted}")
        return replace(made, text="\n".join(lines))

    def records(self, group: int, iteration: int) -> list[dict[str, Any]]:
        """One record per episode, with its verdicts and the written tests.

        A vote is the result of the program on a test: 1 passed, -1 failed, None unknown or unreadable.
        """
        played, found = self.groups[group], self.feedback[group]
        votes, advantages = played.scores(), self._advantages(group)
        tests = [_written(test, reward) for test, reward in zip(played.tests, found.test_rewards, strict=True)]
        texts = [_shown(test, reward) for test, reward in zip(played.tests, found.test_rewards, strict=True)]
        return [
            {
                **played.header(t, iteration),
                "tests": tests,
                "verdicts": hidden_verdicts(trajectory),
                "turns": [
                    {
                        **step.record(),
                        "judgements": texts,
                        "votes": [None if np.isnan(vote) else vote for vote in votes[t][0].tolist()],
                        "reward": None if np.isnan(found.rewards[t]) else round(float(found.rewards[t]), 4),
                        "advantage": round(float(advantages[t][number]), 4),
                    }
                    for number, step in enumerate(trajectory.steps)
                ],
            }
            for t, trajectory in enumerate(played.trajectories)
        ]


def submission(trajectory: Trajectory, problem: Payload, arguments: Mapping[str, Any]) -> Action:
    """The program that an episode submitted, as the environment read it; an empty one where it submitted none.

    Args:
        trajectory: The episode.
        problem: The problem.
        arguments: Arguments of the environment.
    """
    none, answer = Action("GIVE_UP"), trajectory.steps[-1].full if trajectory.steps else ""
    if not answer.startswith(("SUBMIT: ", FAILED)):  # the last of several turns may have been another action
        return none
    taken = arguments.get("languages") if problem.entry_point is None else None
    try:
        action = read_action(
            trajectory.steps[-1].action,
            only_submit=True,
            languages=taken or problem.languages,
            entry_point=problem.entry_point,
            action_format=arguments.get("action_format", "verbs"),
        )
    except Unreadable:
        return none
    return action if action.verb == "SUBMIT" else none


def hidden_verdicts(trajectory: Trajectory) -> dict[str, int]:
    """Hidden tests per verdict, parsed from the environment's answer to the submission; empty without one."""
    answer = trajectory.steps[-1].full if trajectory.steps else ""
    if (listed := _SUBMITTED.match(answer)) is None:
        return {}
    return {verdict: int(number) for number, verdict in (part.split(" ", 1) for part in listed[1].split(", "))}


def _correct(outcomes: Sequence[int | None]) -> Floats:
    return np.array([np.nan if outcome is None else float(outcome == 1) for outcome in outcomes])


def _truth(bench: Bench) -> Floats:
    """Array of shape (programs,): the first program of a panel's bench is correct, the others are not."""
    correct = np.zeros(len(bench.programs))
    correct[0] = 1.0
    return correct


def _rates(groups: Sequence[tuple[Floats, Floats]], written: Sequence[WrittenTest]) -> dict[str, Any]:
    quality = unit_test_quality(groups)
    return {
        "ut": quality.ut_rate,
        "detect": quality.detect_rate,
        "unreadable": _unreadable(written),
        "tests": quality.tests,
        "tasks": sum(bool((correct == 1).any()) for correct, _ in groups),
    }


def _unreadable(written: Sequence[WrittenTest]) -> float | None:
    return mean_of(np.array([test.test is None for test in written if not test.failed]))


def _intervals(counts: Sequence[UnitTestQuality], seed: int) -> dict[str, tuple[float, float] | None]:
    drawn = np.random.default_rng(seed).integers(len(counts), size=(RESAMPLES, len(counts))) if counts else None
    found: dict[str, tuple[float, float] | None] = {}
    for name, hits, tests in (("ut", "agree", "tests"), ("detect", "detect", "contested")):
        if drawn is None:
            found[f"{name}_interval"] = None
            continue
        top, bottom = (np.array([getattr(c, field) for c in counts])[drawn].sum(axis=1) for field in (hits, tests))
        shares = top[bottom > 0] / bottom[bottom > 0]
        low, high = np.quantile(shares, (0.025, 0.975)) if len(shares) else (0.0, 1.0)
        found[f"{name}_interval"] = (float(low), float(high))
    return found


def _written(test: WrittenTest, reward: float) -> dict[str, Any]:
    """A test as plain data, for the record of an episode."""
    stdin, stdout = (test.test.stdin, test.test.stdout) if test.test is not None else ("", "")
    return {
        "stdin": stdin[:MAX_TEXT],
        "stdout": stdout[:MAX_TEXT],
        "complaint": test.complaint[:MAX_TEXT],
        "reward": None if np.isnan(reward) else round(float(reward), 4),
    }


def _shown(test: WrittenTest, reward: float) -> str:
    worth = "no reward" if np.isnan(reward) else f"reward {reward:+g}"
    text = f"{test.test.stdin!r} gives {test.test.stdout!r}" if test.test is not None else test.complaint
    return f"{text[:400]} ({worth})"
