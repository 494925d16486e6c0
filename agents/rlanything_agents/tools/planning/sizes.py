"""Shape of a language model, with its parameter count and the bytes of its cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rlanything_agents.tools.planning.errors import UnknownSize

if TYPE_CHECKING:
    from rlanything_agents.config import SmallConfig

__all__ = ["ModelSize", "size_from_scratch", "size_of_config"]

FAMILIES: Mapping[str, tuple[bool, bool]] = {
    "llama": (False, False),
    "mistral": (False, False),
    "qwen2": (True, False),
    "qwen3": (False, True),
    "qwen3_vl_text": (False, True),
}
"""Model types of transformers with the layers counted here: whether queries, keys and values have a bias, and whether
queries and keys are normalised."""

FOUR_BITS = 0.5 + (1 + 4 / 256) / 64
"""Bytes of a 4-bit weight: a quarter of two bytes, and an 8-bit constant for each 64, of which 256 share a float32 one
(QLoRA, arXiv 2305.14314, section 3)."""

LARGEST = 1 << 24
"""Upper bound of every field of a shape; larger values are refused."""


@dataclass(frozen=True, slots=True)
class ModelSize:
    """A decoder with grouped-query attention and gated feed-forward layers.

    Attributes:
        name: Name of the model.
        source: Source of the shape.
        hidden: Width of the residual stream.
        layers: Blocks.
        heads: Query heads.
        kv_heads: Key and value heads.
        head_dim: Width of a head.
        intermediate: Width of the feed-forward layers.
        vocabulary: Tokens.
        tied: Whether input and output embeddings are one matrix.
        bias: Whether queries, keys and values have a bias.
        qk_norm: Whether queries and keys are normalised.
        vision: Parameters of the vision tower.
    """

    name: str
    source: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    tied: bool = False
    bias: bool = False
    qk_norm: bool = False
    vision: int = 0

    @property
    def queries(self) -> int:
        """Width of all query heads together."""
        return self.heads * self.head_dim

    @property
    def keys(self) -> int:
        """Width of all key heads together; the values have the same."""
        return self.kv_heads * self.head_dim

    @property
    def linear_widths(self) -> tuple[tuple[int, int], ...]:
        """Inputs and outputs of the seven linear maps of a block."""
        h, i = self.hidden, self.intermediate
        return (h, self.queries), (h, self.keys), (h, self.keys), (self.queries, h), (h, i), (h, i), (i, h)

    @property
    def parameters(self) -> int:
        """Number of parameters, counted as in the modules of transformers."""
        block = sum(rows * columns for rows, columns in self.linear_widths)
        block += 2 * self.hidden  # the two norms
        block += self.bias * (self.queries + 2 * self.keys)
        block += self.qk_norm * 2 * self.head_dim
        embeddings = self.vocabulary * self.hidden * (1 if self.tied else 2)
        return self.layers * block + embeddings + self.hidden + self.vision

    def weight_bytes(self, width: int, quantized: bool = False) -> float:
        """Bytes of the weights at ``width`` bytes each, where the linear maps of the blocks may be 4-bit ones."""
        linear = self.layers * sum(rows * columns for rows, columns in self.linear_widths) if quantized else 0
        return FOUR_BITS * linear + width * (self.parameters - linear)

    def adapter_parameters(self, rank: int) -> int:
        """Parameters of low-rank adapters on all linear maps of the blocks (arXiv 2106.09685, section 4.1)."""
        return self.layers * sum(rank * (rows + columns) for rows, columns in self.linear_widths)

    def cache_bytes(self, width: int = 2) -> int:
        """Bytes of keys and values in the cache per token, at ``width`` bytes per number."""
        return 2 * self.layers * self.keys * width


def size_from_scratch(model: SmallConfig, vocabulary: int, name: str) -> ModelSize:
    """Shape of the small Qwen3 model that a run initialises itself: one key-value head, tied embeddings."""
    return ModelSize(
        name=name,
        source="made from scratch (models/small.py)",
        hidden=model.hidden_size,
        layers=model.layers,
        heads=model.heads,
        kv_heads=1,
        head_dim=model.hidden_size // model.heads,
        intermediate=model.intermediate_size,
        vocabulary=vocabulary,
        tied=True,
        qk_norm=True,
    )


def size_of_config(config: Any, name: str, source: str) -> ModelSize:
    """Shape of a configuration object of transformers.

    Args:
        config: Object with the attributes of a causal language model, or with ``text_config`` and ``vision_config``.
        name: Name of the model.
        source: Source of the configuration.

    Raises:
        UnknownSize: The family is not one of `FAMILIES`, or a number is missing or impossible.
    """
    text, pictures = getattr(config, "text_config", None), getattr(config, "vision_config", None)
    vision = 0 if pictures is None else _vision(pictures, source)
    text = config if text is None else text
    family = getattr(text, "model_type", None)
    if not isinstance(family, str) or family not in FAMILIES:
        raise UnknownSize(f"{source}: model type {family!r:.60} is not one of {', '.join(FAMILIES)}")
    hidden, heads = _whole(text, "hidden_size", source), _whole(text, "num_attention_heads", source)
    bias, qk_norm = FAMILIES[family]
    return ModelSize(
        name=name,
        source=source,
        hidden=hidden,
        layers=_whole(text, "num_hidden_layers", source),
        heads=heads,
        kv_heads=_whole(text, "num_key_value_heads", source, heads),
        head_dim=_whole(text, "head_dim", source, hidden // heads),
        intermediate=_whole(text, "intermediate_size", source),
        vocabulary=_whole(text, "vocab_size", source),
        tied=bool(getattr(config, "tie_word_embeddings", False)),
        bias=bias,
        qk_norm=qk_norm,
        vision=vision,
    )


def _vision(config: Any, source: str) -> int:
    """Parameters of Qwen3-VL's vision tower and of the mergers that lead from it into the decoder."""
    family = getattr(config, "model_type", None)
    if family not in ("qwen3_vl", "qwen3_vl_vision"):  # the name differs between files and objects
        raise UnknownSize(f"{source}: the vision tower {family!r:.60} is not that of Qwen3-VL")
    h, i = _whole(config, "hidden_size", source), _whole(config, "intermediate_size", source)
    out, merged = _whole(config, "out_hidden_size", source), _whole(config, "spatial_merge_size", source) ** 2 * h
    patch = _whole(config, "in_channels", source) * _whole(config, "temporal_patch_size", source)
    patch *= _whole(config, "patch_size", source) ** 2
    block = 4 * h + (h * 3 * h + 3 * h) + (h * h + h) + (2 * h * i + i + h)
    merger = (merged * merged + merged) + (merged * out + out)
    deep = len(getattr(config, "deepstack_visual_indexes", ()))
    positions = _whole(config, "num_position_embeddings", source) * h
    mergers = (merger + 2 * h) + deep * (merger + 2 * merged)  # the first normalises before it merges, the others after
    return patch * h + h + positions + _whole(config, "depth", source) * block + mergers


def _whole(config: Any, key: str, source: str, default: int | None = None) -> int:
    value = getattr(config, key, None)
    if value is None and default:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= LARGEST:
        raise UnknownSize(f"{source}: {key} = {value!r:.60} is no size of a model")
    return value
