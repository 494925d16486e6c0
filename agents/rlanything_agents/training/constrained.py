"""Log-probabilities of sampled tokens over the allowed tokens, as in constrained decoding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from rlanything_agents.training.samples import Allowed

__all__ = ["constrained"]


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
    bound = np.array([choice is not None for choice in allowed], dtype=bool)
    choices = [choice for choice in allowed if choice is not None]
    for places, ids in ((np.flatnonzero(bound), choices), (np.flatnonzero(~bound), None)):
        if not len(places):
            continue
        at = torch.from_numpy(places).to(logits.device)
        part, chosen = logits[at], logits[at].gather(1, tokens[at, None])
        if ids is not None:
            lengths = np.array([len(choice) for choice in ids])
            inside = np.arange(lengths.max()) < lengths[:, None]
            table = np.zeros(inside.shape, dtype=np.int64)
            table[inside] = np.concatenate(ids)
            part = part.gather(1, torch.from_numpy(table).to(logits.device))
            part = part.masked_fill(torch.from_numpy(~inside).to(logits.device), -torch.inf)
        total = part.logsumexp(1, keepdim=True)
        with torch.no_grad():
            entropy = torch.special.entr((part - total).exp()).sum(1)
        logps = logps.index_put((at,), (chosen - total)[:, 0])
        entropies = entropies.index_put((at,), entropy)
    return logps, entropies
