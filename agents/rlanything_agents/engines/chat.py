"""Generator that renders chats to token ids before they reach an engine."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from rlanything_agents.models.template import ChatTemplate
from rlanything_envs.llm.choices import Form
from rlanything_envs.llm.errors import GeneratorError
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams, SeenPrompt, TextGenerator
from rlanything_envs.llm.schema import form_of_schema

__all__ = ["ChatGenerator"]

logger = logging.getLogger(__name__)


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
        self._lock = threading.Lock()

    @property
    def parallel_calls(self) -> bool:
        """Whether the generator serves calls from several threads at once."""
        return bool(getattr(self.generator, "parallel_calls", False))

    @property
    def trainable(self) -> bool:
        """Whether the generator returns ids and log-probabilities to train on."""
        return self.generator.trainable

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """Sample ``params.n`` completions for each prompt, in the order of the prompts."""
        with self._lock:
            self._ready()
        if params.schema is not None and not params.choices:
            params = replace(params, choices=(_form(params.schema),) * len(prompts), schema=None)
        return self.generator.generate([self.prompt_ids(prompt) for prompt in prompts], params)

    def update_weights(self, source: Any | Path, version: int) -> None:
        """Pass new weights on to the generator."""
        self.generator.update_weights(source, version)

    def close(self) -> None:
        """Close the generator."""
        self.generator.close()

    def prompt_ids(self, prompt: Prompt) -> list[int] | SeenPrompt:
        """Token ids of a prompt, with its images where it has some; a chat is rendered, ids are copied.

        Raises:
            ValueError: The prompt is empty.
        """
        if not prompt:
            raise ValueError("a prompt needs at least one token or message")
        if isinstance(prompt, SeenPrompt):
            return prompt
        if isinstance(prompt[0], int):
            return list(prompt)  # type: ignore[arg-type]
        return self.template.prompt(prompt)  # type: ignore[arg-type]


def _form(schema: Mapping[str, Any]) -> Form | None:
    """Form of a JSON schema; None where it has none, and answers are free."""
    try:
        return form_of_schema(schema)
    except GeneratorError as error:
        _warn(f"answers are free text: {error}")
        return None


@lru_cache(maxsize=64)  # once each
def _warn(message: str) -> None:
    logger.warning("%s", message)
