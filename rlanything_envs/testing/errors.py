"""Exceptions of the conformance checks."""

from __future__ import annotations

__all__ = ["ConformanceError"]


class ConformanceError(AssertionError):
    """The environment breaks a promise.

    Attributes:
        flaw: The broken behaviour.
        remedy: The behaviour of the contract.
    """

    def __init__(self, flaw: str, remedy: str) -> None:
        super().__init__(f"{flaw}: {remedy}")
        self.flaw = flaw
        self.remedy = remedy
