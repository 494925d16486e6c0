"""Memory of each phase of an iteration, per card of the cluster or on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rlanything_agents.config import RunConfig
from rlanything_agents.tools.planning.cards import CARDS
from rlanything_agents.tools.planning.demand import Demand
from rlanything_agents.tools.planning.memory import RESERVED, EngineMemory, UpdateMemory, engine_memory, update_memory
from rlanything_agents.tools.planning.models import PlannedModel
from rlanything_agents.training.ranks.launch import planned

__all__ = ["Memory", "free_memory", "memory_of"]


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of a phase in bytes, on one card of the cluster, or on this machine without a cluster.

    Attributes:
        phase: Name of the phase.
        weights: Weights of the model.
        gradients: Gradients, in updates.
        optimizer: State of the optimizer, in updates.
        cache: Keys and values of all sequences that are generated at once.
        activations: Activations kept for the backward pass, and the logits.
        other: Work space, a layer whose shards are gathered or that is unpacked, and in updates what stays there of the
            other model.
        limit: Available memory; None where it is unknown.
        note: Capacity of the cache, or the basis of the numbers.
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
        """Sum of all parts, in bytes."""
        return self.weights + self.gradients + self.optimizer + self.cache + self.activations + self.other

    @property
    def fits(self) -> bool:
        """Whether the phase fits; True where the limit is unknown."""
        return self.limit is None or self.total <= self.limit


def memory_of(config: RunConfig, models: Sequence[PlannedModel], demand: Demand) -> tuple[Memory, ...]:
    """Memory of all phases, in order."""
    rows = _on_cards if config.cluster else _on_this_machine
    return tuple(rows(config, models, demand, demand.longest))


def _on_cards(config: RunConfig, models: Sequence[PlannedModel], demand: Demand, longest: int) -> Iterator[Memory]:
    cluster = config.cluster
    assert cluster is not None  # nosec B101 # for the type checker: the caller has looked
    card, launch = CARDS[cluster.card], planned(config)
    cards = launch.size if launch.strategy == "fsdp" else 1
    for model in models:
        parallel = cluster.policy_parallel if model.role == "policy" else cluster.judge_parallel
        memory = engine_memory(model.size, card, cluster.memory_share, parallel, model.context)
        yield _engine_row(f"{model.role} writes", memory, cluster.memory_share * card, model.context)
    yield from _learning(config, models, longest, cards, card)


def _learning(
    config: RunConfig, models: Sequence[PlannedModel], longest: int, cards: int, limit: float | None
) -> Iterator[Memory]:
    """Updates of the trained models; each finds the weights of the other on the card, and its optimizer if it stays.

    A base that both share is there once.

    Args:
        config: All settings.
        models: All models.
        longest: Tokens of the longest sample.
        cards: Processes that share a model; 1 if each has the whole.
        limit: Bytes of a card, or of this machine's free memory.
    """
    cluster, updates = config.cluster, dict[str, UpdateMemory]()
    for model in models:
        if model.trained:
            trainer = config.policy_trainer if model.role == "policy" else config.judge_trainer
            updates[model.role] = update_memory(
                model.size,
                cards,
                max(longest, min(trainer.micro_batch_tokens, model.context)),
                width=model.width,
                trained=model.trained if model.adapters else None,
                offload=cluster is not None and cluster.offload and cards > 1,
                checkpointing=trainer.checkpointing,
                anchor=bool(trainer.anchor) and not model.adapters,
                quantized=model.quantized,
                optim=model.optim,
            )
    once = sum(model.weights for model in models if model.shared)
    rests = config.engine.kind == "vllm" and cards == 1
    for role, update in updates.items():
        others = (other for name, other in updates.items() if name != role)
        resident = sum(other.weights - once + other.optimizer * (not rests) for other in others)
        reserve = RESERVED * (cluster is not None)
        note = f"divided among {cards}; " * (cards > 1) + f"longest sample {longest:,} tokens"
        yield Memory(
            f"{role} learns",
            update.weights,
            update.gradients,
            update.optimizer,
            0.0,
            update.activations + update.logits,
            update.gathered + resident + reserve,
            limit,
            note,
        )


def _engine_row(phase: str, memory: EngineMemory, limit: float, context: int) -> Memory:
    note = f"room for {memory.tokens:,} tokens, {memory.sequences} sequences of {context:,}"
    cache = max(0.0, memory.cache)
    if memory.sequences < 1:
        note, cache = f"no room for a sequence of {context:,} tokens", limit  # makes the total exceed the limit
    return Memory(phase, memory.weights, 0.0, 0.0, cache, 0.0, RESERVED, limit * (1 + 1e-9), note)


def _on_this_machine(
    config: RunConfig, models: Sequence[PlannedModel], demand: Demand, longest: int
) -> Iterator[Memory]:
    """Phases without a section ``cluster``: both models stay in memory, in float32 or the checkpoint's type."""
    free = free_memory()
    for model in models:
        if model.role == "rewriter":
            continue
        sequences = demand.episodes if model.role == "policy" else demand.votes
        cache = float(model.size.cache_bytes(model.width) * sequences * min(longest, model.context))
        note = f"{sequences} sequences of {longest:,} tokens"
        yield Memory(f"{model.role} writes", model.weights, 0.0, 0.0, cache, 0.0, 0.0, free, note)
    yield from _learning(config, models, longest, 1, free)


def free_memory() -> float | None:
    """Bytes of available memory; None where the system does not report it."""
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError, AttributeError):
        return None
