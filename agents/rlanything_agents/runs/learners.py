"""The two models that learn, and what a run writes with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from transformers import PreTrainedModel

from rlanything_agents.config import CheckpointConfig, RunConfig
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.engines.chat import ChatGenerator
from rlanything_agents.engines.open import Serving, open_engine
from rlanything_agents.engines.scheduler import GPUScheduler
from rlanything_agents.models.pretrained import load_model, load_template, trained
from rlanything_agents.models.template import ChatTemplate
from rlanything_agents.reward_models.judge_model import JudgeModel
from rlanything_agents.rollout.copies import Given, Role, checkpoint_of
from rlanything_agents.rollout.environments import view_of
from rlanything_agents.rollout.renderer import Renderer
from rlanything_agents.rollout.rollout import Policy
from rlanything_agents.training.learner import Learner
from rlanything_agents.training.trainer import make_trainer
from rlanything_envs.llm.generator import TextGenerator

__all__ = ["Learners", "make_both"]


class Learners:
    """Policy and judge of a run, and what they write with.

    Args:
        config: All settings.
        folder: For the folders of small models, and for the weights that engines read; a temporary one if None.

    Attributes:
        both: The learners by their roles.
        actor: The policy as it plays.
        judge_model: The reward model as it is asked.
        phases: Which engine is awake; none while models are trained.

    Raises:
        CheckpointError: A checkpoint cannot be used.
        MissingExtra: What its adapters or its engine need is not installed.
        UnknownDomain, UnknownView: The domain is not installed, or has no such view.
    """

    def __init__(self, config: RunConfig, folder: Path | None = None) -> None:
        scratch = folder or Path(mkdtemp(prefix="models-"))
        self.both, checkpoints, templates = _begin(config, scratch)
        self.policy, self.judge = self.both["policy"], self.both["judge"]
        self._engines: dict[Role, TextGenerator] = {
            role: open_engine(config.engine, role, learner.model, templates[role].tokenizer, scratch)
            for role, learner in self.both.items()
        }
        self._given: dict[str, int] = {}
        self.phases = GPUScheduler({"policy": self._engines["policy"], "judge": self._engines["judge"], "update": None})
        for learner in self.both.values():
            learner.prepare = partial(self.phases.enter, "update")
        policy, judge = (
            ChatGenerator(self._engines[role], templates[role], partial(self._ready, role)) for role in self.both
        )
        self.actor = Policy(policy, Renderer(templates["policy"], view_of(config), checkpoints["policy"]))
        self.judge_model = JudgeModel(judge, templates["judge"], checkpoints["judge"])

    def _ready(self, role: Role) -> None:
        """Let an engine write with the weights of this moment."""
        learner = self.both[role]
        if learner.version != self._given.get(role, 0):
            learner.give(self._engines[role])
            self._given[role] = learner.version
        self.phases.enter(role)

    def save(self, folder: Path) -> None:
        """Store both learners."""
        self.policy.save(folder / "policy")
        self.judge.save(folder / "judge")

    def load(self, folder: Path) -> None:
        """Continue from what `save` stored."""
        self.policy.load(folder / "policy")
        self.judge.load(folder / "judge")

    def hold(self) -> None:
        """From now on both are held near what they are at this moment, as far as their trainers do so."""
        self.policy.hold()
        self.judge.hold()

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Within the block both have their average weights."""
        with self.policy.averaged(), self.judge.averaged():
            yield

    def for_copies(self, role: Role) -> Given:
        """What a `ModelCopy` is to write with at this moment.

        Returns:
            What the model has learnt so far, by name, on the processor (all weights, or the adapters); or which weights
            its server has, where it has one.

        Raises:
            EngineFailed, UnfitServer: The server does not take them.
        """
        engine = self._engines[role]
        if isinstance(engine, Serving):
            self._ready(role)
            return engine.serve()
        model = self.both[role].model
        return {name: weight.detach().cpu() for name, weight in trained(model, model.state_dict()).items()}

    def close(self) -> None:
        """End the engines."""
        self.phases.close()


def make_both(config: RunConfig) -> dict[Role, Learner]:
    """The learners of a run by their roles, and nothing to play or write with: all that a process needs that trains
    beside the one that runs it.

    Raises:
        CheckpointError: A checkpoint cannot be used.
        MissingExtra: What its adapters need is not installed.
        UnknownDomain, UnknownView: The domain is not installed, or has no such view.
    """
    with TemporaryDirectory(prefix="models-") as folder:  # of small models, which are read whole
        return _begin(config, Path(folder))[0]


def _begin(
    config: RunConfig, folder: Path
) -> tuple[dict[Role, Learner], dict[Role, CheckpointConfig], dict[Role, ChatTemplate]]:
    roles: tuple[Role, Role] = ("policy", "judge")
    checkpoints = {role: checkpoint_of(config, role, folder) for role in roles}
    templates = {role: load_template(checkpoints[role]) for role in roles}
    trainers = {"policy": config.policy_trainer, "judge": config.judge_trainer}
    learners = {
        role: _learner(
            load_model(checkpoints[role], templates[role].tokenizer, seed_of(config.seed, role, "weights")),
            templates[role],
            trainers[role].model_copy(update={"seed": seed_of(config.seed, role, "trainer", trainers[role].seed)}),
        )
        for role in roles
    }
    return learners, checkpoints, templates


def _learner(model: PreTrainedModel, template: ChatTemplate, config: TrainerConfig) -> Learner:
    return Learner(model, make_trainer(model, template.tokenizer, config), config, template.tokenizer)
