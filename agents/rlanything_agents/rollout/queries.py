"""Judge queries: prompts for a reward model, answered in one call or in chunks while episodes are still being played.

The queries of an iteration have an order: that of the groups, of their episodes and of their steps. The place of a
query names the random streams of its answers, and floating-point rounding depends on the batch. So chunks are cut at
the places where one call for all queries would cut its batches: the answers to a chunk are the same to the last bit
whichever process gives them, and whenever.
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
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams, SeenPrompt, TextGenerator

__all__ = ["Answer", "Chunk", "Chunks", "GroupCollector", "OverlappedQueries", "Queries", "QueriesAtEnd"]

Answer: TypeAlias = tuple[Prompt, list[Completion]]
"""A query and its completions."""

SERVER_SAMPLES = 96
"""Samples in a chunk for a server: the server batches requests itself, so a chunk need only be small enough to start
early."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Successive queries of an iteration.

    Attributes:
        first: Place of the first of them among all queries.
        queries: The queries in order.
    """

    first: int
    queries: tuple[Prompt, ...]

    def answers(self, generator: TextGenerator, params: SamplingParams) -> list[list[Completion]]:
        """Sample the answers to this chunk as in one call for all queries.

        Args:
            generator: Generator of the reward model.
            params: Sampling parameters of all queries.
        """
        return generator.generate(self.queries, replace(params, first=self.first))


class Queries(Protocol):
    """The queries of one iteration and their answers."""

    def add(self, queries: Sequence[Prompt]) -> None:
        """Add the next queries."""
        ...

    def answers(self) -> list[Answer]:
        """Wait for the answers to all queries, in order; no queries are added afterwards.

        Raises:
            RunMustStop: The generator was lost.
            InfrastructureError: Workers were lost more often than ``workers.retries``.
        """
        ...


class QueriesAtEnd:
    """Queries that are answered in one call, when all of them are known.

    Args:
        generator: Generator of the reward model.
        params: Sampling parameters.
    """

    def __init__(self, generator: TextGenerator, params: SamplingParams) -> None:
        self._generator, self._params = generator, params
        self._queries: list[Prompt] = []

    def add(self, queries: Sequence[Prompt]) -> None:
        """Add the next queries."""
        self._queries += queries

    def answers(self) -> list[Answer]:
        """See `Queries`."""
        queries = self._queries
        return list(zip(queries, self._generator.generate(queries, self._params), strict=True)) if queries else []


class Chunks:
    """Cuts queries into chunks as they come in, at the places where a generator of this process would cut its batches.

    Args:
        generator: Generator of the reward model; a copy of the model may answer in its place.
        params: Sampling parameters.
    """

    def __init__(self, generator: TextGenerator, params: SamplingParams) -> None:
        own = generator.generator if isinstance(generator, ChatGenerator) else generator
        self._batches, self._length = Batches(SERVER_SAMPLES, params.n, 1), _no_length
        if isinstance(own, TransformersGenerator):
            ids = generator.prompt_ids if isinstance(generator, ChatGenerator) else own.prompt_ids
            self._batches, self._length = own.batches(params), lambda query: _length(query, ids)
        self.queries: list[Prompt] = []
        """All queries so far."""
        self._cut = 0

    def add(self, queries: Sequence[Prompt]) -> Iterator[Chunk]:
        """Add the next queries; yield the chunks that are complete now."""
        for query in queries:
            if self._batches.begins(self._length(query)):
                yield self._next()
            self.queries.append(query)

    def rest(self) -> Iterator[Chunk]:
        """Yield the remaining queries, when all are there: one chunk, or none."""
        if self._cut < len(self.queries):
            yield self._next()

    def _next(self) -> Chunk:
        first, self._cut = self._cut, len(self.queries)
        return Chunk(first, tuple(self.queries[first:]))


class OverlappedQueries:
    """Queries that a background thread answers chunk after chunk while further ones come in.

    Args:
        generator: Generator of the reward model; only the thread may use it until the end.
        params: Sampling parameters.
    """

    def __init__(self, generator: TextGenerator, params: SamplingParams) -> None:
        self._generator, self._params = generator, params
        self._chunks = Chunks(generator, params)
        self._thread = ThreadPoolExecutor(1, "reward-model")
        self._answers: list[Future[list[list[Completion]]]] = []

    @classmethod
    @contextmanager
    def open(cls, generator: TextGenerator, params: SamplingParams) -> Iterator[OverlappedQueries]:
        """Open queries for a block; at its end chunks that have not begun are dropped."""
        queries = cls(generator, params)
        try:
            yield queries
        finally:
            queries._thread.shutdown(cancel_futures=True)

    def add(self, queries: Sequence[Prompt]) -> None:
        """Add the next queries.

        Raises:
            RunMustStop: An earlier chunk could not be answered.
        """
        for answer in self._answers:
            if answer.done():
                answer.result()
        for chunk in self._chunks.add(queries):
            self._submit(chunk)

    def answers(self) -> list[Answer]:
        """See `Queries`."""
        for chunk in self._chunks.rest():
            self._submit(chunk)
        completions = [samples for answer in self._answers for samples in answer.result()]
        return list(zip(self._chunks.queries, completions, strict=True))

    def _submit(self, chunk: Chunk) -> None:
        self._answers.append(self._thread.submit(chunk.answers, self._generator, self._params))


class GroupCollector:
    """Collects groups of episodes in order, from shards of episodes that arrive in any order.

    Args:
        size: Episodes of a group.
        ready: Called in order with the number and the episodes of each complete group.
    """

    def __init__(self, size: int, ready: Callable[[int, list[Trajectory]], None]) -> None:
        self._size, self._ready = size, ready
        self._early: dict[int, Sequence[Trajectory]] = {}
        self._episodes: list[Trajectory] = []
        self._groups = 0

    def add(self, first: int, episodes: Sequence[Trajectory]) -> None:
        """Add a shard of episodes that have ended; ``first`` is the number of its first episode."""
        self._early[first] = episodes
        while (known := len(self._episodes)) in self._early:
            self._episodes += self._early.pop(known)
        while (end := (self._groups + 1) * self._size) <= len(self._episodes):
            self._groups += 1
            self._ready(self._groups - 1, self._episodes[end - self._size : end])


def _no_length(query: Prompt) -> int:
    return 0


def _length(query: Prompt, ids: Callable[[Prompt], list[int] | SeenPrompt]) -> int:
    """Number of tokens of a query; an invalid one is refused later, where it is answered."""
    rendered = isinstance(query, SeenPrompt) or not query or isinstance(query[0], int)
    return len(query if rendered else ids(query))
