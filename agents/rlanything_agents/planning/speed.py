"""How long engines and updates take, from the shape of a model and what its cards can do.

Decoding: each step of a batch reads the weights and every sequence's cache once, and computes two operations a
parameter for each sequence (Pope et al. 2022, arXiv 2211.05102, section 2.1); besides that it has a fixed cost. So
throughput grows with the batch and saturates. Reading a prompt computes the same and is bound by that. An update takes
six operations a parameter and token (Kaplan et al. 2020, arXiv 2001.08361, section 2.1), and two more for the
log-probabilities before the first step.
"""

from __future__ import annotations

from dataclasses import dataclass

from rlanything_agents.planning.cards import Gpu
from rlanything_agents.planning.demand import Drawn
from rlanything_agents.planning.sizes import ModelSize

__all__ = ["LEARNING", "EngineSpeed", "update_seconds"]

LEARNING = 6
"""Useful operations a parameter and trained token: two forward, four backward."""
BEFORE = 2
"""Operations for the log-probabilities before the update."""


@dataclass(frozen=True, slots=True)
class EngineSpeed:
    """One engine.

    Attributes:
        parallel: How many cards it has.
        operations: Operations a token.
        a_step: Seconds of a decoding step, whatever the batch.
        a_token: Seconds for each token that is computed, read or written.
        a_cached: Seconds of a decoding step for each token in the cache.
    """

    parallel: int
    operations: float
    a_step: float
    a_token: float
    a_cached: float

    @classmethod
    def of(cls, size: ModelSize, gpu: Gpu, parallel: int, drawn: Drawn) -> EngineSpeed:
        """Of a model on so many cards, with drawn ``bandwidth``, ``prefill`` (shares) and ``overhead`` (seconds)."""
        operations = 2.0 * size.parameters
        bytes_a_second = parallel * gpu.bandwidth * drawn["bandwidth"]
        return cls(
            parallel,
            operations,
            a_step=drawn["overhead"] + 2 * size.parameters / bytes_a_second,
            a_token=operations / (parallel * gpu.flops * drawn["prefill"]),
            a_cached=size.cache_bytes() / bytes_a_second,
        )

    def step_seconds(self, sequences: int, cached_tokens: float) -> float:
        """One token for each sequence of a batch, with so many tokens in the caches of all of them."""
        return self.a_step + sequences * self.a_token + cached_tokens * self.a_cached

    def prefill_seconds(self, tokens: float) -> float:
        """Reading so many tokens of prompts."""
        return tokens * self.a_token


def update_seconds(size: ModelSize, tokens: float, cards: int, gpu: Gpu, drawn: Drawn) -> float:
    """An update from so many tokens on so many cards; 0 where there is nothing to learn from."""
    if not tokens:
        return 0.0
    operations = (LEARNING + BEFORE) * size.parameters * tokens
    return drawn["update_seconds"] + operations / (cards * gpu.flops * drawn["training"])
