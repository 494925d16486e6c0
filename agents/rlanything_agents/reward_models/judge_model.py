"""The language model behind a reward model, with the chat template of its prompts."""

from __future__ import annotations

from dataclasses import dataclass

from rlanything_agents.config import CheckpointConfig
from rlanything_agents.models.template import ChatTemplate
from rlanything_envs.llm.generator import TextGenerator

__all__ = ["JudgeModel"]


@dataclass(frozen=True, slots=True)
class JudgeModel:
    """A language model that writes votes or unit tests.

    Attributes:
        generator: Samples its answers.
        template: Chat template that renders texts as prompts.
        config: Checkpoint settings, of which ``max_tokens`` and ``context`` are used.
    """

    generator: TextGenerator
    template: ChatTemplate
    config: CheckpointConfig
