"""Language models small enough to train on a laptop: Qwen3 from random weights, over a vocabulary of words.

Both halves are ordinary transformers objects (`Qwen3ForCausalLM`, `PreTrainedTokenizerFast`), so that
everything written for a pretrained model, from ``save_pretrained`` to a TRL trainer, takes them unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

__all__ = ["BOS", "EOS", "MAX_POSITIONS", "PAD", "UNK", "tiny_model", "word_tokenizer"]

PAD, BOS, EOS, UNK = "<pad>", "<bos>", "<eos>", "<unk>"

MAX_POSITIONS = 4096
"""Longest transcript in tokens; an ALFWorld episode of 50 steps takes about 600."""


def word_tokenizer(words: Sequence[str]) -> PreTrainedTokenizerFast:
    """A tokenizer with one token per word, made on the spot: no download, no training.

    Args:
        words: The vocabulary in the order of its ids; the four special tokens come before it. Text is split
            at blanks, any other word becomes ``<unk>``.

    Raises:
        ValueError: A word occurs twice or holds a blank.
    """
    vocabulary = [PAD, BOS, EOS, UNK, *words]
    if len(set(vocabulary)) != len(vocabulary):
        twice = sorted({word for word in vocabulary if vocabulary.count(word) > 1})
        raise ValueError(f"vocabulary: each word once, but {twice} occur more often")
    if broken := [word for word in vocabulary if not word or word.split() != [word]]:
        raise ValueError(f"vocabulary: a word is one run of characters without blanks, not {broken[:5]}")
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(vocabulary)}, unk_token=UNK))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        bos_token=BOS,
        eos_token=EOS,
        unk_token=UNK,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )


def tiny_model(
    tokenizer: PreTrainedTokenizerFast,
    *,
    hidden_size: int = 128,
    layers: int = 4,
    heads: int = 4,
    intermediate_size: int = 384,
    initializer_range: float = 0.05,
    seed: int = 0,
) -> Qwen3ForCausalLM:
    """A Qwen3 model with random float32 weights, about 0.8 million parameters with the defaults.

    One key-value head serves all query heads: reading the cache is what decoding costs on a CPU.

    Args:
        tokenizer: Gives the vocabulary and the special ids.
        hidden_size: Width of the residual stream, a multiple of ``heads``.
        layers: Number of blocks.
        heads: Query heads.
        intermediate_size: Width of the gated feed-forward layer.
        initializer_range: Standard deviation of the initial weights. The usual 0.02 is made for widths of
            thousands; at a width of 128 a model started there learns several times more slowly.
        seed: Seed of the initial weights; the global generator of torch is left as it was.

    Raises:
        ValueError: ``hidden_size`` is no multiple of ``heads``.
    """
    if hidden_size % heads:
        raise ValueError(f"hidden_size {hidden_size} must be a multiple of heads {heads}")
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=hidden_size,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=1,
        head_dim=hidden_size // heads,
        intermediate_size=intermediate_size,
        max_position_embeddings=MAX_POSITIONS,
        initializer_range=initializer_range,
        tie_word_embeddings=True,
        use_cache=True,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: Qwen3ForCausalLM = Qwen3ForCausalLM(config)
    return model.float().eval()
