"""Images: similarity of two, and measurements of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["brightness", "content_size", "frequency_hash", "pixels", "similarity", "squared_error"]

_WINDOW = 7
_STRIP = 64
"""Rows that are worked on at a time, so that a large picture needs little memory."""


def pixels(picture: Image, mode: str) -> NDArray[np.uint8]:
    """The pixels in a mode: shape (height, width) for ``L``, (height, width, channels) for others."""
    return np.asarray(picture if picture.mode == mode else picture.convert(mode), dtype=np.uint8)


def similarity(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> float | None:
    """The mean structural similarity of two pictures of one shape, in [-1, 1].

    Wang, Bovik, Sheikh, Simoncelli: Image quality assessment (2004), equation 13, over windows of 7 by 7 pixels that
    all count the same, with unbiased variances; the mean over all windows within the picture and over the channels.

    Returns:
        None where the shapes differ or a side has less than 7 pixels.
    """
    if one.shape != other.shape or min(one.shape[:2]) < _WINDOW:
        return None
    if one.ndim == 2:
        one, other = one[..., None], other[..., None]
    total, count = 0.0, 0
    for top in range(0, one.shape[0] - _WINDOW + 1, _STRIP):
        rows = slice(top, top + _STRIP + _WINDOW - 1)
        for channel in range(one.shape[2]):
            found = _windows(one[rows, :, channel].astype(np.float64), other[rows, :, channel].astype(np.float64))
            total, count = total + float(found.sum()), count + found.size
    return total / count


def _windows(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """The similarity at each window."""
    first, second = _means(one), _means(other)
    unbiased = _WINDOW**2 / (_WINDOW**2 - 1)
    variance = unbiased * (_means(one * one) - first * first), unbiased * (_means(other * other) - second * second)
    covariance = unbiased * (_means(one * other) - first * second)
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    above = (2 * first * second + c1) * (2 * covariance + c2)
    return above / ((first * first + second * second + c1) * (variance[0] + variance[1] + c2))


def _means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of each window, as sums of seven rows and then of seven columns."""
    rows = values.shape[0] - _WINDOW + 1
    columns = values.shape[1] - _WINDOW + 1
    sums = values[:rows].copy()
    for offset in range(1, _WINDOW):
        sums += values[offset : offset + rows]
    means = sums[:, :columns].copy()
    for offset in range(1, _WINDOW):
        means += sums[:, offset : offset + columns]
    means /= _WINDOW**2
    return means


def squared_error(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> float:
    """The mean squared difference of pixels in [0, 1], strip by strip."""
    total = 0.0
    for top in range(0, one.shape[0], _STRIP):
        part = one[top : top + _STRIP].astype(np.float64) - other[top : top + _STRIP]
        total += float((part * part).sum())
    return total / one.size / 255**2


def brightness(picture: Image) -> float:
    """The mean of the picture in gray, in [0, 255]."""
    return float(pixels(picture, "L").mean())


def content_size(picture: Image) -> tuple[int, int]:
    """Width and height of the opaque part."""
    return (0, 0) if (box := content_box(picture)) is None else (box[2] - box[0], box[3] - box[1])


def content_box(picture: Image) -> tuple[int, int, int, int] | None:
    """Left, top, right, bottom of the opaque part; None where all is transparent."""
    return picture.convert("RGBA").getchannel("A").getbbox()


def transparent(picture: Image) -> bool:
    """Whether a picture can have transparent parts."""
    return picture.mode in ("RGBA", "LA") or "transparency" in picture.info


def resized(picture: Image, size: tuple[int, int], **how: Any) -> Image:
    """The picture in another size."""
    return picture if picture.size == size else picture.resize(size, **how)


def frequency_hash(gray: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """64 bits, shape (8, 8), that stay much the same when a picture is scaled or compressed: its lowest frequencies.

    Args:
        gray: A gray picture, high as wide, scaled to some tens of pixels.
    """
    size = len(gray)
    index = np.arange(size)
    cosines = np.cos(np.pi * (2 * index + 1)[None, :] * index[:8, None] / (2 * size))
    low = cosines @ gray.astype(np.float64) @ cosines.T
    return np.asarray(low > np.median(low))
