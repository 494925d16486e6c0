"""Learner: a model with its trainer and its checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.engines.shared_memory import temporary_folder
from rlanything_agents.models.pretrained import load_weights, save_weights
from rlanything_agents.training.audit import SAMPLED, kept, store_samples
from rlanything_agents.training.imitation import Row, fit
from rlanything_agents.training.samples import Sample
from rlanything_agents.training.update import OPTIMIZER, Trainer, UpdateStats
from rlanything_envs.llm.generator import TextGenerator

__all__ = ["Learner"]


class Learner:
    """Model with its trainer.

    Args:
        model: Model that the trainer updates in place.
        trainer: Trainer of the model.
        config: Settings of the updates.
        tokenizer: Tokenizer to store with the weights, so that the folder is a complete checkpoint.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        trainer: Trainer,
        config: TrainerConfig,
        tokenizer: PreTrainedTokenizerBase,
    ) -> None:
        self.model = model
        self.trainer = trainer
        self.config = config
        self.tokenizer = tokenizer
        self.version = 0
        """Version of the weights; it grows with every change of them."""
        self.sampled: list[Sample] = []
        """A few samples of the last update, which `save` stores for an audit."""
        self.prepare: Callable[[], None] = lambda: None
        """Called before every update, to free memory for it."""
        self._awake = False

    def update(self, samples: Sequence[Sample], rate: float) -> UpdateStats:
        """Train the model on samples.

        Args:
            samples: Training data.
            rate: Share of the peak learning rate.
        """
        self.prepare()
        self.sampled = kept(samples)
        stats = self.trainer.update(samples, rate)
        if stats.optimizer_steps:
            self.version += 1
        return stats

    def imitate(self, rows: Sequence[Row], **settings: Any) -> list[float]:
        """Train the model on demonstrations; returns the mean loss per epoch.

        Args:
            rows: The demonstrations.
            settings: Arguments of `rlanything_agents.training.imitation.fit`.
        """
        self.version += 1  # an engine with its own weights loads these before it plays for the judge's lessons
        return fit(self.model, rows, **settings)

    def sleep(self) -> None:
        """Free the accelerator of the optimizer state, for an engine or another trainer; see `GPUScheduler`."""
        if self._awake:
            self.trainer.rest()
            self._awake = False

    def wake(self) -> None:
        """Note that an update follows; it takes the memory by itself."""
        self._awake = True

    def save(self, folder: Path) -> None:
        """Store weights, optimizer state, and a few samples of the last update."""
        save_weights(self.model, folder, self.trainer.weights() if self.trainer.sharded else None)
        self.tokenizer.save_pretrained(folder)
        (folder / OPTIMIZER).mkdir()
        self.trainer.save(folder / OPTIMIZER)
        store_samples(self.sampled, folder / SAMPLED)

    def load(self, folder: Path) -> None:
        """Continue from a folder of `save`.

        Raises:
            CheckpointError: The folder holds no model, another model, or a broken file.
        """
        self.load_weights(folder)
        self.trainer.load(folder / OPTIMIZER)
        self._awake = True

    def load_weights(self, folder: Path) -> None:
        """Take the weights of a folder of `save` alone, which need no optimizer state to be there.

        Raises:
            CheckpointError: The folder holds no model, another model, or a broken file.
        """
        load_weights(self.model, folder)
        self.version += 1

    def hand_over(self, engine: TextGenerator) -> None:
        """Hand the current weights to an engine.

        Raises:
            EngineFailed: The engine does not load them.
            OSError: The weights cannot be written.
        """
        if not self.trainer.sharded:
            engine.update_weights(self.model, self.version)
            return
        weights = self.trainer.weights()
        with temporary_folder(sum(weight.nbytes for weight in weights.values())) as folder:
            save_weights(self.model, folder, weights)
            engine.update_weights(folder, self.version)
