"""A vision-language model small enough for tests: Qwen3-VL from random weights, over bytes and a few marks."""

from __future__ import annotations

from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    PreTrainedTokenizerFast,
    Qwen2VLImageProcessorPil,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    Qwen3VLProcessor,
)

__all__ = ["tiny_vlm"]

PAD, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
VISION_START, VISION_END, IMAGE, VIDEO = "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"

TEMPLATE = (
    "{% for message in messages %}"
    f"{{{{ '{START}' + message.role + '\\n' }}}}"
    "{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}"
    f"{{% if part.type == 'image' %}}{{{{ '{VISION_START}{IMAGE}{VISION_END}' }}}}"
    "{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}"
    f"{{{{ '{END}\\n' }}}}"
    "{% endfor %}"
    f"{{% if add_generation_prompt %}}{{{{ '{START}assistant\\n' }}}}{{% endif %}}"
)
"""Turns between marks, and one mark for each image, which the processor repeats for its patches."""

PATCH, MERGE = 16, 2


class ImageProcessor(Qwen3VLProcessor):  # type: ignore[misc]
    """Qwen3-VL's processor without its part for videos, which would need torchvision."""

    def check_argument_for_proper_class(self, argument_name: str, argument: Any) -> Any:
        """As the base does, but there may be no video processor."""
        if argument_name == "video_processor" and argument is None:
            return None
        return super().check_argument_for_proper_class(argument_name, argument)


def tiny_vlm(
    *, hidden_size: int = 32, layers: int = 2, max_pixels: int = 64 * 64, seed: int = 0
) -> tuple[Qwen3VLForConditionalGeneration, Qwen3VLProcessor]:
    """A model of some hundred thousand random float32 weights, and its processor; nothing is downloaded.

    Args:
        hidden_size: Width, a multiple of 32.
        layers: Blocks of the language model and of the vision tower.
        max_pixels: Images are scaled down to at most so many; one token stands for 32 by 32 of them.
        seed: Of the weights; the global generator of torch is left as it was.

    Raises:
        ValueError: The width is no multiple of 32.
    """
    if hidden_size % 32:
        raise ValueError(f"hidden_size {hidden_size} must be a multiple of 32")
    tokenizer = _tokenizer()
    ids = {mark: tokenizer.convert_tokens_to_ids(mark) for mark in (IMAGE, VIDEO, VISION_START, VISION_END)}
    size = {"shortest_edge": (PATCH * MERGE) ** 2, "longest_edge": max_pixels}
    processor = ImageProcessor(
        image_processor=Qwen2VLImageProcessorPil(
            patch_size=PATCH, merge_size=MERGE, size=size, image_mean=[0.5] * 3, image_std=[0.5] * 3
        ),
        tokenizer=tokenizer,
        chat_template=TEMPLATE,
    )
    config = Qwen3VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": hidden_size,
            "intermediate_size": 2 * hidden_size,
            "num_hidden_layers": layers,
            "num_attention_heads": 2,
            "num_key_value_heads": 1,
            "head_dim": 16,
            "max_position_embeddings": 32_768,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 10_000.0,
                "mrope_section": [4, 2, 2],
                "mrope_interleaved": True,
            },
            "pad_token_id": tokenizer.pad_token_id,
        },
        vision_config={
            "depth": layers,
            "hidden_size": hidden_size,
            "intermediate_size": 2 * hidden_size,
            "num_heads": 2,
            "patch_size": PATCH,
            "spatial_merge_size": MERGE,
            "temporal_patch_size": 2,
            "out_hidden_size": hidden_size,
            "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0],
        },
        image_token_id=ids[IMAGE],
        video_token_id=ids[VIDEO],
        vision_start_token_id=ids[VISION_START],
        vision_end_token_id=ids[VISION_END],
        tie_word_embeddings=True,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen3VLForConditionalGeneration(config)
    return model.float().eval(), processor


def _tokenizer() -> PreTrainedTokenizerFast:
    """One token a byte, and the marks."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({character: i for i, character in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[START, VISION_START, VISION_END, IMAGE, VIDEO],
        clean_up_tokenization_spaces=False,
    )
