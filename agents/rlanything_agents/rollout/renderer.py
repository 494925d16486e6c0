"""How one model reads and writes the episodes of one domain: a view of the domain, and the model's chat template."""

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
    """Chats of a policy with its environment, as token ids whose boundaries are exact.

    Args:
        template: Of the model.
        view: Of the environment.
        config: Uses ``max_tokens``, ``context`` and ``thinking``.

    Attributes:
        limit: Most tokens of an answer.
        context: Most tokens of an episode.
        strips: Whether each turn reads the chat rendered again without earlier thoughts, instead of a transcript that
            only grows.
    """

    def __init__(self, template: ChatTemplate, view: View, config: CheckpointConfig) -> None:
        self.template, self.view = template, view
        self.limit, self.context = config.max_tokens, config.context
        self.strips = config.thinking == "strip"
        # In a short view nearly all messages and answers were met before.
        self._between = lru_cache(maxsize=2**14)(lambda text: tuple(template.between(text)))
        self._answered = lru_cache(maxsize=2**14)(lambda ids: view.read(template.decode(ids)))

    @property
    def end_id(self) -> int:
        """The id that closes an answer."""
        return self.template.end_id

    def opening(self, observation: str) -> list[int]:
        """Ids up to the first answer: how to act, and the first message."""
        return self.template.prompt([self._first(observation)])

    def message(self, observation: str) -> tuple[int, ...]:
        """Ids between an answer and the next one: a later message."""
        return self._between(observation)

    def rendered(self, opening: str, turns: Sequence[tuple[Sequence[int], str]]) -> list[int]:
        """The whole chat up to the next answer, without earlier thoughts.

        Args:
            opening: The first message.
            turns: Of each turn so far the ids of the answer, and the message that followed it.
        """
        messages = [self._first(opening)]
        for ids, observation in turns:
            messages.append({"role": "assistant", "content": split_thought(self.template.decode(ids))[1]})
            messages.append({"role": "user", "content": observation})
        return self.template.prompt(messages)

    def read(self, ids: Sequence[int]) -> tuple[str, str]:
        """Thought and action of an answer."""
        return self._answered(tuple(ids))

    def answer(self, thought: str, action: str) -> list[int]:
        """The ids of an answer, closed, as a demonstration gives it."""
        return self.template.answer(self.view.write(thought, action))

    def _first(self, observation: str) -> dict[str, str]:
        if not self.view.manual:
            return {"role": "user", "content": observation}
        return {"role": "user", "content": render(PROMPT, manual=self.view.manual, observation=observation)}
