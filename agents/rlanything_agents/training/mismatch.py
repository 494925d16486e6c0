"""Mismatch of sampler and trainer: two programs that compute different probabilities from the same weights.

The log-probabilities of an engine (other kernels, precision or quantisation) differ from those of the trainer's own
forward pass. The ratio of both is the trainer's probability of a token divided by the sampler's, at temperature 1.
"""

from __future__ import annotations

import torch

from rlanything_agents.config.trainer import MOST_IMPORTANCE

__all__ = ["FARTHEST", "importance_ratio"]

FARTHEST = 20.0
"""Log-ratios are cut off here, so that no statistic is infinite; TRL cuts those of its ``vespo`` loss there."""


def importance_ratio(log_ratio: torch.Tensor, mode: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Factor that corrects the loss of each token, as ``vllm_importance_sampling_*`` of TRL does.

    Args:
        log_ratio: Log-probability by the trainer minus that by the sampler; 0 at tokens without weight.
        mode: ``importance_sampling_mode``.

    Returns:
        Factors, and whether a ratio was above the bound; both of the shape of the log-ratios.
    """
    ratio = log_ratio.exp()
    outside = ratio > MOST_IMPORTANCE
    if mode == "token_mask":
        return ratio.masked_fill(outside, 0.0), outside
    return ratio.clamp(max=MOST_IMPORTANCE), outside
