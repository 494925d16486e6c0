"""Sounds made for tests."""

import io
import math
import wave

import numpy as np


def tone(seconds: float, pitch: float, rate: int = 22_050) -> bytes:
    """A sound that rises in pitch."""
    at = np.arange(int(seconds * rate)) / rate
    samples = 0.4 * np.sin(2 * math.pi * pitch * at * (1 + 0.3 * at)) + 0.05 * np.sin(2 * math.pi * 7 * pitch * at)
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes((samples * 2**15).astype("<i2").tobytes())
    return file.getvalue()
