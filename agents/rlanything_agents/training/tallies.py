"""Statistics of an update, summed over its tokens and processes."""

from __future__ import annotations

from typing import Any

import torch

from rlanything_agents.training.mismatch import FARTHEST

__all__ = ["Tallies", "k3"]


def k3(reference: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    """k3 estimate of the KL divergence to a reference, from log-probabilities of the same tokens."""
    return (reference - new).exp() - (reference - new) - 1


class Tallies:
    """Weighted sums over the tokens that one process has read."""

    def __init__(self) -> None:
        self._update, self._sampler = torch.zeros(4, dtype=torch.float64), torch.zeros(4, dtype=torch.float64)
        self._farthest = torch.zeros(1)

    def add(self, weights: torch.Tensor, kl: torch.Tensor, clipped: torch.Tensor, entropy: torch.Tensor) -> None:
        """Add the tokens of a forward pass; all tensors have the same shape."""
        self._update += _sums(weights, kl, clipped, entropy)

    def compare(
        self, weights: torch.Tensor, trainer: torch.Tensor, sampler: torch.Tensor, outside: torch.Tensor | None = None
    ) -> None:
        """Compare log-probabilities of the same weights by the trainer and by the sampler.

        Args:
            weights: Weights of the tokens.
            trainer: Log-probabilities by the trainer, at temperature 1.
            sampler: Log-probabilities by the sampler, at temperature 1.
            outside: Whether the ratio of a token was outside of the bounds of the correction; None without one.
        """
        away = (trainer - sampler).clamp(-FARTHEST, FARTHEST)
        ratio = away.exp()
        left = torch.zeros_like(ratio) if outside is None else outside
        self._sampler += _sums(weights, ratio - away - 1, (ratio - 1) ** 2, left)
        self._farthest = torch.maximum(self._farthest, (away.abs() * (weights > 0)).max().cpu())

    def farthest(self, accelerator: Any = None) -> float:
        """Largest factor between a token's probabilities by sampler and trainer so far, in all processes."""
        if accelerator is None:
            return float(self._farthest.exp())
        return float(accelerator.gather(self._farthest.to(accelerator.device)).max().exp())

    def means(self, accelerator: Any = None) -> dict[str, float]:
        """Means over all processes of an accelerator, or over this one, by the names of `UpdateStats`."""
        sums = torch.cat((self._update, self._sampler))
        if accelerator is not None:
            sums = accelerator.reduce(sums.to(accelerator.device), reduction="sum")
        weight, kl, clipped, entropy, compared, sampler_kl, chi2, outside = sums.tolist()
        return {
            "kl": kl / max(weight, 1e-12),
            "clip_fraction": clipped / max(weight, 1e-12),
            "entropy": entropy / max(weight, 1e-12),
            "sampler_kl": sampler_kl / max(compared, 1e-12),
            "sampler_chi2": chi2 / max(compared, 1e-12),
            "sampler_ratio": self.farthest(accelerator),
            "corrected": outside / max(compared, 1e-12),
        }


def _sums(weights: torch.Tensor, *values: torch.Tensor) -> torch.Tensor:
    """Sum of the weights and weighted sums of the values, float64 on the processor."""
    return torch.stack([(weights * value).sum() for value in (torch.ones_like(weights), *values)]).double().cpu()
