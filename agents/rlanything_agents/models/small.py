"""Small language models made on the spot, in folders like those of any other model.

A model of a million parameters learns on a laptop in minutes if its texts have few words: those of a short view. This
module makes its folder: Qwen3 with random weights, a tokenizer with one token per word, and a chat template of one
line. All code that loads a pretrained model loads such a folder unchanged.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from rlanything_agents.config import AnyModel, CheckpointConfig, SmallConfig
from rlanything_agents.config.model import MAX_ANSWER
from rlanything_agents.models.image_reader import ImageReader

__all__ = ["MAX_POSITIONS", "as_checkpoint", "make_seeing_model", "make_small_model", "small_model", "word_tokenizer"]

PAD, UNK = "<pad>", "<unk>"
VIDEO = "<|video_pad|>"
_LETTERS = pre_tokenizers.ByteLevel.alphabet()
USER, ANSWER, END = "<user>", "<answer>", "<end>"
"""Special tokens of the chat template: the beginning of a user's message, and the beginning and end of an answer."""

IMAGE_MARKS = ("<|vision_start|>", "<|image_pad|>", "<|vision_end|>")
"""Special tokens around and in place of an image; vLLM knows Qwen3-VL's by these names."""

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}{{ message['content'] }}" + END + "{% else %}"
    "" + USER + "{{ message['content'] }}" + ANSWER + "{% endif %}{% endfor %}"
)

SEEING_TEMPLATE = (
    "{% for message in messages %}{% if message['role'] == 'assistant' %}{{ message['content'] }}" + END + "{% else %}"
    "" + USER + "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}{% if part['type'] == 'image' %}" + "".join(IMAGE_MARKS) + ""
    "{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}" + ANSWER + "{% endif %}{% endfor %}"
)

PATCH, CELL = 16, 32
"""Pixels of the sides of a patch, and of the square that one token stands for; as in Qwen3-VL."""

HEADS, WIDENING = 4, 3
"""Query heads of a layer, and the width between its two linear maps over its own; the latter as in Qwen3-0.6B."""

MAX_POSITIONS = 4096
"""Longest transcript in tokens; an AlfWorld episode of 50 steps takes about 600 in the short view."""


def make_small_model(folder: Path, words: Sequence[str], size: SmallConfig, seed: int) -> None:
    """Make the folder of a small model, as ``save_pretrained`` writes it; equal arguments give equal folders.

    Args:
        folder: Destination; created if it does not exist.
        words: Vocabulary, see `word_tokenizer`.
        size: Widths and depth.
        seed: Seed of the weights.

    Raises:
        ValueError: The words are not a vocabulary, see `word_tokenizer`.
    """
    tokenizer = word_tokenizer(words)
    _save(small_model(tokenizer, size, seed), tokenizer, folder)


def make_seeing_model(
    folder: Path, size: SmallConfig, seed: int, *, image_tokens: int = 64, patch: int = PATCH
) -> None:
    """Make the folder of a small model that reads screens and any text: a Qwen3-VL of random weights.

    Its tokens are bytes, so it serves the full views. It has to learn all it does.

    Args:
        folder: Destination; created if it does not exist.
        size: Widths and depth of the language model; the tower that reads images has two blocks of its width.
        seed: Seed of the weights.
        image_tokens: Maximum tokens of an image; one stands for 32 by 32 pixels of the image as it is resized.
        patch: Pixels of a patch's side, a divisor of 32: with 32 the tower takes a quarter of the time.
    """
    tokenizer = _byte_tokenizer()
    edges = {"shortest_edge": CELL**2, "longest_edge": image_tokens * CELL**2}
    _save(_seeing_model(tokenizer, size, seed, patch), tokenizer, folder)
    processor = Qwen2VLImageProcessorPil(
        patch_size=patch, merge_size=CELL // patch, size=edges, image_mean=[0.5] * 3, image_std=[0.5] * 3
    )
    ImageReader(processor, tokenizer.convert_tokens_to_ids(IMAGE_MARKS[1])).save(folder)


def _save(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    # `model.save_pretrained` writes nothing in training processes other than the first, and each makes its own model.
    folder.mkdir(parents=True, exist_ok=True)
    model.config.architectures = [type(model).__name__]  # without it vLLM takes the folder for an embedding model
    model.config.save_pretrained(folder)
    model.generation_config.save_pretrained(folder)
    weights = {name: value for name, value in model.state_dict().items() if name != "lm_head.weight"}  # tied
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    tokenizer.save_pretrained(folder)


def word_tokenizer(words: Sequence[str]) -> PreTrainedTokenizerFast:
    """Make a tokenizer with one token per word.

    Text is split at white space. A word that contains a blank, such as ``go to``, is one token too. Colons are dropped
    unless a word of the vocabulary has one: they only help readers. Any other text becomes ``<unk>``.

    Args:
        words: Vocabulary in the order of its ids, which follow those of the special tokens.

    Raises:
        ValueError: A word occurs twice, is empty, or begins or ends with white space.
    """
    marks = [PAD, UNK, USER, ANSWER, END]
    every = [*marks, *words]
    if len(set(every)) != len(every):
        twice = sorted({word for word in every if every.count(word) > 1})
        raise ValueError(f"vocabulary: each word once, but {twice} occur more often")
    if broken := [word for word in words if not word or word.strip() != word]:
        raise ValueError(f"vocabulary: a word has no white space around it, but these have: {broken[:5]}")
    single = [word for word in words if len(word.split()) == 1]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate([*marks, *single])}, unk_token=UNK))
    if not any(":" in word for word in words):
        tokenizer.normalizer = normalizers.Replace(Regex(":"), " ")
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens([AddedToken(mark, special=True) for mark in marks])
    tokenizer.add_tokens(
        [AddedToken(word, single_word=True, normalized=False) for word in words if len(word.split()) > 1]
    )
    return _fast(tokenizer, CHAT_TEMPLATE, unk_token=UNK)


