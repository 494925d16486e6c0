"""Memory that each phase of an iteration takes, on a card of the cluster or on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rlanything_agents.config import RunConfig
from rlanything_agents.tools.planning.cards import CARDS
from rlanything_agents.tools.planning.demand import Demand
from rlanything_agents.tools.planning.memory import RESERVED, EngineMemory, UpdateMemory, engine_memory, update_memory
from rlanything_agents.tools.planning.models import PlannedModel

__all__ = ["Memory", "free_memory", "memory_of"]


@dataclass(frozen=True, slots=True)
class Memory:
    """A phase's memory on one card, or on this machine where there is none. Bytes.

    Attributes:
        phase: Which.
        weights: Of the model.
        gradients: In updates.
        optimizer: In updates.
        cache: Keys and values of all sequences that are written at once.
        activations: Kept for a backward pass, and the logits.
        other: Work space, and a layer whose shards are gathered.
        limit: What there is; None where nobody knows.
        note: How much fits, or what the numbers are for.
    """

    phase: str
    weights: float
    gradients: float
    optimizer: float
    cache: float
    activations: float
    other: float
    limit: float | None
    note: str

    @property
    def total(self) -> float:
        """All of it."""
        return self.weights + self.gradients + self.optimizer + self.cache + self.activations + self.other

    @property
    def fits(self) -> bool:
        """Whether it does, as far as is known."""
        return self.limit is None or self.total <= self.limit


def memory_of(config: RunConfig, models: Sequence[PlannedModel], demand: Demand) -> tuple[Memory, ...]:
    """All phases in turn."""
    rows = _on_cards if config.cluster else _on_this_machine
    return tuple(rows(config, models, demand, demand.longest))


def _on_cards(config: RunConfig, models: Sequence[PlannedModel], demand: Demand, longest: int) -> Iterator[Memory]:
    cluster = config.cluster
    assert cluster is not None  # nosec B101 # for the type checker: the caller has looked
    card = CARDS[cluster.card]
    for model in models:
        parallel = cluster.policy_parallel if model.role == "policy" else cluster.judge_parallel
        memory = engine_memory(model.size, card, cluster.memory_share, parallel, model.context)
        yield _engine_row(f"{model.role} writes", memory, cluster.memory_share * card, model.context)
    for model in models:
        if model.trained:
            trainer = config.policy_trainer if model.role == "policy" else config.judge_trainer
            update = update_memory(
                model.size,
                cluster.all_gpus,
                max(longest, min(trainer.micro_batch_tokens, model.context)),
                width=model.width,
                trained=model.trained if model.adapters else None,
                offload=cluster.offload,
                checkpointing=trainer.checkpointing,
            )
            yield _update_row(f"{model.role} learns", update, card, longest, cluster.all_gpus)


def _engine_row(phase: str, memory: EngineMemory, limit: float, context: int) -> Memory:
    note = f"room for {memory.tokens:,} tokens, {memory.sequences} sequences of {context:,}"
    cache = max(0.0, memory.cache)
    if memory.sequences < 1:
        note, cache = f"no room for a sequence of {context:,} tokens", limit  # more than there is
    return Memory(phase, memory.weights, 0.0, 0.0, cache, 0.0, RESERVED, limit * (1 + 1e-9), note)


def _update_row(phase: str, update: UpdateMemory, limit: float | None, longest: int, cards: int) -> Memory:
    note = f"divided among {cards}; " * (cards > 1) + f"longest sample {longest:,} tokens"
    return Memory(
        phase,
        update.weights,
        update.gradients,
        update.optimizer,
        0.0,
        update.activations + update.logits,
        update.gathered + RESERVED * (limit is not None and cards > 1),
        limit,
        note,
    )


def _on_this_machine(
    config: RunConfig, models: Sequence[PlannedModel], demand: Demand, longest: int
) -> Iterator[Memory]:
    """Without a section ``cluster``: both models stay in memory, float32 or as the checkpoint is."""
    free = free_memory()
    for model in models:
        if model.role == "rewriter":
            continue
        sequences = demand.episodes if model.role == "policy" else demand.votes
        cache = float(model.size.cache_bytes(model.width) * sequences * min(longest, model.context))
        weights = float(model.width * model.size.parameters)
        note = f"{sequences} sequences of {longest:,} tokens"
        yield Memory(f"{model.role} writes", weights, 0.0, 0.0, cache, 0.0, 0.0, free, note)
    for model in models:
        if model.trained:
            trainer = config.policy_trainer if model.role == "policy" else config.judge_trainer
            update = update_memory(
                model.size,
                1,
                max(longest, trainer.micro_batch_tokens),
                width=model.width,
                trained=model.trained if model.adapters else None,
                checkpointing=trainer.checkpointing,
            )
            yield _update_row(f"{model.role} learns", update, free, longest, 1)


def free_memory() -> float | None:
    """Bytes of memory that programs may still take; None where the system does not say."""
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError, AttributeError):
        return None
