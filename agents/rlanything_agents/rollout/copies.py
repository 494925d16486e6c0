"""The models of a run as they begin, and copies that write in other processes."""

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
    from rlanything_agents.engines.vllm_client import Served

__all__ = ["Given", "ModelCopy", "Role", "checkpoint_of"]

Role: TypeAlias = Literal["policy", "judge"]
Given: TypeAlias = "Mapping[str, torch.Tensor] | Served"
"""What a copy of a model writes with: weights by name, or those of a server."""


def checkpoint_of(config: RunConfig, role: Role, folder: Path) -> CheckpointConfig:
    """The checkpoint that a model of a run begins as.

    Args:
        config: All settings.
        role: Whose.
        folder: Where the folders of small models are made.

    Raises:
        UnknownDomain, UnknownView: There are no words for a small model.
    """
    model = config.policy if role == "policy" else config.reward_model
    return as_checkpoint(model, folder / role, view_of(config).words, seed_of(config.seed, role, "weights"))


class ModelCopy:
    """A model of a run that writes and does not learn, for processes beside the one that trains.

    Args:
        config: Of the run; without an engine in the process that trains.
        role: Whose copy.

    Raises:
        CheckpointError: The checkpoint cannot be used.
        MissingExtra, MissingKey: What asks its server is not installed, or has no key.
    """

    def __init__(self, config: RunConfig, role: Role) -> None:
        with TemporaryDirectory(prefix="models-") as folder:
            checkpoint = checkpoint_of(config, role, Path(folder))
            template = load_template(checkpoint)
            self._server = open_served(config.engine, role, template.tokenizer)
            self._model = None
            if self._server is None:
                self._model = load_model(checkpoint, template.tokenizer, seed_of(config.seed, role, "weights"))
        self._engine: TextGenerator = self._server or TransformersGenerator(self._model, template.tokenizer)
        self.generator = ChatGenerator(self._engine, template)
        """What it writes with."""
        self.policy = Policy(self.generator, Renderer(template, view_of(config), checkpoint))
        """The copy as one that plays."""
        self._version = 0

    def take(self, given: Given) -> None:
        """Write with this from now on, which `Learners.for_copies` gave."""
        if isinstance(given, Mapping):
            assert self._model is not None  # nosec B101 # for the type checker: only a server's are no weights
            self._model.load_state_dict(given, strict=False)
            self._version += 1
            self._engine.update_weights(self._model, self._version)
        elif self._server is not None:
            self._server.take(given)
