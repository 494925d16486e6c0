"""Updates of an adapter at the Tinker service: the loop's loss, written in the losses that the service has.

**Policy loss** is ``ppo``, the clipped objective of each token: ``-min(r A, clip(r, low, high) A)`` with the ratio
``r`` of the trained probability to that in ``logprobs``. It is the loss of `SampleTrainer` token by token, for any
number of optimizer steps per update, with ``low = 1 - clip`` and ``high = 1 + clip_high``. (``importance_sampling`` is
the same without the clip, so it is right for one step alone.) A token's ``advantages`` are its advantage times its
weight over the divisor of the loss (`rlanything_agents.training.aggregation`), times the factor of
``importance_sampling_mode``: all are positive factors, under which the minimum keeps its sign. Other tokens have
advantage 0. ``logprobs`` are those of the sampler, or, with ``recompute``, of a forward pass at the service.

**Imitation** is ``cross_entropy`` with weights: one over the learnt tokens of the batch.

A service sums the losses of tokens over a request, and says so by a metric ``loss:sum``. SkyRL's JAX backend (0.4)
reports none and averages instead: over the tokens of each row, then over the rows of an optimizer step. A row's
advantages are multiplied by both counts there, so that the gradient is the same. Its ``cross_entropy`` divides by the
weights themselves, which nothing can undo: rows count equally there in imitation, not tokens.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase

from rlanything_agents.config.trainer import MAX_GRAD_NORM, MOST_SAMPLER_RATIO, TrainerConfig
from rlanything_agents.engines.tinker import Adapter, ServiceFailed, numbers
from rlanything_agents.models.checkpoint import CheckpointError
from rlanything_agents.training.aggregation import aggregated
from rlanything_agents.training.audit import SAMPLED, store_samples
from rlanything_agents.training.errors import TrainingError
from rlanything_agents.training.imitation import Row, batches_of, rate_at
from rlanything_agents.training.learner import Learner
from rlanything_agents.training.mismatch import FARTHEST, importance_ratio
from rlanything_agents.training.rows import optimizer_batches
from rlanything_agents.training.samples import Sample, check_vocabulary, trimmed
from rlanything_agents.training.tallies import Tallies, k3
from rlanything_agents.training.update import AT_SERVICE, UpdateStats
from rlanything_envs.llm.errors import RunMustStop

__all__ = ["TinkerLearner", "TinkerTrainer"]


class TinkerLearner(Learner):
    """Adapter at the service with its trainer; its checkpoints are paths at the service.

    Args:
        adapter: The adapter.
        config: Settings of the updates.
        tokenizer: Tokenizer of the base model.
        seed: Seed of the split of the samples.
        longest: Maximum tokens of an answer, by which the loss ``dr_grpo`` divides.
    """

    def __init__(
        self, adapter: Adapter, config: TrainerConfig, tokenizer: PreTrainedTokenizerBase, seed: int, longest: int
    ) -> None:
        trainer: Any = TinkerTrainer(adapter, config, seed, longest)
        model: Any = adapter
        super().__init__(model, trainer, config, tokenizer)

    def save(self, folder: Path) -> None:
        """Store weights and optimizer at the service; in the folder their path and a few samples."""
        folder.mkdir(parents=True, exist_ok=True)
        self.trainer.save(folder)
        store_samples(self.sampled, folder / SAMPLED)

    def load(self, folder: Path) -> None:
        """Continue from a folder of `save`.

        Raises:
            CheckpointError: The folder names no checkpoint at the service.
        """
        self.trainer.load(folder)
        self.version += 1

    def load_weights(self, folder: Path) -> None:
        """As `load`: the service keeps both together."""
        self.load(folder)

    def imitate(self, rows: Sequence[Row], **settings: Any) -> list[float]:
        """See `TinkerTrainer.imitate`."""
        self.version += 1
        trainer: Any = self.trainer
        losses: list[float] = trainer.imitate(rows, **settings)
        return losses


@dataclass(slots=True)
class _Scored:
    """Sampled tokens of a row, and what the loss of each depends on; float64 tensors of shape (tokens with a weight,).

    Attributes:
        sample: The row, with the weights of the loss.
        at: Their places in the completion.
        old: Log-probabilities before the update.
        factor: Factors of the correction of a mismatch.
    """

    sample: Sample
    at: np.ndarray
    old: torch.Tensor
    factor: torch.Tensor

    def of(self, values: Sequence[float]) -> torch.Tensor:
        """Values of the tokens, from those of all tokens of the completion."""
        return torch.tensor(values, dtype=torch.float64)[self.at]


class TinkerTrainer:
    """`rlanything_agents.training.update.Trainer` of an adapter at the service; see the module for its losses.

    The arguments are those of `TinkerLearner`.
    """

    sharded = False

    def __init__(self, adapter: Adapter, config: TrainerConfig, seed: int = 0, longest: int = 512) -> None:
        self.adapter, self.config, self.updates, self._unchecked = adapter, config, 0, True
        self._seed, self._longest = seed, longest
        self._averages: bool | None = None

    def weights(self) -> dict[str, Any]:
        """Raise: the weights are at the service.

        Raises:
            TrainingError: Always.
        """
        raise TrainingError("engine.kind tinker: the weights are at the service; fetch them by `tinker checkpoint`")

    def update(self, samples: Sequence[Sample], rate: float = 1.0) -> UpdateStats:
        """Train the adapter: one step of AdamW for each batch of a shuffled split of the samples.

        The statistics are those of `UpdateStats`, with two differences: ``entropy`` is estimated by the sampled tokens
        (minus the mean of their log-probabilities), and ``grad_norm`` is 0 where the service does not state it.

        Args:
            samples: Training data.
            rate: Share of the peak learning rate.

        Raises:
            TrainingError: A token id is outside the vocabulary, was chosen from a set of allowed ids, or an image is in
                a prompt.
            RunMustStop: At the run's first optimizer step a token has a probability by the sampler that is more than
                `MOST_SAMPLER_RATIO` times that by the trainer, or less than one over that; no weight has changed.
            ServiceFailed: The service failed, or returned what is no log-probability of each token.
        """
        start, config = time.perf_counter(), self.config
        check_vocabulary(samples, self.adapter.vocabulary)
        for number, sample in enumerate(samples):
            if sample.images or any(choice is not None for choice in sample.allowed or ()):
                raise TrainingError(f"sample {number}: the service trains on free answers to texts alone")
        rng = np.random.default_rng(np.random.SeedSequence([self._seed, self.updates]))
        batches = [
            aggregated([trimmed(sample) for sample in batch], config.loss, self._longest)
            for batch in optimizer_batches(samples, config.optimizer_steps, rng)
        ]
        tallies = Tallies()
        before = [[self._before(sample, tallies) for sample in batch] for batch, _ in batches]
        steps = list[tuple[float, float]]()
        for scored, (_, divisor) in zip(before, batches, strict=True):
            data = [self._datum(row, divisor, len(scored)) for row in scored]
            clip = {"clip_low_threshold": 1 - config.clip, "clip_high_threshold": 1 + config.highest}
            passed = self._begin("forward_backward", data, "ppo", clip)
            loss = 0.0
            for row, new in zip(scored, self._logprobs(passed, scored), strict=True):
                loss += self._loss(row, new, tallies) / divisor
                if not steps and not config.recomputes:  # no step was taken yet: the sampler had these weights
                    tallies.compare(row.of(row.sample.weights), new, row.of(row.sample.logprobs))
            if self._unchecked:
                self._check_sampler(tallies.farthest())
                self._unchecked = False
            steps.append((loss, self._step(rate * config.learning_rate)))
        self.updates += 1
        return UpdateStats.of_steps(samples, steps, start, **tallies.means())

    def imitate(
        self,
        rows: Sequence[Row],
        *,
        epochs: int,
        batch_size: int,
        learning_rate: float,
        seed: int,
        warmup: float = 0.05,
        progress: Callable[[int, int, float], None] | None = None,
        **_: Any,
    ) -> list[float]:
        """Maximise the likelihood of the learnt tokens, as `rlanything_agents.training.imitation.fit` does.

        The order of the rows and the rates are the same. An interrupted warm start begins again.

        Returns:
            Mean loss per epoch, nats per learnt token.

        Raises:
            TrainingError: There are no rows, or one has an image.
            ServiceFailed: See `update`.
        """
        if any(row.images for row in rows):
            raise TrainingError("the warm start at a service imitates texts alone, and a demonstration has an image")
        order = batches_of(rows, epochs, batch_size, np.random.default_rng(seed))
        losses = list[float]()
        for step, batch in enumerate(order):
            total = max(1, sum(sum(row.learnt[1:]) for row in batch))
            data = [self._packed(row.ids, weights=np.array(row.learnt[1:]) / total) for row in batch]
            passed = self._begin("forward_backward", data, "cross_entropy", None)
            loss = 0.0
            for row, found in zip(batch, self._outputs(passed, [len(row.ids) - 1 for row in batch]), strict=True):
                loss -= float(found[np.array(row.learnt[1:])].sum()) / total
            self._step(learning_rate * rate_at(step, len(order), warmup), betas=(0.9, 0.95))
            losses.append(loss)
            if progress is not None:
                progress(len(losses), len(order), loss)
        size = len(order) // epochs
        return [float(np.mean(losses[first : first + size])) for first in range(0, len(order), size)]

    def save(self, folder: Path) -> None:
        """Store weights and optimizer at the service, and in the folder their path and the number of updates."""
        path = self.adapter.save(f"update-{self.updates:06d}-{time.time_ns():x}")
        state = {"path": path, "updates": self.updates}
        (folder / AT_SERVICE).write_text(json.dumps(state) + "\n", encoding="utf-8")

    def load(self, folder: Path) -> None:
        """Continue from a folder of `save`.

        Raises:
            CheckpointError: The folder names no checkpoint at the service.
        """
        try:
            found = json.loads((folder / AT_SERVICE).read_text(encoding="utf-8"))
            path, updates = found["path"], found["updates"]
            if not (isinstance(path, str) and path.startswith("tinker://") and type(updates) is int):
                raise ValueError("path and updates expected")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(
                f"{folder / AT_SERVICE}: names no checkpoint at the Tinker service ({error}): go back a "
                "checkpoint, or set engine.kind to that of the run"
            ) from error
        self.adapter.restore(path)
        self.updates, self._unchecked = updates, not updates

    def rest(self) -> None:
        """Do nothing: the state is at the service."""

    def _before(self, sample: Sample, tallies: Tallies) -> _Scored:
        """Log-probabilities of a row before the update, by the sampler or by a forward pass."""
        at = np.flatnonzero(np.array(sample.weights) > 0)
        sampler = torch.tensor(sample.logprobs, dtype=torch.float64)[at]
        row = _Scored(sample, at, sampler, torch.ones_like(sampler))
        if not self.config.recomputes:
            return row
        passed = self._begin("forward", [self._datum(row, 1.0, 0)], "ppo", None)
        (row.old,) = self._logprobs(passed, [row])
        outside = None
        if self.config.importance_sampling_mode is not None:
            away = (row.old - sampler).clamp(-FARTHEST, FARTHEST)
            row.factor, outside = importance_ratio(away, self.config.importance_sampling_mode)
        tallies.compare(row.of(sample.weights), row.old, sampler, outside)
        return row

    def _datum(self, row: _Scored, divisor: float, rows: int) -> Any:
        """Row as the service reads it: each token predicts the next.

        Args:
            row: The row.
            divisor: Divisor of the loss of its optimizer step.
            rows: Rows of that step; 0 for a row without a gradient.
        """
        sample = row.sample
        ids, first = sample.prompt_ids + sample.completion_ids, len(sample.prompt_ids) - 1
        logprobs, advantages = np.zeros(len(ids) - 1), np.zeros(len(ids) - 1)
        logprobs[first + row.at] = row.old
        scale = (len(ids) - 1) * rows if rows and self._averaging(row) else 1
        paid = row.of(sample.advantages) * row.of(sample.weights) * row.factor
        advantages[first + row.at] = paid * scale / divisor
        return self._packed(ids, logprobs=logprobs, advantages=advantages)

    def _packed(self, ids: list[int], **columns: np.ndarray) -> Any:
        types = self.adapter.service.sdk.types
        floats = {name: column.astype(np.float32) for name, column in columns.items()}
        inputs = {"target_tokens": np.array(ids[1:], dtype=np.int64), **floats}
        return types.Datum(model_input=types.ModelInput.from_ints(ids[:-1]), loss_fn_inputs=inputs)

    def _averaging(self, row: _Scored) -> bool:
        """Whether the service averages losses in place of summing them, by a forward pass of one row at the first use.

        It is the one whose output has the losses of tokens, and no metric of a loss.
        """
        if self._averages is None:
            passed = self._begin("forward", [self._datum(row, 1.0, 0)], "ppo", None)
            metrics, outputs = getattr(passed, "metrics", None) or {}, getattr(passed, "loss_fn_outputs", None) or [{}]
            stated = any("loss" in str(name) for name in metrics)
            self._averages = not stated and "elementwise_loss" in outputs[0]
        return self._averages

    def _begin(self, do: str, data: list[Any], loss: str, settings: Mapping[str, float] | None) -> Any:
        """Run a pass over rows; returns its untrusted output."""
        service, client = self.adapter.service, self.adapter.client
        output = service.settled(do.replace("_", " and "), lambda: getattr(client, do)(data, loss, settings))
        service.count(trained=sum(datum.model_input.length + 1 for datum in data))
        return output

    def _logprobs(self, output: Any, rows: Sequence[_Scored]) -> list[torch.Tensor]:
        """Log-probabilities of the sampled tokens of each row."""
        lengths = [len(row.sample) - 1 for row in rows]
        found = self._outputs(output, lengths)
        return [
            torch.from_numpy(new[len(row.sample.prompt_ids) - 1 + row.at]) for row, new in zip(rows, found, strict=True)
        ]

    def _outputs(self, output: Any, lengths: Sequence[int]) -> list[np.ndarray]:
        """Log-probabilities of all targets of each row, checked."""
        outputs = getattr(output, "loss_fn_outputs", None)
        if not isinstance(outputs, (list, tuple)) or len(outputs) != len(lengths):
            raise ServiceFailed(f"Tinker: a pass over {len(lengths)} rows returned no output for each: try again later")
        found = []
        for number, (row, length) in enumerate(zip(outputs, lengths, strict=True)):
            values = numbers(row.get("logprobs") if isinstance(row, Mapping) else None, length)
            if values is None or values.max() > 1e-3:
                raise ServiceFailed(
                    f"Tinker: row {number} of a pass has not {length} finite log-probabilities: the update was left "
                    "out; try again later"
                )
            found.append(values)
        return found

    def _step(self, rate: float, betas: tuple[float, float] | None = None) -> float:
        """Take a step of AdamW; returns the norm of the gradient, 0 where the service does not state it."""
        config, service, client = self.config, self.adapter.service, self.adapter.client
        beta1, beta2 = betas or config.betas
        settings = service.sdk.types.AdamParams(
            learning_rate=rate,
            beta1=beta1,
            beta2=beta2,
            eps=config.epsilon,
            weight_decay=0.0,
            grad_clip_norm=MAX_GRAD_NORM,
        )
        metrics = getattr(service.settled("optimizer step", lambda: client.optim_step(settings)), "metrics", None)
        stated = numbers([value for name, value in (metrics or {}).items() if str(name).endswith("grad_norm")][:1], 1)
        return 0.0 if stated is None else float(stated[0])

    def _loss(self, row: _Scored, new: torch.Tensor, tallies: Tallies) -> float:
        """Weighted sum of a row's token losses; adds its tokens to the statistics."""
        config, weights, advantages = self.config, row.of(row.sample.weights), row.of(row.sample.advantages)
        away = (new - row.old).clamp(-FARTHEST, FARTHEST)
        ratio = away.exp()
        gain = torch.minimum(ratio * advantages, ratio.clamp(1 - config.clip, 1 + config.highest) * advantages)
        clipped = torch.where(advantages > 0, ratio > 1 + config.highest, ratio < 1 - config.clip) & (advantages != 0)
        tallies.add(weights, k3(torch.zeros_like(away), away), clipped, -new)
        return -float((weights * row.factor * gain).sum())

    def _check_sampler(self, farthest: float) -> None:
        if farthest > MOST_SAMPLER_RATIO:
            raise RunMustStop(
                "Tinker: the sampler's probability of a token differs from the trainer's by a factor of "
                f"{farthest:.4g}, at most {MOST_SAMPLER_RATIO:g}, at the first update: rounding does not explain it. "
                "No weight has changed. Ask the service's operator whether both have the same weights and tokenizer"
            )
