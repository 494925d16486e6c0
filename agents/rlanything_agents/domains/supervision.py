"""What training on a domain needs besides its environment: demonstrations, step labels, short prompts of a judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from rlanything_agents.config import RunConfig
from rlanything_agents.reward_models.judge_model import JudgeModel
from rlanything_agents.reward_models.reviewer import Reviewer
from rlanything_agents.reward_models.step_judge import StepJudge
from rlanything_agents.reward_models.step_prompts import FullStepPrompts, Judgement, ShortStepPrompts, StepPrompts
from rlanything_agents.reward_models.step_reviewer import StepReviewer
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_envs.llm.choices import Form

if TYPE_CHECKING:
    from rlanything_agents.domains.lessons import Lessons

__all__ = [
    "Expert",
    "Move",
    "StepSupervision",
    "Supervision",
    "Unsupervised",
    "get_step_supervision",
    "get_supervision",
]

SUPERVISED = {
    "alfworld": "rlanything_agents.domains.alfworld.supervision",
    "coding": "rlanything_agents.domains.coding.supervision",
    "osworld": "rlanything_agents.domains.osworld.supervision",
}
"""Domain -> the module that has its ``SUPERVISION``. Any other domain trains without: see `StepSupervision`."""


class Unsupervised(LookupError):
    """Nothing is known of the domain that could be imitated, or that a small judge could read."""


@dataclass(frozen=True, slots=True)
class Move:
    """What a demonstrator does.

    Attributes:
        thought: What it thinks, in the words of the view.
        action: What it gives the environment.
        exemplary: False for a deliberate mistake, made to show how to recover from it.
    """

    thought: str
    action: str
    exemplary: bool = True


class Expert(Protocol):
    """A scripted player that sees what the agent sees and nothing more."""

    def act(self, observation: str, info: Mapping[str, Any]) -> Move:
        """The next move after a message; the first message opens the episode."""
        ...


class Supervision(Protocol):
    """What training knows of a domain."""

    @property
    def lessons(self) -> Lessons:
        """What its models are warmed up with.

        Raises:
            Unsupervised: There is nothing to imitate.
        """
        ...

    def reviewer(self, config: RunConfig, model: JudgeModel) -> Reviewer[Any]:
        """Its kind of reward model.

        Raises:
            ValueError: The configuration asks for what this kind does not have.
        """
        ...


class StepSupervision:
    """Supervision of a domain whose reward model judges steps.

    As it is, it knows nothing: any domain trains with it, on pretrained models. A domain that knows more overrides what
    it knows.
    """

    form: Form | None = None
    """Of a judge's answers in the short view."""

    def expert(self, seed: int) -> Expert:
        """A fresh demonstrator for one episode.

        Raises:
            Unsupervised: There is none.
        """
        raise Unsupervised("the domain has no demonstrator: leave the warm start's lessons off")

    def heuristic_labels(self, trajectory: Trajectory) -> list[Judgement]:
        """A judgement on every step from the text alone: what a judge is warmed up with.

        Raises:
            Unsupervised: There is none.
        """
        raise Unsupervised("the domain has no heuristic labels: leave the warm start's lessons off")

    def true_labels(self, payload: Mapping[str, Any], trajectory: Trajectory) -> list[int] | None:
        """Ground truth, 1 or -1 per step, from the state of the world; None where nobody knows it. For evaluation only,
        never for training.
        """
        return None

    def judge_texts(self, trajectory: Trajectory) -> Sequence[str]:
        """What a judge reads of each step in the short view; that of a step does not depend on later ones.

        Raises:
            Unsupervised: The domain has no short prompts.
        """
        raise Unsupervised("the domain has no short prompts for a judge: set environment.view to full")

    def prompts(self, config: RunConfig, model: JudgeModel) -> StepPrompts:
        """What a reward model reads and writes in a run."""
        if config.view == "short" and self.form is not None:
            return ShortStepPrompts(model.template, self.judge_texts, self.form)
        return FullStepPrompts(model.template, model.config)

    @property
    def lessons(self) -> Lessons:
        """Episodes of the expert, and the heuristic labels."""
        from rlanything_agents.domains.lessons import ExpertLessons

        return ExpertLessons(self)

    def reviewer(self, config: RunConfig, model: JudgeModel) -> StepReviewer:
        """The reward model judges steps."""
        judge = StepJudge(model.generator, self.prompts(config, model), model.config.max_tokens)
        return StepReviewer(config, judge, self.true_labels)


def get_supervision(domain: str) -> Supervision:
    """What is known of a domain."""
    place = SUPERVISED.get(domain)
    if place is None:
        return StepSupervision()
    supervision: Supervision = import_module(place).SUPERVISION
    return supervision


def get_step_supervision(domain: str) -> StepSupervision:
    """What is known of the steps of a domain.

    Raises:
        Unsupervised: Its reward model does not judge steps.
    """
    supervision = get_supervision(domain)
    if not isinstance(supervision, StepSupervision):
        raise Unsupervised(f"the reward model of the domain {domain!r} judges programs, not steps")
    return supervision
