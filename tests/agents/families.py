"""Small stand-ins for the families of models people have: templates and tokenizers with their features, random weights.

The templates are written here, in the style of each family: its marks, what its template adds, leaves out and changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from random_models import random_model
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from rlanything_agents.config import CheckpointConfig
from rlanything_agents.engines.chat import ChatGenerator
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models.small import word_tokenizer
from rlanything_agents.models.template import ChatTemplate
from rlanything_agents.rollout.renderer import Renderer
from rlanything_agents.rollout.rollout import Policy
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams
from rlanything_envs.views import get_view
from rlanything_task_pools.alfworld import DOMAIN
from rlanything_verifiers.alfworld import Game, Goal, Scene, World

QWEN25 = """\
{%- if messages[0].role != 'system' -%}
{{- '<|im_start|>system\\nAnswer as an assistant does.<|im_end|>\\n' -}}
{%- endif -%}
{%- for m in messages -%}
{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}
"""
"""A system message of its own; appends."""

QWEN3 = """\
{%- set last = namespace(user=0) -%}
{%- for m in messages -%}{%- if m.role == 'user' -%}{%- set last.user = loop.index0 -%}{%- endif -%}{%- endfor -%}
{%- for m in messages -%}
{{- '<|im_start|>' + m.role + '\\n' -}}
{%- if m.role == 'assistant' -%}
{%- set thought = '' -%}
{%- if '</think>' in m.content -%}
{%- set thought = m.content.split('</think>')[0].split('<think>')[-1].strip('\\n') -%}
{%- endif -%}
{%- if loop.index0 > last.user -%}{{- '<think>\\n' + thought + '\\n</think>\\n\\n' -}}{%- endif -%}
{{- m.content.split('</think>')[-1].lstrip('\\n') -}}
{%- else -%}{{- m.content -}}{%- endif -%}
{{- '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- '<|im_start|>assistant\\n' -}}
{%- if enable_thinking is defined and not enable_thinking -%}{{- '<think>\\n\\n</think>\\n\\n' -}}{%- endif -%}
{%- endif -%}
"""
"""Earlier thoughts are left out, a last one is always shown, and without thinking an empty one is opened and closed."""

LLAMA3 = """\
{{- bos_token -}}
{%- if date_string is not defined -%}{%- set date_string = strftime_now('%d %b %Y') -%}{%- endif -%}
{{- '<|start_header_id|>system<|end_header_id|>\\n\\nThe date: ' + date_string + '\\n\\n<|eot_id|>' -}}
{%- for m in messages -%}
{{- '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' + m.content | trim + '<|eot_id|>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}{%- endif -%}
"""
"""A beginning of text, a date from the clock, trimmed contents, and an end of turn that is not the tokenizer's eos."""

REASONER = """\
{{- bos_token -}}
{%- for m in messages -%}
{%- if m.role == 'user' -%}{{- '<|User|>' + m.content -}}
{%- else -%}{{- '<|Assistant|>' + m.content.split('</think>')[-1] + '<|eos|>' -}}{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|Assistant|><think>\\n' -}}{%- endif -%}
"""
"""Always thinks: the prompt opens the thought; there is nothing between the marks and the text."""

WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
    r"\s+(?!\S)|\s+"
)


@dataclass(frozen=True)
class Family:
    """What makes a family."""

    name: str
    template: str
    special: tuple[str, ...]
    plain: tuple[str, ...]
    """Marks that are not special, as ``<think>`` in Qwen3."""
    eos: str
    bos: str | None
    model: Any
    config: Any


_CHAT = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_THINK = ("<think>", "</think>", "<tool_call>")
FAMILIES = {
    family.name: family
    for family in (
        Family("qwen2.5", QWEN25, _CHAT, ("<tool_call>",), "<|im_end|>", None, Qwen2ForCausalLM, Qwen2Config),
        Family("qwen3", QWEN3, _CHAT, _THINK, "<|im_end|>", None, Qwen3ForCausalLM, Qwen3Config),
        Family(
            "llama3",
            LLAMA3,
            ("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
            (),
            "<|end_of_text|>",
            "<|begin_of_text|>",
            LlamaForCausalLM,
            LlamaConfig,
        ),
        Family(
            "reasoner",
            REASONER,
            ("<|bos|>", "<|eos|>", "<|User|>", "<|Assistant|>"),
            ("<think>", "</think>"),
            "<|eos|>",
            "<|bos|>",
            LlamaForCausalLM,
            LlamaConfig,
        ),
    )
}


@cache
def corpus() -> tuple[str, ...]:
    """Messages of environments, and code."""
    texts = []
    for seed in range(6):
        task = DOMAIN.generate(seed, "train")
        world = World(Game(Scene.from_dict(task.payload["scene"]), Goal.from_dict(task.payload["goal"])))
        texts += [world.reset(), *world.admissible_commands]
    return (*texts, "I think: find the apple.\nAction: go to cabinet 1\n\nYou judge a step. \\boxed{1} \\boxed{-1}") * 2


@cache
def tokenizer(name: str, merges: int = 300) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer trained on the spot, with the family's marks and template; of words for "small"."""
    if name == "small":
        return word_tokenizer(get_view("RLAnything/AlfWorld-v0", "short").words)
    family = FAMILIES[name]
    fast = Tokenizer(models.BPE())
    fast.normalizer = normalizers.NFC()
    fast.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    fast.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    fast.train_from_iterator(
        corpus(), trainers.BpeTrainer(vocab_size=256 + merges, initial_alphabet=alphabet, show_progress=False)
    )
    fast.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in family.special])
    fast.add_tokens([AddedToken(mark, special=False, normalized=False) for mark in family.plain])
    made = PreTrainedTokenizerFast(
        tokenizer_object=fast, eos_token=family.eos, bos_token=family.bos, clean_up_tokenization_spaces=False
    )
    made.chat_template = family.template
    return made


def model(name: str, *, hidden: int = 32, layers: int = 2, seed: int = 0, spread: float = 0.2) -> PreTrainedModel:
    """Random float32 weights; as in published models, there are more rows than the tokenizer has tokens."""
    if name == "small":
        return random_model(tokenizer(name), seed=seed, hidden_size=hidden, layers=layers)
    family, words = FAMILIES[name], tokenizer(name)
    config = family.config(
        vocab_size=-(-len(words) // 64) * 64,
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=hidden // 2,
        max_position_embeddings=4096,
        initializer_range=spread,
        tie_word_embeddings=True,
        bos_token_id=words.bos_token_id,
        eos_token_id=words.eos_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made: PreTrainedModel = family.model(config)
    return made.float().eval()


def template(name: str, thinking: str | None = None) -> ChatTemplate:
    """The chat template of a family, whose tokenizer ends a response as engines do."""
    words = tokenizer(name)
    made = ChatTemplate(words, thinking=thinking is not None)
    words.eos_token = words.convert_ids_to_tokens(made.end_id)
    words.pad_token = words.pad_token or words.eos_token
    return made


def policy(
    name: str, trained: Any = None, *, thinking: str | None = None, history: int | None = None, **settings: Any
) -> Policy:
    """A policy for ALFWorld, in the short view for "small", else in the full one."""
    config = CheckpointConfig.model_validate(
        {"checkpoint": name, "thinking": thinking, "max_tokens": 12, "context": 4096, **settings}
    )
    chat = template(name, thinking)
    view = get_view("RLAnything/AlfWorld-v0", "short" if name == "small" else "full")
    engine = TransformersGenerator(model(name) if trained is None else trained, chat.tokenizer)
    return Policy(ChatGenerator(engine, chat), Renderer(chat, view, config, history))


class Scripted:
    """Engine that writes given texts in turn, and fails where there is none."""

    trainable = True

    def __init__(self, template: ChatTemplate, texts: Sequence[str | None]) -> None:
        self.template, self.texts, self.calls = template, texts, 0
        self.prompts: list[list[int]] = []

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        assert len(params.seeds or prompts) == len(prompts)
        self.prompts += [list(prompt) for prompt in prompts]  # type: ignore[arg-type]
        return [[self.write() for _ in range(params.n)] for _ in prompts]

    def write(self) -> Completion:
        text = self.texts[self.calls % len(self.texts)]
        self.calls += 1
        if text is None:
            return Completion("", "error", error="the card fell off")
        ids = [*self.template.encode(text), self.template.end_id]
        return Completion(text, "stop", [], ids, [-1.0] * len(ids))

    def update_weights(self, source: object, version: int) -> None: ...

    def close(self) -> None: ...


def checkpoint(name: str, folder: Path, **sizes: Any) -> Path:
    """A folder as such a model is published."""
    model(name, **sizes).save_pretrained(folder)
    tokenizer(name).save_pretrained(folder)
    return folder
