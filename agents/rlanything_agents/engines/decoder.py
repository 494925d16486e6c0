"""One way to decode with a cache, whichever implementation a model runs on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

import numpy as np
import torch
from transformers import PreTrainedModel

from rlanything_agents.engines.cache import RaggedDecoder
from rlanything_agents.engines.lean import supports
from rlanything_agents.engines.lean_decoder import LeanDecoder

__all__ = ["Decoder", "make_decoder", "open_decoder"]


class Decoder(Protocol):
    """Lanes of tokens that grow by different amounts."""

    @property
    def lengths(self) -> np.ndarray:
        """int64 array of shape (lanes,): tokens stored per lane."""
        ...

    def append(self, lanes: np.ndarray, tokens: Sequence[Sequence[int]]) -> torch.Tensor:
        """Append ``tokens[i]`` to ``lanes[i]``.

        Args:
            lanes: int64 array of shape (n,), distinct.
            tokens: n sequences of at least one id each; those of like length share a forward pass.

        Returns:
            float32 logits of shape (n, vocabulary) after the last token of each lane.
        """
        ...

    def keep(self, lanes: np.ndarray, lengths: np.ndarray | None = None) -> None:
        """Keep only these lanes, in this order; a lane named twice is copied.

        Args:
            lanes: int64 array of shape (n,).
            lengths: int64 array of shape (n,): forget what comes after so many tokens of each; nothing if None.
        """
        ...

    def running(self) -> AbstractContextManager[None]:
        """For the time of a block tokens can be appended; then the model is given back as it was."""
        ...


def make_decoder(model: PreTrainedModel, lanes: int) -> Decoder:
    """A decoder of empty lanes: a `LeanDecoder` where the model allows it, a `RaggedDecoder` for all others.

    The weights must not change as long as it is used.
    """
    return LeanDecoder(model, lanes) if supports(model) else RaggedDecoder(model, lanes)


@contextmanager
def open_decoder(model: PreTrainedModel, lanes: int) -> Iterator[Decoder]:
    """A decoder that runs for the time of a block."""
    decoder = make_decoder(model, lanes)
    with decoder.running():
        yield decoder
