"""Queries a reward model, at once or in parts, while what it is asked about is still being played.

The questions of an iteration have an order: that of the groups, of their episodes, of their steps. A question's place
names the chance of its answers, and what is computed together is rounded together. So parts are cut at the places where
one call for all questions would cut its batches: who answers a part, and when, makes no difference to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from rlanything_agents.engines.batching import Batches
from rlanything_agents.engines.chat import ChatGenerator
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams, TextGenerator

__all__ = ["Answer", "Chunk", "Chunks", "GroupCollector", "OverlappedQueries", "Queries", "QueriesAtEnd"]

Answer: TypeAlias = tuple[Prompt, list[Completion]]
"""A question and all that was said to it."""

SERVED = 96
"""Samples in a part for a server: it batches what it has, so that parts need only be small enough to begin early."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some of the questions of an iteration.

    Attributes:
        first: Number of the first of them among all.
        questions: In their order.
    """

    first: int
    questions: tuple[Prompt, ...]

    def answered(self, generator: TextGenerator, params: SamplingParams) -> list[list[Completion]]:
        """What a generator says to them, as a part of all.

        Args:
            generator: Who is asked.
            params: How; those for all questions.
        """
        return generator.generate(self.questions, replace(params, first=self.first))


class Queries(Protocol):
    """The questions of one iteration, and their answers."""

    def add(self, questions: Sequence[Prompt]) -> None:
        """The next questions."""
        ...

    def answers(self) -> list[Answer]:
        """The answers to all, in order, when they are there; no more questions are added then.

        Raises:
            RunMustStop: The source of the answers was lost.
            InfrastructureError: Workers were lost again and again.
        """
        ...


class QueriesAtEnd:
    """One call for all questions, when all of them are known.

    Args:
        generator: Who is asked.
        params: How.
    """

    def __init__(self, generator: TextGenerator, params: SamplingParams) -> None:
        self._generator, self._params = generator, params
        self._questions: list[Prompt] = []

    def add(self, questions: Sequence[Prompt]) -> None:
        """The next questions."""
        self._questions += questions

    def answers(self) -> list[Answer]:
        """See `Queries`."""
        asked = self._questions
        return list(zip(asked, self._generator.generate(asked, self._params), strict=True)) if asked else []


class Chunks:
    """Cuts questions into parts as they come in: at the places where a generator here would cut its batches.

    Args:
        generator: Who is going to be asked, here or by a copy of its model.
        params: How.
    """

    def __init__(self, generator: TextGenerator, params: SamplingParams) -> None:
        own = generator.generator if isinstance(generator, ChatGenerator) else generator
        self._batches, self._length = Batches(SERVED, params.n, 1), _none
        if isinstance(own, TransformersGenerator):
            ids = generator.prompt_ids if isinstance(generator, ChatGenerator) else own.prompt_ids
            self._batches, self._length = own.batches(params), lambda question: _tokens(question, ids)
        self.questions: list[Prompt] = []
        """All so far."""
        self._cut = 0

    def add(self, questions: Sequence[Prompt]) -> Iterator[Chunk]:
        """Further questions; the parts that are whole now."""
        for question in questions:
            if self._batches.begins(self._length(question)):
                yield self._next()
            self.questions.append(question)

    def rest(self) -> Iterator[Chunk]:
        """What is left when all questions are there: one part, or none."""
        if self._cut < len(self.questions):
            yield self._next()

    def _next(self) -> Chunk:
        first, self._cut = self._cut, len(self.questions)
        return Chunk(first, tuple(self.questions[first:]))


class OverlappedQueries:
    """A thread asks part after part while further questions come in.

    Args:
        generator: Who is asked; nobody else may use it meanwhile.
        params: How.
    """

    def __init__(self, generator: TextGenerator, params: SamplingParams) -> None:
        self._generator, self._params = generator, params
        self._parts = Chunks(generator, params)
        self._thread = ThreadPoolExecutor(1, "reward-model")
        self._answers: list[Future[list[list[Completion]]]] = []

    @classmethod
    @contextmanager
    def open(cls, generator: TextGenerator, params: SamplingParams) -> Iterator[OverlappedQueries]:
        """For the time of a block, at the end of which what nobody waits for is not asked any more."""
        asking = cls(generator, params)
        try:
            yield asking
        finally:
            asking._thread.shutdown(cancel_futures=True)

    def add(self, questions: Sequence[Prompt]) -> None:
        """The next questions.

        Raises:
            RunMustStop: An earlier part could not be answered.
        """
        for known in self._answers:
            if known.done():
                known.result()
        for part in self._parts.add(questions):
            self._ask(part)

    def answers(self) -> list[Answer]:
        """See `Queries`."""
        for part in self._parts.rest():
            self._ask(part)
        found = [answer for part in self._answers for answer in part.result()]
        return list(zip(self._parts.questions, found, strict=True))

    def _ask(self, part: Chunk) -> None:
        self._answers.append(self._thread.submit(part.answered, self._generator, self._params))


class GroupCollector:
    """Groups of episodes in their order, while the episodes come in shards in any order.

    Args:
        size: Episodes of a group.
        ready: Is given each group that is whole and all before which are: its number and its episodes.
    """

    def __init__(self, size: int, ready: Callable[[int, list[Trajectory]], None]) -> None:
        self._size, self._ready = size, ready
        self._early: dict[int, Sequence[Trajectory]] = {}
        self._episodes: list[Trajectory] = []
        self._given = 0

    def add(self, first: int, episodes: Sequence[Trajectory]) -> None:
        """Episodes that have ended, by the number of their first."""
        self._early[first] = episodes
        while (known := len(self._episodes)) in self._early:
            self._episodes += self._early.pop(known)
        while (end := (self._given + 1) * self._size) <= len(self._episodes):
            self._given += 1
            self._ready(self._given - 1, self._episodes[end - self._size : end])


def _none(question: Prompt) -> int:
    return 0


def _tokens(question: Prompt, ids: Callable[[Prompt], list[int]]) -> int:
    """How many tokens a question has; what cannot be asked at all is found out where it is asked."""
    return len(ids(question)) if question and not isinstance(question[0], int) else len(question)
