"""The two models that learn, and what a run writes with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

from transformers import PreTrainedModel

from rlanything_agents.engines.open import Serving, open_engine
from rlanything_agents.engines.phases import Phases
from rlanything_agents.models.pretrained import trained
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.domains.chat import ChatDialect
from rlanything_agents.engines.chat import ChatGenerator
from rlanything_agents.config import AnyModel, PretrainedConfig, RunConfig
from rlanything_agents.rollout.dialect import Dialect, step_dialect
from rlanything_agents.training.learner import Learner
from rlanything_agents.rollout.copies import Given, Role, build_model, dialect_of, generator_here, judge_dialect_of
from rlanything_agents.reward_models.step_judge import GenerativeRewardModel
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.training.trainer import make_trainer
from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.rollout.writers import Player
from rlanything_envs.llm.generator import TextGenerator

__all__ = ["Learners", "make_both"]


class Learners:
    """Policy and judge of a run, and what they write with.

    Args:
        config: All settings.
        dialect: The policy's, see `dialect_of`.
        folder: For the weights that engines read; a temporary one if None.

    Raises:
        CheckpointError: A pretrained checkpoint cannot be used.
        MissingExtra: What its adapters or its engine need is not installed.
    """

    def __init__(self, config: RunConfig, dialect: Dialect, folder: Path | None = None) -> None:
        self.dialect = dialect
        self.judge_dialect = judge_dialect_of(config, dialect)
        self.both = _both(config, dialect, self.judge_dialect)
        """The learners by their roles."""
        self.policy, self.judge = self.both["policy"], self.both["judge"]
        scratch = folder or Path(mkdtemp(prefix="engines-") if config.engine.on else "")
        policy = _engine(config, "policy", self.policy.model, self.dialect, scratch)
        judge = _engine(config, "judge", self.judge.model, self.judge_dialect, scratch)
        self._engines: dict[Role, TextGenerator] = {"policy": policy, "judge": judge}
        self._given: dict[str, int] = {}
        self.phases = Phases({"policy": policy, "judge": judge, "update": None})
        """Which engine is awake; none while models are trained."""
        for learner in self.both.values():
            learner.prepare = partial(self.phases.enter, "update")
        self.player: Player = self.policy.model
        """What the policy plays with."""
        if isinstance(dialect, ChatDialect):
            self.player = ChatGenerator(policy, dialect.template, partial(self._ready, "policy", self.policy, policy))
        self.generator = judge
        """What the reward model writes with."""
        if isinstance(self.judge_dialect, ChatDialect):
            ready = partial(self._ready, "judge", self.judge, judge)
            self.generator = ChatGenerator(judge, self.judge_dialect.template, ready)

    def _ready(self, role: str, learner: Learner, engine: TextGenerator) -> None:
        """Let an engine write with the weights of this moment."""
        if learner.version != self._given.get(role, 0):
            learner.give(engine)
            self._given[role] = learner.version
        self.phases.enter(role)

    @property
    def reward_model(self) -> GenerativeRewardModel:
        """The judge of steps, in domains whose reward model is one.

        Raises:
            UnknownDialect: It is of another kind.
        """
        dialect = step_dialect(self.judge_dialect)
        if isinstance(dialect, ChatDialect):
            return GenerativeRewardModel(self.generator, dialect, dialect.turn_limit)
        return GenerativeRewardModel(self.generator, dialect)

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
        learner, engine = (self.policy if role == "policy" else self.judge), self._engines[role]
        if isinstance(engine, Serving):
            self._ready(role, learner, engine)
            return engine.serve()
        model = learner.model
        return {name: weight.detach().cpu() for name, weight in trained(model, model.state_dict()).items()}

    def close(self) -> None:
        """End the engines."""
        self.phases.close()


def make_both(config: RunConfig) -> dict[Role, Learner]:
    """The learners of a run by their roles, and nothing to play or write with: all that a process needs that trains
    beside the one that runs it.

    Raises:
        CheckpointError: A pretrained checkpoint cannot be used.
        MissingExtra: What its adapters need is not installed.
        UnknownDomain, UnknownDialect: The domain is not installed, or has no such dialect.
    """
    dialect = dialect_of(config)
    return _both(config, dialect, judge_dialect_of(config, dialect))


def _both(config: RunConfig, dialect: Dialect, judge_dialect: Dialect) -> dict[Role, Learner]:
    return {
        "policy": _build(config, "policy", config.policy, config.policy_trainer, dialect),
        "judge": _build(config, "judge", config.reward_model, config.judge_trainer, judge_dialect),
    }


def _engine(config: RunConfig, role: str, model: PreTrainedModel, dialect: Dialect, folder: Path) -> TextGenerator:
    if not isinstance(dialect, ChatDialect):
        return generator_here(model, dialect)
    engine = open_engine(config.engine, role, model, dialect.tokenizer, folder)
    return generator_here(model, dialect) if isinstance(engine, TransformersGenerator) else engine


def _build(config: RunConfig, role: Role, size: AnyModel, trainer: TrainerConfig, dialect: Dialect) -> Learner:
    model = build_model(config, role, dialect)
    seeded = trainer.model_copy(update={"seed": seed_of(config.seed, role, "trainer", trainer.seed)})
    kept = dialect.tokenizer if isinstance(size, PretrainedConfig) else None
    return Learner(model, make_trainer(model, dialect.tokenizer, seeded), seeded, kept)
