"""Imitation: supervised fine-tuning of a model on demonstrations."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from transformers import PreTrainedModel

from rlanything_agents.engines.batching import like_length
from rlanything_agents.models.image_reader import image_inputs, image_reader, whole_model
from rlanything_agents.models.master_weights import MasterAdamW
from rlanything_agents.models.pretrained import logits_of, trained
from rlanything_agents.training.errors import TrainingError
from rlanything_envs.llm.generator import SeenPrompt
from rlanything_envs.message import Image

__all__ = ["Row", "batches_of", "fit", "pad", "rate_at", "row_of"]


KEEP_S = 300.0
"""Seconds between two states that `fit` keeps; storing one of SmolLM2-135M takes about two seconds and 2 GB."""


@dataclass(frozen=True, slots=True)
class Row:
    """Token sequence with the mask of the tokens to imitate.

    Attributes:
        ids: Token ids.
        learnt: For each token whether it enters the loss; the others are context.
        images: Images of the context, in the order of their placeholders.
    """

    ids: list[int]
    learnt: list[bool]
    images: tuple[Image, ...] = ()


def row_of(prompt: Sequence[int], answer: Sequence[int]) -> Row:
    """Make a row that imitates the answer after its prompt, which may have images."""
    images = prompt.images if isinstance(prompt, SeenPrompt) else ()
    return Row([*prompt, *answer], [False] * len(prompt) + [True] * len(answer), images)


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
    kept: Path | None = None,
) -> list[float]:
    """Maximise the likelihood of the learnt tokens: AdamW, linear warm-up, then cosine decay to a tenth.

    Args:
        model: Model to train in place; afterwards it is in evaluation mode.
        rows: Sequences to imitate.
        epochs: Passes over the rows.
        batch_size: Rows per optimiser step; rows of similar length share a batch.
        learning_rate: Peak learning rate.
        seed: Seed of the order of the rows.
        micro_batch_tokens: Maximum padded tokens of a forward pass (a single row may have more), None = no limit. It
            changes memory, not the result.
        warmup: Share of the optimiser steps in which the rate rises to its peak.
        checkpointing: Gradient checkpointing, see `TrainerConfig`; it changes memory and speed, not the result.
        progress: Called after each optimiser step with its number, the number of all steps, and the loss.
        kept: File for the state every `KEEP_S` seconds. A call with the same arguments goes on from there, and comes to
            the same weights as without an interruption. The caller deletes it.

    Returns:
        Mean loss per epoch, nats per learnt token.

    Raises:
        TrainingError: There are no rows.
    """
    order = batches_of(rows, epochs, batch_size, np.random.default_rng(seed))
    batches, total = len(order) // epochs, len(order)
    learning = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = MasterAdamW(learning, lr=learning_rate, betas=(0.9, 0.95), weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate_at(step, total, warmup))
    state = _State(model, optimizer, schedule, [])
    if kept is not None and kept.is_file():
        state.load(kept)
    model.train()
    switched = checkpointing and not model.is_gradient_checkpointing  # a trainer of this model may have it on
    if switched:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    stored = time.monotonic()
    for batch in order[len(state.losses) :]:
        state.losses.append(_gradient(model, batch, micro_batch_tokens))
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        schedule.step()
        if kept is not None and time.monotonic() - stored >= KEEP_S:
            state.store(kept)
            stored = time.monotonic()
        if progress is not None:
            progress(len(state.losses), total, state.losses[-1])
    if switched:
        model.gradient_checkpointing_disable()
    model.eval()
    return [float(np.mean(state.losses[first : first + batches])) for first in range(0, total, batches)]


@dataclass(frozen=True, slots=True)
class _State:
    """What a fit consists of between two steps: weights, optimiser, schedule, and the loss of each step so far."""

    model: PreTrainedModel
    optimizer: MasterAdamW
    schedule: torch.optim.lr_scheduler.LambdaLR
    losses: list[float]

    def store(self, path: Path) -> None:
        """Replace the file by the present state."""
        part = path.with_name(f"{path.name}.part")
        weights = trained(self.model, self.model.state_dict())
        parts = {"optimizer": self.optimizer.state_dict(), "schedule": self.schedule.state_dict()}
        torch.save({"weights": weights, "losses": self.losses, **parts}, part)
        part.replace(path)

    def load(self, path: Path) -> None:
        """Restore the state of the file; one that cannot be read changes nothing."""
        try:
            found: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        except (RuntimeError, EOFError, pickle.UnpicklingError):
            return
        self.model.load_state_dict(found["weights"], strict=False)
        self.optimizer.load_state_dict(found["optimizer"])
        self.schedule.load_state_dict(found["schedule"])
        self.losses.extend(found["losses"])


def _gradient(model: PreTrainedModel, batch: Sequence[Row], micro_batch_tokens: int | None) -> float:
    """Add the gradient of a batch's mean loss per learnt token; returns that loss."""
    sees = image_reader(model) is not None
    decoder = whole_model(model).model if sees else model.get_decoder()
    weight = max(1, sum(sum(row.learnt[1:]) for row in batch))
    loss = 0.0
    for part in _parts(batch, micro_batch_tokens):
        ids, learnt = pad(part, model.device)
        images = image_inputs(model, ids[:, :-1], [image for row in part for image in row.images])
        hidden = decoder(input_ids=ids[:, :-1], use_cache=False, **images).last_hidden_state
        logits, following = logits_of(model, hidden[learnt[:, 1:]]), ids[:, 1:][learnt[:, 1:]]
        share = functional.cross_entropy(logits, following, reduction="sum") / weight
        share.backward()  # type: ignore[no-untyped-call]
        loss += share.item()
    return loss


