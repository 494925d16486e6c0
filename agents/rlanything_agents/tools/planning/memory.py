"""Memory of each phase of a run on this machine, from the shapes of its models; no weights are read.

Updates hold parameters, gradients summed in float32 and AdamW's state, whole or divided among the processes (ZeRO stage
3, FSDP; Rajbhandari et al. 2019, arXiv 1910.02054, section 3.1): 2 + 4 + 12 bytes per parameter in bfloat16, with fp32
master weights, and 4 + 4 + 8 in float32 or in shards, which are the master weights themselves. The activations and
logits of a micro-batch, and the other model, come on top.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rlanything_agents.config import AnyModel, CheckpointConfig, RunConfig, SharedConfig
from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.engines.shared_memory import memory_of_machine
from rlanything_agents.models.checkpoint import CheckpointError, checkpoint_source
from rlanything_agents.models.precision import precision_of
from rlanything_agents.training.ranks.launch import launched
from rlanything_envs.views import get_view
from rlanything_task_pools import get_domain

if TYPE_CHECKING:
    from transformers import PretrainedConfig

FOUR_BITS = 0.5 + (1 + 4 / 256) / 64
"""Bytes of a 4-bit weight: an 8-bit constant for each 64, of which 256 share a float32 one (arXiv 2305.14314)."""


class NotEstimated(ValueError):
    """Memory or time of a run cannot be estimated here; the message says why."""


class Shape(NamedTuple):
    """Sizes of a causal language model; ``linear`` has the sides of the linear maps of its blocks, ``cached`` is the
    count of numbers in the cache per token.
    """

    parameters: int
    linear: tuple[tuple[int, int], ...]
    layers: int
    vocabulary: int
    cached: int

    def adapter_parameters(self, rank: int) -> int:
        """Parameters of low-rank adapters on all linear maps of the blocks (arXiv 2106.09685, section 4.1)."""
        return sum(rank * (a + b) for a, b in self.linear)

    def optimizer_bytes(self, width: int, adapters: int | None = None) -> float:
        """Bytes of AdamW's two moments, and of master weights of two-byte weights."""
        numbers = self.parameters if adapters is None else adapters
        return (8 if width == 4 else 12) * numbers

    def activation_bytes(self, tokens: int, width: int) -> float:
        """Bytes that the blocks keep for the backward pass: inputs and outputs of linear maps, and a quarter more for
        norms, rotations and activation functions.
        """
        return 1.25 * width * tokens * sum(a + b for a, b in self.linear)


