"""A reward model as it is asked: what writes its answers, and how texts become its prompts."""

from __future__ import annotations

from dataclasses import dataclass

from rlanything_agents.config import CheckpointConfig
from rlanything_agents.models.template import ChatTemplate
from rlanything_envs.llm.generator import TextGenerator

__all__ = ["JudgeModel"]


@dataclass(frozen=True, slots=True)
class JudgeModel:
    """A language model that is asked for votes or tests.

    Attributes:
        generator: Writes its answers.
        template: Makes prompts of texts.
        config: Its ``max_tokens`` and ``context``.
    """

    generator: TextGenerator
    template: ChatTemplate
    config: CheckpointConfig
