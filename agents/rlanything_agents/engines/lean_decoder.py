"""Decoding with `LeanModel`: what `RaggedDecoder` does, without a general implementation around it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

import numpy as np
import torch
from transformers import Qwen3ForCausalLM

from rlanything_agents.engines.batching import like_length
from rlanything_agents.engines.lean import LeanModel

__all__ = ["LeanDecoder"]

MOST_TOKENS = 2048
"""Most padded tokens of a pass: what it works on should stay near the processor."""


class LeanDecoder:
    """Appends tokens to lanes and returns what the model expects next; see `RaggedDecoder`.

    A lane lives in a row of the cache that it rarely leaves: when lanes end, only the last rows move, into the
    places that became free.

    Args:
        model: One that `lean.supports` accepts; its weights must not change in the meantime.
        lanes: Number of sequences.

    Tokens are appended while it is `running`; between such blocks the lanes stay.

    Attributes:
        lengths: int64 array of shape (lanes,): tokens stored per lane.
    """

    def __init__(self, model: Qwen3ForCausalLM, lanes: int) -> None:
        self.lengths = np.zeros(lanes, dtype=np.int64)
        self._device = model.device
        with self.running():
            self._lean = LeanModel(model)
            self._rows = np.arange(lanes)  # of each lane
            self._cache = self._room(lanes, 0)

    def running(self) -> AbstractContextManager[None]:
        """For the time of a block tokens can be appended."""
        return torch.inference_mode()

    def append(self, lanes: np.ndarray, tokens: Sequence[Sequence[int]]) -> torch.Tensor:
        """See `RaggedDecoder.append`; empty lanes that are given the same tokens share the work."""
        fresh = not self.lengths[lanes].any()
        leader: dict[tuple[int, ...], int] = {}
        if not fresh or len(leads := np.array([leader.setdefault(tuple(t), i) for i, t in enumerate(tokens)])) < 2:
            return self._append(lanes, tokens)
        first, place = np.unique(leads, return_inverse=True)
        logits = self._append(lanes[first], [tokens[i] for i in first])
        if len(first) < len(lanes):
            self.lengths[lanes] = self.lengths[lanes[leads]]
            self._copy(self._rows[lanes[leads]], self._rows[lanes])
        return logits[self._tensor(place)]

    def keep(self, lanes: np.ndarray, lengths: np.ndarray | None = None) -> None:
        """See `RaggedDecoder.keep`."""
        source = self._rows[lanes]
        if len(lanes) > self._cache.shape[2]:
            self._resize(len(lanes), self._cache.shape[3])
        stay = np.zeros(len(lanes), dtype=bool)
        stay[np.unique(source, return_index=True)[1]] = True
        stay &= source < len(lanes)
        rows = source.copy()
        rows[~stay] = np.setdiff1d(np.arange(len(lanes)), source[stay])
        self._copy(source, rows)
        self.lengths, self._rows = self.lengths[lanes] if lengths is None else lengths.copy(), rows

    def _append(self, lanes: np.ndarray, tokens: Sequence[Sequence[int]]) -> torch.Tensor:
        order = np.argsort(self._rows[lanes])
        lanes = lanes[order]
        counts = np.fromiter((len(tokens[i]) for i in order), dtype=np.int64, count=len(order))
        before = self.lengths[lanes]
        if (longest := int(before.max() + counts.max())) > self._cache.shape[3]:
            self._resize(self._cache.shape[2], max(longest + 32, self._cache.shape[3] * 3 // 2))
        self.lengths[lanes] = before + counts
        groups = like_length(counts, MOST_TOKENS)
        parts = [
            self._forward(self._rows[lanes[group]], before[group], [tokens[i] for i in order[group]], counts[group])
            for group in groups
        ]
        logits = self._lean.logits(torch.cat(parts))
        return logits[self._tensor(np.argsort(order[np.concatenate(groups)]))]

    def _forward(
        self, rows: np.ndarray, before: np.ndarray, tokens: Sequence[Sequence[int]], counts: np.ndarray
    ) -> torch.Tensor:
        """Hidden states of shape (n, width) after the last token of each row."""
        width, lean = int(counts.max()), self._lean
        ids = np.zeros((len(tokens), width), dtype=np.int64)
        ids[np.arange(width) < counts[:, None]] = np.concatenate([np.asarray(t) for t in tokens])
        positions = before[:, None] + np.arange(width)
        cells = self._tensor((rows[:, None] * self._cache.shape[3] + positions).ravel())
        every, last = _Sight(self, rows, positions), None
        if width > 1:
            last = self._tensor(np.arange(len(rows)) * width + counts - 1)
            final = _Sight(self, rows, (before + counts - 1)[:, None])

        def attend(number: int, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
            for stored, new in zip(self._cache[number], (keys, values), strict=True):
                stored.flatten(0, 1).index_copy_(0, cells, new)
            sight = every if last is None or number < lean.blocks - 1 else final
            return sight.attend(queries, *self._cache[number])

        return lean.hidden(self._tensor(ids.ravel()), self._tensor(positions.ravel()), attend, last)

    def _room(self, lanes: int, capacity: int) -> torch.Tensor:
        """Keys and values of every block: (blocks, 2, lanes, capacity, key-value heads, head size)."""
        shape = (self._lean.blocks, 2, lanes, capacity, self._lean.shared, self._lean.size)
        return torch.zeros(shape, device=self._device)

    def _resize(self, lanes: int, capacity: int) -> None:
        old, self._cache = self._cache, self._room(lanes, capacity)
        rows, seen = min(lanes, old.shape[2]), int(self.lengths.max(initial=0))
        self._cache[:, :, :rows, :seen] = old[:, :, :rows, :seen]

    def _copy(self, source: np.ndarray, rows: np.ndarray) -> None:
        """Copy rows of the cache; no row is both written to and read for another."""
        moved, seen = source != rows, int(self.lengths.max(initial=0))
        if moved.any():
            self._cache[:, :, self._tensor(rows[moved]), :seen] = self._cache[:, :, self._tensor(source[moved]), :seen]

    def _tensor(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array).to(self._device)


class _Sight:
    """What the tokens of one forward pass see of the cache, the same in every block.

    Args:
        decoder: Whose cache.
        rows: int64 array of shape (n,), ascending.
        positions: int64 array of shape (n, width): of the tokens that look.
    """

    def __init__(self, decoder: LeanDecoder, rows: np.ndarray, positions: np.ndarray) -> None:
        self._lean = decoder._lean
        self._width, live = positions.shape[1], len(decoder._rows)  # living lanes fill the first rows
        self._seen = int(positions.max()) + 1
        self._used: slice | torch.Tensor = slice(live)
        self._places: torch.Tensor | None = None
        if len(rows) < live:
            if self._width == 1 and 2 * len(rows) >= live:  # looking for all lanes is cheaper than copying most
                self._places = decoder._tensor(rows)
                some, positions = positions, np.zeros((live, 1), dtype=np.int64)
                positions[rows] = some
            else:
                self._used = decoder._tensor(rows)
        hidden = np.arange(self._seen) > positions[:, :, None]
        mask = torch.zeros(hidden.shape, device=decoder._device)
        self._mask = mask.masked_fill_(decoder._tensor(hidden), float("-inf"))[:, None, :, None]

    def attend(self, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """(places, heads * size) from queries (places, heads, size) and one block's cache."""
        lean, places = self._lean, self._places
        if places is not None:
            queries = queries.new_zeros((len(self._mask), *queries.shape[1:])).index_copy_(0, places, queries)
        keys, values = (part[self._used, : self._seen].transpose(1, 2) for part in (keys, values))
        # Plain products: for a few queries they take half the time of the fused attention of a processor.
        width, groups = self._width, lean.heads // lean.shared
        asked = queries.view(-1, width, lean.shared, groups, lean.size).transpose(1, 2).flatten(2, 3)
        scores = asked @ keys.transpose(2, 3)
        scores.view(-1, lean.shared, width, groups, self._seen).add_(self._mask)
        seen = (scores.softmax(-1) @ values).view(-1, lean.shared, width, groups, lean.size)
        seen = seen.transpose(1, 2).reshape(len(queries), -1)
        return seen if places is None else seen[places]
