"""Judge queries in chunks: the answers equal those of one call, whichever process gives them and in whatever order
episodes end."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from families import model, tokenizer
from hypothesis import given
from hypothesis import strategies as st
from random_models import random_model

from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models.small import word_tokenizer
from rlanything_agents.rollout.queries import Chunks, GroupCollector, OverlappedQueries, Queries, QueriesAtEnd
from rlanything_envs.llm.errors import RunMustStop
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams

PARAMS = SamplingParams(4, n=3, seed=11)
MANY = SamplingParams(4, n=48, seed=11)
"""Two queries make a chunk for a server."""
WORDS = word_tokenizer(["w"])
MODEL = random_model(WORDS, hidden_size=8, layers=1)
QUERIES: list[Prompt] = [[1, 5 + number % 4, 9] for number in range(23)]
"""Most of them come several times: only their places tell them apart."""


@pytest.fixture(scope="module")
def generator() -> TransformersGenerator:
    return TransformersGenerator(model("small"), tokenizer("small"), tokens=12 * 7)  # four queries, three times


@given(st.data())
def test_groups_come_whole_and_in_their_order(data: st.DataObject) -> None:
    size, groups = data.draw(st.integers(1, 4)), data.draw(st.integers(0, 6))
    shard = data.draw(st.integers(1, 9))
    episodes = list(range(size * groups))
    shards = [(first, episodes[first : first + shard]) for first in range(0, len(episodes), shard)]
    got: list[tuple[int, list[Any]]] = []
    collector = GroupCollector(size, lambda number, group: got.append((number, group)))
    ended: set[int] = set()
    for first, some in data.draw(st.permutations(shards)):
        collector.add(first, some)  # type: ignore[arg-type]
        ended.update(some)
        known = next((k for k in episodes if k not in ended), len(episodes)) // size
        assert got == [(number, episodes[number * size : (number + 1) * size]) for number in range(known)]
    assert len(got) == groups


@given(st.integers(1, 60), st.lists(st.lists(st.integers(1, 9), max_size=8), max_size=8))
def test_chunks_are_cut_where_a_generator_cuts_its_batches(tokens: int, lengths: list[list[int]]) -> None:
    params = SamplingParams(4, n=2)
    generator = TransformersGenerator(MODEL, WORDS, tokens)
    chunks, found = Chunks(generator, params), []
    for some in lengths:
        found += list(chunks.add([[1] * length for length in some]))
    found += list(chunks.rest())
    queries = [[1] * length for some in lengths for length in some]
    assert [query for chunk in found for query in chunk.queries] == queries
    places = [list(range(chunk.first, chunk.first + len(chunk.queries))) for chunk in found]
    assert places == generator._places(queries, params, {})
    for chunk in found:
        assert len(chunk.queries) == 1 or len(chunk.queries) * 2 * (4 + max(map(len, chunk.queries))) <= tokens
    assert not list(chunks.rest())


def test_chunks_for_a_server_have_equal_sizes() -> None:
    chunks = Chunks(Lost(), SamplingParams(4, n=40))
    found = [*chunks.add([[1]] * 5), *chunks.rest()]
    assert [len(chunk.queries) for chunk in found] == [2, 2, 1]


def meanwhile(generator: Any, params: SamplingParams = PARAMS) -> AbstractContextManager[Queries]:
    return OverlappedQueries.open(generator, params)


def after(generator: Any) -> AbstractContextManager[Queries]:
    return nullcontext(QueriesAtEnd(generator, PARAMS))


@pytest.mark.parametrize("way", [after, meanwhile])
def test_answers_in_chunks_are_those_of_one_call_to_the_last_bit(
    generator: TransformersGenerator, way: Callable[[Any], AbstractContextManager[Queries]]
) -> None:
    expected = generator.generate(QUERIES, PARAMS)
    assert len({tuple(c.token_ids or ()) for samples in expected for c in samples}) > 10, "places name the chance"
    with way(generator) as pending:
        for first, last in ((0, 3), (3, 3), (3, 14), (14, 23)):
            pending.add(QUERIES[first:last])
        assert pending.answers() == list(zip(QUERIES, expected, strict=True))


@pytest.mark.parametrize("way", [after, meanwhile])
def test_no_queries_make_no_call(way: Callable[[Any], AbstractContextManager[Queries]]) -> None:
    with way(None) as pending:
        pending.add([])
        assert pending.answers() == []


def test_seeds_of_their_own_know_no_places(generator: TransformersGenerator) -> None:
    own = SamplingParams(4, n=2, seeds=tuple(range(6)), first=5)
    assert generator.generate(QUERIES[:6], own) == generator.generate(
        QUERIES[:6], SamplingParams(4, n=2, seeds=tuple(range(6)))
    )
    with pytest.raises(ValueError, match="first"):
        SamplingParams(4, first=-1)


class Lost:
    """Answers once."""

    trainable = False

    def __init__(self) -> None:
        self.asked: list[int] = []

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        self.asked.append(params.first)
        if params.first:
            raise RunMustStop("gone")
        return [[Completion("", "stop")] * params.n for _ in prompts]

    def update_weights(self, source: object, version: int) -> None: ...

    def close(self) -> None: ...


def test_a_source_that_is_lost_meanwhile_ends_it_with_the_next_query_or_in_the_end() -> None:
    source = Lost()
    with meanwhile(source, MANY) as pending:
        pending.add(QUERIES[:4])
        with pytest.raises(RunMustStop, match="gone"):
            pending.answers()
    with OverlappedQueries.open(source, MANY) as early:
        early.add(QUERIES[:20])
        early._answers[1].exception()  # it is known now
        with pytest.raises(RunMustStop, match="gone"):
            early.add(QUERIES[20:])
    assert source.asked[:2] == [0, 2]
