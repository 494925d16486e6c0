"""Judge queries in chunks: the answers equal those of one call, whichever process gives them and in whatever order
episodes end."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from families import model, tokenizer
from hypothesis import given
from hypothesis import strategies as st

from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models.small import word_tokenizer
from rlanything_agents.rollout.queries import Chunks, GroupCollector, OverlappedQueries, Queries, QueriesAtEnd
from rlanything_envs.llm.errors import ServiceLost
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams

PARAMS = SamplingParams(4, n=3, seed=11)
MANY = SamplingParams(4, n=48, seed=11)
"""Two queries make a chunk for a server."""
WORDS = word_tokenizer(["w"])
QUESTIONS: list[Prompt] = [[1, 5 + number % 4, 9] for number in range(23)]
"""Most of them come several times: only their places tell them apart."""


@pytest.fixture(scope="module")
def generator() -> TransformersGenerator:
    return TransformersGenerator(model("small"), tokenizer("small"), tokens=12 * 7)  # four questions, three times


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
def test_parts_are_cut_where_a_generator_cuts_its_batches(tokens: int, lengths: list[list[int]]) -> None:
    params = SamplingParams(4, n=2)
    generator = TransformersGenerator(None, WORDS, tokens)
    parts, found = Chunks(generator, params), []
    for some in lengths:
        found += list(parts.add([[1] * length for length in some]))
    found += list(parts.rest())
    questions = [[1] * length for some in lengths for length in some]
    assert [question for part in found for question in part.queries] == questions
    places = [list(range(part.first, part.first + len(part.queries))) for part in found]
    assert places == generator._places(questions, params, {})
    for part in found:
        assert len(part.queries) == 1 or len(part.queries) * 2 * (4 + max(map(len, part.queries))) <= tokens
    assert not list(parts.rest())


def test_a_server_is_asked_in_parts_of_equal_number() -> None:
    parts = Chunks(Lost(), SamplingParams(4, n=40))
    found = [*parts.add([[1]] * 5), *parts.rest()]
    assert [len(part.queries) for part in found] == [2, 2, 1]


def meanwhile(generator: Any, params: SamplingParams = PARAMS) -> AbstractContextManager[Queries]:
    return OverlappedQueries.open(generator, params)


def after(generator: Any) -> AbstractContextManager[Queries]:
    return nullcontext(QueriesAtEnd(generator, PARAMS))


@pytest.mark.parametrize("way", [after, meanwhile])
def test_answers_in_parts_are_those_of_one_call_to_the_last_bit(
    generator: TransformersGenerator, way: Callable[[Any], AbstractContextManager[Queries]]
) -> None:
    expected = generator.generate(QUESTIONS, PARAMS)
    assert len({tuple(c.token_ids or ()) for samples in expected for c in samples}) > 10, "places name the chance"
    with way(generator) as asking:
        for first, last in ((0, 3), (3, 3), (3, 14), (14, 23)):
            asking.add(QUESTIONS[first:last])
        assert asking.answers() == list(zip(QUESTIONS, expected, strict=True))


@pytest.mark.parametrize("way", [after, meanwhile])
def test_nobody_is_asked_nothing(way: Callable[[Any], AbstractContextManager[Queries]]) -> None:
    with way(None) as asking:
        asking.add([])
        assert asking.answers() == []


def test_seeds_of_their_own_know_no_places(generator: TransformersGenerator) -> None:
    own = SamplingParams(4, n=2, seeds=tuple(range(6)), first=5)
    assert generator.generate(QUESTIONS[:6], own) == generator.generate(
        QUESTIONS[:6], SamplingParams(4, n=2, seeds=tuple(range(6)))
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
            raise ServiceLost("gone")
        return [[Completion("", "stop")] * params.n for _ in prompts]

    def update_weights(self, source: object, version: int) -> None: ...

    def close(self) -> None: ...


def test_a_source_that_is_lost_meanwhile_ends_it_with_the_next_question_or_in_the_end() -> None:
    source = Lost()
    with meanwhile(source, MANY) as asking:
        asking.add(QUESTIONS[:4])
        with pytest.raises(ServiceLost, match="gone"):
            asking.answers()
    with OverlappedQueries.open(source, MANY) as early:
        early.add(QUESTIONS[:20])
        early._answers[1].exception()  # it is known now
        with pytest.raises(ServiceLost, match="gone"):
            early.add(QUESTIONS[20:])
    assert source.asked[:2] == [0, 2]
