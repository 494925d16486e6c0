"""The keys of a model: a checkpoint, or the size of a small one that is made on the spot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from rlanything_agents.config.section import Positive, Section

__all__ = ["AnyModel", "CheckpointConfig", "LoraConfig", "SmallConfig"]


class SmallConfig(Section):
    """Size of a Qwen3 model that is made with random weights and the words of a short view, in a folder of the run."""

    hidden_size: Positive = 128
    layers: Positive = 4
    heads: Positive = 4
    intermediate_size: Positive = 384
    max_tokens: Positive = 64
    """Most tokens of a response; the answers of the short views are shorter."""

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> SmallConfig:
        if self.hidden_size % self.heads:
            raise ValueError(f"hidden_size {self.hidden_size} must be a multiple of heads {self.heads}")
        return self


class LoraConfig(Section):
    """Low-rank adapters: they alone are trained and stored, the checkpoint's own weights stay as they are."""

    rank: Positive = 16
    alpha: Positive = 32
    """An adapter's product is scaled by alpha / rank."""
    dropout: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0
    """In updates only. Other than 0 makes the probability ratio of an update noisy."""
    targets: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Names of the layers that are adapted, such as ``[q_proj, v_proj]``; all linear ones but the last if None."""


class CheckpointConfig(Section):
    """A causal language model with a chat template, as its makers published it."""

    checkpoint: Annotated[str, Field(min_length=1)]
    """A folder, or a name on the Hugging Face hub (``organisation/name``)."""
    dtype: Literal["bfloat16", "float32"] = "bfloat16"
    """Of the weights."""
    lora: LoraConfig | None = None
    """None: all weights are trained."""
    thinking: Literal["keep", "strip"] | None = None
    """Whether the model thinks before it answers, for templates with such a switch. ``keep``: later turns read earlier
    thoughts, and the transcript only grows. ``strip``: they do not, so that each turn is a sample of its own. None: it
    does not think."""
    lessons: bool = False
    """Whether it begins with the lessons of the warm start, as small models do; else it starts as it was published."""
    max_tokens: Positive = 512
    """Most tokens of a response, thoughts included."""
    context: Positive = 8192
    """Most tokens of an episode, prompt and responses together; one that would outgrow it is cut off and counts as
    lost."""

    @model_validator(mode="after")
    def _a_response_fits(self) -> CheckpointConfig:
        if self.max_tokens >= self.context:
            raise ValueError(f"max_tokens {self.max_tokens} leaves no room for a prompt in a context of {self.context}")
        return self


def _chosen(value: Any) -> Any:
    """Told apart by the key ``checkpoint``, so that a wrong key is named as a key of the model that was meant."""
    if isinstance(value, Section):
        return value
    if not isinstance(value, Mapping):
        raise ValueError("give the sizes of a new model, or the key `checkpoint`")
    return (CheckpointConfig if "checkpoint" in value else SmallConfig).model_validate(value)


AnyModel = Annotated[SmallConfig | CheckpointConfig, BeforeValidator(_chosen)]
"""Sizes of a model that starts from nothing, or, with the key ``checkpoint``, a pretrained one."""
