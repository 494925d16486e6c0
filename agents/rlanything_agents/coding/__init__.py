"""Coding for agents: small-model dialect, and the reward model that writes unit tests."""

from rlanything_agents.coding.dialect import CodingDialect

__all__ = ["DIALECT", "CodingDialect"]

DIALECT = CodingDialect()
