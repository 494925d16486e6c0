"""Initial checkpoints of a run's models, and copies of the models that generate in other processes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal, TypeAlias

import torch

from rlanything_agents.config import CheckpointConfig, RunConfig
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.engines.chat import ChatGenerator
from rlanything_agents.engines.open import open_served
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models.pretrained import load_model, load_template
from rlanything_agents.models.small import as_checkpoint
from rlanything_agents.rollout.environments import view_of
from rlanything_agents.rollout.renderer import Renderer
from rlanything_agents.rollout.rollout import Policy
from rlanything_envs.llm.generator import TextGenerator

if TYPE_CHECKING:
    from rlanything_agents.engines.vllm_client import ServedWeights

__all__ = ["CopyWeights", "ModelCopy", "Role", "checkpoint_of"]

Role: TypeAlias = Literal["policy", "judge"]
CopyWeights: TypeAlias = "Mapping[str, torch.Tensor] | ServedWeights"
"""Weights of a copy of a model: tensors by name, or the name of those on a server."""


def checkpoint_of(config: RunConfig, role: Role, folder: Path) -> CheckpointConfig:
    """Initial checkpoint of a model of a run.

    Args:
        config: Settings of the run.
        role: Role of the model.
        folder: Folder in which the folders of small models are made.

    Raises:
        UnknownName: There are no words for a small model.
    """
    model = config.models["policy" if role == "policy" else "reward_model"]
    return as_checkpoint(model, folder / role, view_of(config).words, seed_of(config.seed, role, "weights"))


class ModelCopy:
    """Copy of a run's model that generates and does not learn, for processes other than the training process.

    Args:
        config: Settings of the run, with any engine but ``vllm``.
        role: Role of the model.

    Raises:
        CheckpointError: The checkpoint cannot be used.
        MissingExtra, MissingKey: The client of its server is not installed, or has no key.
    """

    def __init__(self, config: RunConfig, role: Role) -> None:
        with TemporaryDirectory(prefix="models-") as folder:
            checkpoint = checkpoint_of(config, role, Path(folder))
            template = load_template(checkpoint)
            self._server = open_served(config.engine, role, template.tokenizer, template.images)
            self._model = None
            if self._server is None:
                self._model = load_model(checkpoint, template.tokenizer, seed_of(config.seed, role, "weights"))
        self._engine: TextGenerator = self._server or TransformersGenerator(self._model, template.tokenizer)
        self.generator = ChatGenerator(self._engine, template)
        """Generator on the copy."""
        renderer = Renderer(template, view_of(config), checkpoint, config.rollout.history)
        self.policy = Policy(self.generator, renderer)
        """Policy that samples its turns from the copy."""
        self._version = 0

    def load(self, weights: CopyWeights) -> None:
        """Load weights of `Learners.for_copies`; the copy generates with them from now on."""
        if isinstance(weights, Mapping):
            assert self._model is not None  # nosec B101 # for the type checker: only copies with a model get tensors
            self._model.load_state_dict(weights, strict=False)
            self._version += 1
            self._engine.update_weights(self._model, self._version)
        elif self._server is not None:
            self._server.take(weights)
