"""GPUs: what their makers say of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rlanything_agents.config.cluster import Card

__all__ = ["CARDS", "Gpu"]


@dataclass(frozen=True, slots=True)
class Gpu:
    """One card.

    Attributes:
        memory: Bytes.
        bandwidth: Bytes a second that its memory delivers.
        flops: Dense bf16 operations a second.
        source: Where the numbers are from.
    """

    memory: float
    bandwidth: float
    flops: float
    source: str


CARDS: Mapping[Card, Gpu] = {
    "A100-40GB": Gpu(40 * 2**30, 1.555e12, 312e12, "NVIDIA A100 data sheet, SXM4 40 GB"),
    "A100-80GB": Gpu(80 * 2**30, 2.039e12, 312e12, "NVIDIA A100 data sheet, SXM4 80 GB"),
    "H100-80GB": Gpu(80 * 2**30, 3.35e12, 989e12, "NVIDIA H100 data sheet, SXM5, dense"),
    "H200-141GB": Gpu(141e9, 4.8e12, 989e12, "NVIDIA H200 data sheet, SXM5, dense"),
    "H20-96GB": Gpu(96e9, 4.0e12, 148e12, "NVIDIA H20 data sheet, SXM5, dense"),
}