def small_model(tokenizer: PreTrainedTokenizerFast, size: SmallConfig, seed: int = 0) -> Qwen3ForCausalLM:
    """Make a Qwen3 model with random float32 weights, about 0.8 million parameters with the defaults.

    One key-value head serves all query heads: the time of decoding on a processor goes into reading the cache.

    Args:
        tokenizer: Tokenizer with the vocabulary and the special ids.
        size: Widths and depth.
        seed: Seed of the weights; the global random state of torch is left unchanged.
    """
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=size.hidden_size,
        num_hidden_layers=size.layers,
        num_attention_heads=HEADS,
        num_key_value_heads=1,
        head_dim=size.hidden_size // HEADS,
        intermediate_size=WIDENING * size.hidden_size,
        max_position_embeddings=MAX_POSITIONS,
        # The usual 0.02 is made for widths of thousands; at a width of 128 a model started there learns several times
        # more slowly.
        initializer_range=0.05,
        tie_word_embeddings=True,
        use_cache=True,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: Qwen3ForCausalLM = Qwen3ForCausalLM(config)
    return model.float().eval()


def _byte_tokenizer() -> PreTrainedTokenizerFast:
    """A tokenizer with a token for each byte, and the marks."""
    tokenizer = Tokenizer(models.BPE({letter: at for at, letter in enumerate(sorted(_LETTERS))}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    marks = [PAD, USER, ANSWER, END, *IMAGE_MARKS, VIDEO]
    tokenizer.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in marks])
    return _fast(tokenizer, SEEING_TEMPLATE)


def _fast(tokenizer: Tokenizer, template: str, **tokens: str) -> PreTrainedTokenizerFast:
    """The tokenizer as transformers use it, with its chat template."""
    more = {**tokens, "pad_token": PAD, "eos_token": END, "clean_up_tokenization_spaces": False}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, chat_template=template, padding_side="left", **more)


def _seeing_model(
    tokenizer: PreTrainedTokenizerFast, size: SmallConfig, seed: int, patch: int
) -> Qwen3VLForConditionalGeneration:
    head = size.hidden_size // HEADS
    start, image, end, video = (tokenizer.convert_tokens_to_ids(mark) for mark in (*IMAGE_MARKS, VIDEO))
    config = Qwen3VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": size.hidden_size,
            "intermediate_size": WIDENING * size.hidden_size,
            "num_hidden_layers": size.layers,
            "num_attention_heads": HEADS,
            "num_key_value_heads": 1,
            "head_dim": head,
            "max_position_embeddings": 4 * MAX_POSITIONS,
            "initializer_range": 0.05,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 10_000.0,
                "mrope_section": [head // 2 - 2 * (head // 6), head // 6, head // 6],
                "mrope_interleaved": True,
            },
            "pad_token_id": tokenizer.pad_token_id,
            "eos_token_id": tokenizer.eos_token_id,
        },
        vision_config={
            "depth": 2,
            "hidden_size": size.hidden_size,
            "intermediate_size": WIDENING * size.hidden_size,
            "num_heads": HEADS,
            "patch_size": patch,
            "spatial_merge_size": CELL // patch,
            "temporal_patch_size": 2,
            "out_hidden_size": size.hidden_size,
            "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0],
            "initializer_range": 0.05,
        },
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=end,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: Qwen3VLForConditionalGeneration = Qwen3VLForConditionalGeneration(config)
    return model.float().eval()


def as_checkpoint(model: AnyModel, folder: Path, words: Sequence[str], seed: int) -> CheckpointConfig:
    """Turn a model of the configuration into a checkpoint: a small model's folder is made if it does not exist.

    Args:
        model: Model of the configuration; a `CheckpointConfig` is returned unchanged.
        folder: Folder of a small model; an existing one is used as it is.
        words: Vocabulary of a small model.
        seed: Seed of a small model's weights.
    """
    if isinstance(model, CheckpointConfig):
        return model
    if not (folder / "config.json").exists():
        partial = folder.with_name(f"{folder.name}.partial")  # so that a folder with a config.json is complete
        for place in (partial, folder):  # what a killed process left
            shutil.rmtree(place, ignore_errors=True)
        make_small_model(partial, words, model, seed)
        partial.rename(folder)
    return CheckpointConfig(
        checkpoint=str(folder), dtype="float32", lessons=True, max_tokens=MAX_ANSWER, context=MAX_POSITIONS
    )
