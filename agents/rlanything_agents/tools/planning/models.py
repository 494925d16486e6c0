"""Shapes of the models of a run, from a checkpoint's configuration where it is on this machine, else as published."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rlanything_agents.config import CheckpointConfig, RunConfig, SharedConfig, SmallConfig
from rlanything_agents.models.checkpoint import checkpoint_source
from rlanything_agents.models.precision import precision_of
from rlanything_agents.tools.planning.errors import UnknownSize
from rlanything_agents.tools.planning.published import PUBLISHED, published
from rlanything_agents.tools.planning.sizes import ModelSize, size_from_scratch, size_of_config
from rlanything_envs.errors import MissingExtra
from rlanything_envs.views import get_view
from rlanything_task_pools import get_domain

__all__ = ["PlannedModel", "planned_models"]

SMALL_CONTEXT = 4096
"""Positions of a small model (`rlanything_agents.models.small.MAX_POSITIONS`)."""
MARKS = 5
"""Tokens of a small model besides the words of its view."""


@dataclass(frozen=True, slots=True)
class PlannedModel:
    """One model of a run.

    Attributes:
        role: ``policy``, ``judge`` or ``rewriter``.
        size: Shape of the model.
        width: Bytes of a stored weight.
        trained: Number of trained parameters; 0 for a rewriter.
        adapters: Whether the trained parameters are adapters on top of the model's own weights.
        limit: Most tokens of an answer.
        context: Most tokens of prompt and answer.
        append_only: Whether later prompts of an episode hold its responses as they were written.
        shared: Whether the weights are the policy's, in memory once.
        quantized: Whether the weights are 4-bit ones.
        optim: Optimizer, see `TrainerConfig`.
    """

    role: Literal["policy", "reward model", "rewriter"]
    size: ModelSize
    width: int
    trained: int
    adapters: bool
    limit: int
    context: int
    append_only: bool
    shared: bool = False
    quantized: bool = False
    optim: str = "adamw_torch"

    @property
    def weights(self) -> float:
        """Bytes of the weights, without adapters."""
        return self.size.weight_bytes(self.width, self.quantized)


def planned_models(config: RunConfig) -> list[PlannedModel]:
    """The policy, the reward model where one is queried, and the rewriter where its shape is known.

    Raises:
        UnknownSize: The size of a pretrained model is not known here.
        UnknownView: The domain has no words for a small model.
    """
    found = [_planned("policy", config.policy, config, learns=True)]
    if config.queries_judge:
        found.append(_planned("reward model", config.reward_model, config, learns=config.judge.learns))
    llm = config.curriculum.llm
    if config.curriculum.rewriter == "llm" and llm is not None and (size := published(llm.model)):
        found.append(PlannedModel("rewriter", size, 2, 0, False, llm.max_tokens, 4 * llm.max_tokens, False))
    return found


def _planned(
    role: Literal["policy", "reward model"], model: SmallConfig | CheckpointConfig, config: RunConfig, *, learns: bool
) -> PlannedModel:
    optim = (config.policy_trainer if role == "policy" else config.judge_trainer).optim
    if isinstance(model, CheckpointConfig):
        # A cluster's machines have GPUs, whatever this one has.
        dtype = "bfloat16" if config.cluster and model.dtype == "auto" else precision_of(model.dtype)
        size = _pretrained_size(model.checkpoint, dtype)
        trained = size.parameters if model.lora is None else size.adapter_parameters(model.lora.rank)
        return PlannedModel(
            role,
            size,
            2 if dtype == "bfloat16" else 4,
            trained if learns else 0,
            model.lora is not None,
            model.max_tokens,
            model.context,
            model.thinking != "strip",
            shared=isinstance(model, SharedConfig),
            quantized=model.quantization is not None,
            optim=optim,
        )
    words = get_view(get_domain(config.domain).env_id, "short").words
    size = size_from_scratch(model, len(words) + MARKS, f"{model.layers} x {model.hidden_size}")
    trained = size.parameters if learns else 0
    return PlannedModel(role, size, 4, trained, False, model.max_tokens, SMALL_CONTEXT, True, optim=optim)


def _pretrained_size(checkpoint: str, dtype: str) -> ModelSize:
    """Shape from the folder, else from the table, else from the local cache of the hub; nothing is downloaded."""
    if not Path(checkpoint).is_dir() and (size := published(checkpoint)):
        return size
    from transformers import AutoConfig

    try:
        source, local = checkpoint_source(checkpoint, dtype)
        config = AutoConfig.from_pretrained(source, local_files_only=True, trust_remote_code=False)
    except MissingExtra:
        raise
    except Exception as error:  # transformers may raise anything on an untrusted file
        names = ", ".join(size.name for size in PUBLISHED)
        reason = str(error).partition("\n")[0][:200]
        raise UnknownSize(
            f"{checkpoint}: the size of this model is not known here ({reason}): name a folder that holds its "
            f"config.json, or one of {names}"
        ) from error
    return size_of_config(config, checkpoint, str(Path(source) / "config.json") if local else "cache of the hub")
