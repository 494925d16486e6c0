"""Interface of a trainer and statistics of an update; imports no torch, so that any module can use it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rlanything_agents.training.samples import Sample, unknown_tokens

if TYPE_CHECKING:
    import torch

AT_SERVICE = "tinker.json"
"""File with the path of a model's weights and optimizer at the Tinker service, in place of both."""
OPTIMIZER = "optimizer"
"""Folder of the optimizer state beside the weights of a model that is trained."""


@dataclass(frozen=True, slots=True)
class UpdateStats:
    """Statistics of one update. Means over tokens use the weights of the loss.

    Attributes:
        loss: Mean over the optimizer steps of the exact weighted mean loss of each.
        grad_norm: Mean over the optimizer steps of the gradient norm before clipping.
        kl: Mean k3 estimate of the KL divergence to the policy before the update, in nats per token, measured
            before each optimizer step (so about 0 at the first one).
        clip_fraction: Share of tokens whose ratio was clipped.
        entropy: Mean entropy of the next-token distribution (over the allowed tokens), in nats.
        optimizer_steps: Number of optimizer steps; 0 if no sample had a weight.
        rows: Number of samples with a weight.
        step_samples: Sum of all weights = number of answers (steps of episodes, or votes).
        tokens: Tokens of all rows, padding not counted.
        seconds: Wall-clock time.
        sampler_kl: Mean k3 estimate of the KL divergence of the trainer's policy from the sampler's, both before the
            update and at temperature 1, in nats per token. Over all samples where the trainer computes the old
            log-probabilities itself, else over those of the first optimizer step.
        sampler_chi2: Chi-square divergence of the same, estimated by the mean of ``(ratio - 1)**2``.
        sampler_ratio: Largest factor between a token's probabilities by sampler and trainer, at least 1.
        corrected: Share of tokens whose ratio was truncated or masked by ``importance_sampling_mode``.
        unknown: Sampled tokens without weight because it is unknown which tokens the sampler allowed.
    """

    loss: float
    grad_norm: float
    kl: float
    clip_fraction: float
    entropy: float
    optimizer_steps: int
    rows: int
    step_samples: float
    tokens: int
    seconds: float
    sampler_kl: float = 0.0
    sampler_chi2: float = 0.0
    sampler_ratio: float = 1.0
    corrected: float = 0.0
    unknown: int = 0

    @classmethod
    def of_steps(
        cls, samples: Sequence[Sample], steps: Sequence[tuple[float, float]], began: float, **means: Any
    ) -> UpdateStats:
        """Statistics of an update that ends now.

        Args:
            samples: All samples that it was given; those without weight had no part in it.
            steps: Loss and gradient norm of each optimizer step.
            began: `time.perf_counter` when it began.
            means: The attributes that are means over tokens.
        """
        useful = [sample for sample in samples if any(sample.weights)]
        loss, norm = np.mean(steps, axis=0) if steps else (0.0, 0.0)
        return cls(
            loss=float(loss),
            grad_norm=float(norm),
            optimizer_steps=len(steps),
            rows=len(useful),
            step_samples=sum(sum(sample.weights) for sample in useful),
            tokens=sum(map(len, useful)),
            seconds=time.perf_counter() - began,
            unknown=unknown_tokens(samples),
            **means,
        )


class Trainer(Protocol):
    """Trainer of one model: a model with its optimizer."""

    def update(self, samples: Sequence[Sample], rate: float = 1.0) -> UpdateStats:
        """Train the model in place on the samples.

        Args:
            samples: Training data.
            rate: Share of the peak learning rate.
        """

    @property
    def sharded(self) -> bool:
        """Whether the model is sharded over several processes now, so that its module can neither generate nor be
        stored."""
        ...

    def weights(self) -> dict[str, torch.Tensor]:
        """Trained weights of the model by name."""
        ...

    def save(self, folder: Path) -> None:
        """Store in a folder what the next update depends on besides the model's weights."""

    def load(self, folder: Path) -> None:
        """Continue from a folder of `save`."""

    def rest(self) -> None:
        """Move the optimizer state to the host's memory until the next update."""
