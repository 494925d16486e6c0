"""Bytes on a GPU in each phase of an iteration.

Engines (one awake at a time on a card): bf16 weights, sharded over the cards of an engine; the rest of the engine's
share of the card holds the cache of keys and values, Pope et al. 2022 (arXiv 2211.05102), section 2.

Updates: parameters, gradients and AdamW's state, whole on each card or sharded over all (ZeRO stage 3, FSDP).
Rajbhandari et al. 2019 (arXiv 1910.02054), section 3.1, with gradients summed in float32: bf16 weights have 2 + 4
bytes per parameter, and 12 for the fp32 master weights and the two moments. Shards are the master weights themselves,
so 4 + 4 + 8, as for fp32 weights. Further memory holds the activations of a micro-batch for the backward pass,
Korthikanti et al. 2022 (arXiv 2205.05198), section 4, counted here layer by layer for gated feed-forward layers and
attention without a stored matrix of scores; and the logits.
"""

from __future__ import annotations

from dataclasses import dataclass

from rlanything_agents.tools.planning.sizes import ModelSize

__all__ = ["EngineMemory", "UpdateMemory", "activation_bytes", "engine_memory", "optimizer_state", "update_memory"]

EIGHT_BIT = 2 * (1 + 4 / 256)
"""Bytes of both moments of a weight in 8-bit AdamW: one each, and a float32 constant for each block of 256 (arXiv
2110.02861, section 2)."""

RESERVED = 2 << 30
"""Bytes of a card for the driver's context, libraries and an engine's work space. An assumption."""


@dataclass(frozen=True, slots=True)
class EngineMemory:
    """Memory of an engine during generation, on each of its cards.

    Attributes:
        weights: Bytes of weights.
        cache: Bytes left for keys and values; 0 or less where the weights do not fit.
        tokens: Tokens that the cache of the engine holds.
        sequences: Sequences of full length that the cache holds at once.
    """

    weights: float
    cache: float
    tokens: int
    sequences: int


@dataclass(frozen=True, slots=True)
class UpdateMemory:
    """Memory of a model during an update, on each card.

    Attributes:
        weights: Bytes of parameters, and of the anchor.
        gradients: Bytes of gradients.
        optimizer: Bytes of the moments, and of fp32 master weights that are not the shards themselves.
        activations: Bytes kept for the backward pass of a micro-batch.
        logits: Bytes of the largest float32 matrix over the vocabulary, and of its gradient.
        gathered: Bytes of the layer whose shards are gathered on the card, where parameters are sharded, or of the
            4-bit matrix that is unpacked.
    """

    weights: float
    gradients: float
    optimizer: float
    activations: float
    logits: float
    gathered: float

    @property
    def total(self) -> float:
        """Sum of all parts and of the reserve for libraries, in bytes."""
        parts = self.weights + self.gradients + self.optimizer + self.activations + self.logits + self.gathered
        return parts + RESERVED


def engine_memory(size: ModelSize, memory: float, share: float, parallel: int, context: int) -> EngineMemory:
    """Memory of an engine on one card, and the capacity of its cache.

    Args:
        size: Shape of the model.
        memory: Bytes of a card.
        share: Share of the card's memory for the engine, 0 to 1.
        parallel: Cards of the engine. Key heads are sharded over them, and copied where there are fewer heads.
        context: Tokens of a sequence of full length.
    """
    weights = 2 * size.parameters / parallel
    cache = memory * share - weights - RESERVED
    a_token = size.cache_bytes() / min(parallel, size.kv_heads)
    tokens = max(0, int(cache / a_token))
    return EngineMemory(weights, cache, tokens, tokens // context)


def update_memory(
    size: ModelSize,
    cards: int,
    tokens: int,
    *,
    width: int = 2,
    trained: int | None = None,
    offload: bool = False,
    checkpointing: bool = False,
    anchor: bool = False,
    quantized: bool = False,
    optim: str = "adamw_torch",
) -> UpdateMemory:
    """Memory of an update on one card.

    Args:
        size: Shape of the model.
        cards: Cards over which parameters, gradients and optimizer are sharded; 1 if each card has all of them.
        tokens: Padded tokens of a micro-batch on a card.
        width: Bytes of a weight that is computed with, 2 or 4.
        trained: Number of parameters of adapters, which are float32; all weights are trained if None.
        offload: Whether parameters and optimizer are kept in the host's memory.
        checkpointing: Whether only the inputs of blocks are kept, and blocks are recomputed in the backward pass.
        anchor: Whether each card has a whole copy of the model for an anchor loss.
        quantized: Whether the weights below adapters are 4-bit ones; one layer at a time is unpacked.
        optim: Optimizer, see `TrainerConfig`.
    """
    if trained is None:
        stepped, learning, frozen = (4 if cards > 1 else width), size.parameters, 0.0
    else:
        stepped, learning, frozen = 4, trained, size.weight_bytes(width, quantized)
    optimizer = optimizer_state(size, stepped, trained, optim) / cards
    weights = (stepped * learning + frozen) / cards
    blocks = activation_bytes(size, tokens)
    if checkpointing:
        blocks = 2 * size.hidden * tokens * size.layers + blocks / size.layers
    unpacked = float(quantized * width * max(a * b for a, b in size.linear_widths))
    largest = max(sum(a * b for a, b in size.linear_widths), size.vocabulary * size.hidden)
    return UpdateMemory(
        weights=(0.0 if offload else weights) + anchor * width * size.parameters,
        gradients=4 * learning / cards,
        optimizer=0.0 if offload else optimizer,
        activations=blocks,
        logits=2 * 4 * tokens * size.vocabulary,
        gathered=width * largest if cards > 1 or offload else unpacked,
    )


def optimizer_state(size: ModelSize, width: int, trained: int | None = None, optim: str = "adamw_torch") -> float:
    """Bytes of AdamW's state: two moments of each trained weight, and fp32 master weights of two-byte weights.

    With 8-bit moments those of embeddings stay float32; those of weights of fewer than 4,096 numbers do too, which is
    not counted.

    Args:
        size: Shape of the model.
        width: Bytes of a trained weight, 2 or 4.
        trained: Number of parameters of adapters; all weights are trained if None.
        optim: Optimizer, see `TrainerConfig`.
    """
    numbers = size.parameters if trained is None else trained
    exact = numbers
    if optim == "adamw_bnb_8bit":
        exact = size.vocabulary * size.hidden if trained is None else 0
    return 8 * exact + EIGHT_BIT * (numbers - exact) + (0 if width == 4 else 4) * numbers


def activation_bytes(size: ModelSize, tokens: int, width: int = 2) -> float:
    """Bytes of activations that the blocks keep for the backward pass, at ``width`` bytes per number.

    For each token, each of the two norms keeps its float32 input and its output; attention keeps queries and keys
    (before and after their norm where they have one, and after the rotary embedding), values, its result and float32
    statistics; the feed-forward layers keep both inner vectors, the activated one, and their product.
    """
    stored = 3 if size.qk_norm else 2
    attention = stored * (size.queries + size.keys) + size.keys + size.queries
    inner = 4 * size.intermediate
    norms = 2 * (2 * size.hidden + size.hidden)  # float32 input counts double
    statistics = 4 * size.heads
    return float(size.layers * tokens * (width * (attention + inner + norms) + statistics))
