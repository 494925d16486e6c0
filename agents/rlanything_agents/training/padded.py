"""Inputs of one forward pass: rows of samples, padded to one width, with everything that a loss needs of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch

from rlanything_agents.models.image_reader import image_inputs
from rlanything_agents.training.constrained import constrained
from rlanything_agents.training.rows import Row
from rlanything_agents.training.samples import Allowed, Sample
from rlanything_agents.training.shared_prompts import layout
from rlanything_envs.message import Image

__all__ = ["MicroBatch", "Padded"]


@dataclass(eq=False, slots=True)
class MicroBatch:
    """Rows of one forward pass, and the divisor of their optimizer step.

    ``old`` and ``correction`` are set where the trainer computes the log-probabilities before the update itself; both
    of shape (rows, completion columns), see `Padded`.
    """

    rows: list[Row]
    divisor: float
    old: torch.Tensor | None = None
    correction: torch.Tensor | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Padded:
    """Rows of one forward pass, of one width.

    Padding is on the right only, so that models with absolute positions get the positions of the sampling. No real
    token attends to later ones, so the padding needs no attention mask (its weights are 0), and where no prompt is
    shared attention can take its fast causal path. The columns that the prompts of all rows fill are the *prompt*; all
    other columns count as *completion*, with weight 0 where no token was sampled.

    Attributes:
        ids: Token ids, int64 of shape (rows, columns).
        layout: Positions and attention mask, see `shared_prompts.layout`; None where no row has several samples.
        weights: Weights of the completion's tokens in the loss, float32 of shape (rows, completion columns).
        advantages: Advantages of these tokens, of the same shape.
        old: Log-probabilities of these tokens before the update, 0 where the weight is 0; of the same shape. They are
            the sampler's until the trainer has computed its own.
        correction: Factors of the loss of these tokens, of the same shape; None = 1.
        allowed: Allowed tokens of each sampled token, row by row; empty if all tokens were free.
        divisor: Divisor of the loss, that of the whole optimizer step.
        images: Images of all rows, in the order of their placeholders.
    """

    ids: torch.Tensor
    layout: tuple[torch.Tensor, torch.Tensor | None] | None
    weights: torch.Tensor
    advantages: torch.Tensor
    old: torch.Tensor
    correction: torch.Tensor | None
    allowed: list[Allowed | None]
    divisor: float
    images: list[Image]

    @classmethod
    def of(cls, micro: MicroBatch, *, padding: int, masked: bool, device: torch.device) -> Self:
        """Pad the rows of a micro-batch.

        Args:
            micro: The micro-batch; at least one row.
            padding: Token id of the padding.
            masked: Whether rows of several samples need an attention mask, see `shared_prompts.restarts`.
            device: Device of the model.
        """
        rows = micro.rows
        prompt = min(len(row.prompt_ids) for row in rows)
        width = max(map(len, rows))
        ids = np.full((len(rows), width), padding, dtype=np.int64)
        columns = np.zeros((3, len(rows), width), dtype=np.float32)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = row.ids
            for begin, sample in row.places:
                end = begin + len(sample.completion_ids)
                columns[:, number, begin:end] = sample.weights, sample.advantages, sample.logprobs
        weights, advantages, logprobs = torch.from_numpy(columns[:, :, prompt:]).to(device)
        return cls(
            ids=torch.from_numpy(ids).to(device),
            layout=layout(rows, width, device, masked=masked) if any(len(row.samples) > 1 for row in rows) else None,
            weights=weights,
            advantages=advantages,
            old=torch.where(weights > 0, logprobs, 0.0) if micro.old is None else micro.old,
            correction=micro.correction,
            allowed=_allowed([sample for row in rows for sample in row.samples]),
            divisor=micro.divisor,
            images=[image for row in rows for sample in row.samples for image in sample.images],
        )

    @property
    def sampled(self) -> torch.Tensor:
        """Whether a token of the completion was sampled and has a weight, bool of shape (rows, completion columns)."""
        return self.weights > 0

    @property
    def loss_inputs(self) -> dict[str, torch.Tensor]:
        """Inputs of TRL's loss."""
        prompt = self.ids.shape[1] - self.weights.shape[1]
        ones = torch.ones_like(self.ids)
        # TRL clamps the divisor to at least 1: use the smallest weight as the unit.
        unit = torch.where(self.sampled, self.weights, torch.inf).min().clamp(max=1.0)
        return {
            "prompt_ids": self.ids[:, :prompt],
            "prompt_mask": ones[:, :prompt],
            "completion_ids": self.ids[:, prompt:],
            "completion_mask": ones[:, prompt:],
            "tool_mask": (self.weights if self.correction is None else self.correction * self.weights) / unit,
            "num_items_in_batch": self.divisor / unit,
            "advantages": self.advantages,
            "old_per_token_logps": self.old,
        }

    def score(self, model: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Compute log-probabilities and entropies over the allowed tokens, 0 where no token was sampled.

        Where all tokens were allowed, the fused head that TRL gave to the model never stores the logits of all tokens.

        Returns:
            Both of the shape of the weights.
        """
        width, sampled = self.weights.shape[1], self.sampled
        inputs: dict[str, Any] = {
            "input_ids": self.ids,
            "use_cache": False,
            **image_inputs(model, self.ids, self.images),
        }
        if self.layout is not None:
            positions, visible = self.layout
            inputs |= {"position_ids": positions, "attention_mask": None if visible is None else visible[:, None]}
        if not self.allowed:
            labels = torch.full_like(self.ids, -100)
            labels[:, -width:] = torch.where(sampled, self.ids[:, -width:], -100)
            scored = model(**inputs, labels=labels, fused_lm_head=True)
            return scored.log_probs[:, -width:], scored.entropy[:, -width:]
        # A model computes logits of whole columns; those of no sampled token are left out.
        columns = sampled.any(0).nonzero()[:, 0]
        output = model(**inputs, logits_to_keep=columns + self.ids.shape[1] - width - 1)
        logits = output.logits[sampled[:, columns]].float()
        new, entropy = constrained(logits, self.ids[:, -width:][sampled], self.allowed or [None] * len(logits))
        zeros = logits.new_zeros(sampled.shape)
        return zeros.masked_scatter(sampled, new), zeros.masked_scatter(sampled, entropy)


def _allowed(samples: Sequence[Sample]) -> list[Allowed | None]:
    """Allowed tokens of each token with a weight; empty if all were free."""
    if not any(sample.allowed for sample in samples):
        return []
    return [
        choice
        for sample in samples
        for choice, weight in zip(sample.allowed or [None] * len(sample.weights), sample.weights, strict=True)
        if weight
    ]
