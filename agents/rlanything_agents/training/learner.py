"""One model that learns: its trainer, the average of its weights, and how it is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from tempfile import TemporaryDirectory

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.models.pretrained import CheckpointError, load_weights, save_weights
from rlanything_agents.training.samples import Sample
from rlanything_agents.training.update import Trainer, UpdateStats
from rlanything_envs.llm.generator import TextGenerator

__all__ = ["Learner"]


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
        self._shown: Mapping[str, torch.Tensor] = {}
        """What engines are given in place of the weights of a model that is spread over processes."""

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
        own = {} if self.trainer.sharded else {name: weight.clone() for name, weight in self.trainer.weights().items()}
        self._put(self._average)
        try:
            yield
        finally:
            self._put(own)

    def save(self, folder: Path) -> None:
        """Store weights, their average and optimizer state."""
        save_weights(self.model, folder, self.trainer.weights() if self.trainer.sharded else None)
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
        for name, weight in self.trainer.weights().items():
            kept = self._average.setdefault(name, torch.empty_like(weight, dtype=torch.float32))
            kept.copy_(weight if keep == 0 else kept.lerp(weight.float(), 1 - keep))
        self._averaged += 1

    def give(self, engine: TextGenerator) -> None:
        """Let an engine have the weights of this moment.

        Raises:
            EngineFailed, UnfitServer: It does not take them.
            OSError: They cannot be written.
        """
        if not self.trainer.sharded:
            engine.update_weights(self.model, self.version)
            return
        with TemporaryDirectory(prefix="weights-") as folder:
            save_weights(self.model, Path(folder), self._shown or self.trainer.weights())
            engine.update_weights(Path(folder), self.version)

    def _put(self, weights: Mapping[str, torch.Tensor]) -> None:
        if self.trainer.sharded:
            self._shown = weights
        else:
            self.model.load_state_dict(weights, strict=False)  # adapters alone are not all weights
        self.version += 1
