"""Supervision of a domain: the demonstrations, step labels and short judge prompts that training needs besides the
environment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

from rlanything_agents.config import ConfigError, RunConfig
from rlanything_agents.domains.lessons import Expert, Lessons, School, demonstrate, judge_rows
from rlanything_agents.reward_models.forecasts import ForecastPrompts
from rlanything_agents.reward_models.judge_model import JudgeModel
from rlanything_agents.reward_models.reviewer import Reviewer
from rlanything_agents.reward_models.step_judge import StepJudge
from rlanything_agents.reward_models.step_prompts import FullStepPrompts, Judgement, ShortStepPrompts, StepPrompts
from rlanything_agents.reward_models.step_reviewer import StepReviewer
from rlanything_agents.rollout.rollout import rollout
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.training.imitation import Row
from rlanything_envs.llm.choices import Form

__all__ = ["ExpertLessons", "StepSupervision", "Supervision", "get_step_supervision", "get_supervision"]

SUPERVISED = {
    "alfworld": "rlanything_agents.domains.alfworld.supervision",
    "coding": "rlanything_agents.domains.coding.supervision",
    "osworld": "rlanything_agents.domains.osworld.oracle",
}
"""Domain -> module of its ``SUPERVISION``. Any other domain trains without one: see `StepSupervision`."""


class Supervision(Protocol):
    """Supervision of a domain."""

    @property
    def lessons(self) -> Lessons:
        """Demonstrations for the warm start of both models; making their rows raises `ConfigError` without any."""
        ...

    def reviewer(self, config: RunConfig, model: JudgeModel) -> Reviewer[Any]:
        """Make the reviewer of the domain's kind of reward model.

        Raises:
            ValueError: The configuration asks for a source of votes that this kind does not have.
        """
        ...


class StepSupervision:
    """Supervision of a domain whose reward model judges steps.

    This class itself supports any domain, with pretrained models and the full view. A domain with an expert, labels or
    short judge texts overrides the methods for them.
    """

    form: Form | None = None
    """Form of a judge's answers in the short view; None without short judge texts."""

    def expert(self, seed: int) -> Expert:
        """Make an expert for one episode.

        Raises:
            ConfigError: The domain has no expert.
        """
        raise ConfigError("the domain has no demonstrator: leave the warm start's lessons off")

    def experts(self, config: RunConfig) -> Callable[[int, Any], Expert]:
        """Function from the seed and the task of an episode to its expert, for the actions of a run.

        Raises:
            ConfigError: The domain has no expert for them.
        """
        return lambda seed, task: self.expert(seed)

    def heuristic_labels(self, trajectory: Trajectory) -> list[Judgement]:
        """Judgements of every step, from the messages alone, for the warm start of a judge.

        Raises:
            ConfigError: The domain has no heuristic labels.
        """
        raise ConfigError(
            "the domain has no heuristic labels for reward_model.lessons: leave them out, or set judge.answers to "
            "forecasts, which learn how episodes end"
        )

    def true_labels(self, payload: Mapping[str, Any], trajectory: Trajectory) -> list[int] | None:
        """True labels from the state of the world, one per step; None where the domain has none. They measure a judge
        and never train one.

        1: the step progresses, or searches where it can find what is needed. -1: it undoes, repeats or wastes. 0:
        neither; such a step measures no judge, and an oracle's vote on it is 0.
        """
        return None

    def potentials(self, payload: Mapping[str, Any], trajectory: Trajectory) -> list[float] | None:
        """Potential of the state before each step, and of the last one, shape (steps + 1,): minus the planner's
        remaining steps over those at the start. So it is -1 at the start and 0 once the task is solved. None where the
        domain has no planner.
        """
        return None

    def judge_texts(self, trajectory: Trajectory) -> Sequence[str]:
        """One short text per step for a judge; a step's text does not depend on later steps.

        Raises:
            ConfigError: The domain has no short judge texts.
        """
        raise ConfigError("the domain has no short prompts for a judge: set environment.view to full")

    def prompts(self, config: RunConfig, model: JudgeModel) -> StepPrompts:
        """Prompts and answers of a run's reward model, in the run's view."""
        short = config.view == "short" and self.form is not None
        if config.judge.answers == "forecasts":
            texts, limit = self.judge_texts if short else None, config.rollout.max_steps
            return ForecastPrompts(model.template, model.config, limit, texts, config.judge.constrained)
        if short:
            return ShortStepPrompts(model.template, self.judge_texts, self.form if config.judge.constrained else None)
        return FullStepPrompts(model.template, model.config, config.judge.constrained)

    @property
    def lessons(self) -> Lessons:
        """Episodes of the expert, and the heuristic labels."""
        return ExpertLessons(self)

    def reviewer(self, config: RunConfig, model: JudgeModel) -> StepReviewer:
        """Reviewer of a reward model that judges steps."""
        judge = StepJudge(model.generator, self.prompts(config, model), model.config.max_tokens)
        return StepReviewer(config, judge, self.true_labels)


