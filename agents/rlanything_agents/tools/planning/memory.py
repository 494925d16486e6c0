"""Memory of each phase of a run on this machine, from the shapes of its models; no weights are read.

Updates hold parameters, gradients summed in float32 and AdamW's state, whole or divided among the processes (ZeRO stage
3, FSDP; Rajbhandari et al. 2019, arXiv 1910.02054, section 3.1): 2 + 4 + 12 bytes per parameter in bfloat16, with fp32
master weights, and 4 + 4 + 8 in float32 or in shards, which are the master weights themselves. The activations and
logits of a micro-batch, and the other model, come on top. AdamW's state stays on the card, or beside vLLM on the host.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch
from transformers import AutoConfig, Conv1D, PretrainedConfig

from rlanything_agents.config import AnyModel, CheckpointConfig, RunConfig, SharedConfig
from rlanything_agents.config.model import MAX_ANSWER
from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.engines.shared_memory import memory_of_machine
from rlanything_agents.engines.transformers import TOKENS
from rlanything_agents.models.checkpoint import CheckpointError, checkpoint_source
from rlanything_agents.models.image_reader import sees
from rlanything_agents.models.precision import precision_of
from rlanything_agents.models.pretrained import model_class
from rlanything_agents.models.small import small_model, word_tokenizer
from rlanything_agents.training.ranks.launch import launched
from rlanything_envs.message import grid_size
from rlanything_envs.views import get_view
from rlanything_task_pools import get_domain

FOUR_BITS = 0.5 + (1 + 4 / 256) / 64
"""Bytes of a 4-bit weight: an 8-bit constant for each 64, of which 256 share a float32 one (arXiv 2305.14314)."""


class NotEstimated(ValueError):
    """Memory or time of a run cannot be estimated here; the message says why."""


class Tower(NamedTuple):
    """Sizes of a tower that reads images: its parameters, the sides of its linear maps, its blocks, the numbers in a
    patch and the patches of a token; all 0 for a model that reads text alone.
    """

    parameters: int = 0
    linear: tuple[tuple[int, int], ...] = ()
    layers: int = 1
    patch: int = 0
    merged: int = 0

    def image_bytes(self, tokens: int, width: int, kept: bool) -> float:
        """Bytes of images in an update: their patches in float32, and the inputs and outputs of all linear maps; of one
        block alone where a tower is frozen or recomputes the others.
        """
        activations = 1.25 * width * sum(a + b for a, b in self.linear) / (1 if kept else self.layers)
        return tokens * self.merged * (4 * self.patch + activations)


class Shape(NamedTuple):
    """Sizes of a language model; ``linear`` has the sides of the linear maps of its blocks, ``cached`` is the count of
    numbers in the cache per token. ``parameters`` are all, those of the tower included.
    """

    parameters: int
    linear: tuple[tuple[int, int], ...]
    layers: int
    vocabulary: int
    cached: int
    tower: Tower = Tower()

    def adapter_parameters(self, rank: int) -> int:
        """Parameters of low-rank adapters on all linear maps of the blocks (arXiv 2106.09685, section 4.1)."""
        return sum(rank * (a + b) for a, b in self.linear)

    def activation_bytes(self, tokens: int, width: int) -> float:
        """Bytes that the blocks keep for the backward pass: inputs and outputs of linear maps, and a quarter more for
        norms, rotations and activation functions.
        """
        return 1.25 * width * tokens * sum(a + b for a, b in self.linear)


def shape_of(settings: PretrainedConfig) -> Shape:
    """Shape of a model by its configuration; the model is made without storage and counted."""
    with torch.device("meta"):
        model = model_class(settings).from_config(settings)
    text: Any = settings.get_text_config()
    kv_heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    head = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    return Shape(
        parameters=sum(weight.numel() for weight in model.parameters()),
        linear=_linear(model.get_decoder()),
        layers=text.num_hidden_layers,
        vocabulary=text.vocab_size,
        cached=2 * text.num_hidden_layers * kv_heads * head,
        tower=_tower(model.base_model.visual, settings.vision_config) if sees(settings) else Tower(),
    )


def _tower(tower: Any, settings: Any) -> Tower:
    return Tower(
        parameters=sum(weight.numel() for weight in tower.parameters()),
        linear=_linear(tower),
        layers=settings.depth,
        patch=3 * settings.temporal_patch_size * settings.patch_size**2,
        merged=settings.spatial_merge_size**2,
    )


def _linear(part: Any) -> tuple[tuple[int, int], ...]:
    return tuple(tuple(one.weight.shape) for one in part.modules() if isinstance(one, torch.nn.Linear | Conv1D))


class Phase(NamedTuple):
    """Bytes of the parts of a phase in one process, and of the memory there is (None where that is unknown)."""

    name: str
    parts: Mapping[str, float]
    limit: float | None
    note: str

    @property
    def total(self) -> float:
        """Sum of all parts."""
        return sum(self.parts.values())


class Planned:
    """One model of a run, in the role ``policy`` or ``judge``.

    Raises:
        NotEstimated: The model is on the hub, and its configuration is not on this machine.
        CheckpointError: A folder has no configuration of a language model.
        UnknownName: The domain has no words for a small model.
    """

    def __init__(self, config: RunConfig, role: str, model: AnyModel, trainer: TrainerConfig | None) -> None:
        own = model if isinstance(model, CheckpointConfig) else None
        self.role, self.trainer, self.shape = role, trainer, shape_of(_settings(config, model))
        self.asked = role == "policy" or config.queries_judge
        self.width = 2 if own and precision_of(own.dtype) == "bfloat16" else 4
        self.adapters = self.shape.adapter_parameters(own.lora.rank) if own and own.lora else None
        self.quantized = own is not None and own.quantization is not None
        self.shared = role == "judge" and isinstance(config.reward_model, SharedConfig)
        four = sum(a * b for a, b in self.shape.linear) if self.quantized else 0
        self.base = FOUR_BITS * four + self.width * (self.shape.parameters - four)
        self.weights = self.base + 4 * (self.adapters or 0)
        self.frozen = self.shape.tower.parameters if own and own.freeze_vision else 0
        self.screens = _screens(config, role) if self.shape.tower.parameters else 0
        self.seen = self.screens * _screen_tokens(config) if self.screens else 0
        answer, context = (own.max_tokens, own.context) if own else (MAX_ANSWER, 4096)
        self.longest = min(self.seen + _longest(config, answer), context)
        self.context = context if own else self.longest
        self.stepped = self.width if self.adapters is None else 4
        self.learning = self.shape.parameters - self.frozen if self.adapters is None else self.adapters
        self.optimizer = (8 if self.stepped == 4 else 12) * self.learning if trainer else 0
        self.handed = self.base if self.adapters is None else 4 * self.adapters
        self.stored = self.optimizer + self.handed

    def writes(self, config: RunConfig, optimizer: float, other: float, limit: float | None) -> Phase:
        """Generation, with so many bytes of its own optimizer and of the other model in memory. An engine of vLLM has a
        share of the card to itself, and needs room for one sequence.
        """
        rollout, engine, samples, batches, cards = config.rollout, config.engine, 1, 1, 1
        many = rollout.tasks * rollout.rollouts
        if engine.kind == "vllm":  # the others wait
            many, optimizer, other, cards = 1, 0.0, 0.0, engine.tensor_parallel_size
            limit = limit and limit * engine.gpu_memory_utilization
        elif self.role == "judge":  # unit tests of each task, or votes on each step
            samples = config.judge.votes
            many = samples * (rollout.tasks if config.domain == "coding" else many * rollout.max_steps)
        else:  # beside the batch under way one is kept for the next turn, but none with screens
            many, batches = min(many, rollout.environments or many), 1 if self.seen else 2
        tokens = min(many * self.longest, batches * max(TOKENS, samples * self.longest))
        cache = float(self.shape.cached * self.width * tokens)
        parts = {"weights": self.weights / cards, "cache": cache / cards, "optimizer": optimizer, "other model": other}
        note = f"{f'{many:,} sequences' if many > 1 else 'a sequence'} of {self.longest:,} tokens"
        if tokens < many * self.longest:
            note = f"{('a batch', 'two batches')[batches - 1]} of {tokens // batches:,} tokens, from {note}"
        seen = f", {self.seen:,} of {self.screens} screens" if self.seen else ""
        return Phase(f"{self.role} writes", parts, limit, note + seen)

    def learns(self, trainer: TrainerConfig, other: float, limit: float | None, tokens: int = 0) -> Phase:
        """An update, with so many bytes of the other model in memory, and a row of so many tokens at least."""
        shape, launch, tokens = self.shape, launched(), max(tokens, self.longest, trainer.micro_batch_tokens)
        cards = launch.size if launch.strategy == "fsdp" else 1
        stepped, here, learning = (4 if cards > 1 else self.stepped), 0 if launch.offload else 1, self.learning
        frozen = self.width * self.frozen if self.adapters is None else self.base
        images = self.seen * max(1, tokens // self.longest)
        kept = shape.activation_bytes(tokens, self.width) / (shape.layers if trainer.checkpointing else 1)
        parts = {
            "weights": here * (stepped * learning + frozen) / cards,
            "gradients": 4 * learning / cards,
            "optimizer": here * (8 * learning if cards > 1 else self.optimizer) / cards,
            "micro-batch": max(kept + 2 * 4 * tokens * shape.vocabulary, 4 * learning / cards),  # or AdamW's roots
            "images": shape.tower.image_bytes(images, self.width, not (self.frozen or trainer.checkpointing)),
            "other model": other / cards,
        }
        if cards > 1 or self.quantized:
            parts["gathered or unpacked"] = self.width * max(a * b for a, b in shape.linear)
        seen = f", {images:,} of images" if images else ""
        return Phase(f"{self.role} learns", parts, limit, f"{tokens:,} tokens in a micro-batch{seen}")


def planned(config: RunConfig) -> list[Planned]:
    """The models of a run in this process; a checkpoint of a reward model is loaded even if nothing asks it."""
    away, judge = config.engine.kind == "tinker", config.models["reward_model"]
    models = [] if away else [Planned(config, "policy", config.policy, config.policy_trainer)]
    loaded = not away if isinstance(judge, CheckpointConfig) else config.queries_judge
    if loaded:
        models.append(Planned(config, "judge", judge, config.judge_trainer if config.judge_learns else None))
    return models


def phases(config: RunConfig, models: list[Planned]) -> Iterator[Phase]:
    """Yield the phases in which a model is in this machine's memory, in order."""
    limit, sharded = available(), launched().strategy == "fsdp"
    base = sum(model.base for model in models if model.shared)  # in memory once
    stays = sharded or not config.engine.kind.startswith("vllm")  # an optimizer that does not step; else on the host
    beside = [  # bytes of the other model; with FSDP one that does not learn stays on the host
        sum(o.weights - base + stays * o.optimizer for o in models if o is not model and (o.trainer or not sharded))
        for model in models
    ]
    for model, other in zip(models, beside, strict=True):
        if model.asked and config.engine.server(model.role) is None:
            yield model.writes(config, stays * model.optimizer, other, limit)
    for model, other in zip(models, beside, strict=True):
        if model.trainer is not None:
            yield model.learns(model.trainer, other, limit)


