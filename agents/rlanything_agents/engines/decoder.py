"""One way to decode with a cache, whichever implementation a model runs on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np
import torch
from transformers import PreTrainedModel

from rlanything_agents.engines.cache import RaggedDecoder
from rlanything_agents.engines.lean import supports
from rlanything_agents.engines.lean_decoder import LeanDecoder

__all__ = ["Decoder", "open_decoder"]


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

    def keep(self, lanes: np.ndarray) -> None:
        """Keep only these lanes, in this order; a lane named twice is copied."""
        ...


def open_decoder(model: PreTrainedModel, lanes: int) -> AbstractContextManager[Decoder]:
    """A decoder of empty lanes: a `LeanDecoder` where the model allows it, a `RaggedDecoder` for all others.

    Inside the block there are no gradients and the weights must not change.
    """
    if supports(model):
        return LeanDecoder.open(model, lanes)
    return RaggedDecoder.open(model, lanes)
