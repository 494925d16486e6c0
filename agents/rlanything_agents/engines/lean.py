"""The forward pass of a small Qwen3 model, written out on the module's own weights.

A model of a million parameters computes a token in less time than a general implementation takes to call its
hundred modules. Here a block is a dozen operations: projections that read the same input are one matrix, the
weights of the norms before them are multiplied in, a rotation by position is one complex product, and in the last
block only the places whose logits are wanted go beyond their keys and values.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.nn import functional
from transformers import PreTrainedModel, Qwen3ForCausalLM

__all__ = ["Attend", "LeanModel", "supports", "wanted_logits"]

LARGEST = 2**27
"""Most parameters of a model that is run here: its projections are copied, and its own code is not what costs."""

_log = logging.getLogger(__name__)


Attend = Callable[[int, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""Attention of block ``i``: (places, heads x size) from queries (places, heads, size), scaled already, and the keys and
values of all tokens, both (tokens, key-value heads, size). Within a head the two halves that a rotation mixes are
interleaved, in queries and keys alike, which their products do not show."""


@dataclass(frozen=True, slots=True)
class _Block:
    asked: torch.Tensor
    norm: torch.Tensor
    out: torch.Tensor
    gate_up: torch.Tensor
    down: torch.Tensor


class LeanModel:
    """The weights of a model, made ready for as long as they do not change.

    Inside ``torch.no_grad`` they are copies; otherwise gradients flow through them into the module's parameters, and
    a new object is needed for each backward pass.

    Args:
        model: One that `supports` accepts.
    """

    def __init__(self, model: Qwen3ForCausalLM) -> None:
        config = model.config
        self.heads: int = config.num_attention_heads
        self.shared: int = config.num_key_value_heads
        self.size: int = config.head_dim
        self.epsilon: float = config.rms_norm_eps
        half = self.size // 2
        self._interleave = torch.arange(self.size, device=model.device).view(2, half).T.flatten()
        self._frequencies = model.model.rotary_emb.inv_freq
        self._turns = self._turned(256)
        self._embedding = model.model.embed_tokens.weight
        self._padding = model.model.embed_tokens.padding_idx  # reading it teaches its embedding nothing
        self._blocks = [self._block(layer) for layer in model.model.layers]
        self._head = model.lm_head.weight * model.model.norm.weight

    @property
    def blocks(self) -> int:
        """How many there are."""
        return len(self._blocks)

    def hidden(
        self, ids: torch.Tensor, positions: torch.Tensor, attend: Attend, wanted: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Hidden states before the last norm.

        Args:
            ids: int64 of shape (tokens,).
            positions: int64 of shape (tokens,): the place of each token in its own sequence.
            attend: Lets tokens see each other.
            wanted: int64 of shape (places,): which of the tokens; all if None.

        Returns:
            (places, width).
        """
        states, last = functional.embedding(ids, self._embedding, self._padding), len(self._blocks) - 1
        if wanted is not None and len(wanted) == len(ids):
            wanted = None
        turns = self._turns_at(positions)
        heads, keyed = self.heads, self.heads + self.shared
        for number, block in enumerate(self._blocks):
            read = self._normed(states)
            if wanted is None or number < last:
                asked = functional.linear(read, block.asked).view(len(read), -1, self.size)
                placed = self._placed(asked[:, :keyed], block.norm, turns)
                queries, keys, values = placed[:, :heads], placed[:, heads:], asked[:, keyed:]
            else:
                cut = heads * self.size
                states, asking = states[wanted], read[wanted]
                queries = functional.linear(asking, block.asked[:cut]).view(len(asking), heads, self.size)
                queries = self._placed(queries, block.norm[:heads], turns[wanted])
                stored = functional.linear(read, block.asked[cut:]).view(len(read), -1, self.size)
                keys = self._placed(stored[:, : self.shared], block.norm[heads:], turns)
                values = stored[:, self.shared :]
            states = states + functional.linear(attend(number, queries, keys, values), block.out)
            gate, up = functional.linear(self._normed(states), block.gate_up).chunk(2, -1)
            states = states + functional.linear(functional.silu(gate) * up, block.down)
        return states

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """float32 of shape (places, vocabulary)."""
        return functional.linear(self._normed(hidden), self._head).float()

    def spread(self, stored: torch.Tensor) -> torch.Tensor:
        """Keys or values (n, key-value heads, tokens, size) as the query heads read them: (n, heads, ...)."""
        if self.shared == 1:
            return stored.expand(-1, self.heads, -1, -1)  # read, not copied
        return stored.repeat_interleave(self.heads // self.shared, 1)

    def _normed(self, states: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(states, states.shape[-1:], None, self.epsilon)

    def _placed(self, heads: torch.Tensor, norm: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
        pairs = (self._normed(heads) * norm).view(*heads.shape[:-1], -1, 2)
        return torch.view_as_real(torch.view_as_complex(pairs) * turns[:, None]).flatten(-2)

    def _turns_at(self, positions: torch.Tensor) -> torch.Tensor:
        if len(positions) and (longest := int(positions.max())) >= len(self._turns):
            self._turns = self._turned(2 * longest)
        return self._turns[positions]

    def _turned(self, positions: int) -> torch.Tensor:
        angles = torch.outer(torch.arange(positions, device=self._frequencies.device).float(), self._frequencies)
        return torch.polar(torch.ones_like(angles), angles)

    def _block(self, layer: Any) -> _Block:
        own, feed = layer.self_attn, layer.mlp
        before, between = layer.input_layernorm.weight, layer.post_attention_layernorm.weight
        asked = (self._interleaved(own.q_proj.weight), self._interleaved(own.k_proj.weight), own.v_proj.weight)
        scaled = own.q_norm.weight * own.scaling
        norms = (scaled.expand(self.heads, -1), own.k_norm.weight.expand(self.shared, -1))
        return _Block(
            asked=torch.cat(asked) * before,
            norm=torch.cat(norms)[:, self._interleave],
            out=own.o_proj.weight,
            gate_up=torch.cat((feed.gate_proj.weight, feed.up_proj.weight)) * between,
            down=feed.down_proj.weight,
        )

    def _interleaved(self, weight: torch.Tensor) -> torch.Tensor:
        return weight.view(-1, self.size, weight.shape[1])[:, self._interleave].flatten(0, 1)


def supports(model: PreTrainedModel) -> bool:
    """Whether `LeanModel` computes what this model computes: asked of its settings, then tried out once."""
    if not _is_plain(model):
        return False
    if model not in _tried:
        _tried[model] = _agrees(model)
    return _tried[model]


_tried: WeakKeyDictionary[PreTrainedModel, bool] = WeakKeyDictionary()


def _is_plain(model: PreTrainedModel) -> bool:
    if type(model) is not Qwen3ForCausalLM:
        return False
    config = model.config
    return bool(
        config.hidden_act == "silu"
        and not config.attention_bias
        and not config.attention_dropout
        and config.rope_parameters["rope_type"] == "default"
        and config.head_dim % 2 == 0
        and all(kind == "full_attention" for kind in config.layer_types)
        and all(type(module) is torch.nn.Linear for module in _projections(model))
        and model.num_parameters() <= LARGEST
        and model.dtype == torch.float32
    )


def _projections(model: Qwen3ForCausalLM) -> Sequence[torch.nn.Module]:
    """Every matrix; an adapter laid over one is of another type."""
    return [
        module
        for layer in model.model.layers
        for part in (layer.self_attn, layer.mlp)
        for name, module in part.named_children()
        if name.endswith("_proj")
    ]


def wanted_logits(
    model: Qwen3ForCausalLM,
    ids: torch.Tensor,
    wanted: torch.Tensor,
    positions: torch.Tensor | None = None,
    visible: torch.Tensor | None = None,
) -> torch.Tensor:
    """What the model expects after some of the tokens; gradients flow into its parameters.

    Args:
        model: One that `supports` accepts.
        ids: int64 of shape (rows, width), padded on the right.
        wanted: bool of the same shape; at least one.
        positions: int64 of the same shape; by default the columns.
        visible: bool of shape (rows, width, width): whether the token of a column (second index) sees that of another
            (third); by default each sees those before it and itself.

    Returns:
        float32 of shape (places, vocabulary), the places in the order of the rows.
    """
    rows, width = ids.shape
    lean, places = LeanModel(model), wanted.flatten().nonzero()[:, 0]
    placed = torch.arange(width, device=ids.device).repeat(rows) if positions is None else positions.flatten()
    return lean.logits(lean.hidden(ids.flatten(), placed, _within_rows(lean, wanted, visible), places))


def _within_rows(model: LeanModel, wanted: torch.Tensor, visible: torch.Tensor | None) -> Attend:
    """Attention within the rows of a batch, of all their tokens and in the last block of the wanted ones."""
    rows, width = wanted.shape
    counts = wanted.sum(1)
    most, device = int(counts.max()), wanted.device
    inside = torch.arange(most, device=device) < counts[:, None]
    places = inside.nonzero(as_tuple=True)
    looking = torch.zeros_like(inside, dtype=torch.int64)
    looking[inside] = wanted.nonzero()[:, 1]
    if visible is None:
        every, seen_last = None, torch.arange(width, device=device) <= looking[:, :, None]
    else:
        every, seen_last = _mask(visible), visible[torch.arange(rows, device=device)[:, None], looking]
    mask = _mask(seen_last)

    def attend(number: int, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        heads, size = queries.shape[1:]
        keyed, told = (model.spread(part.reshape(rows, width, -1, size).transpose(1, 2)) for part in (keys, values))
        if len(queries) == len(keys):
            asked = queries.view(rows, width, heads, size).transpose(1, 2)
            seen = functional.scaled_dot_product_attention(
                asked, keyed, told, attn_mask=every, is_causal=every is None, scale=1.0
            )
            return seen.transpose(1, 2).reshape(len(queries), -1)
        padded = queries.new_zeros((rows, most, heads, size)).index_put(places, queries)
        seen = functional.scaled_dot_product_attention(padded.transpose(1, 2), keyed, told, attn_mask=mask, scale=1.0)
        return seen.transpose(1, 2)[places].flatten(1)

    return attend


def _mask(visible: torch.Tensor) -> torch.Tensor:
    """What is added to the products of queries and keys, for all heads."""
    return torch.zeros(visible.shape, device=visible.device).masked_fill_(~visible, float("-inf"))[:, None]


@torch.no_grad()
def _agrees(model: Qwen3ForCausalLM) -> bool:
    """Whether both give the same logits on a few tokens."""
    ids = torch.arange(23, device=model.device) * 7 % model.config.vocab_size
    got = wanted_logits(model, ids[None], torch.ones_like(ids[None], dtype=torch.bool))
    expected = model(input_ids=ids[None], use_cache=False).logits[0].float()
    gap = float((got.log_softmax(-1) - expected.log_softmax(-1)).abs().max())
    if gap < 1e-4:
        return True
    _log.warning("the lean forward pass is off by %.1e on this model: its own, slower one is used", gap)
    return False
