"""The space of texts."""

import pickle
from copy import deepcopy

import gymnasium as gym
import pytest
from gymnasium.vector.utils import (
    batch_space,
    create_shared_memory,
    iterate,
    read_from_shared_memory,
    write_to_shared_memory,
)
from hypothesis import given
from hypothesis import strategies as st

from rlanything_envs import Unicode


@given(st.text(max_size=40))
def test_contains_every_text_within_the_length(text):
    assert (text in Unicode(20)) == (len(text) <= 20)


@pytest.mark.parametrize("thing", [None, 1, b"text", ["text"], ("t",)])
def test_contains_nothing_but_texts(thing):
    assert thing not in Unicode()


@pytest.mark.parametrize("length", [0, -1, 2.5, "9", None, True])
def test_bad_length_is_refused(length):
    with pytest.raises(ValueError, match="max_length"):
        Unicode(length)


def test_samples_are_members_seeded_and_short():
    one, two = Unicode(5, seed=3), Unicode(5, seed=3)
    samples = [one.sample() for _ in range(200)]
    assert samples == [two.sample() for _ in range(200)]
    assert all(sample in one and sample.isascii() for sample in samples)
    assert {len(sample) for sample in samples} == {1, 2, 3, 4, 5}
    assert max(len(Unicode(10**9).sample()) for _ in range(50)) <= 32


def test_sampling_from_given_texts():
    space = Unicode(20, seed=0)
    assert {space.sample(mask=["look", "inventory"]) for _ in range(50)} == {"look", "inventory"}
    assert {space.sample(probability={"look": 1.0, "help": 0.0}) for _ in range(20)} == {"look"}
    for bad in ({"mask": []}, {"mask": ["x" * 21]}, {"mask": ["a"], "probability": {"a": 1.0}}):
        with pytest.raises(ValueError, match="sample"):
            space.sample(**bad)


def test_equality_repr_json_and_copies():
    space = Unicode(7)
    assert space == Unicode(7) != Unicode(8)
    assert hash(space) == hash(Unicode(7))
    assert space != "Unicode(7)"
    assert repr(space) == "Unicode(7)"
    assert space.from_jsonable(space.to_jsonable(["a", "é\n"])) == ["a", "é\n"]
    assert pickle.loads(pickle.dumps(space)) == deepcopy(space) == space
    assert not space.is_np_flattenable
    assert not gym.spaces.Dict(text=space).is_np_flattenable


def test_batches_as_a_tuple():
    batch = batch_space(Unicode(9, seed=1), 3)
    assert isinstance(batch, gym.spaces.Tuple)
    assert len(batch.sample()) == 3
    assert list(iterate(batch, ("a", "b", "c"))) == [("a"), ("b"), ("c")]


@given(st.lists(st.tuples(st.integers(0, 2), st.text(st.characters(), max_size=9)), max_size=8))
def test_shared_memory_holds_every_text(written):
    space = gym.spaces.Dict(text=Unicode(9))
    memory, expected = create_shared_memory(space, 3), [""] * 3
    seen = read_from_shared_memory(space, memory, 3)
    for index, text in written:
        write_to_shared_memory(space, index, {"text": text}, memory)
        expected[index] = text
        assert deepcopy(seen) == {"text": tuple(expected)}
    assert (len(seen["text"]), seen["text"][-1], seen["text"][1:]) == (3, expected[2], tuple(expected[1:]))
    with pytest.raises(IndexError):
        seen["text"][3]


def test_shared_memory_refuses_a_text_beyond_the_space():
    with pytest.raises(ValueError, match="max_length"):
        write_to_shared_memory(Unicode(2), 0, "x" * 9, create_shared_memory(Unicode(2)))
