"""A source of text whose chats are rendered here, and not by whatever engine it runs on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rlanything_agents.models.template import ChatTemplate
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams, TextGenerator

__all__ = ["ChatGenerator"]


class ChatGenerator:
    """Turns chats into token ids, and leaves the rest to another generator.

    Args:
        generator: Takes token ids.
        template: Of its model.
        ready: Called before every use: wakes the generator, say, and gives it the newest weights.
    """

    def __init__(
        self, generator: TextGenerator, template: ChatTemplate, ready: Callable[[], None] = lambda: None
    ) -> None:
        self.generator, self.template, self._ready = generator, template, ready

    @property
    def trainable(self) -> bool:
        """As the generator is."""
        return self.generator.trainable

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """``params.n`` completions for each prompt, in the order of the prompts."""
        self._ready()
        if params.form is not None:
            params = replace(params, choices=(params.form,) * len(prompts), form=None)
        return self.generator.generate([self.prompt_ids(prompt) for prompt in prompts], params)

    def update_weights(self, source: Any | Path, version: int) -> None:
        """Hand new weights on."""
        self.generator.update_weights(source, version)

    def close(self) -> None:
        """Close the generator."""
        self.generator.close()

    def prompt_ids(self, prompt: Prompt) -> list[int]:
        """The tokens of a prompt."""
        if prompt and isinstance(prompt[0], int):
            return list(prompt)  # type: ignore[arg-type]
        return self.template.prompt(prompt)  # type: ignore[arg-type]
