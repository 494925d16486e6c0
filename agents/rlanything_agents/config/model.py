"""Keys of a model: a checkpoint, or the sizes of a small model made on the spot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from rlanything_agents.config.section import Positive, Section

__all__ = ["AnyModel", "CheckpointConfig", "LoraConfig", "RewardModel", "SharedConfig", "SmallConfig"]


class SmallConfig(Section):
    """Sizes of a Qwen3 model with random weights and the words of a short view, made in a folder of the run."""

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
    """Low-rank adapters (LoRA). Only they are trained and stored; the checkpoint's own weights stay frozen."""

    rank: Positive = 16
    alpha: Positive = 32
    """An adapter's product is scaled by alpha / rank."""
    dropout: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0
    """Dropout of the adapters in updates only. Values above 0 make the probability ratio of an update noisy."""
    targets: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Names of the adapted layers, such as ``[q_proj, v_proj]``; all linear layers but the last if None."""


class CheckpointConfig(Section):
    """Published causal language model with a chat template."""

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
    thinking: Literal["keep", "strip"] | None = None
    """Thinking mode, for chat templates with such a switch. ``keep``: later turns read earlier thoughts, and the
    transcript only grows. ``strip``: later turns do not read them, and each turn has a prompt of its own. None: the
    model does not think."""
    lessons: bool = False
    """Whether the supervised warm start trains it first, as it does small models; otherwise it starts as published."""
    max_tokens: Positive = 512
    """Most tokens of a response, thoughts included."""
    context: Positive = 8192
    """Most tokens of a prompt and its response. Without a history window (``rollout.history``) a prompt is the whole
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


SHARED = ("checkpoint", "dtype", "attention", "quantization")
"""Keys of a base, which a model on the policy's base has from the policy."""


class SharedConfig(CheckpointConfig):
    """Reward model on the policy's base: one copy of the frozen weights in memory, and adapters of each model.

    Checkpoint, precision, attention and quantisation are the policy's, and so is the shape of the adapters unless
    ``lora`` is set.
    """

    base: Literal["policy"]
    lora: LoraConfig
    """Adapters of the reward model; those of the policy if it is left out."""

    @classmethod
    def on(cls, policy: CheckpointConfig, keys: Mapping[str, Any]) -> SharedConfig:
        """Make the settings of a reward model from its own keys and the policy's.

        Raises:
            ValueError: The policy has no adapters, or a key of the base has another value than the policy's.
        """
        if policy.lora is None:
            raise ValueError(
                "base: policy shares the frozen weights of the policy, and without policy.lora they are trained: set "
                "policy.lora, or give reward_model a checkpoint"
            )
        for key in SHARED:
            own = getattr(policy, key)
            if keys.get(key, own) != own:
                raise ValueError(
                    f"reward_model.{key} ({keys[key]}) contradicts policy.{key} ({own}), which is that of both with "
                    f"reward_model.base: policy. Leave reward_model.{key} out, or reward_model.base"
                )
        return cls.model_validate({"lora": policy.lora, **keys, **{key: getattr(policy, key) for key in SHARED}})


def _chosen(value: Any) -> Any:
    """Choose the model class by the key ``checkpoint``, so that an error about a wrong key names the intended class."""
    if isinstance(value, Section):
        return value
    if not isinstance(value, Mapping):
        raise ValueError("give the sizes of a new model, or the key `checkpoint`")
    return (CheckpointConfig if "checkpoint" in value else SmallConfig).model_validate(value)


def _chosen_for_rewards(value: Any, settings: ValidationInfo) -> Any:
    """Choose as `_chosen` does; a model with the key ``base`` has the keys of the policy, which was read before."""
    if isinstance(value, SharedConfig):
        value = value.model_dump()
    if not isinstance(value, Mapping) or "base" not in value:
        return _chosen(value)
    if "policy" not in settings.data:
        raise ValueError("base: policy cannot be read before policy is correct")
    policy = settings.data["policy"]
    if value["base"] != "policy" or not isinstance(policy, CheckpointConfig):
        raise ValueError("the only base to share is `policy`, and policy must be a checkpoint with lora")
    return SharedConfig.on(policy, value)


AnyModel = Annotated[SmallConfig | CheckpointConfig, BeforeValidator(_chosen)]
"""Sizes of a new small model, or, with the key ``checkpoint``, a pretrained model."""
RewardModel = Annotated[SmallConfig | SharedConfig | CheckpointConfig, BeforeValidator(_chosen_for_rewards)]
"""The same, or, with ``base: policy``, adapters on the policy's base."""
