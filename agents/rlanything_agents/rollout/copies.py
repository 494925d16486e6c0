"""The models of a run as they begin, the dialects they speak, and copies that write in other processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

import torch
from transformers import PreTrainedModel

from rlanything_agents.config import AnyModel, PretrainedConfig, RunConfig
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.domains.chat import ChatDialect, chat_dialect
from rlanything_agents.engines.chat import ChatGenerator
from rlanything_agents.engines.open import open_served
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models.pretrained import load_model, load_template
from rlanything_agents.models.small import tiny_model
from rlanything_agents.rollout.dialect import Dialect, get_dialect
from rlanything_agents.rollout.writers import Player
from rlanything_envs.llm.generator import TextGenerator

if TYPE_CHECKING:
    from rlanything_agents.engines.vllm_client import Served

__all__ = ["Given", "ModelCopy", "Role", "build_model", "dialect_of", "generator_here", "judge_dialect_of"]

Role: TypeAlias = Literal["policy", "judge"]
Given: TypeAlias = "Mapping[str, torch.Tensor] | Served"
"""What a copy of a model writes with: weights by name, or those of a server."""


class ModelCopy:
    """A model of a run that writes and does not learn, for processes beside the one that trains.

    Args:
        config: Of the run; without an engine in the process that trains.
        role: Whose copy.

    Raises:
        CheckpointError: A pretrained checkpoint cannot be used.
        MissingExtra, MissingKey: What asks its server is not installed, or has no key.
    """

    def __init__(self, config: RunConfig, role: Role) -> None:
        policy = dialect_of(config)
        self.dialect = dialect = policy if role == "policy" else judge_dialect_of(config, policy)
        self._model: PreTrainedModel | None = None
        self._server = open_served(config.engine, role, dialect.tokenizer) if isinstance(dialect, ChatDialect) else None
        engine: TextGenerator | None = self._server
        if engine is None:
            self._model = build_model(config, role, dialect)
            engine = generator_here(self._model, dialect)
        self.generator = ChatGenerator(engine, dialect.template) if isinstance(dialect, ChatDialect) else engine
        """What it writes with."""
        self.player: Player = self.generator
        """What a policy plays with."""
        if self._model is not None and not isinstance(dialect, ChatDialect):
            self.player = self._model

    def take(self, given: Given) -> None:
        """Write with this from now on, which `Learners.for_copies` gave."""
        if isinstance(given, Mapping):
            assert self._model is not None  # nosec B101 # for the type checker: only a server's are no weights
            self._model.load_state_dict(given, strict=False)
        elif self._server is not None:
            self._server.take(given)


def dialect_of(config: RunConfig) -> Dialect:
    """The dialect of a run's policy: the domain's own for a model made from nothing, chats for a pretrained one.

    Raises:
        UnknownDomain, UnknownDialect: The domain is not installed, or has no such dialect.
        CheckpointError: The tokenizer of a pretrained checkpoint cannot be used.
    """
    if isinstance(config.policy, PretrainedConfig):
        return chat_dialect(config.domain, load_template(config.policy), config.policy)
    return get_dialect(config.domain)


def judge_dialect_of(config: RunConfig, policy: Dialect) -> Dialect:
    """The dialect of a run's reward model: the policy's, unless the reward model is a pretrained one.

    Raises:
        CheckpointError: Its tokenizer cannot be used.
    """
    if isinstance(config.reward_model, PretrainedConfig):
        return chat_dialect(config.domain, load_template(config.reward_model), config.reward_model)
    return policy


def build_model(config: RunConfig, role: Role, dialect: Dialect) -> PreTrainedModel:
    """A model as a run begins with it, made from its seed or read from its checkpoint.

    Raises:
        CheckpointError: A pretrained checkpoint cannot be used.
    """
    size: AnyModel = config.policy if role == "policy" else config.reward_model
    seed = seed_of(config.seed, role, "weights")
    if isinstance(size, PretrainedConfig):
        return load_model(size, dialect.tokenizer, seed)
    return tiny_model(
        dialect.tokenizer,
        hidden_size=size.hidden_size,
        layers=size.layers,
        heads=size.heads,
        intermediate_size=size.intermediate_size,
        seed=seed,
    )


def generator_here(model: PreTrainedModel, dialect: Dialect) -> TransformersGenerator:
    """What writes with the very module of a model."""
    return TransformersGenerator(model, dialect.tokenizer)
