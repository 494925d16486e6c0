"""Precision of a model's weights on this machine."""

from __future__ import annotations

from functools import cache
from pathlib import Path

__all__ = ["of_processor", "precision_of"]

UNITS = frozenset({"amx_bf16", "avx512_bf16"})
"""Flags of processors that multiply bfloat16 numbers. With ``avx512_bf16`` alone SmolLM2-135M is read and trained
nearly twice as fast as in float32; without either, bfloat16 takes three times as long."""


def precision_of(dtype: str) -> str:
    """``float32`` or ``bfloat16`` for a value of the key ``dtype``.

    ``auto`` is bfloat16 on a GPU and on a processor with units for it, else float32.
    """
    return _here() if dtype == "auto" else dtype


def of_processor(info: Path = Path("/proc/cpuinfo")) -> str:
    """Precision for a processor; float32 where its flags are not known, as outside of Linux.

    Args:
        info: Description of the processor as Linux writes it.
    """
    try:
        lines = info.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return "float32"
    flags = next((line for line in lines if line.startswith("flags")), "")
    return "bfloat16" if UNITS & set(flags.split()) else "float32"


@cache
def _here() -> str:
    import torch

    if torch.cuda.is_available():
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    return of_processor()
