"""Memory of GPUs, from their data sheets."""

from __future__ import annotations

from collections.abc import Mapping

from rlanything_agents.config.cluster import Card

__all__ = ["CARDS"]

CARDS: Mapping[Card, float] = {
    "A100-40GB": 40 * 2**30,
    "A100-80GB": 80 * 2**30,
    "H100-80GB": 80 * 2**30,
    "H200-141GB": 141e9,
    "H20-96GB": 96e9,
}
"""Memory in bytes, from NVIDIA's data sheets."""
