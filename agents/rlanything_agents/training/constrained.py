"""Log-probabilities of sampled tokens over the allowed tokens, as in constrained decoding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from rlanything_agents.training.samples import Allowed

__all__ = ["constrained"]


MANY = 1024
"""Allowed ids of a position from which on its logits are masked, not gathered: vLLM lists those of free text."""


def constrained(
    logits: torch.Tensor, tokens: torch.Tensor, allowed: Sequence[Allowed | None]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute log-probabilities and entropies under a softmax over the allowed tokens only.

    Args:
        logits: Shape (positions, vocabulary).
        tokens: Shape (positions,): the sampled tokens.
        allowed: Allowed ids of each position; ``None`` = all.

    Returns:
        Log-probabilities and entropies in nats, both of shape (positions,); entropies have no gradient.
    """
    logps, entropies = logits.new_zeros(len(logits)), logits.new_zeros(len(logits))
    few: list[int] = []
    alike: dict[int, list[int]] = {}  # places without limits, and those of each large set
    for place, choice in enumerate(allowed):
        if choice is not None and len(choice) < MANY:
            few.append(place)
        else:
            alike.setdefault(id(choice), []).append(place)
    for places in (few, *alike.values()):
        if not places:
            continue
        at = torch.tensor(places, device=logits.device)
        chosen = (part := logits[at]).gather(1, tokens[at, None])
        choice = allowed[places[0]]
        if places is few:
            choices = [allowed[place] or () for place in few]
            lengths = np.array([len(choice) for choice in choices])
            inside = np.arange(lengths.max()) < lengths[:, None]
            table = np.zeros(inside.shape, dtype=np.int64)
            table[inside] = np.concatenate(choices)
            part = part.gather(1, torch.from_numpy(table).to(logits.device))
            part = part.masked_fill(torch.from_numpy(~inside).to(logits.device), -torch.inf)
        elif choice is not None:
            outside = torch.ones(logits.shape[1], dtype=torch.bool)
            outside[list(choice)] = False
            part = part.masked_fill(outside.to(logits.device), -torch.inf)
        total = part.logsumexp(1, keepdim=True)
        with torch.no_grad():
            entropy = torch.special.entr((part - total).exp()).sum(1)
        logps = logps.index_put((at,), (chosen - total)[:, 0])
        entropies = entropies.index_put((at,), entropy)
    return logps, entropies
