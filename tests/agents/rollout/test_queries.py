"""Judge queries in chunks: the answers equal those of one call, whichever process gives them and in whatever order
episodes end."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import pytest
from families import model, tokenizer
from hypothesis import given
from hypothesis import strategies as st
from random_models import random_model

from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models.small import word_tokenizer
from rlanything_agents.rollout.queries import ChunkedQueries, GroupCollector, Queries, QueriesAtEnd, Query, overlapped
from rlanything_envs.llm import ScriptedGenerator
from rlanything_envs.llm.choices import OneOf
from rlanything_envs.llm.errors import RunMustStop
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams

PARAMS = SamplingParams(4, n=3, seed=11)
MANY = SamplingParams(4, n=48, seed=11)
"""Two queries make a chunk for a server."""
WORDS = word_tokenizer(["w"])
MODEL = random_model(WORDS, hidden_size=8, layers=1)
FORMS = (None, None, OneOf(("w1", "w2 w3")), OneOf(("w3", "w4 w1")))
QUERIES = [Query([1, 5 + number % 4, 9], FORMS[number % 4]) for number in range(23)]
"""Most of them come several times: only their places tell them apart. Each brings the form of its answers."""


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


def chunks_of(generator: Any, params: SamplingParams, groups: Sequence[Sequence[Query]]) -> list[Any]:
    found: list[Any] = []

    def submit(chunk: Any) -> Future[list[list[Completion]]]:
        found.append(chunk)
        (answers := Future()).set_result([[]] * len(chunk.queries))
        return answers

    asking = ChunkedQueries(generator, params, submit)
    for group in groups:
        asking.add(group)
    assert [query for query, _ in asking.answers()] == [query for group in groups for query in group]
    return found


@given(st.integers(1, 60), st.lists(st.lists(st.integers(1, 9), max_size=8), max_size=8))
def test_chunks_are_cut_where_a_generator_cuts_its_batches(tokens: int, lengths: list[list[int]]) -> None:
    params = SamplingParams(4, n=2)
    generator = TransformersGenerator(MODEL, WORDS, tokens)
    groups = [[Query([1] * length, None) for length in some] for some in lengths]
    found = chunks_of(generator, params, groups)
    places = [list(range(chunk.first, chunk.first + len(chunk.queries))) for chunk in found]
    assert places == generator._places([query.prompt for group in groups for query in group], params, {})
    for chunk in found:
        longest = max(len(query.prompt) for query in chunk.queries)
        assert len(chunk.queries) == 1 or len(chunk.queries) * 2 * (4 + longest) <= tokens


def test_chunks_for_a_server_have_equal_sizes() -> None:
    found = chunks_of(Lost(), SamplingParams(4, n=40), [[Query([1], None)] * 5])
    assert [len(chunk.queries) for chunk in found] == [2, 2, 1]


def meanwhile(generator: Any, params: SamplingParams = PARAMS) -> AbstractContextManager[Queries]:
    return overlapped(generator, params)


def after(generator: Any) -> AbstractContextManager[Queries]:
    return nullcontext(QueriesAtEnd(generator, PARAMS))


@pytest.mark.parametrize("way", [after, meanwhile])
def test_answers_in_chunks_are_those_of_one_call_to_the_last_bit(
    generator: TransformersGenerator, way: Callable[[Any], AbstractContextManager[Queries]]
) -> None:
    forms = tuple(query.form for query in QUERIES)
    expected = generator.generate([query.prompt for query in QUERIES], replace(PARAMS, choices=forms))
    assert {c.text for samples in expected[2::4] for c in samples} == {"w1", "w2 w3"}, "each query has its own form"
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
    prompts = [query.prompt for query in QUERIES[:6]]
    assert generator.generate(prompts, own) == generator.generate(prompts, replace(own, first=0))
    with pytest.raises(ValueError, match="first"):
        SamplingParams(4, first=-1)


class Lost(ScriptedGenerator):
    """Answers once."""

    def __init__(self) -> None:
        super().__init__(lambda *_: "")
        self.asked: list[int] = []

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        self.asked.append(params.first)
        if params.first:
            raise RunMustStop("gone")
        return super().generate(prompts, params)


def test_a_source_that_is_lost_meanwhile_ends_it_with_the_next_query_or_in_the_end() -> None:
    source = Lost()
    with meanwhile(source, MANY) as pending:
        pending.add(QUERIES[:4])
        with pytest.raises(RunMustStop, match="gone"):
            pending.answers()
    with overlapped(source, MANY) as early:
        early.add(QUERIES[:20])
        early._answers[1].exception()  # it is known now
        with pytest.raises(RunMustStop, match="gone"):
            early.add(QUERIES[20:])
    assert source.asked[:2] == [0, 2]
