"""Renderer of episodes for one model: a view of the domain, and the model's chat template."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from rlanything_agents.config import CheckpointConfig
from rlanything_agents.models.template import ChatTemplate
from rlanything_envs.curriculum.prompting import render
from rlanything_envs.thoughts import split_thought
from rlanything_envs.views import View

__all__ = ["Renderer"]

PROMPT = Path(__file__).parent / "prompts" / "policy.j2"


class Renderer:
    """Renderer of chats between a policy and its environment, to token ids with exact boundaries.

    Args:
        template: Chat template of the model.
        view: View of the environment.
        config: Settings of the model; uses ``max_tokens``, ``context`` and ``thinking``.

    Attributes:
        limit: Most tokens of an answer.
        context: Most tokens of an episode.
        strips: Whether each turn re-renders the chat without earlier thoughts; otherwise the transcript only grows.
    """

    def __init__(self, template: ChatTemplate, view: View, config: CheckpointConfig) -> None:
        self.template, self.view = template, view
        self.limit, self.context = config.max_tokens, config.context
        self.strips = config.thinking == "strip"
        # The episodes of a group begin alike, and in a short view nearly all messages and answers repeat.
        self._opening = lru_cache(maxsize=2**10)(lambda text: tuple(template.prompt([self._first(text)])))
        self._between = lru_cache(maxsize=2**14)(lambda text: tuple(template.between(text)))
        self._parsed = lru_cache(maxsize=2**14)(lambda ids: view.read(template.decode(ids)))

    @property
    def end_id(self) -> int:
        """Id of the special token that closes an answer."""
        return self.template.end_id

    def opening(self, observation: str) -> list[int]:
        """Ids up to the first answer: the manual of the view, and the first message."""
        return list(self._opening(observation))

    def message(self, observation: str) -> tuple[int, ...]:
        """Ids between an answer and the next answer: a later message."""
        return self._between(observation)

    def rendered(self, opening: str, turns: Sequence[tuple[Sequence[int], str]]) -> list[int]:
        """Re-render the whole chat up to the next answer, without earlier thoughts.

        Args:
            opening: First message of the environment.
            turns: Ids of the answer of each turn so far, and the message that followed it.
        """
        messages = [self._first(opening)]
        for ids, observation in turns:
            messages.append({"role": "assistant", "content": split_thought(self.template.decode(ids))[1]})
            messages.append({"role": "user", "content": observation})
        return self.template.prompt(messages)

    def read(self, ids: Sequence[int]) -> tuple[str, str]:
        """Parse an answer into thought and action."""
        return self._parsed(tuple(ids))

    def answer(self, thought: str, action: str) -> list[int]:
        """Ids of an answer for a demonstration, closed."""
        return self.template.answer(self.view.write(thought, action))

    def _first(self, observation: str) -> dict[str, str]:
        if not self.view.manual:
            return {"role": "user", "content": observation}
        return {"role": "user", "content": render(PROMPT, manual=self.view.manual, observation=observation)}
