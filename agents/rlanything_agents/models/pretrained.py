"""Pretrained language models, with or without eyes: loading of a checkpoint, and weights to a folder and back.

Weights are read and written as safetensors only, and code inside a checkpoint is never run.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoTokenizer,
    BitsAndBytesConfig,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from rlanything_agents.config import CheckpointConfig
from rlanything_agents.models.checkpoint import (
    CheckpointError,
    brief,
    check_attention,
    check_bitsandbytes,
    checkpoint_source,
)
from rlanything_agents.models.image_reader import ImageReader, image_reader, sees, vision_weights
from rlanything_agents.models.precision import precision_of
from rlanything_agents.models.template import ChatTemplate
from rlanything_envs.errors import MissingExtra
from rlanything_verifiers.installed import install

if TYPE_CHECKING:
    from peft import PeftModel

__all__ = [
    "load_base",
    "load_model",
    "load_template",
    "load_weights",
    "logits_of",
    "model_class",
    "save_weights",
    "sharing_weights",
    "trained",
    "vocabulary_of",
    "with_adapters",
]

_BROKEN = (OSError, ValueError, KeyError, TypeError, RuntimeError, AttributeError, SafetensorError)
"""Exceptions of transformers for a checkpoint that is absent, incomplete or malformed."""
ADAPTER = "adapter_model.safetensors"
VISION = r".*\.visual\..*"
"""Names of the modules of the tower that reads images."""
LORA_SCALE = 2
"""``lora_alpha`` over the rank, the factor on an adapter's product: as TRL's defaults, 32 and 16."""


def load_template(config: CheckpointConfig) -> ChatTemplate:
    """Load the chat template of a checkpoint with its tokenizer.

    The tokenizer's end of sequence is set to the special token with which the template closes a response.

    Raises:
        CheckpointError: There is no such checkpoint, its tokenizer has no usable chat template, or it sees and has no
            image processor that is known here.
        MissingExtra: The package of the checkpoint is not installed.
    """
    tokenizer: PreTrainedTokenizerBase = _read(AutoTokenizer, config, "tokenizer")
    settings = _settings(config)
    try:
        images = _images(config, settings) if settings is not None and sees(settings) else None
        template = ChatTemplate(tokenizer, thinking=config.thinking is not None, images=images)
    except CheckpointError as error:
        named = str(error).startswith(config.checkpoint)
        raise error if named else CheckpointError(f"{config.checkpoint}: {error}") from error
    tokenizer.eos_token = tokenizer.convert_ids_to_tokens(template.end_id)  # engines stop there
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token  # padding has weight 0 everywhere
    tokenizer.padding_side = "left"
    return template


def load_model(config: CheckpointConfig, tokenizer: PreTrainedTokenizerBase, seed: int) -> PreTrainedModel | PeftModel:
    """Load the model of a checkpoint, with fresh adapters if configured: `load_base`, then `with_adapters`."""
    return with_adapters(load_base(config, tokenizer), config, seed)


def logits_of(model: PreTrainedModel, hidden: torch.Tensor) -> torch.Tensor:
    """Logits of hidden states: the head, and what Granite, Cohere and Gemma do after it.

    An engine compares its probabilities with those of the model's own forward pass when it is made.
    """
    logits: torch.Tensor = model.get_output_embeddings()(hidden)
    settings = model.config.get_text_config()
    if divisor := getattr(settings, "logits_scaling", None):
        logits = logits / divisor
    if factor := getattr(settings, "logit_scale", None):
        logits = logits * factor
    cap = getattr(settings, "final_logit_softcapping", None)
    return torch.tanh(logits / cap) * cap if cap else logits


def load_base(
    config: CheckpointConfig, tokenizer: PreTrainedTokenizerBase, *, on_host: bool = False
) -> PreTrainedModel:
    """Load the model of a checkpoint without adapters, on the accelerator if there is one.

    Args:
        config: Checkpoint, precision, quantisation and context.
        tokenizer: Tokenizer of the same checkpoint.
        on_host: Whether to leave the model on the CPU, as one that will be sharded over GPUs.

    Raises:
        CheckpointError: There is no such checkpoint, it is not a causal language model or lacks weights, it does not
            fit its tokenizer, its context is shorter than ``config.context``, or it sees in a way not known here.
        MissingExtra: The package of the checkpoint, of ``config.attention`` or of ``config.quantization`` is not
            installed.
    """
    if (settings := _settings(config)) is not None:
        _check(config, settings)
    check_attention(config.checkpoint, config.attention)
    torch.backends.cuda.enable_cudnn_sdp(False)  # it plans each new length: a step took 99 ms, not 26
    device = "cuda" if torch.cuda.is_available() and not on_host else "cpu"
    options: dict[str, Any] = {} if config.attention == "auto" else {"attn_implementation": config.attention}
    if config.quantization is not None:
        options |= {"quantization_config": _four_bits(config), "device_map": {"": device}}
    options |= {"dtype": getattr(torch, precision_of(config.dtype)), "use_safetensors": True}
    model, info = _read(model_class(settings), config, "model", output_loading_info=True, **options)
    if lost := sorted(info["missing_keys"]):  # transformers would leave them random
        raise CheckpointError(
            f"{config.checkpoint}: {len(lost)} weights are missing, such as {lost[0]}: it is incomplete, or no causal "
            "language model"
        )
    rows = model.get_input_embeddings().weight.shape[0]
    if rows < len(tokenizer):
        raise CheckpointError(
            f"{config.checkpoint}: the tokenizer has {len(tokenizer)} tokens, the model {rows}: they do not belong "
            "together; put the model's own tokenizer into its folder"
        )
    for known in (model.config, model.generation_config):  # trainers and engines would change these with a warning
        known.bos_token_id, known.eos_token_id = tokenizer.bos_token_id, tokenizer.eos_token_id
        known.pad_token_id = tokenizer.pad_token_id
    if settings is not None and sees(settings):
        model.image_reader = _images(config, settings)
        if config.freeze_vision:
            for _, weight in vision_weights(model):
                weight.requires_grad_(False)
    for module in model.modules():
        # On some processors a 4-bit layer is packed for good when it first generates, and has wrong gradients then.
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = False
    return model.to(device).eval()


def sharing_weights(model: PreTrainedModel) -> PreTrainedModel:
    """Second model on the same weights: modules of its own, and the very tensors of the first."""
    shared: list[Any] = [*model.parameters(), *model.buffers()]
    shared += [weight.quant_state for weight in shared if hasattr(weight, "quant_state")]  # of 4-bit weights
    return copy.deepcopy(model, {id(each): each for each in shared})


def _four_bits(config: CheckpointConfig) -> BitsAndBytesConfig:
    """Arguments of bitsandbytes: the 4-bit numbers of QLoRA, computed with in the precision of the other weights."""
    check_bitsandbytes(f"{config.checkpoint}: quantization {config.quantization}")
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=getattr(torch, precision_of(config.dtype)),
    )


def save_weights(
    model: PreTrainedModel | PeftModel, folder: Path, weights: Mapping[str, torch.Tensor] | None = None
) -> None:
    """Store the weights of a model: all, those of a frozen tower that reads images included, or the adapters alone.

    Args:
        model: The model.
        folder: Destination.
        weights: Whole weights by name, where the model is sharded and has only a part of them.
    """
    if (reader := image_reader(model)) is not None:
        reader.save(folder)
    tied = getattr(model, "all_tied_weights_keys", {})  # two names of one weight; it is stored once
    state = None if weights is None else {name: weight for name, weight in weights.items() if name not in tied}
    if hasattr(model, "peft_config"):
        # Embeddings have no adapters; to find that out peft would ask the hub.
        model.save_pretrained(str(folder), save_embedding_layers=False, state_dict=state)
    else:
        model.save_pretrained(str(folder), state_dict=state)


def load_weights(model: PreTrainedModel | PeftModel, folder: Path) -> None:
    """Load weights that `save_weights` stored into a model.

    Raises:
        CheckpointError: The folder holds no weights, or those of another model.
    """
    try:
        if (folder / ADAPTER).exists():
            from peft import set_peft_model_state_dict

            loaded: Any = set_peft_model_state_dict(model, load_file(folder / ADAPTER))
            _must_match(loaded.unexpected_keys, [name for name in loaded.missing_keys if "lora_" in name])
        else:
            stored, info = type(model).from_pretrained(
                folder, local_files_only=True, use_safetensors=True, dtype=model.dtype, output_loading_info=True
            )
            _must_match([], sorted(info["missing_keys"]))
            model.load_state_dict(stored.state_dict())
    except _BROKEN as error:
        raise CheckpointError(f"{folder}: no weights of this model ({brief(error)}): go back a checkpoint") from error


def _must_match(unexpected: list[str], missing: list[str]) -> None:
    if unexpected:
        raise ValueError(f"adapters of another model, such as {unexpected[0]}")
    if missing:
        raise ValueError(f"{len(missing)} weights are missing, such as {missing[0]}")


def _read(kind: Any, config: CheckpointConfig, what: str, **options: Any) -> Any:
    """Load a part of a checkpoint: from its folder if there is one, else from the hub or its cache."""
    name, local = checkpoint_source(config.checkpoint, precision_of(config.dtype))
    try:
        return kind.from_pretrained(name, local_files_only=local, trust_remote_code=False, **options)
    except _BROKEN as error:
        remedy = (
            f"the folder must hold what save_pretrained writes ({what})"
            if local
            else "download it first and name its folder, log in with `hf auth login` if it is gated, or check the name"
        )
        raise CheckpointError(f"{name}: the {what} cannot be loaded ({brief(error)}): {remedy}") from error


def _check(config: CheckpointConfig, settings: Any) -> None:
    longest = getattr(settings.get_text_config(), "max_position_embeddings", None)
    if isinstance(longest, int) and config.context > longest:
        raise CheckpointError(
            f"{config.checkpoint}: the model reads at most {longest} tokens: lower `context` from {config.context}"
        )


def _settings(config: CheckpointConfig) -> PretrainedConfig | None:
    """Configuration of a checkpoint; None for adapters, which know their base and have none."""
    source, local = checkpoint_source(config.checkpoint, precision_of(config.dtype))
    if local and (Path(source) / "adapter_config.json").is_file():
        return None
    return _read(AutoConfig, config, "configuration")


def vocabulary_of(config: CheckpointConfig) -> int:
    """Number of ids of the model of a checkpoint, without its weights.

    Raises:
        CheckpointError: There is no such checkpoint, or it holds adapters alone.
    """
    if (settings := _settings(config)) is None:
        raise CheckpointError(
            f"{config.checkpoint}: adapters alone do not say how many ids their base has: name the base"
        )
    return int(settings.get_text_config().vocab_size)


def _images(config: CheckpointConfig, settings: PretrainedConfig) -> ImageReader:
    processor = _read(Qwen2VLImageProcessorPil, config, "image processor")
    return ImageReader(processor, settings.image_token_id, settings.model_type)


def model_class(settings: PretrainedConfig | None) -> Any:
    """Class of transformers that makes and reads models of this configuration."""
    return AutoModelForImageTextToText if settings is not None and sees(settings) else AutoModelForCausalLM


def with_adapters(model: PreTrainedModel, config: CheckpointConfig, seed: int) -> PreTrainedModel | PeftModel:
    """Add fresh adapters to a model if configured; its own weights are frozen then.

    Args:
        model: Model of `load_base`.
        config: Settings of the model.
        seed: Seed of the adapters; the global random state of torch is left unchanged.

    Raises:
        CheckpointError: The model has no linear layers.
        MissingExtra: ``config.lora`` is set, and peft is not installed.
    """
    if (lora := config.lora) is None:
        return model
    try:
        import peft
    except ImportError as error:
        raise MissingExtra(f"lora needs the package peft: {install('train')}") from error
    settings = peft.LoraConfig(
        r=lora.rank,
        lora_alpha=LORA_SCALE * lora.rank,
        target_modules="all-linear",
        exclude_modules=VISION if config.freeze_vision and image_reader(model) is not None else None,
        task_type="CAUSAL_LM",
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        try:
            return peft.get_peft_model(model, settings).eval()
        except ValueError as error:
            raise CheckpointError(f"{config.checkpoint}: lora does not fit the model ({brief(error)})") from error


def trained(model: PreTrainedModel | PeftModel, state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Select the trained weights of a model: all of them, or the adapters."""
    if not hasattr(model, "peft_config"):
        return dict(state)
    learnt = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    return {name: weight for name, weight in state.items() if name in learnt}
