"""Settings of chat agents: plain data, stored with the results."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass, replace
from typing import Any

from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_envs.llm.budget import Price

__all__ = ["LEAST", "MOST", "ChatSettings", "tokens_for", "usual_service"]

MOST = 1024
"""Maximum tokens of an answer by default."""

LOCAL = "http://localhost:8000/v1"
"""Where `vllm serve` and its like listen by default."""

LEAST = 32
"""Fewest tokens of an answer by default: room for an action and a few words."""


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """Sampling, history, service and budget.

    Attributes:
        max_tokens: Maximum tokens of an answer; None for `MOST`, and for less where a local model's context is short.
        temperature: Divisor of the logits; 0 takes the most probable token, None a run's own, and 1 with other agents.
        max_history: Exchanges read before the latest message, besides the first message; None for all.
        images: Screens that a chat holds, the present one counted.
        base_url: Address of an OpenAI-compatible service.
        key_env: Environment variable that holds its key; None for a service without one.
        max_dollars: Maximum dollars of the whole benchmark, where prices are given; None for no limit.
        price: Dollars per million tokens.

    Raises:
        BenchmarkError: A value is out of range.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    max_history: int | None = None
    images: int = 3
    base_url: str = LOCAL
    key_env: str | None = None
    max_dollars: float | None = None
    price: Price | None = None

    def __post_init__(self) -> None:
        if self.max_tokens is not None and self.max_tokens < 1:
            raise BenchmarkError(f"max_tokens = {self.max_tokens}: give at least 1")
        if self.temperature is not None and not (self.temperature >= 0 and math.isfinite(self.temperature)):
            raise BenchmarkError(f"temperature = {self.temperature}: give 0 or more")
        if self.max_history is not None and self.max_history < 0:
            raise BenchmarkError(f"max_history = {self.max_history}: give 0 or more")
        if self.images < 1:
            raise BenchmarkError(f"images = {self.images}: give at least 1")
        if self.max_dollars is not None and self.price is None:
            raise BenchmarkError("a limit on dollars needs prices: give --price-in and --price-out")

    def sized(self, most: int) -> ChatSettings:
        """The settings with a number of tokens and a temperature: the given ones, else ``most`` and 1."""
        return replace(self, max_tokens=self.max_tokens or most, temperature=self.divisor)

    @property
    def answer_tokens(self) -> int:
        """``max_tokens`` of settings that are `sized`."""
        return MOST if self.max_tokens is None else self.max_tokens

    @property
    def divisor(self) -> float:
        """``temperature``, 1 where it is None."""
        return 1.0 if self.temperature is None else self.temperature

    def result_settings(self, agent: str, screens: bool = False) -> dict[str, Any]:
        """The settings that the results of an agent of this name depend on, with screenshots or without."""
        kind = agent.partition(":")[0]
        if kind == "run":
            return {"temperature": self.temperature}
        chat = replace(self.sized(MOST), max_tokens=self.max_tokens) if kind == "hf" else self.sized(MOST)
        served = kind in ("openai", "qwen3vl")
        names = ["max_tokens", "temperature", "max_history", *["images"] * screens, *["base_url"] * served]
        return {name: asdict(chat)[name] for name in names}


def usual_service(key_env: str | None) -> dict[str, str | None]:
    """Address and variable of the key where no address is given, by the variables that OpenAI's own client reads.

    A key in ``$OPENAI_API_KEY`` goes to that service and to ``$OPENAI_BASE_URL``, and nowhere else unasked.

    Args:
        key_env: Name of the variable of the key, where one is given.
    """
    key = key_env or ("OPENAI_API_KEY" if os.environ.get("OPENAI_API_KEY") else None)
    usual = "https://api.openai.com/v1" if key == "OPENAI_API_KEY" else LOCAL
    return {"base_url": os.environ.get("OPENAI_BASE_URL") or usual, "key_env": key}


def tokens_for(context: int, turns: int) -> int:
    """Tokens of an answer with which an episode fits a context: half of it is for the environment's messages.

    >>> tokens_for(8_192, 50), tokens_for(131_072, 50)
    (81, 1024)
    """
    return min(MOST, max(LEAST, context // (2 * turns)))
