"""Pace of a local model in a benchmark, in turns and tokens a second, also while a batch of answers is written."""

from __future__ import annotations

import time
from typing import Any

from torch import nn

from rlanything_agents.runs.progress import duration

__all__ = ["Pace"]


class Pace:
    """Counts the tokens that a model reads and writes, layer by layer, and the turns that it has answered.

    Args:
        model: The model; it counts from now on.
        turns: Maximum turns of an episode.

    Attributes:
        left: Maximum turns that are still to be played.
    """

    def __init__(self, model: nn.Module, turns: int) -> None:
        self.most, self.left = turns, 0
        self._tokens, self._turns, self._written, self._since = 0.0, 0, 0, time.monotonic()
        layers = _layers(model)
        self._share = 1 / len(layers)
        for layer in layers:
            layer.register_forward_hook(self._passed)

    def begin(self) -> None:
        """Count from zero."""
        self._tokens, self._turns, self._written, self._since = 0.0, 0, 0, time.monotonic()

    def answered(self, tokens: int, turns: int) -> None:
        """Count a batch of answers with so many tokens."""
        self._written += tokens
        self._turns += turns

    def __str__(self) -> str:
        seconds = max(time.monotonic() - self._since, 1e-9)
        text = f"{self._turns} turns ({self._turns / seconds:.2g} a second)"
        text += f", {self._tokens:,.0f} tokens ({self._tokens / seconds:,.0f} a second)"
        if not self._turns:
            return f"{text}; the first answers are not whole yet"
        text += f", {self._written / self._turns:.0f} tokens an answer"
        return f"{text}; {self.left} turns at most, so at most {duration(self.left * seconds / self._turns)} left"

    def _passed(self, layer: nn.Module, given: Any, made: Any) -> None:
        states = made[0] if isinstance(made, tuple) else made
        self._tokens += self._share * states.shape[:-1].numel()


def _layers(model: Any) -> list[nn.Module]:
    """The layers of a decoder, through which each token passes once; else its embedding."""
    count = model.config.get_text_config().num_hidden_layers
    stacks = [list(part) for part in model.modules() if isinstance(part, nn.ModuleList) and len(part) == count]
    return stacks[0] if stacks else [model.get_input_embeddings()]
