"""A key-value cache whose rows grow by different amounts, and a decoder on top of it.

In a batch of multi-turn episodes every episode has its own length, gains its own number of tokens per turn,
and ends at its own time. `RaggedCache` keeps one row per episode, each with its own write position, so
that a turn costs only its new tokens: the model reads no token twice, and no row is padded to the length of
another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.cache_utils import Cache
from transformers.masking_utils import sdpa_mask

from rlanything_agents.engines.batching import like_length
from rlanything_agents.engines.handover import evaluating
from rlanything_agents.models.image_reader import image_reader, whole_model
from rlanything_agents.models.pretrained import logits_of
from rlanything_envs.message import Image

__all__ = ["RaggedCache", "RaggedDecoder"]

PIECE = 1024
"""Most tokens of a row in a forward pass: the mask has a number for each of them and each token before."""
MOST_TOKENS = 8192
"""Maximum padded tokens of a forward pass, which bounds its memory."""

GROUPED_ATTENTION = "rlanything_grouped"


class RaggedCache(Cache):  # type: ignore[misc]
    """Keys and values of a batch of rows of different lengths.

    Attributes:
        lengths: int64 array of shape (rows,): tokens stored per row.
    """

    def __init__(self, rows: int, capacity: int = 256) -> None:
        super().__init__(layers=[])
        self.lengths = np.zeros(rows, dtype=np.int64)
        self._capacity = capacity
        self._keys: list[torch.Tensor] = []  # per layer: (rows, capacity, key-value heads, head size)
        self._values: list[torch.Tensor] = []
        self._selected: torch.Tensor | None = None
        self._new_rows = self._new_columns = self._new = torch.empty(0, dtype=torch.int64)
        self._seen = 0

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Tokens of the longest row."""
        return int(self.lengths.max(initial=0))

    def extend(self, rows: np.ndarray, counts: np.ndarray, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """Prepare for a forward pass that appends ``counts[i]`` tokens, right-padded, to ``rows[i]``.

        Args:
            rows: int64 array of shape (n,), distinct.
            counts: int64 array of shape (n,), each at least 1.
            device: Device of the model.

        Returns:
            ``position_ids`` of shape (n, T) and an additive attention mask of shape (n, 1, T, S), with T the
            largest count and S the largest length afterwards.
        """
        width, before = int(counts.max()), self.lengths[rows]
        self.lengths[rows] = before + counts
        self._seen = int(self.lengths[rows].max())
        self._reserve(self._seen)
        every = len(rows) == len(self.lengths) and bool((rows == np.arange(len(rows))).all())
        self._selected = None if every else torch.from_numpy(rows).to(device)
        place, column = np.nonzero(np.arange(width) < counts[:, None])
        self._new_rows = torch.from_numpy(rows[place]).to(device)
        self._new_columns = torch.from_numpy(before[place] + column).to(device)
        self._new = torch.from_numpy(place * width + column).to(device)
        positions = torch.from_numpy(before[:, None] + np.arange(width)).to(device)
        hidden = torch.arange(self._seen, device=device) > positions[:, :, None]
        return positions, torch.zeros(hidden.shape, device=device).masked_fill_(hidden, float("-inf"))[:, None]

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Store the new keys and values of one layer; return all of the rows of `extend`: (n, heads, S, size)."""
        if layer_idx == len(self._keys):
            heads, size = key_states.shape[1], key_states.shape[3]
            shape = (len(self.lengths), self._capacity, heads, size)
            self._keys.append(key_states.new_zeros(shape))
            self._values.append(value_states.new_zeros(shape))
        return self._store(self._keys[layer_idx], key_states), self._store(self._values[layer_idx], value_states)

    def _store(self, stored: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        new = new.transpose(1, 2)
        stored[self._new_rows, self._new_columns] = new.reshape(-1, *new.shape[2:])[self._new]
        seen = stored[:, : self._seen]
        return (seen if self._selected is None else seen.index_select(0, self._selected)).transpose(1, 2)

    def keep(self, rows: np.ndarray, lengths: np.ndarray | None = None) -> None:
        """See `RaggedDecoder.keep`."""
        grows, moved = len(rows) > len(self.lengths), np.flatnonzero(rows != np.arange(len(rows)))
        self.lengths = self.lengths[rows] if lengths is None else lengths.copy()
        seen = self.get_seq_length()
        if grows:  # copies of a row that was long once would have its capacity
            self._capacity = min(self._capacity, max(256, seen * 3 // 2))
        for tensors in (self._keys, self._values):
            for i, tensor in enumerate(tensors):
                if grows:
                    tensors[i] = tensor[:, : self._capacity][torch.from_numpy(rows).to(tensor.device)]
                    continue
                if len(moved):  # in place: in each turn a few conversations end, and the others move up
                    to, source = (torch.from_numpy(some).to(tensor.device) for some in (moved, rows[moved]))
                    tensor[to, :seen] = tensor[source, :seen]
                tensors[i] = tensor[: len(rows)]

    def _reserve(self, tokens: int) -> None:
        if tokens <= self._capacity:
            return
        old, self._capacity = self._capacity, max(tokens, self._capacity * 3 // 2)
        for tensors in (self._keys, self._values):
            for i, tensor in enumerate(tensors):
                grown = tensor.new_zeros((tensor.shape[0], self._capacity, *tensor.shape[2:]))
                grown[:, :old] = tensor
                tensors[i] = grown


class RaggedDecoder:
    """Decoder that appends tokens to rows of a `RaggedCache` and returns the logits of the next tokens.

    Tokens are appended inside a block of `running`: there the model works without gradients, in evaluation mode and
    with an attention that reads shared key-value heads once. The rows stay between such blocks.

    Args:
        model: Any transformers decoder that takes an additive 4D mask and ``position_ids``; it may see.
        rows: Number of sequences.
    """

    def __init__(self, model: PreTrainedModel, rows: int) -> None:
        self.model = model
        self.cache = RaggedCache(rows)
        self._images = image_reader(model)
        self._shifts = np.zeros(rows, dtype=np.int64)
        """Positions of each row after its images, less its tokens: an image has fewer positions than tokens."""
        self._text = model.get_decoder()
        self._decoder = self._text if self._images is None else whole_model(model).model

    @property
    def lengths(self) -> np.ndarray:
        """int64 array of shape (rows,): tokens stored per row."""
        return self.cache.lengths

    def keep(self, rows: np.ndarray, lengths: np.ndarray | None = None) -> None:
        """Keep only these rows, in this order; a row that occurs twice is copied.

        Args:
            rows: int64 array of shape (n,).
            lengths: int64 array of shape (n,): tokens to keep of each row; all if None.
        """
        self.cache.keep(rows, lengths)
        self._shifts = self._shifts[rows]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Allow `append` within a block; afterwards the model has its own mode and attention again."""
        model, text = self.model, self._text  # a tower that reads images keeps its attention, which is not causal
        attention = text.config._attn_implementation
        text.set_attn_implementation(GROUPED_ATTENTION)
        try:
            with evaluating(model), torch.inference_mode():
                yield
        finally:
            text.set_attn_implementation(attention)

    def append(
        self, rows: np.ndarray, tokens: Sequence[Sequence[int]], images: Sequence[tuple[Image, ...]] = ()
    ) -> torch.Tensor:
        """Append ``tokens[i]`` to ``rows[i]``.

        Args:
            rows: int64 array of shape (n,), distinct.
            tokens: n sequences of at least one id each; those of like length share a forward pass.
            images: Images of each sequence; empty if there are none. A row with images is empty before.

        Returns:
            float32 logits of shape (n, vocabulary) after the last token of each row.
        """
        tokens = list(tokens)
        while long := [i for i, ids in enumerate(tokens) if len(ids) > PIECE and not (images and images[i])]:
            self.append(rows[long], [tokens[i][:PIECE] for i in long])
            for i in long:
                tokens[i] = tokens[i][PIECE:]
        counts = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
        groups = like_length(counts, MOST_TOKENS)
        parts = [
            self._forward(
                rows[group], [tokens[i] for i in group], counts[group], [images[i] for i in group] if images else ()
            )
            for group in groups
        ]
        if len(parts) == 1:
            return parts[0]
        order = torch.from_numpy(np.argsort(np.concatenate(groups))).to(parts[0].device)
        return torch.cat(parts)[order]

    def _forward(
        self, rows: np.ndarray, tokens: Sequence[Sequence[int]], counts: np.ndarray, images: Sequence[tuple[Image, ...]]
    ) -> torch.Tensor:
        device = self.model.device
        ids = np.zeros((len(tokens), int(counts.max())), dtype=np.int64)
        ids[np.arange(ids.shape[1]) < counts[:, None]] = np.concatenate([np.asarray(t) for t in tokens])
        positions, mask = self.cache.extend(rows, counts, device)
        masks = self._windowed(mask.to(self.model.dtype), positions)
        inputs = {"input_ids": torch.from_numpy(ids).to(device), "position_ids": positions}
        if self._images is not None:
            inputs |= self._placed(rows, inputs["input_ids"], positions, images)
        hidden = self._decoder(
            attention_mask=masks, past_key_values=self.cache, use_cache=True, **inputs
        ).last_hidden_state
        last = torch.from_numpy(counts - 1).to(device)
        return logits_of(self.model, hidden[torch.arange(len(last), device=device), last]).float()

    def _windowed(self, mask: torch.Tensor, positions: torch.Tensor) -> torch.Tensor | dict[str, torch.Tensor]:
        """The mask of `RaggedCache.extend`; one for each kind of layer where some attend to the last tokens alone."""
        kinds = getattr(self._text.config, "layer_types", None)
        window = getattr(self._text.config, "sliding_window", None)
        if window is None or (kinds and "sliding_attention" not in kinds):
            return mask
        past = torch.arange(mask.shape[-1], device=mask.device) <= positions[:, None, :, None] - window
        near = mask.masked_fill(past, float("-inf"))
        return {"full_attention": mask, "sliding_attention": near} if kinds else near

    def _placed(
        self, rows: np.ndarray, ids: torch.Tensor, columns: torch.Tensor, images: Sequence[tuple[Image, ...]]
    ) -> dict[str, torch.Tensor]:
        """Inputs of a model that sees: patches, and positions in time and in both directions of an image.

        Args:
            rows: Rows of the cache.
            ids: Ids of the pass, of shape (n, T).
            columns: Places of the ids in the cache, of the same shape.
            images: Images of each row, or nothing.
        """
        assert self._images is not None  # nosec B101 # for the type checker
        inputs = self._images.inputs(ids, [image for own in images for image in own])
        positions = columns + torch.from_numpy(self._shifts[rows]).to(ids.device)[:, None]
        if not inputs:
            return {"position_ids": positions}
        placed, shifts = self._decoder.get_rope_index(
            ids, image_grid_thw=inputs["image_grid_thw"], mm_token_type_ids=inputs.pop("mm_token_type_ids")
        )
        seeing = torch.tensor([bool(own) for own in images], device=ids.device)
        self._shifts[rows[seeing.cpu().numpy()]] = shifts[seeing, 0].cpu().numpy()
        return {**inputs, "position_ids": torch.where(seeing[None, :, None], placed, positions[None])}


def _grouped_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Attention with the query heads that share a key-value head folded into one: keys are read, not copied."""
    batch, heads, width, size = query.shape
    groups = heads // key.shape[1]
    folded = query.reshape(batch, key.shape[1], groups * width, size)
    if attention_mask is None:  # transformers leaves out a plain causal mask
        seen = key.shape[2]
        attention_mask = torch.ones(width, seen, dtype=torch.bool, device=key.device).tril(seen - width)[None, None]
    if width > 1:
        attention_mask = attention_mask.repeat(1, 1, groups, 1)
    output = functional.scaled_dot_product_attention(folded, key, value, attn_mask=attention_mask, scale=scaling)
    return output.reshape(batch, heads, width, size).transpose(1, 2).contiguous(), None


AttentionInterface.register(GROUPED_ATTENTION, _grouped_attention)
AttentionMaskInterface.register(GROUPED_ATTENTION, sdpa_mask)
