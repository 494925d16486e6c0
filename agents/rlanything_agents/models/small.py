"""Small language models made on the spot, in folders like those of any other model.

A model of a million parameters learns on a laptop in minutes, if its texts have few words: those of a short view. Here
its folder is made: Qwen3 with random weights, a tokenizer with one token a word, and a chat template of one line.
Everything that reads a pretrained model takes it unchanged.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from rlanything_agents.config import AnyModel, CheckpointConfig, SmallConfig

__all__ = ["MAX_POSITIONS", "as_checkpoint", "make_small_model", "small_model", "word_tokenizer"]

PAD, UNK = "<pad>", "<unk>"
USER, ANSWER, END = "<user>", "<answer>", "<end>"
"""Marks of the chat template: a message of the user, where the answer to it begins, and where that ends."""

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}{{ message['content'] }}" + END + "{% else %}"
    "" + USER + "{{ message['content'] }}" + ANSWER + "{% endif %}{% endfor %}"
)

MAX_POSITIONS = 4096
"""Longest transcript in tokens; an AlfWorld episode of 50 steps takes about 600 in the short view."""


def make_small_model(folder: Path, words: Sequence[str], size: SmallConfig, seed: int) -> None:
    """Make the folder of a small model, as ``save_pretrained`` writes it; the same for the same arguments.

    Args:
        folder: Made if need be.
        words: The vocabulary, see `word_tokenizer`.
        size: Its widths and depths.
        seed: Of the weights.

    Raises:
        ValueError: The words are no vocabulary.
    """
    tokenizer = word_tokenizer(words)
    small_model(tokenizer, size, seed).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def word_tokenizer(words: Sequence[str]) -> PreTrainedTokenizerFast:
    """A tokenizer with one token a word.

    Text is split at white space. A word with a blank in it, such as ``go to``, is one token too. Colons are dropped
    where no word has one: they are for readers. Anything else becomes ``<unk>``.

    Args:
        words: The vocabulary, in the order of its ids after those of the marks.

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
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        unk_token=UNK,
        eos_token=END,
        chat_template=CHAT_TEMPLATE,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )


def small_model(tokenizer: PreTrainedTokenizerFast, size: SmallConfig, seed: int = 0) -> Qwen3ForCausalLM:
    """A Qwen3 model with random float32 weights, about 0.8 million parameters with the defaults.

    One key-value head serves all query heads: reading the cache is what decoding costs on a processor.

    Args:
        tokenizer: Gives the vocabulary and the special ids.
        size: Its widths and depths.
        seed: Of the weights; the global generator of torch is left as it was.
    """
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=size.hidden_size,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=1,
        head_dim=size.hidden_size // size.heads,
        intermediate_size=size.intermediate_size,
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


def as_checkpoint(model: AnyModel, folder: Path, words: Sequence[str], seed: int) -> CheckpointConfig:
    """A model of a run as a checkpoint: what it is, or, for a small one, the folder that is made of it.

    Args:
        model: As the configuration has it.
        folder: Of a small model; one that is there already is taken as it is.
        words: Its vocabulary.
        seed: Of its weights.
    """
    if isinstance(model, CheckpointConfig):
        return model
    if not (folder / "config.json").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent) as scratch:  # a folder with a configuration is whole
            make_small_model(Path(scratch) / "model", words, model, seed)
            shutil.rmtree(folder, ignore_errors=True)
            (Path(scratch) / "model").rename(folder)
    return CheckpointConfig(
        checkpoint=str(folder), dtype="float32", lessons=True, max_tokens=model.max_tokens, context=MAX_POSITIONS
    )
