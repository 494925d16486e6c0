"""The two models that learn, each with its trainer, and how they are stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from transformers import PreTrainedModel, Qwen3ForCausalLM

from rlanything_agents.backends.tiny import tiny_model
from rlanything_agents.backends.transformers import TransformersGenerator
from rlanything_agents.config import ModelConfig, RunConfig
from rlanything_agents.dialect import Dialect, step_dialect
from rlanything_agents.reward_model import GenerativeRewardModel
from rlanything_agents.sample import Sample
from rlanything_agents.seeds import seed_of
from rlanything_agents.trainer import make_trainer
from rlanything_agents.trainer_config import Trainer, TrainerConfig, UpdateStats

__all__ = ["Learner", "Learners"]


class Learner:
    """One model with its trainer, and the average of its weights over the updates if one is wanted.

    Args:
        model: Updated in place by the trainer.
        trainer: Made for the model.
        config: Uses ``average``, ``steps_per_group`` and ``anchor``.
    """

    def __init__(self, model: PreTrainedModel, trainer: Trainer, config: TrainerConfig) -> None:
        self.model = model
        self.trainer = trainer
        self.config = config
        self._average: dict[str, torch.Tensor] = {}
        self._averaged = 0

    def update(self, samples: Sequence[Sample], rate: float, groups: int) -> UpdateStats:
        """Train the model.

        Args:
            samples: What it learns from.
            rate: Share of the peak learning rate.
            groups: How many groups of episodes the samples come from.
        """
        stats = self.trainer.update(samples, rate, steps=self.config.steps_for(groups))
        if self.config.average and stats.optimizer_steps:
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
        own = {name: weight.clone() for name, weight in self.model.state_dict().items()}
        self.model.load_state_dict(self._average)
        try:
            yield
        finally:
            self.model.load_state_dict(own)

    def save(self, folder: Path) -> None:
        """Store weights, their average and optimizer state."""
        self.model.save_pretrained(folder)
        state = {"trainer": self.trainer.state_dict(), "average": self._average, "averaged": self._averaged}
        torch.save(state, folder / "learner.pt")

    def load(self, folder: Path) -> None:
        """Continue from what `save` stored.

        Raises:
            OSError: The folder holds no model.
        """
        stored = Qwen3ForCausalLM.from_pretrained(folder, local_files_only=True)
        self.model.load_state_dict(stored.state_dict())
        file = folder / "learner.pt"
        if file.exists():
            state = torch.load(file, weights_only=True)
            self.trainer.load_state_dict(state["trainer"])
            self._average, self._averaged = state["average"], state["averaged"]

    def _take_into_average(self) -> None:
        # A plain mean until the decay's own memory is longer: the first update is not averaged with the start.
        keep = min(self.config.average, self._averaged / (self._averaged + 1))
        for name, weight in self.model.state_dict().items():
            kept = self._average.setdefault(name, torch.empty_like(weight))
            kept.copy_(weight if keep == 0 else kept.lerp(weight, 1 - keep))
        self._averaged += 1


class Learners:
    """Policy and judge of a run."""

    def __init__(self, config: RunConfig, dialect: Dialect) -> None:
        self.dialect = dialect
        self.policy = _build(config, "policy", config.policy, config.policy_trainer, dialect)
        self.judge = _build(config, "judge", config.reward_model, config.judge_trainer, dialect)
        self.generator = TransformersGenerator(self.judge.model, dialect.tokenizer)
        """What the reward model writes with."""

    @property
    def reward_model(self) -> GenerativeRewardModel:
        """The judge of steps, in domains whose reward model is one.

        Raises:
            UnknownDialect: It is of another kind.
        """
        return GenerativeRewardModel(self.generator, step_dialect(self.dialect))

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


def _build(config: RunConfig, role: str, size: ModelConfig, trainer: TrainerConfig, dialect: Dialect) -> Learner:
    model = tiny_model(
        dialect.tokenizer,
        hidden_size=size.hidden_size,
        layers=size.layers,
        heads=size.heads,
        intermediate_size=size.intermediate_size,
        seed=seed_of(config.seed, role, "weights"),
    )
    seeded = trainer.model_copy(update={"seed": seed_of(config.seed, role, "trainer", trainer.seed)})
    return Learner(model, make_trainer(model, dialect.tokenizer, seeded), seeded)
