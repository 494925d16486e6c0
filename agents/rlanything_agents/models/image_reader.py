"""Images as a model of the Qwen-VL family reads them: a number of tokens for each, and patches of its pixels.

Such a model has one token for each square of merged patches of an image that was resized to a multiple of these
squares. A prompt has that many copies of one placeholder in its ids, and the images themselves beside them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image as Picture
from transformers import PretrainedConfig
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil, smart_resize

from rlanything_agents.models.checkpoint import CheckpointError
from rlanything_envs.message import Image

__all__ = ["ImageReader", "image_inputs", "image_reader", "sees", "vision_weights", "whole_model"]

FAMILY = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl")
"""Types of models whose images this module reads: all have patches of one size in rows and columns (a grid), and
positions in three dimensions that the model itself computes from it."""
KEPT = 16
"""Images whose patches are kept, since those of a window are read again in the next turns; 50 MB each for a screen of
1920x1080."""


class ImageReader:
    """Images of one model, as tokens and patches.

    The pixels are resized by Pillow on every machine, so that an engine and a trainer read the same.

    Args:
        processor: Image processor of the checkpoint.
        token_id: Id of the placeholder of an image.
        model_type: Type of the model, one of `FAMILY`.

    Attributes:
        token_id: The same.
    """

    def __init__(self, processor: Qwen2VLImageProcessorPil, token_id: int, model_type: str = "qwen3_vl") -> None:
        self.processor, self.token_id, self._model_type = processor, token_id, model_type
        self._patches = lru_cache(maxsize=KEPT)(self._read)  # by PNG: an image's own hash would keep its pixels
        self._urls = lru_cache(maxsize=KEPT)(lambda png: Image(np.asarray(self.resized(Image(png)))).data_url)

    def __deepcopy__(self, memo: Any) -> ImageReader:
        """Itself: a copy of a model reads images alike."""
        return self

    def tokens(self, image: Image) -> int:
        """Number of tokens of an image.

        Raises:
            CheckpointError: It is 200 times as long as wide, or more.
        """
        width, height = self._size(image)
        return width * height // int(self.processor.patch_size * self.processor.merge_size) ** 2

    def expanded(self, ids: Sequence[int], images: Sequence[Image]) -> list[int]:
        """Ids with as many placeholders of each image as it has tokens, in place of one.

        Raises:
            CheckpointError: There is not one placeholder for each image.
        """
        if (found := ids.count(self.token_id)) != len(images):
            raise CheckpointError(f"the chat template writes {found} placeholders for {len(images)} images")
        left = iter(images)
        return [token for one in ids for token in ([one] * self.tokens(next(left)) if one == self.token_id else [one])]

    def collapsed(self, ids: Sequence[int], images: Sequence[Image]) -> list[int]:
        """Ids with one placeholder of each image: the reverse of `expanded`."""
        kept, at, left = list[int](), 0, iter(images)
        while at < len(ids):
            kept.append(ids[at])
            at += self.tokens(next(left)) if ids[at] == self.token_id else 1
        return kept

    def resized(self, image: Image) -> Picture.Image:
        """The image in the size in which a model reads it, for an engine that reads images by code of its own."""
        return _opened(image.png).resize(self._size(image), Picture.Resampling(self.processor.resample))

    def data_url(self, image: Image) -> str:
        """The image in that size as the data URL of a PNG, for an engine behind HTTP."""
        return self._urls(image.png)

    def inputs(self, ids: torch.Tensor, images: Sequence[Image]) -> dict[str, torch.Tensor]:
        """Arguments of a forward pass besides its ids.

        Args:
            ids: Ids of the pass, int64 of shape (rows, columns).
            images: Images of all rows, in the order of their tokens; empty if there are none.
        """
        if not images:
            return {}
        patches, grids = zip(*(self._patches(image.png) for image in images), strict=True)
        return {
            "pixel_values": torch.cat(patches).to(ids.device),
            "image_grid_thw": torch.tensor(grids, device=ids.device),
            "mm_token_type_ids": (ids == self.token_id).int(),
        }

    def save(self, folder: Path) -> None:
        """Store the image processor beside a model, and one for videos, without which vLLM takes no such model."""
        self.processor.save_pretrained(folder)
        own = self.processor
        video = {
            "video_processor_type": "Qwen3VLVideoProcessor"
            if self._model_type == "qwen3_vl"
            else "Qwen2VLVideoProcessor",
            "patch_size": own.patch_size,
            "merge_size": own.merge_size,
            "temporal_patch_size": own.temporal_patch_size,
            "size": {name: int(value) for name, value in dict(own.size).items() if value},
        }
        (folder / "video_preprocessor_config.json").write_text(json.dumps(video, indent=2), encoding="utf-8")

    def _size(self, image: Image) -> tuple[int, int]:
        """Width and height in pixels in which a model reads an image."""
        width, height = image.size
        own, limits = self.processor, dict(self.processor.size)
        try:
            rows, columns = smart_resize(
                height,
                width,
                own.patch_size * own.merge_size,
                min_pixels=limits["shortest_edge"],
                max_pixels=limits["longest_edge"],
            )
        except ValueError as error:
            raise CheckpointError(f"an image of {width}x{height} cannot be read: {error}") from error
        return columns, rows

    def _read(self, png: bytes) -> tuple[torch.Tensor, tuple[int, int, int]]:
        """Patches of an image, and their numbers in time and in both directions."""
        found = self.processor(images=[_opened(png)], return_tensors="pt")
        time, rows, columns = found["image_grid_thw"][0].tolist()
        return found["pixel_values"], (time, rows, columns)


def _opened(png: bytes) -> Picture.Image:
    return Picture.open(io.BytesIO(png), formats=["PNG"]).convert("RGB")


def image_reader(model: Any) -> ImageReader | None:
    """Reader of the images of a model that `pretrained.load_base` loaded; None for a model that reads text alone."""
    reader: ImageReader | None = getattr(whole_model(model), "image_reader", None)
    return reader


def image_inputs(model: Any, ids: torch.Tensor, images: Sequence[Image]) -> dict[str, torch.Tensor]:
    """Arguments of a model's forward pass besides its ids, see `ImageReader.inputs`; none where there are no images.

    Raises:
        CheckpointError: There are images, and the model reads text alone.
    """
    if (reader := image_reader(model)) is None and images:
        raise CheckpointError("a sample holds an image, and the model reads text alone")
    return {} if reader is None else reader.inputs(ids, images)


def whole_model(model: Any) -> Any:
    """A model of transformers itself, without the wrapper of its adapters."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def sees(settings: PretrainedConfig) -> bool:
    """Whether a model of this configuration reads images.

    Raises:
        CheckpointError: It does, in a way that is not known here.
    """
    if not hasattr(settings, "vision_config"):
        return False
    if settings.model_type not in FAMILY:
        raise CheckpointError(
            f"the model type {settings.model_type} sees in a way that is not known here: choose one of {FAMILY}"
        )
    return True


def vision_weights(model: Any) -> Iterator[tuple[str, torch.nn.Parameter]]:
    """Weights of the tower that reads images, by name."""
    return ((name, weight) for name, weight in model.named_parameters() if ".visual." in name)
