"""Renderer of episodes for one model: a view of the domain, and the model's chat template."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, takewhile
from pathlib import Path
from typing import Any, TypeVar

from rlanything_agents.config import CheckpointConfig
from rlanything_agents.models.template import ChatTemplate
from rlanything_agents.rollout.memory import memory_line
from rlanything_agents.rollout.trajectory import Step, Trajectory
from rlanything_envs.curriculum.prompting import render
from rlanything_envs.llm.generator import SeenPrompt, cut_at_stop
from rlanything_envs.message import Content, Image
from rlanything_envs.thoughts import split_thought
from rlanything_envs.views import View

__all__ = ["Renderer", "Turn"]

RUN, SHORT = 8, 512
"""See `Renderer.text`; and most characters or tokens of what is kept for the next time: long texts come once."""
PROMPT = Path(__file__).parent / "prompts" / "policy.j2"

T = TypeVar("T")
Turn = tuple[Sequence[int], Step]
"""Ids of a closed answer, and the turn as text."""


def _cached(function: Callable[..., T]) -> Callable[..., T]:
    """The function, with its results for short arguments kept."""
    kept: Callable[..., T] = lru_cache(maxsize=2**14)(function)
    return lambda *given: (kept if sum(map(len, given)) <= SHORT else function)(*given)


class Renderer:
    """Renderer of chats between a policy and its environment, to token ids with exact boundaries.

    Args:
        template: Chat template of the model.
        view: View of the environment.
        config: Settings of the model; uses ``max_tokens``, ``context`` and ``thinking``.
        history: Turns that a prompt holds in full before the latest message, with the screens of a model that sees; see
            `RolloutConfig`; None for all.

    Attributes:
        limit: Maximum tokens of an answer.
        context: Maximum tokens of a prompt and its answer.
        appends: Whether each prompt continues the one before; otherwise each turn has its own prompt, as always
            for a model that sees.
    """

    def __init__(
        self, template: ChatTemplate, view: View, config: CheckpointConfig, history: int | None = None
    ) -> None:
        self.template, self.view = template, view
        self.limit, self.context = config.max_tokens, config.context
        self.appends = config.thinking != "strip" and history is None and template.images is None
        self._strips, self._history = config.thinking == "strip", history
        # The episodes of a group begin alike, and in a short view nearly all messages and answers repeat.
        self._opening = lru_cache(maxsize=2**10)(lambda text: tuple(template.prompt([self._first(text)])))
        self._between = _cached(lambda text: tuple(template.between(text)))
        self._line = _cached(lambda *texts: memory_line(view, template.tokenizer, Step("", *texts)))
        self._texts = _cached(self._raw)
        self._parsed = _cached(lambda ids, stop: view.read(cut_at_stop(template.decode(ids), stop)[0]))

    def text(self, ids: Sequence[int]) -> str:
        """Raw text of a prompt or an answer, for readers; of more than `RUN` equal tokens in a row (an image's) one."""
        return self._texts(tuple(ids))

    def _raw(self, ids: Sequence[int]) -> str:
        runs = ([token, *rest] for token, *rest in (list(group) for _, group in groupby(ids)))
        shown = [token for run in runs for token in (run if len(run) <= RUN else run[:1])]
        return str(self.template.tokenizer.decode(shown, skip_special_tokens=False))

    def raw(self, episode: Trajectory) -> Iterator[dict[str, Any]]:
        """Raw texts of the turns of an episode, for its record.

        Yields:
            ``prompt``, what the prompt of the turn adds to the prompt before it and its answer; ``kept``, where each
            turn has its own prompt: the lines of the prompt before it that it begins with; and ``answer``.
        """
        before: list[str] = []
        for number, step in enumerate(episode.steps):
            if not episode.turns:
                yield {"prompt": self.text(step.prompt), "answer": self.text(step.answer)}
                continue
            lines = self.text(episode.turns[number].prompt_ids).split("\n")
            alike = takewhile(lambda pair: pair[0] == pair[1], zip(before, lines[:-1], strict=False))
            kept = sum(1 for _ in alike)
            yield {"prompt": "\n".join(lines[kept:]), "kept": kept, "answer": self.text(step.answer)}
            before = lines

    @property
    def end_id(self) -> int:
        """Id of the special token that closes an answer."""
        return self.template.end_id

    def opening(self, observation: str, screen: Image | None = None) -> list[int]:
        """Ids up to the first answer: the manual of the view, and the first message."""
        if screen is None:
            return list(self._opening(observation))
        return self.template.prompt([self._first(observation, screen=screen)])

    def message(self, observation: str) -> tuple[int, ...]:
        """Ids between an answer and the next answer: a later message."""
        return self._between(observation)

    def prompt(self, opening: str, turns: Sequence[Turn], screen: Image | None = None) -> list[int] | SeenPrompt:
        """The whole prompt of the next answer.

        With a window it has the opening, a line of memory for each turn that has left the window, and the last turns in
        full. What would not leave room for an answer in the context is left out: first turns in full, which get a line
        instead, then the oldest lines. So a window is cut to what fits; a prompt without one may outgrow the context.
        A line has no screen.

        Args:
            opening: First message of the environment.
            turns: Turns so far.
            screen: Screen of the first message.
        """
        ids: list[int] = []
        for whole, lines in self._windows(len(turns)):
            ids = self._windowed(opening, turns, whole, lines, screen)
            if len(ids) + self.limit <= self.context:
                break
        shown = [screen, *(step.screen for _, step in turns)][len(turns) - whole :]
        return SeenPrompt.of(ids, [image for image in shown if image is not None])

    def read(self, ids: Sequence[int], stop: tuple[str, ...] = ()) -> tuple[str, str]:
        """Parse an answer, up to the first of the stop texts, into thought and action."""
        return self._parsed(tuple(ids), stop)

    def answer(self, thought: str, action: str) -> list[int]:
        """Ids of an answer for a demonstration, closed."""
        return self.template.answer(self.view.write(thought, action))

    def _windows(self, turns: int) -> Iterator[tuple[int, int]]:
        """Numbers of turns in full and of lines of memory, from the wanted window to the smallest one."""
        if self._history is None:
            yield turns, 0
            return
        whole = min(self._history, turns)
        yield whole, turns - whole
        while whole:
            whole //= 2
            yield whole, turns - whole
        lines = turns
        while lines:
            lines //= 2
            yield 0, lines

    def _windowed(self, opening: str, turns: Sequence[Turn], whole: int, lines: int, screen: Image | None) -> list[int]:
        """Prompt with the last ``whole`` turns in full, and ``lines`` lines of memory before them."""
        left = len(turns) - whole
        kept = turns[left:]
        screen = turns[left - 1][1].screen if left else screen
        if self._strips:
            messages = [self._first(opening, turns[:left], lines, screen)]
            for ids, step in kept:
                messages.append({"role": "assistant", "content": split_thought(self.template.decode(ids))[1]})
                messages.append({"role": "user", "content": _content(step.observation, step.screen)})
            return self.template.prompt(messages)
        first = (
            self.template.prompt([self._first(opening, turns[:left], lines, screen)])
            if left
            else self.opening(opening, screen)
        )
        return first + [token for ids, step in kept for token in (*ids, *self._after(step))]

    def _after(self, step: Step) -> Sequence[int]:
        """Ids between the answer of a step and the next answer."""
        if step.screen is None:
            return self._between(step.observation)
        return self.template.between(_content(step.observation, step.screen))

    def _first(
        self, observation: str, past: Sequence[Turn] = (), lines: int = 0, screen: Image | None = None
    ) -> dict[str, Any]:
        """First message of a prompt: manual and opening; after turns that are not in full, memory and the message after
        them. The screen is that of the last message in it."""
        if not past and not self.view.manual:
            return {"role": "user", "content": _content(observation, screen)}
        left_out = len(past) - lines
        content = render(
            PROMPT,
            manual=self.view.manual,
            observation=observation,
            words=bool(self.view.words),
            left_out=0 if self.view.words else left_out,
            memory=[
                (number, line)
                for number, (_, step) in enumerate(past[left_out:], left_out + 1)
                if (line := self._line(step.action, step.observation, step.command))
            ],
            message=past[-1][1].observation if past else None,
        )
        return {"role": "user", "content": _content(content, screen)}


def _content(text: str, screen: Image | None) -> Content:
    """A screen before its text, as the published agents for desktops show it."""
    return text if screen is None else (screen, text)
