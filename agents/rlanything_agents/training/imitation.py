"""Imitation: supervised fine-tuning of a model on demonstrations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional
from transformers import PreTrainedModel

from rlanything_agents.engines.batching import like_length
from rlanything_agents.models.master_weights import MasterAdamW

__all__ = ["NothingToImitate", "Row", "fit", "row_of"]


class NothingToImitate(ValueError):
    """There are no demonstrations."""


@dataclass(frozen=True, slots=True)
class Row:
    """Token sequence with the mask of the tokens to imitate.

    Attributes:
        ids: Token ids.
        learnt: For each token whether it enters the loss; the others are context.
    """

    ids: list[int]
    learnt: list[bool]


def row_of(prompt: Sequence[int], answer: Sequence[int]) -> Row:
    """Make a row that imitates the answer after its prompt."""
    return Row([*prompt, *answer], [False] * len(prompt) + [True] * len(answer))


def fit(
    model: PreTrainedModel,
    rows: Sequence[Row],
    *,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    seed: int,
    micro_batch_tokens: int | None = None,
    warmup: float = 0.05,
    checkpointing: bool = False,
    progress: Callable[[int, int, float], None] | None = None,
) -> list[float]:
    """Maximise the likelihood of the learnt tokens: AdamW, linear warm-up, then cosine decay to a tenth.

    Args:
        model: Model to train in place; afterwards it is in evaluation mode.
        rows: Sequences to imitate.
        epochs: Passes over the rows.
        batch_size: Rows per optimiser step; rows of similar length share a batch.
        learning_rate: Peak learning rate.
        seed: Seed of the order of the rows.
        micro_batch_tokens: Most padded tokens of a forward pass (a single row may have more), None = no limit. It
            changes memory, not the result.
        warmup: Share of the optimiser steps in which the rate rises to its peak.
        checkpointing: Gradient checkpointing, see `TrainerConfig`; it changes memory and speed, not the result.
        progress: Called after each optimiser step with its number, the number of all steps, and the loss.

    Returns:
        Mean loss per epoch, nats per learnt token.

    Raises:
        NothingToImitate: There are no rows.
    """
    if not rows:
        raise NothingToImitate(
            "the warm start has no demonstrations: the expert solved no task; raise warm_start.max_steps or "
            "warm_start.demonstrations"
        )
    rng = np.random.default_rng(seed)
    batches = -(-len(rows) // batch_size)
    total = epochs * batches
    optimizer = MasterAdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.95), weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, total, warmup))
    decoder, head = model.get_decoder(), model.get_output_embeddings()
    model.train()
    switched = checkpointing and not model.is_gradient_checkpointing  # a trainer of this model may have it on
    if switched:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    means, step = [], 0
    for _ in range(epochs):
        losses = []
        for batch in _batches(rows, batch_size, rng):
            weight = max(1, sum(sum(row.learnt[1:]) for row in batch))
            loss = 0.0
            for part in _parts(batch, micro_batch_tokens):
                ids, learnt = _pad(part, model.device)
                hidden = decoder(input_ids=ids[:, :-1], use_cache=False).last_hidden_state
                logits, following = head(hidden[learnt[:, 1:]]), ids[:, 1:][learnt[:, 1:]]
                share = functional.cross_entropy(logits, following, reduction="sum") / weight
                share.backward()  # type: ignore[no-untyped-call]
                loss += share.item()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            schedule.step()
            step += 1
            losses.append(loss)
            if progress is not None:
                progress(step, total, losses[-1])
        means.append(float(np.mean(losses)))
    if switched:
        model.gradient_checkpointing_disable()
    model.eval()
    return means


def _rate(step: int, total: int, warmup: float) -> float:
    warm = max(1, int(total * warmup))
    if step < warm:
        return (step + 1) / warm
    return 0.1 + 0.45 * (1 + float(np.cos(np.pi * (step - warm) / max(1, total - warm))))


def _batches(rows: Sequence[Row], size: int, rng: np.random.Generator, pool: int = 16) -> list[list[Row]]:
    """Random batches of rows of similar length: sorted within pools of ``pool`` batches, then shuffled."""
    order = rng.permutation(len(rows))
    batches = []
    for first in range(0, len(order), size * pool):
        ranked = sorted(order[first : first + size * pool], key=lambda i: len(rows[i].ids))
        batches += [[rows[i] for i in ranked[k : k + size]] for k in range(0, len(ranked), size)]
    return [batches[i] for i in rng.permutation(len(batches))]


def _parts(batch: Sequence[Row], tokens: int | None) -> list[list[Row]]:
    """Micro-batches of a batch: the rows of each forward pass."""
    if tokens is None:
        return [list(batch)]
    lengths = np.array([len(row.ids) for row in batch], dtype=np.int64)
    return [[batch[i] for i in group] for group in like_length(lengths, tokens)]


def _pad(rows: Sequence[Row], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Right-padded ids and learnt flags of shape (rows, longest). Causal attention needs no mask for such padding."""
    width = max(len(row.ids) for row in rows)
    ids = torch.zeros((len(rows), width), dtype=torch.int64)
    learnt = torch.zeros((len(rows), width), dtype=torch.bool)
    for i, row in enumerate(rows):
        ids[i, : len(row.ids)] = torch.tensor(row.ids)
        learnt[i, : len(row.ids)] = torch.tensor(row.learnt)
    return ids.to(device), learnt.to(device)
