"""The two models that learn, each with its trainer, and how they are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from pickle import UnpicklingError
from tempfile import mkdtemp

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from rlanything_agents.backends.engines import open_engine
from rlanything_agents.backends.phases import Phases
from rlanything_agents.backends.pretrained import (
    CheckpointError,
    load_model,
    load_template,
    load_weights,
    save_weights,
    trained,
)
from rlanything_agents.backends.tiny import tiny_model
from rlanything_agents.backends.transformers import TransformersGenerator
from rlanything_agents.chat import ChatDialect, ChatGenerator, chat_dialect
from rlanything_agents.config import AnyModel, PretrainedConfig, RunConfig
from rlanything_agents.dialect import Dialect, get_dialect, step_dialect
from rlanything_agents.reward_model import GenerativeRewardModel
from rlanything_agents.sample import Sample
from rlanything_agents.seeds import seed_of
from rlanything_agents.trainer import make_trainer
from rlanything_agents.trainer_config import Trainer, TrainerConfig, UpdateStats
from rlanything_agents.writers import Player
from rlanything_envs.llm.generator import TextGenerator

__all__ = ["Learner", "Learners", "PolicyCopy", "dialect_of"]

LANE_TOKENS = 2**18
"""Tokens that all prompts a pretrained model reads at once may have together, which bounds the memory of its cache."""


class Learner:
    """One model with its trainer, and the average of its weights over the updates if one is wanted.

    Args:
        model: Updated in place by the trainer.
        trainer: Made for the model.
        config: Uses ``average``, ``steps_per_group`` and ``anchor``.
        tokenizer: Stored beside the weights, where there is one: the folder is then a checkpoint as others are.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        trainer: Trainer,
        config: TrainerConfig,
        tokenizer: PreTrainedTokenizerBase | None = None,
    ) -> None:
        self.model = model
        self.trainer = trainer
        self.config = config
        self.tokenizer = tokenizer
        self.version = 0
        """Of the weights: another number, other weights."""
        self.prepare: Callable[[], None] = lambda: None
        """Called before every update: makes room for it."""
        self._average: dict[str, torch.Tensor] = {}
        self._averaged = 0

    def update(self, samples: Sequence[Sample], rate: float, groups: int) -> UpdateStats:
        """Train the model.

        Args:
            samples: What it learns from.
            rate: Share of the peak learning rate.
            groups: How many groups of episodes the samples come from.
        """
        self.prepare()
        stats = self.trainer.update(samples, rate, steps=self.config.steps_for(groups))
        if stats.optimizer_steps:
            self.version += 1
            if self.config.average:
                self._take_into_average()
        return stats

    def hold(self) -> None:
        """From now on the model is held near what it is at this moment, if the trainer is to do so."""
        if self.config.anchor:
            self.trainer.set_anchor(self.model)

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Within the block the model has its average weights; there is no training in it."""
        if not self._average:
            yield
            return
        own = {name: weight.clone() for name, weight in self._weights().items()}
        self._put(self._average)
        try:
            yield
        finally:
            self._put(own)

    def save(self, folder: Path) -> None:
        """Store weights, their average and optimizer state."""
        save_weights(self.model, folder)
        if self.tokenizer is not None:
            self.tokenizer.save_pretrained(folder)
        state = {"trainer": self.trainer.state_dict(), "average": self._average, "averaged": self._averaged}
        torch.save(state, folder / "learner.pt")

    def load(self, folder: Path) -> None:
        """Continue from what `save` stored.

        Raises:
            CheckpointError: The folder holds no model, another one, or a broken file.
        """
        load_weights(self.model, folder)
        self.version += 1
        file = folder / "learner.pt"
        if file.exists():
            try:
                state = torch.load(file, weights_only=True, map_location=self.model.device)
                self.trainer.load_state_dict(state["trainer"])
                self._average, self._averaged = state["average"], state["averaged"]
            except (OSError, EOFError, RuntimeError, ValueError, KeyError, TypeError, UnpicklingError) as error:
                raise CheckpointError(f"{file} is broken ({type(error).__name__}): go back a checkpoint") from error

    def _take_into_average(self) -> None:
        # A plain mean until the decay's own memory is longer: the first update is not averaged with the start.
        keep = min(self.config.average, self._averaged / (self._averaged + 1))
        for name, weight in self._weights().items():
            kept = self._average.setdefault(name, torch.empty_like(weight, dtype=torch.float32))
            kept.copy_(weight if keep == 0 else kept.lerp(weight.float(), 1 - keep))
        self._averaged += 1

    def _weights(self) -> dict[str, torch.Tensor]:
        return trained(self.model, self.model.state_dict())

    def _put(self, weights: Mapping[str, torch.Tensor]) -> None:
        self.model.load_state_dict(weights, strict=False)  # adapters alone are not all weights
        self.version += 1


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
        self.judge_dialect = dialect
        if isinstance(config.reward_model, PretrainedConfig):
            self.judge_dialect = chat_dialect(config.domain, load_template(config.reward_model), config.reward_model)
        self.policy = _build(config, "policy", config.policy, config.policy_trainer, self.dialect)
        self.judge = _build(config, "judge", config.reward_model, config.judge_trainer, self.judge_dialect)
        scratch = folder or Path(mkdtemp(prefix="engines-") if config.engine.on else "")
        policy = _engine(config, "policy", self.policy.model, self.dialect, scratch)
        judge = _engine(config, "judge", self.judge.model, self.judge_dialect, scratch)
        self._given: dict[str, int] = {}
        self.phases = Phases({"policy": policy, "judge": judge, "update": None})
        """Which engine is awake; none while models are trained."""
        for learner in (self.policy, self.judge):
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
            engine.update_weights(learner.model, learner.version)
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

    def policy_weights(self) -> dict[str, torch.Tensor]:
        """What the policy has learnt so far, by name, on the processor: all weights, or the adapters."""
        model = self.policy.model
        return {name: weight.detach().cpu() for name, weight in trained(model, model.state_dict()).items()}

    def close(self) -> None:
        """End the engines."""
        self.phases.close()


class PolicyCopy:
    """A policy that plays and does not learn, for processes beside the one that trains.

    Args:
        config: Of the run.
    """

    def __init__(self, config: RunConfig) -> None:
        self.dialect = dialect_of(config)
        self._model = _model(config, "policy", config.policy, self.dialect)
        self.player: Player = self._model
        if isinstance(self.dialect, ChatDialect):
            self.player = ChatGenerator(_engine_here(self._model, self.dialect), self.dialect.template)

    def take(self, weights: Mapping[str, torch.Tensor]) -> None:
        """Play with these weights from now on: those of `Learners.policy_weights`."""
        self._model.load_state_dict(weights, strict=False)


def dialect_of(config: RunConfig) -> Dialect:
    """The dialect of a run's policy: the domain's own for a model made from nothing, chats for a pretrained one.

    Raises:
        UnknownDomain, UnknownDialect: The domain is not installed, or has no such dialect.
        CheckpointError: The tokenizer of a pretrained checkpoint cannot be used.
    """
    if isinstance(config.policy, PretrainedConfig):
        return chat_dialect(config.domain, load_template(config.policy), config.policy)
    return get_dialect(config.domain)


def _engine(config: RunConfig, role: str, model: PreTrainedModel, dialect: Dialect, folder: Path) -> TextGenerator:
    if not isinstance(dialect, ChatDialect):
        return TransformersGenerator(model, dialect.tokenizer)
    engine = open_engine(config.engine, role, model, dialect.tokenizer, folder)
    return _engine_here(model, dialect) if isinstance(engine, TransformersGenerator) else engine


def _engine_here(model: PreTrainedModel, dialect: ChatDialect) -> TransformersGenerator:
    return TransformersGenerator(model, dialect.tokenizer, max(1, LANE_TOKENS // dialect.context))


def _model(config: RunConfig, role: str, size: AnyModel, dialect: Dialect) -> PreTrainedModel:
    seed = seed_of(config.seed, role, "weights")
    if isinstance(size, PretrainedConfig):
        return load_model(size, dialect.tokenizer, seed)
    return tiny_model(
        dialect.tokenizer,
        hidden_size=size.hidden_size,
        layers=size.layers,
        heads=size.heads,
        intermediate_size=size.intermediate_size,
        seed=seed,
    )


def _build(config: RunConfig, role: str, size: AnyModel, trainer: TrainerConfig, dialect: Dialect) -> Learner:
    model = _model(config, role, size, dialect)
    seeded = trainer.model_copy(update={"seed": seed_of(config.seed, role, "trainer", trainer.seed)})
    kept = dialect.tokenizer if isinstance(size, PretrainedConfig) else None
    return Learner(model, make_trainer(model, dialect.tokenizer, seeded), seeded, kept)
