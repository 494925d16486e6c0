"""The two models that learn, each with its trainer, and how they are stored."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import PreTrainedModel, Qwen3ForCausalLM

from rlanything_agents.backends.tiny import tiny_model
from rlanything_agents.backends.transformers import TransformersGenerator
from rlanything_agents.config import ModelConfig, RunConfig
from rlanything_agents.dialect import Dialect
from rlanything_agents.reward_model import GenerativeRewardModel
from rlanything_agents.seeds import seed_of
from rlanything_agents.trainer import make_trainer
from rlanything_agents.trainer_config import Trainer, TrainerConfig

__all__ = ["Learner", "Learners"]


@dataclass(frozen=True, slots=True)
class Learner:
    """One model with its trainer. The trainer updates the model in place."""

    model: PreTrainedModel
    trainer: Trainer

    def save(self, folder: Path) -> None:
        """Store weights and optimizer state."""
        self.model.save_pretrained(folder)
        torch.save(self.trainer.state_dict(), folder / "trainer.pt")

    def load(self, folder: Path) -> None:
        """Continue from what `save` stored.

        Raises:
            OSError: The folder holds no model.
        """
        stored = Qwen3ForCausalLM.from_pretrained(folder, local_files_only=True)
        self.model.load_state_dict(stored.state_dict())
        state = folder / "trainer.pt"
        if state.exists():
            self.trainer.load_state_dict(torch.load(state, weights_only=True))


class Learners:
    """Policy and judge of a run."""

    def __init__(self, config: RunConfig, dialect: Dialect) -> None:
        self.dialect = dialect
        self.policy = _build(config, "policy", config.policy, config.policy_trainer, dialect)
        self.judge = _build(config, "judge", config.reward_model, config.judge_trainer, dialect)
        generator = TransformersGenerator(self.judge.model, dialect.tokenizer)
        self.reward_model = GenerativeRewardModel(generator, dialect)

    def save(self, folder: Path) -> None:
        """Store both learners."""
        self.policy.save(folder / "policy")
        self.judge.save(folder / "judge")

    def load(self, folder: Path) -> None:
        """Continue from what `save` stored."""
        self.policy.load(folder / "policy")
        self.judge.load(folder / "judge")


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
    return Learner(model, make_trainer(model, dialect.tokenizer, seeded))