class ExpertLessons:
    """An expert's episodes for the policy, heuristic labels with noise for the judge.

    Args:
        supervision: Makes experts and heuristic labels.
    """

    def __init__(self, supervision: StepSupervision) -> None:
        self.supervision = supervision

    def policy(self, school: School) -> list[Row]:
        """Rows of the episodes that the expert solved."""
        settings = school.config.warm_start
        tasks = school.train_tasks("demonstrations", settings.demonstrations)
        with school.reporter.stage("Demonstrations", len(tasks)) as stage:
            return demonstrate(
                self.supervision.experts(school.config),
                school.actor.renderer,
                school.envs[0],
                tasks,
                max_steps=settings.max_steps,
                seed=school.seed("expert"),
                progress=stage.add,
            )

    def judge(self, school: School) -> list[Row]:
        """Rows of steps of the warm-started policy: noisy heuristic labels, or how the episode ended, for forecasts."""
        settings, play = school.config.warm_start, school.config.rollout
        tasks = school.train_tasks("judge", -(-settings.judge_steps // max(1, play.max_steps // 2)))
        trajectories = rollout(
            school.actor,
            school.envs,
            tasks,
            max_steps=play.max_steps,
            seed=school.seed("judge", "rollout"),
            temperature=play.temperature,
            top_p=play.top_p,
            stop=play.stop,
            constrained=play.constrained,
        )
        forecasts = school.config.judge.answers == "forecasts"
        return judge_rows(
            _ends if forecasts else self.supervision.heuristic_labels,
            self.supervision.prompts(school.config, school.judge_model),
            school.judge_model,
            [t for t in trajectories if t.outcome is not None or not forecasts],
            steps=settings.judge_steps,
            label_noise=0.0 if forecasts else settings.label_noise,
            seed=school.seed("judge", "labels"),
        )


def _ends(trajectory: Trajectory) -> list[Judgement]:
    """How an episode ended, as the judgement of each of its steps."""
    solved = trajectory.outcome == 1
    return [Judgement("The task was solved" if solved else "The task was not solved", 1 if solved else -1)] * len(
        trajectory.steps
    )


def get_supervision(domain: str) -> Supervision:
    """Supervision of a domain; a plain `StepSupervision` for a domain without its own."""
    if (place := SUPERVISED.get(domain)) is None:
        return StepSupervision()
    supervision: Supervision = import_module(place).SUPERVISION
    return supervision


def get_step_supervision(domain: str) -> StepSupervision:
    """Supervision of a domain whose reward model judges steps.

    Raises:
        ConfigError: The domain's reward model does not judge steps.
    """
    supervision = get_supervision(domain)
    if not isinstance(supervision, StepSupervision):
        raise ConfigError(f"the reward model of the domain {domain!r} judges programs, not steps")
    return supervision
