"""Pictures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.lettering import recognised_text
from rlanything_verifiers.osworld.matching import beyond
from rlanything_verifiers.osworld.opening import image
from rlanything_verifiers.osworld.pictures import (
    brightness,
    content_box,
    content_size,
    pixels,
    resized,
    similarity,
    squared_error,
    transparent,
)
from rlanything_verifiers.osworld.registry import metric

if TYPE_CHECKING:
    from PIL.Image import Image

_ALIKE = 0.9
"""The structural similarity from which on two pictures have the same structure."""


@dataclass(frozen=True)
class ImageSize:
    """Sides in pixels; a side that is left out may be anything."""

    height: int | None = None
    width: int | None = None
    ignore_transparent: bool = False


@dataclass(frozen=True)
class MaxSize:
    """A number of bytes that a file has to stay below."""

    max_size: int


@dataclass(frozen=True)
class PicturedText:
    """A text that a picture shows."""

    type: Literal["text"]
    text: str


def _alike(one: Image, other: Image, threshold: float = _ALIKE) -> bool:
    found = similarity(pixels(one, "RGB"), pixels(other, "RGB")) if one.size == other.size else None
    return found is not None and found >= threshold


@metric
def compare_images(result: File, expected: File, *, reference_base_result: float | None = None) -> float:
    """Similarity of two images in gray, at the smaller of their sizes; or its excess over a base."""
    from PIL.Image import Resampling

    one, other = image(result).convert("L"), image(expected).convert("L")
    size = min(one.size, other.size)
    found = similarity(*(pixels(resized(each, size, resample=Resampling.LANCZOS), "L") for each in (one, other))) or 0.0
    return found if reference_base_result is None else beyond(found, reference_base_result)


@metric
def compare_image_list(result: File | list[File], expected: File | list[File]) -> float:
    """All pictures are the expected ones, pixel by pixel, once they have the expected size."""
    from PIL.Image import Resampling

    ones, others = (each if isinstance(each, list) else [each] for each in (result, expected))

    def same(one: Image, other: Image) -> bool:
        one = resized(one, other.size, resample=Resampling.LANCZOS)
        mode = "RGBA" if "A" in other.mode else "RGB"
        return bool(np.array_equal(pixels(one, mode), pixels(other, mode)))

    pairs = zip(ones, others, strict=False)
    return float(len(ones) == len(others) and all(same(image(one), image(other)) for one, other in pairs))


@metric
def check_structure_sim(result: File, expected: File) -> float:
    """The pictures have one size and a similar structure."""
    return float(_alike(image(result), image(expected)))


@metric
def check_file_exists_and_structure_sim(result: File, expected: File) -> float:
    """The picture is there, and it has the structure of the expected one."""
    return float(_alike(image(result), image(expected)))


@metric
def check_structure_sim_resized(result: File, expected: File) -> float:
    """The opaque part, scaled to the size of the expected image, has its structure."""
    one, other = image(result), image(expected)
    if transparent(one):
        if (box := content_box(one)) is None:
            return 0.0
        one = one.convert("RGBA").crop(box)
    return float(_alike(resized(one.convert("RGB"), other.size), other))


@metric
def check_image_mirror(result: File, expected: File) -> float:
    """The picture is the expected one, left and right exchanged."""
    from PIL.Image import Transpose

    return float(_alike(image(result).transpose(Transpose.FLIP_LEFT_RIGHT), image(expected), 0.99))


@metric
def check_palette_and_structure_sim(result: File, expected: File) -> float:
    """The picture has a palette and the structure of the expected one."""
    one = image(result)
    return float(one.mode == "P" and _alike(one, image(expected)))


@metric
def check_brightness_decrease_and_structure_sim(result: File, expected: File, *, threshold: float = 0.03) -> float:
    """The picture is darker than the expected one, and apart from that much the same."""
    one, other = image(result).convert("RGB"), image(expected).convert("RGB")
    dark, light = brightness(one), brightness(other)
    if not 0 < dark < light:
        return 0.0

    def normal(picture: Image, level: float) -> Image:
        table = [min(255, int(value * 128 / level)) for value in range(256)]
        return picture.point(table * 3)

    one, other = normal(one, dark), normal(other, light)
    return float(squared_error(pixels(resized(one, other.size), "RGB"), pixels(other, "RGB")) < threshold)


@metric
def check_saturation_increase_and_structure_sim(result: File, expected: File) -> float:
    """The picture has more colour than the expected one; hue and brightness have the same structure."""
    (h1, s1, v1), (h2, s2, v2) = (image(file).convert("RGB").convert("HSV").split() for file in (result, expected))
    more = pixels(s1, "L").mean() > pixels(s2, "L").mean()
    return float(bool(more) and _alike(h1, h2) and _alike(v1, v2))


@metric
def check_contrast_increase_and_structure_sim(result: File, expected: File) -> float:
    """The picture has more contrast than the expected one and a structure like it."""
    one, other = image(result), image(expected)
    more = pixels(one, "RGB").std(dtype=np.float64) > pixels(other, "RGB").std(dtype=np.float64)
    return float(bool(more) and _alike(one, other, 0.65))


@metric
def increase_saturation(result: File, expected: File) -> float:
    """The second picture has more colour than the first."""
    one, other = (image(file).convert("RGB").convert("HSV").getchannel("S") for file in (result, expected))
    return float(pixels(one, "L").mean() < pixels(other, "L").mean())


@metric
def decrease_brightness(result: File, expected: File) -> float:
    """The second picture is darker than the first."""
    return float(brightness(image(result)) > brightness(image(expected)))


@metric
def check_sharper(result: File, expected: File) -> float:
    """The picture is sharper than the expected one: neighbouring pixels differ more."""

    def sharpness(file: File) -> float:
        gray = pixels(image(file), "L").astype(np.int16)
        middle = gray[1:-1, 1:-1]
        around = gray[:-2, 1:-1] + gray[2:, 1:-1] + gray[1:-1, :-2] + gray[1:-1, 2:]
        return float((around - 4 * middle).var(dtype=np.float64)) if middle.size else 0.0

    return float(sharpness(result) > sharpness(expected))


@metric
def check_green_background(result: File, expected: File) -> float:
    """Where the expected picture is not black, the picture is more green than anything else."""
    one, other = pixels(image(result), "RGB"), pixels(image(expected), "RGB")
    if one.shape != other.shape:
        return 0.0
    background = other.any(axis=2)
    green = (one[..., 1] > one[..., 0]) & (one[..., 1] > one[..., 2])
    return float(bool(green[background].all()))


@metric
def check_textbox_on_leftside(result: File) -> float:
    """Something dark is in the left twentieth of the picture."""
    dark = (pixels(image(result), "L") < 128).any(axis=0)
    return float(bool(dark.any()) and int(dark.argmax()) < 0.05 * dark.size)


@metric
def check_triangle_position(result: File) -> float:
    """The pixels of the second most frequent colour have their centre within 5 % of the middle."""
    found = pixels(image(result), "RGB").astype(np.uint32)
    code = found[..., 0] << 16 | found[..., 1] << 8 | found[..., 2]
    colors, counts = np.unique(code, return_counts=True)
    if colors.size < 2:
        return 0.0
    mask = code == colors[np.argsort(counts)[-2]]
    return float(all(abs(_centroid(mask, axis) - mask.shape[axis] / 2) < 0.05 * mask.shape[axis] for axis in (0, 1)))


@metric
def compare_triangle_positions(result: File, expected: File) -> float:
    """The yellow pixels of the first picture have their centre farther from the middle than those of the second."""
    one, other = map(_yellow_distance, (result, expected))
    return float(one is not None and other is not None and one > other)


def _yellow_distance(file: File) -> float | None:
    """Distance of the centre of all yellow pixels to the middle, in pixels; None without yellow."""
    red, green, blue = (pixels(image(file), "RGB")[..., channel].astype(np.int16) for channel in range(3))
    mask = (np.minimum(red, green) > 150) & (blue < 100)
    return None if not mask.any() else math.hypot(*(_centroid(mask, axis) - mask.shape[axis] / 2 for axis in (0, 1)))


@metric
def compare_image_text(result: File, rules: PicturedText) -> float:
    """A text can be read in the picture."""
    return float(rules.text in " ".join(recognised_text(result).split()))


def _centroid(mask: NDArray[np.bool_], axis: int) -> float:
    along = mask.sum(axis=1 - axis)
    return float((along * np.arange(along.size)).sum() / along.sum())


@metric
def check_image_size(result: File, rules: ImageSize) -> float:
    """The image, or its opaque part, has the expected size."""
    found = image(result)
    width, height = content_size(found) if rules.ignore_transparent and transparent(found) else found.size
    return float(rules.height in (None, height) and rules.width in (None, width))


@metric
def check_image_file_size(result: File, rules: MaxSize) -> float:
    """The file is smaller than expected; an empty one is no picture."""
    return float(0 < len(result.data) < rules.max_size)
