"""Token usage, prices and budgets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rlanything_envs.llm.errors import BudgetExceeded
from rlanything_envs.llm.generator import Locked

__all__ = ["Budget", "Price", "Usage"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Numbers of tokens read and written.

    Attributes:
        prompt_tokens: Tokens read.
        completion_tokens: Tokens written.
        estimated: Whether any number is an estimate, because the service did not report it.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.estimated or other.estimated,
        )

    @property
    def tokens(self) -> int:
        """Sum of both."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens, from the service's price list.

    Raises:
        ValueError: A price is negative or not finite.
    """

    prompt: float
    completion: float

    def __post_init__(self) -> None:
        if not all(price >= 0 and math.isfinite(price) for price in (self.prompt, self.completion)):
            raise ValueError(f"Price: dollars per million tokens are at least 0 and finite, not {self}")

    def dollars(self, usage: Usage) -> float:
        """Cost of ``usage`` in dollars."""
        return (usage.prompt_tokens * self.prompt + usage.completion_tokens * self.completion) / 1e6


class Budget(Locked):
    """A limit on tokens and dollars that the generators of one process may share.

    Before a request is sent, its greatest possible cost (the estimated prompt and the limit of new tokens) is reserved;
    the usage that the answer reports replaces the reservation. So the limit holds with any number of concurrent
    requests, as far as the estimates of prompts do. A request whose answer was lost counts with its reservation.

    Args:
        max_tokens: Maximum tokens, read and written together; None for no limit.
        max_dollars: Maximum dollars; None for no limit.
        price: Prices, needed for ``max_dollars``.
        spent: Usage of an earlier part of the run (`rlanything_envs.llm.log.usage_of`).

    Raises:
        ValueError: A limit is negative, or there is a limit on dollars without prices.

    Examples:
        >>> budget = Budget(max_dollars=2.0, price=Price(prompt=0.5, completion=1.5))
        >>> budget.reserve(Usage(1_000_000, 500_000))
        True
        >>> budget.reserve(Usage(1_000_000, 500_000))  # may fit once the first is settled
        False
        >>> budget.settle(Usage(1_000_000, 500_000), Usage(1_000_000, 200_000))
        >>> round(budget.dollars, 2)
        0.8
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        max_dollars: float | None = None,
        price: Price | None = None,
        spent: Usage = Usage(),
    ) -> None:
        if max_dollars is not None and price is None:
            raise ValueError("Budget.max_dollars needs price=Price(prompt=..., completion=...), dollars per million")
        for name, limit in (("max_tokens", max_tokens), ("max_dollars", max_dollars)):
            if limit is not None and not limit >= 0:
                raise ValueError(f"Budget.{name} is out of range: {limit}; at least 0")
        super().__init__()
        self.max_tokens = max_tokens
        self.max_dollars = max_dollars
        self.price = price
        self._spent = spent
        self._aside = Usage()

    @property
    def spent(self) -> Usage:
        """Tokens of all settled requests."""
        with self._lock:
            return self._spent

    @property
    def dollars(self) -> float:
        """Cost of all settled requests; 0 without prices."""
        return self.price.dollars(self.spent) if self.price else 0.0

    def reserve(self, most: Usage) -> bool:
        """Reserve ``most`` for a request.

        Returns:
            Whether the budget has room now. If not, it may have once running requests are settled.

        Raises:
            BudgetExceeded: It would not have room then either, unless those requests cost nothing.
        """
        with self._lock:
            if not (reason := self._excess(self._spent + self._aside + most)):
                self._aside += most
                return True
            if self._aside.tokens:
                return False
        raise BudgetExceeded(f"budget: {reason}; raise the limit or ask for fewer tokens")

    def settle(self, most: Usage, used: Usage) -> None:
        """Replace a reservation by the usage."""
        with self._lock:
            self._spent += used
            self._aside = Usage(
                self._aside.prompt_tokens - most.prompt_tokens, self._aside.completion_tokens - most.completion_tokens
            )

    def _excess(self, usage: Usage) -> str:
        if self.max_tokens is not None and usage.tokens > self.max_tokens:
            return f"{self._spent.tokens} of {self.max_tokens} tokens are spent and the next request may exceed them"
        if self.price and self.max_dollars is not None and self.price.dollars(usage) > self.max_dollars:
            spent = self.price.dollars(self._spent)
            return f"{spent:.4f} of {self.max_dollars:.4f} dollars are spent and the next request may exceed them"
        return ""

    def __getstate__(self) -> dict[str, Any]:
        # A copy in another process counts separately, from the usage so far.
        return {**super().__getstate__(), "_aside": Usage()}
