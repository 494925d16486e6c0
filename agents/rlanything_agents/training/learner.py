"""Learner: a model with its trainer, the average of its weights and its checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.engines.shared_memory import temporary_folder
from rlanything_agents.models.checkpoint import CheckpointError
from rlanything_agents.models.pretrained import load_weights, save_weights
from rlanything_agents.training.audit import SAMPLED, kept, store_samples
from rlanything_agents.training.samples import Sample
from rlanything_agents.training.update import Trainer, UpdateStats
from rlanything_envs.llm.generator import TextGenerator

__all__ = ["Learner"]


class Learner:
    """Model with its trainer, and with the average of its weights over the updates if ``config.average`` is set.

    Args:
        model: Model that the trainer updates in place.
        trainer: Trainer of the model.
        config: Settings of the updates; uses ``average``, ``steps_per_group`` and ``anchor``.
        tokenizer: Tokenizer to store with the weights, so that the folder is a complete checkpoint.
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
        """Version of the weights; it grows with every change of them."""
        self.sampled: list[Sample] = []
        """A few samples of the last update, which `save` stores for an audit."""
        self.prepare: Callable[[], None] = lambda: None
        """Called before every update, to free memory for it."""
        self._awake = False
        self._average: dict[str, torch.Tensor] = {}
        self._averaged = 0
        self._engine_weights: Mapping[str, torch.Tensor] = {}
        """Weights for engines in place of the trainer's own, where the model is sharded over processes."""

    def update(self, samples: Sequence[Sample], rate: float, groups: int) -> UpdateStats:
        """Train the model on samples.

        Args:
            samples: Training data.
            rate: Share of the peak learning rate.
            groups: Number of groups of episodes that the samples come from.
        """
        self.prepare()
        self.sampled = kept(samples)
        stats = self.trainer.update(samples, rate, steps=self.config.steps_for(groups))
        if stats.optimizer_steps:
            self.version += 1
            if self.config.average:
                self._take_into_average()
        return stats

    def sleep(self) -> None:
        """Free the accelerator of the optimizer state, for an engine or another trainer; see `GPUScheduler`."""
        if self._awake:
            self.trainer.rest()
            self._awake = False

    def wake(self) -> None:
        """Note that an update follows; it takes the memory by itself."""
        self._awake = True

    def hold(self) -> None:
        """Anchor the model to its current weights, if ``config.anchor`` is set."""
        if self.config.anchor:
            self.trainer.set_anchor(self.model)

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Give the model its average weights within a block; the block must not train it."""
        if not self._average:
            yield
            return
        own = {} if self.trainer.sharded else {name: weight.clone() for name, weight in self.trainer.weights().items()}
        self._put(self._average)
        try:
            yield
        finally:
            self._put(own)

    def save(self, folder: Path) -> None:
        """Store weights, their average, optimizer state, and a few samples of the last update."""
        save_weights(self.model, folder, self.trainer.weights() if self.trainer.sharded else None)
        if self.tokenizer is not None:
            self.tokenizer.save_pretrained(folder)
        state = {"trainer": self.trainer.state_dict(), "average": self._average, "averaged": self._averaged}
        torch.save(state, folder / "learner.pt")
        store_samples(self.sampled, folder / SAMPLED)

    def load(self, folder: Path) -> None:
        """Continue from a folder of `save`.

        Raises:
            CheckpointError: The folder holds no model, another model, or a broken file.
        """
        load_weights(self.model, folder)
        self.version += 1
        file = folder / "learner.pt"
        if file.exists():
            try:
                state = torch.load(file, weights_only=True, map_location=self.model.device)
                self.trainer.load_state_dict(state["trainer"])
                self._awake = True
                self._average, self._averaged = state["average"], state["averaged"]
            except (OSError, EOFError, RuntimeError, ValueError, KeyError, TypeError, UnpicklingError) as error:
                raise CheckpointError(f"{file} is broken ({type(error).__name__}): go back a checkpoint") from error

    def _take_into_average(self) -> None:
        # A plain mean over the first updates, without the initial weights, until the decay covers more of them.
        keep = min(self.config.average, self._averaged / (self._averaged + 1))
        for name, weight in self.trainer.weights().items():
            kept = self._average.setdefault(name, torch.empty_like(weight, dtype=torch.float32))
            kept.copy_(weight if keep == 0 else kept.lerp(weight.float(), 1 - keep))
        self._averaged += 1

    def hand_over(self, engine: TextGenerator) -> None:
        """Hand the current weights to an engine.

        Raises:
            EngineFailed, UnfitServer: The engine does not load them.
            OSError: The weights cannot be written.
        """
        if not self.trainer.sharded:
            engine.update_weights(self.model, self.version)
            return
        weights = self._engine_weights or self.trainer.weights()
        with temporary_folder(sum(weight.nbytes for weight in weights.values())) as folder:
            save_weights(self.model, folder, weights)
            engine.update_weights(folder, self.version)

    def _put(self, weights: Mapping[str, torch.Tensor]) -> None:
        if self.trainer.sharded:
            self._engine_weights = weights
        else:
            self.model.load_state_dict(weights, strict=False)  # adapters alone are not all weights
        self.version += 1
