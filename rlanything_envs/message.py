"""Messages with pictures: the content of a message is a text, or a tuple of texts and images."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import PIL.Image

from rlanything_envs.errors import SettingError

__all__ = ["Content", "Image", "Part", "content_of", "for_services", "grid_size", "images_of", "parts_of", "plain"]
__all__ += ["text_of"]

Pixels = npt.NDArray[np.uint8]

MOST_PIXELS = 64 * 2**20
"""Pixels of the largest image: a screen of 8192 by 8192."""
_PNG = b"\x89PNG\r\n\x1a\n"
_COMPRESSION = 3
"""Level of zlib: a desktop is compressed in half the time of the default, 6, to a file a fifth larger."""


@dataclass(frozen=True, eq=False, repr=False)
class Image:
    """A picture, from its PNG or from its pixels; the other form is made at its first use and kept.

    Two images are equal if their pixels are.

    Args:
        source: A PNG file, or uint8 of shape (height, width, 3).

    Raises:
        ValueError: It is neither, or has more than 64 million pixels.

    Examples:
        >>> import numpy as np
        >>> image = Image(np.zeros((1080, 1920, 3), np.uint8))
        >>> image.size, image.on_grid(32).size, image.on_grid(32).tokens(32)
        ((1920, 1080), (1920, 1088), 2040)
        >>> Image(image.png) == image
        True
    """

    source: bytes | Pixels

    def __post_init__(self) -> None:
        if isinstance(self.source, bytes):
            if self.source[:8] != _PNG or self.source[12:16] != b"IHDR" or 0 in self.size:
                raise ValueError("an image of bytes must be a PNG file")
        elif self.source.dtype != np.uint8 or self.source.shape[2:] != (3,) or not self.source.size:
            shape = f"{self.source.dtype} of shape {self.source.shape}"
            raise ValueError(f"the pixels of an image are uint8 of shape (height, width, 3), not {shape}")
        else:
            pixels = self.source.copy()
            pixels.flags.writeable = False
            object.__setattr__(self, "source", pixels)
        width, height = self.size
        if width * height > MOST_PIXELS:
            raise ValueError(f"an image of {width} by {height} pixels is too large: at most {MOST_PIXELS} pixels")

    @cached_property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        if isinstance(self.source, bytes):
            return int.from_bytes(self.source[16:20]), int.from_bytes(self.source[20:24])
        return int(self.source.shape[1]), int(self.source.shape[0])

    @cached_property
    def pixels(self) -> Pixels:
        """uint8 of shape (height, width, 3); read-only.

        Raises:
            ValueError: The PNG is damaged.
        """
        if not isinstance(self.source, bytes):
            return self.source
        try:
            pixels = np.array(PIL.Image.open(io.BytesIO(self.source), formats=["PNG"]).convert("RGB"), np.uint8)
        except (OSError, SyntaxError, PIL.Image.DecompressionBombError) as error:
            raise ValueError(f"the PNG of an image is damaged: {error}") from None
        pixels.flags.writeable = False
        return pixels

    @cached_property
    def png(self) -> bytes:
        """The picture as a PNG file."""
        if isinstance(self.source, bytes):
            return self.source
        file = io.BytesIO()
        self.pillow.save(file, "PNG", compress_level=_COMPRESSION)
        return file.getvalue()

    @property
    def pillow(self) -> PIL.Image.Image:
        """The picture as an image of Pillow, as processors of models take it."""
        return PIL.Image.fromarray(self.pixels)

    @property
    def data_url(self) -> str:
        """The PNG as a data URL, as services take it."""
        return f"data:image/png;base64,{base64.b64encode(self.png).decode()}"

    @cached_property
    def digest(self) -> str:
        """SHA-256 of size and pixels, in hexadecimal digits; the same from a PNG and from pixels."""
        return hashlib.sha256(f"{self.size}".encode() + self.pixels.tobytes()).hexdigest()

    def resized(self, width: int, height: int) -> Image:
        """The picture in another size."""
        if (width, height) == self.size:
            return self
        return Image(np.asarray(self.pillow.resize((width, height), PIL.Image.Resampling.BICUBIC), np.uint8))

    def on_grid(self, factor: int) -> Image:
        """The picture in the size that a model reads, see `grid_size`."""
        return self.resized(*grid_size(self.size, factor))

    def tokens(self, factor: int) -> int:
        """Tokens for which a model reads the picture: cells of its grid."""
        width, height = grid_size(self.size, factor)
        return (width // factor) * (height // factor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Image) and self.size == other.size and np.array_equal(self.pixels, other.pixels)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        width, height = self.size
        return f"<Image {width}x{height}>"


Part = str | Image
Content = str | tuple[Part, ...]


def grid_size(size: tuple[int, int], factor: int) -> tuple[int, int]:
    """The size nearest to an image's whose sides are multiples of a factor, as Qwen's processors choose it.

    Args:
        size: Width and height in pixels.
        factor: Side of the square that becomes a token: 32 for Qwen3-VL, 28 for Qwen2.5-VL.

    >>> grid_size((1920, 1080), 32), grid_size((1920, 1080), 28)
    ((1920, 1088), (1932, 1092))
    """
    width, height = (max(factor, round(side / factor) * factor) for side in size)
    return width, height


def content_of(parts: Sequence[Part]) -> Content:
    """A content of these parts: a text where there is no image; empty texts are left out."""
    kept = tuple(part for part in parts if part)
    return kept if images_of(kept) else text_of(kept)


def for_services(content: Content) -> Any:
    """A content as OpenAI-compatible services take it: an image is a part ``image_url`` with its data URL."""
    if isinstance(content, str):
        return content
    return [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": part.data_url}}
        for part in content
    ]


def plain(content: Content) -> Any:
    """A content as JSON, with the digest of an image in its place: for logs and keys."""
    if isinstance(content, str):
        return content
    return [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image", "size": list(part.size), "sha256": part.digest}
        for part in content
    ]


def text_of(content: Content | Sequence[Part]) -> str:
    """The texts of a content, in paragraphs."""
    return content if isinstance(content, str) else "\n\n".join(part for part in content if isinstance(part, str))


def images_of(content: Content | Sequence[Part]) -> tuple[Image, ...]:
    """The images of a content."""
    return () if isinstance(content, str) else tuple(part for part in content if isinstance(part, Image))


def parts_of(observation: Any, first: bool = False) -> tuple[Part, ...]:
    """The parts of an observation as an agent reads them: the screen, and then the text.

    The screen comes before the text, as in the prompts of the published agents for desktops. A mapping may hold a
    ``screenshot``, and its text under ``text``; without that all its texts are joined, the ``instruction`` of the first
    observation alone.

    Args:
        observation: A text, or a mapping of texts and at most one screenshot.
        first: Whether it opens an episode.

    Raises:
        SettingError: It holds neither a text nor a screenshot.
    """
    if isinstance(observation, str):
        return (observation,)
    parts = dict(observation) if isinstance(observation, Mapping) else {}
    screen = parts.get("screenshot")
    if isinstance(parts.get("text"), str):
        text = parts["text"]
    else:
        texts = {name: value for name, value in parts.items() if isinstance(value, str)}
        if "instruction" in texts:
            texts["instruction"] = f"Task: {texts['instruction']}" if first else ""
        text = "\n\n".join(value for value in texts.values() if value)
        if screen is None and not texts:
            raise SettingError(
                f"an observation of the type {type(observation).__name__} has no text and no screenshot: train an "
                "agent of other observations on the environment itself"
            )
    return (text,) if screen is None else (Image(screen), text) if text else (Image(screen),)