def _settings(config: RunConfig, model: AnyModel) -> PretrainedConfig:
    """Configuration of a model; nothing is downloaded."""
    if not isinstance(model, CheckpointConfig):
        words = get_view(get_domain(config.domain).env_id, "short").words
        with torch.device("meta"):
            return small_model(word_tokenizer(words), model).config
    source, local = checkpoint_source(model.checkpoint, precision_of(model.dtype))
    try:
        settings: PretrainedConfig = AutoConfig.from_pretrained(source, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # transformers may raise anything on an untrusted file
        if local:
            raise CheckpointError(f"{source}: no configuration of a model ({str(error)[:200]})") from error
        raise NotEstimated(f"the configuration of {source} is not on this machine") from error
    return settings


def _screens(config: RunConfig, role: str) -> int:
    """Screens in a prompt: those of the policy's window, or the two around a step that is judged."""
    if "screenshot" not in config.environment_arguments.get("observation", ()):
        return 0
    turns, history = config.rollout.max_steps, config.rollout.history
    return 2 if role == "judge" else turns if history is None else min(turns, history + 1)


def _screen_tokens(config: RunConfig) -> int:
    """Tokens of a screen, as Qwen3-VL reads it: a token for each square of 32 pixels."""
    columns, rows = (side // 32 for side in grid_size(config.environment_arguments.get("screen", (1920, 1080)), 32))
    return columns * rows


def _longest(config: RunConfig, answer: int) -> int:
    """Tokens of an episode that takes all its turns, with AlfWorld's prompts and answers of a third of the limit."""
    first, observed = (70, 9) if config.view == "short" else (900, 70)
    turns = config.rollout.max_steps
    whole = turns if config.rollout.history is None else min(turns, config.rollout.history)
    return round(first + whole * (observed + answer / 3) + (turns - whole) * min(26, observed) + answer / 3)


def available() -> float | None:
    """Bytes of the first GPU, else of this machine's free memory; None where the system does not report it."""
    if torch.cuda.is_available():
        return float(torch.cuda.mem_get_info()[1])
    return float(memory[0]) if (memory := memory_of_machine()) else None
