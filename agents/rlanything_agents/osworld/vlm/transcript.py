"""One episode in the tokens of a vision-language model: it only grows, and keeps the ids that were sampled.

A chat is rendered by the processor's own template. Of each new turn only what the template adds is tokenised; what the
model wrote stays as it was sampled, earlier thoughts included, whatever the template would leave out of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import ProcessorMixin

from rlanything_agents.chat import ChatTemplate, TemplateError
from rlanything_agents.osworld.vlm.chat import Message
from rlanything_agents.sample import Sample, spread_steps

__all__ = ["TemplateError", "Transcript", "VisualSample"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class VisualSample(Sample):
    """A row of training data with its images.

    Attributes:
        pixel_values: Patches of all images, shape (patches, values).
        image_grid_thw: Frames, rows and columns of patches of each image, shape (images, 3).
        modality: Of each token of prompt and completion: 0 text, 1 image.
    """

    pixel_values: torch.Tensor
    image_grid_thw: torch.Tensor
    modality: list[int]

    def inputs(self, device: torch.device) -> dict[str, torch.Tensor]:
        """The arguments of the model's forward pass on this one row."""
        ids = torch.tensor([[*self.prompt_ids, *self.completion_ids]], device=device)
        return _inputs(ids, self.pixel_values, self.image_grid_thw, self.modality)


class Transcript:
    """What a model has read and written.

    Args:
        processor: Of the Qwen3-VL kind: it has a chat template, and puts one token for each merged patch of an image.
        template: Its template; made of the processor if None.

    Raises:
        TemplateError: The template does not append.
    """

    def __init__(self, processor: ProcessorMixin, template: ChatTemplate | None = None) -> None:
        self.processor = processor
        self.template = template or ChatTemplate(processor.tokenizer, processor=processor)
        self.ids: list[int] = []
        self._modality: list[int] = []
        self._pixels: list[torch.Tensor] = []
        self._grids: list[torch.Tensor] = []
        self._steps: list[int | None] = []  # of each token
        self._logprobs: list[float] = []
        self.turns = 0
        """Responses so far."""

    def read(self, messages: Sequence[Message]) -> None:
        """Take in a chat up to the model's next turn.

        Args:
            messages: The chat. If something was read before, it begins with that chat and the response to it, and only
                its last message is new.

        Raises:
            TemplateError: The template refuses the chat, or loses an image.
        """
        if self.ids:
            messages = messages[-1:]
            new = self.template.tail(messages[0], ended=self.ids[-1] == self.template.end_id)
        else:
            new = self.template.text(messages)
        images = [part["image"] for message in messages for part in _parts(message) if part["type"] == "image"]
        found = self.processor(text=[new], images=images or None, return_tensors="pt")
        ids = found["input_ids"][0].tolist()
        if images:
            self._check_images(ids, found["image_grid_thw"])
            self._pixels.append(found["pixel_values"])
            self._grids.append(found["image_grid_thw"])
        self._append(ids, [0.0] * len(ids), None, found["mm_token_type_ids"][0].tolist())

    def write(self, ids: Sequence[int], logprobs: Sequence[float]) -> str:
        """Take in a response as it was sampled, end of turn included where it came; its text is what a chat quotes."""
        self._append(ids, logprobs, self.turns, [0] * len(ids))
        self.turns += 1
        return self.template.decode(ids)

    def inputs(self, device: torch.device) -> dict[str, torch.Tensor]:
        """The arguments of the model's forward pass on all of it."""
        return _inputs(torch.tensor([self.ids], device=device), *self._vision(), self._modality)

    def sample(self, advantages: Sequence[float]) -> VisualSample:
        """The transcript as a row of training data; only tokens that were sampled are learnt.

        Args:
            advantages: One per response; those of advantage 0 are left out of the update.

        Raises:
            SampleError: Nothing was written yet.
        """
        first = next((at for at, step in enumerate(self._steps) if step is not None), len(self.ids))
        last = max((at for at, step in enumerate(self._steps) if step is not None), default=-1) + 1
        weights, spread = spread_steps(self._steps[first:last], advantages)
        pixels, grids = self._vision()
        return VisualSample(
            prompt_ids=self.ids[:first],
            completion_ids=self.ids[first:last],
            weights=weights,
            advantages=spread,
            logprobs=self._logprobs[first:last],
            pixel_values=pixels,
            image_grid_thw=grids,
            modality=self._modality[:last],
        )

    def copy(self) -> Transcript:
        """Another one that goes on from here."""
        other = Transcript(self.processor, self.template)
        for name, value in vars(self).items():
            setattr(other, name, list(value) if isinstance(value, list) else value)
        return other

    def _append(self, ids: Sequence[int], logprobs: Sequence[float], step: int | None, modality: list[int]) -> None:
        self.ids += ids
        self._logprobs += logprobs
        self._steps += [step] * len(ids)
        self._modality += modality

    def _vision(self) -> tuple[torch.Tensor, torch.Tensor]:
        if not self._pixels:
            raise TemplateError("a transcript without an image: give the model at least one screenshot")
        return torch.cat(self._pixels), torch.cat(self._grids)

    def _check_images(self, ids: Sequence[int], grids: torch.Tensor) -> None:
        wanted = int((grids.prod(-1) // self.processor.image_processor.merge_size**2).sum())
        found = sum(token == self.processor.image_token_id for token in ids)
        if found != wanted:
            raise TemplateError(f"{found} image tokens for images of {wanted}: the template lost or repeated an image")


def _parts(message: Message) -> list[dict[str, Any]]:
    content = message["content"]
    return content if isinstance(content, list) else []


def _inputs(
    ids: torch.Tensor, pixels: torch.Tensor, grids: torch.Tensor, modality: Sequence[int]
) -> dict[str, torch.Tensor]:
    return {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "pixel_values": pixels.to(ids.device),
        "image_grid_thw": grids.to(ids.device),
        "mm_token_type_ids": torch.tensor([list(modality)], device=ids.device),
    }