def shape_of(settings: PretrainedConfig) -> Shape:
    """Shape of a model by its configuration; the model is made without storage and counted."""
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(settings)
    text: Any = settings.get_text_config()
    kv_heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    head = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    blocks = (module for module in model.base_model.modules() if isinstance(module, torch.nn.Linear))
    return Shape(
        parameters=sum(weight.numel() for weight in model.parameters()),
        linear=tuple((module.in_features, module.out_features) for module in blocks),
        layers=text.num_hidden_layers,
        vocabulary=text.vocab_size,
        cached=2 * text.num_hidden_layers * kv_heads * head,
    )


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
        self.width = 2 if own and precision_of(own.dtype) == "bfloat16" else 4
        self.adapters = self.shape.adapter_parameters(own.lora.rank) if own and own.lora else None
        self.quantized = own is not None and own.quantization is not None
        self.shared = role == "judge" and isinstance(config.reward_model, SharedConfig)
        four = sum(a * b for a, b in self.shape.linear) if self.quantized else 0
        self.weights = FOUR_BITS * four + self.width * (self.shape.parameters - four)
        self.longest = min(_longest(config, model.max_tokens), own.context if own else 4096)
        self.stepped = self.width if self.adapters is None else 4
        self.optimizer = self.shape.optimizer_bytes(self.stepped, self.adapters) if trainer else 0.0
        self.stored = self.optimizer + (self.weights if self.adapters is None else 4 * self.adapters)

    def writes(self, config: RunConfig, limit: float | None) -> Phase:
        """Generation: of all sequences at once, or of one in an engine that lets others wait."""
        many, cards = (
            (config.rollout.tasks * config.rollout.rollouts if self.role == "policy" else config.judge.votes),
            1,
        )
        if config.engine.kind == "vllm":
            many, cards = 1, config.engine.tensor_parallel_size
            limit = limit and limit * config.engine.gpu_memory_utilization
        cache = float(self.shape.cached * self.width * many * self.longest)
        parts = {"weights": self.weights / cards, "cache": cache / cards}
        return Phase(f"{self.role} writes", parts, limit, f"{many} sequences of {self.longest:,} tokens")

    def learns(self, trainer: TrainerConfig, other: float, limit: float | None) -> Phase:
        """An update, with so many bytes of the other model in memory."""
        shape, launch, tokens = self.shape, launched(), max(self.longest, trainer.micro_batch_tokens)
        cards = launch.size if launch.strategy == "fsdp" else 1
        stepped, here = (4 if cards > 1 else self.stepped), 0 if launch.offload else 1
        learning = shape.parameters if self.adapters is None else self.adapters
        state = shape.optimizer_bytes(stepped, self.adapters)
        frozen = 0.0 if self.adapters is None else self.weights
        kept = shape.activation_bytes(tokens, self.width) / (shape.layers if trainer.checkpointing else 1)
        parts = {
            "weights": here * (stepped * learning + frozen) / cards,
            "gradients": 4 * learning / cards,
            "optimizer": here * state / cards,
            "anchor": self.width * shape.parameters * (trainer.anchor > 0 and self.adapters is None),
            "micro-batch": kept + 2 * 4 * tokens * shape.vocabulary,
            "other model": other / cards,
        }
        if cards > 1 or self.quantized:
            parts["gathered or unpacked"] = self.width * max(a * b for a, b in shape.linear)
        return Phase(f"{self.role} learns", parts, limit, f"{tokens:,} tokens in a micro-batch")


def planned(config: RunConfig) -> list[Planned]:
    """The models of a run."""
    models = [Planned(config, "policy", config.policy, config.policy_trainer)]
    if config.queries_judge:
        trainer = config.judge_trainer if config.judge.learns else None
        models.append(Planned(config, "judge", config.models["reward_model"], trainer))
    return models


def phases(config: RunConfig, models: list[Planned]) -> Iterator[Phase]:
    """Yield the phases in which a model is in this machine's memory, in order."""
    limit = available()
    yield from (model.writes(config, limit) for model in models if config.engine.server(model.role) is None)
    base = sum(model.weights for model in models if model.shared)  # in memory once
    waits = config.engine.kind == "vllm" and launched().strategy != "fsdp"  # an optimizer rests in the host's memory
    for model in models:
        others = [other for other in models if other is not model and other.trainer]
        if model.trainer is not None:
            rest = sum(other.weights - base + other.optimizer * (not waits) for other in others)
            yield model.learns(model.trainer, rest, limit)


def _settings(config: RunConfig, model: AnyModel) -> PretrainedConfig:
    """Configuration of a model; nothing is downloaded."""
    import torch
    from transformers import AutoConfig

    from rlanything_agents.models.small import small_model, word_tokenizer

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
    if hasattr(settings, "vision_config"):
        raise CheckpointError(f"{model.checkpoint}: a vision-language model; this loop is for text")
    return settings


def _longest(config: RunConfig, answer: int) -> int:
    """Tokens of an episode that takes all its turns, with AlfWorld's prompts and answers of a third of the limit."""
    first, observed = (70, 9) if config.view == "short" else (900, 70)
    turns = config.rollout.max_steps
    whole = turns if config.rollout.history is None else min(turns, config.rollout.history)
    return round(first + whole * (observed + answer / 3) + (turns - whole) * min(26, observed) + answer / 3)


def available() -> float | None:
    """Bytes of the first GPU, else of this machine's free memory; None where the system does not report it."""
    import torch

    if torch.cuda.is_available():
        return float(torch.cuda.mem_get_info()[1])
    memory = memory_of_machine()
    return None if memory is None else float(memory[0])