def rate_at(step: int, total: int, warmup: float) -> float:
    """Share of the peak learning rate in an optimizer step, from 0: linear warm-up, then cosine decay to a tenth."""
    warm = max(1, int(total * warmup))
    if step < warm:
        return (step + 1) / warm
    return 0.1 + 0.45 * (1 + float(np.cos(np.pi * (step - warm) / max(1, total - warm))))


def batches_of(rows: Sequence[Row], epochs: int, size: int, rng: np.random.Generator) -> list[list[Row]]:
    """Batches of all epochs, one for each optimizer step; rows of similar length share a batch.

    Raises:
        TrainingError: There are no rows.
    """
    if not rows:
        raise TrainingError(
            "the warm start has no demonstrations: the expert solved no task; raise warm_start.max_steps or "
            "warm_start.demonstrations"
        )
    return [batch for _ in range(epochs) for batch in _batches(rows, size, rng)]


def _batches(rows: Sequence[Row], size: int, rng: np.random.Generator) -> list[list[Row]]:
    """Random batches of rows of similar length: sorted within pools of 16 batches, then shuffled."""
    pool = 16 * size
    order = rng.permutation(len(rows))
    batches = []
    for first in range(0, len(order), pool):
        ranked = sorted(order[first : first + pool], key=lambda i: len(rows[i].ids))
        batches += [[rows[i] for i in ranked[k : k + size]] for k in range(0, len(ranked), size)]
    return [batches[i] for i in rng.permutation(len(batches))]


def _parts(batch: Sequence[Row], tokens: int | None) -> list[list[Row]]:
    """Micro-batches of a batch: the rows of each forward pass."""
    if tokens is None:
        return [list(batch)]
    lengths = np.array([len(row.ids) for row in batch], dtype=np.int64)
    return [[batch[i] for i in group] for group in like_length(lengths, tokens)]


def pad(rows: Sequence[Row], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Right-padded ids and learnt flags of shape (rows, longest). Causal attention needs no mask for such padding."""
    width = max(len(row.ids) for row in rows)
    ids = torch.zeros((len(rows), width), dtype=torch.int64)
    learnt = torch.zeros((len(rows), width), dtype=torch.bool)
    for i, row in enumerate(rows):
        ids[i, : len(row.ids)] = torch.tensor(row.ids)
        learnt[i, : len(row.ids)] = torch.tensor(row.learnt)
    return ids.to(device), learnt.to(device)
