"""Similarity of two sounds: the shape of their spectra over time, aligned."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rlanything_verifiers.osworld.films import RATE

__all__ = ["alignment_cost", "cepstra", "sound_likeness"]

Floats = NDArray[np.float64]

_WINDOW, _HOP, _BANDS, _KEPT = 2048, 512, 128, 20
"""Samples of a window and between two of them, bands of the mel scale, and coefficients: librosa's defaults, which
OSWorld uses."""

_RANGE_DB = 80.0
"""What is softer than the loudest by more than this counts as this."""

_NONE = 1e-6
"""What is no larger is a rounding error, as all coefficients of silence but the first are."""

_BLOCK = 512
"""Windows that are worked on at a time."""

_RADIUS = 1
"""Cells to each side of the coarser path that the finer one may use."""


def sound_likeness(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """Likeness of two sounds in [0, 1], given by their samples; 1 where the spectra follow the same course."""
    if not one.size or not other.size:
        return float(one.size == other.size)
    cost, length = alignment_cost(_scaled(cepstra(one)), _scaled(cepstra(other)))
    return math.exp(-cost / length)


def cepstra(samples: NDArray[np.float32]) -> Floats:
    """Mel-frequency cepstral coefficients, shape (windows, 20).

    Davis, Mermelstein: Comparison of parametric representations for monosyllabic word recognition (1980).
    """
    padded = np.pad(samples, _WINDOW // 2)
    count = 1 + (len(padded) - _WINDOW) // _HOP
    windows = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::_HOP][:count]
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_WINDOW) / _WINDOW)
    bands = _mel_bands()
    energy = np.concatenate(
        [
            np.abs(np.fft.rfft(windows[start : start + _BLOCK] * hann, axis=1)) ** 2 @ bands.T
            for start in range(0, count, _BLOCK)
        ]
    )
    decibels = 10 * np.log10(np.maximum(energy, 1e-10))
    decibels = np.maximum(decibels, decibels.max() - _RANGE_DB)
    index = np.arange(_BANDS)
    cosines = np.cos(np.pi * np.arange(_KEPT)[:, None] * (2 * index + 1) / (2 * _BANDS)) * math.sqrt(2 / _BANDS)
    cosines[0] /= math.sqrt(2)
    return np.asarray(decibels @ cosines.T)


def _mel_bands() -> Floats:
    """Weights of the frequencies in each band, all of one area; shape (128, 1025).

    Slaney: Auditory Toolbox (1998): linear up to 1000 Hz, logarithmic above.
    """
    step, edge = 200 / 3, 1000.0
    growth = math.log(6.4) / 27
    top = edge / step + math.log(RATE / 2 / edge) / growth
    mels = np.linspace(0, top, _BANDS + 2)
    edges = np.where(mels < edge / step, mels * step, edge * np.exp(growth * (mels - edge / step)))
    frequencies = np.fft.rfftfreq(_WINDOW, 1 / RATE)
    rising = (frequencies - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - frequencies) / np.diff(edges)[1:, None]
    return np.asarray(np.maximum(0, np.minimum(rising, falling)) * (2 / (edges[2:] - edges[:-2]))[:, None])


def _scaled(features: Floats) -> Floats:
    """Each coefficient divided by its largest size over time."""
    largest = np.abs(features).max(axis=0)
    return features / np.where(largest > _NONE, largest, 1)


def alignment_cost(one: Floats, other: Floats) -> tuple[float, int]:
    """Sum of the cosine distances along a cheap alignment of two courses, and the number of pairs in it.

    Time and memory grow linearly with the lengths. Salvador, Chan: FastDTW, toward accurate dynamic time warping in
    linear time and space (2007).
    """
    cost, path = _fast(one, other)
    return cost, len(path)


def _fast(one: Floats, other: Floats) -> tuple[float, list[tuple[int, int]]]:
    if min(len(one), len(other)) < _RADIUS + 2:
        return _align(one, other, [(0, len(other))] * len(one))
    halves = [(course[: len(course) // 2 * 2 : 2] + course[1::2]) / 2 for course in (one, other)]
    _, path = _fast(*halves)
    return _align(one, other, _band(path, len(one), len(other)))


def _band(path: list[tuple[int, int]], rows: int, columns: int) -> list[tuple[int, int]]:
    """For each row the columns, from and up to, that lie near a path through rows and columns of half the number."""
    low = [columns] * (rows + 4)
    high = [0] * (rows + 4)
    for row, column in path:
        for near in range(row - _RADIUS, row + _RADIUS + 1):
            for fine in (2 * near, 2 * near + 1):
                if 0 <= fine < rows:
                    low[fine] = min(low[fine], 2 * (column - _RADIUS))
                    high[fine] = max(high[fine], 2 * (column + _RADIUS) + 2)
    return [(max(0, low[row]), min(columns, high[row])) for row in range(rows)]


def _align(one: Floats, other: Floats, band: list[tuple[int, int]]) -> tuple[float, list[tuple[int, int]]]:
    """The cheapest alignment within a band."""
    ones, others = (each / np.maximum(np.linalg.norm(each, axis=1, keepdims=True), 1e-12) for each in (one, other))
    came: list[list[int]] = []
    above: list[float] = []
    start_above = 0
    for row, (start, end) in enumerate(band):
        distances = (1 - others[start:end] @ ones[row]).tolist()
        current: list[float] = []
        steps: list[int] = []
        for offset, distance in enumerate(distances):
            column = start + offset - start_above
            best, step = math.inf, 0
            if row == 0 and start + offset == 0:
                best = 0.0
            if 0 <= column < len(above) and above[column] < best:
                best, step = above[column], 1
            if offset and current[-1] < best:
                best, step = current[-1], 2
            if 0 < column <= len(above) and above[column - 1] < best:
                best, step = above[column - 1], 3
            current.append(best + distance)
            steps.append(step)
        came.append(steps)
        above, start_above = current, start
    row, column = len(band) - 1, band[-1][1] - 1
    path = [(row, column)]
    while step := came[row][column - band[row][0]]:
        row, column = row - (step != 2), column - (step != 1)
        path.append((row, column))
    return above[-1], path[::-1]
