"""Generator that renders chats to token ids before they reach an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rlanything_agents.models.template import ChatTemplate
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams, TextGenerator

__all__ = ["ChatGenerator"]


class ChatGenerator:
    """Renders chats to token ids and passes them to another generator.

    Args:
        generator: Generator that takes token ids.
        template: Chat template of its model.
        ready: Called before every use, for instance to wake the generator and to give it the newest weights.
    """

    def __init__(
        self, generator: TextGenerator, template: ChatTemplate, ready: Callable[[], None] = lambda: None
    ) -> None:
        self.generator, self.template, self._ready = generator, template, ready

    @property
    def trainable(self) -> bool:
        """Whether the generator returns ids and log-probabilities to train on."""
        return self.generator.trainable

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """Sample ``params.n`` completions for each prompt, in the order of the prompts."""
        self._ready()
        if params.form is not None:
            params = replace(params, choices=(params.form,) * len(prompts), form=None)
        return self.generator.generate([self.prompt_ids(prompt) for prompt in prompts], params)

    def update_weights(self, source: Any | Path, version: int) -> None:
        """Pass new weights on to the generator."""
        self.generator.update_weights(source, version)

    def close(self) -> None:
        """Close the generator."""
        self.generator.close()

    def prompt_ids(self, prompt: Prompt) -> list[int]:
        """Token ids of a prompt; a chat is rendered, ids are copied.

        Raises:
            ValueError: The prompt is empty.
        """
        if not prompt:
            raise ValueError("a prompt needs at least one token or message")
        if isinstance(prompt[0], int):
            return list(prompt)  # type: ignore[arg-type]
        return self.template.prompt(prompt)  # type: ignore[arg-type]
