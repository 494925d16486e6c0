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
from typing import NamedTuple, Protocol, TypeAlias

from rlanything_agents.engines.batching import Batches
from rlanything_agents.engines.chat import ChatGenerator
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_envs.llm.choices import Form
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams, SeenPrompt, TextGenerator

__all__ = ["Answer", "Chunk", "ChunkedQueries", "GroupCollector", "Queries", "QueriesAtEnd", "Query", "overlapped"]

SERVER_SAMPLES = 96
"""Samples in a chunk for a server: the server batches requests itself, so a chunk need only be small enough to start
early."""


class Query(NamedTuple):
    """A prompt, and the form of its answers; None where they are free."""

    prompt: Prompt
    form: Form | None


Answer: TypeAlias = tuple[Query, list[Completion]]
"""A query and its completions."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Successive queries of an iteration.

    Attributes:
        first: Place of the first of them among all queries.
        queries: The queries in order.
    """

    first: int
    queries: tuple[Query, ...]

    def answers(self, generator: TextGenerator, params: SamplingParams) -> list[list[Completion]]:
        """Sample the answers to this chunk as in one call for all queries.

        Args:
            generator: Generator of the reward model.
            params: Sampling parameters of all queries, without their forms.
        """
        prompts, forms = [query.prompt for query in self.queries], tuple(query.form for query in self.queries)
        return generator.generate(prompts, replace(params, first=self.first, choices=forms))


class Queries(Protocol):
    """The queries of one iteration and their answers."""

    def add(self, queries: Sequence[Query]) -> None:
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
        self._queries: list[Query] = []

    def add(self, queries: Sequence[Query]) -> None:
        """Add the next queries."""
        self._queries += queries

    def answers(self) -> list[Answer]:
        """See `Queries`."""
        if not (queries := tuple(self._queries)):
            return []
        return list(zip(queries, Chunk(0, queries).answers(self._generator, self._params), strict=True))


class ChunkedQueries:
    """Queries that are answered chunk after chunk while further ones come in.

    Chunks are cut at the places where a generator of this process would cut its batches.

    Args:
        generator: Generator of the reward model; a copy of the model may answer in its place.
        params: Sampling parameters.
        submit: Begins to answer a chunk.
        work: Called when all chunks are submitted; it works on them until its argument returns true.
    """

    def __init__(
        self,
        generator: TextGenerator,
        params: SamplingParams,
        submit: Callable[[Chunk], Future[list[list[Completion]]]],
        work: Callable[[Callable[[], bool]], None] = lambda done: None,
    ) -> None:
        own = generator.generator if isinstance(generator, ChatGenerator) else generator
        self._batches = Batches(SERVER_SAMPLES, params.n, 1)
        self._ids: Callable[[Prompt], list[int] | SeenPrompt] | None = None
        if isinstance(own, TransformersGenerator):
            self._batches = own.batches(params)
            self._ids = generator.prompt_ids if isinstance(generator, ChatGenerator) else own.prompt_ids
        self._submit, self._work = submit, work
        self._queries: list[Query] = []
        self._cut = 0
        self._answers: list[Future[list[list[Completion]]]] = []

    def add(self, queries: Sequence[Query]) -> None:
        """Add the next queries.

        Raises:
            RunMustStop: An earlier chunk could not be answered.
        """
        for answer in self._answers:
            if answer.done():
                answer.result()
        for query in queries:
            # An invalid prompt is refused where it is answered.
            if self._batches.begins(len(self._ids(query.prompt)) if self._ids and query.prompt else 0):
                self._submit_rest()
            self._queries.append(query)

    def answers(self) -> list[Answer]:
        """See `Queries`."""
        if self._cut < len(self._queries):
            self._submit_rest()
        self._work(lambda: all(answer.done() for answer in self._answers))
        completions = [samples for answer in self._answers for samples in answer.result()]
        return list(zip(self._queries, completions, strict=True))

    def _submit_rest(self) -> None:
        self._answers.append(self._submit(Chunk(self._cut, tuple(self._queries[self._cut :]))))
        self._cut = len(self._queries)


@contextmanager
def overlapped(generator: TextGenerator, params: SamplingParams) -> Iterator[ChunkedQueries]:
    """Queries that a background thread answers; at the end of the block chunks that have not begun are dropped.

    Args:
        generator: Generator of the reward model; only the thread may use it until the end.
        params: Sampling parameters.
    """
    thread = ThreadPoolExecutor(1, "reward-model")
    try:
        yield ChunkedQueries(generator, params, lambda chunk: thread.submit(chunk.answers, generator, params))
    finally:
        thread.shutdown(cancel_futures=True)


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
