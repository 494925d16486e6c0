"""Samples: what is refused, and how steps become weights, rows and batches."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompted_turns import assert_learnt_once, episode_of

from rlanything_agents.rollout.trajectory import PromptedTurn
from rlanything_agents.training.errors import TrainingError
from rlanything_agents.training.rows import Row, end_to_end, micro_batches, optimizer_batches, prompt_rows
from rlanything_agents.training.samples import Sample, check_vocabulary, step_weights, trajectory_samples, trimmed

GOOD = {
    "prompt_ids": [1, 2],
    "completion_ids": [3, 4, 5],
    "weights": [0.5, 0.5, 0.0],
    "advantages": [1.0, 1.0, 0.0],
    "logprobs": [-1.0, -0.1, 0.0],
    "allowed": [(3, 9), None, None],
}


def row(length, weight=1.0):
    return Sample([0], [1] * (length - 1), [weight] * (length - 1), [1.0] * (length - 1), [-1.0] * (length - 1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompt_ids": []}, "at least one prompt token"),
        ({"completion_ids": []}, "at least one prompt token and one completion token"),
        ({"weights": [1.0]}, "weights has 1 entries for 3"),
        ({"advantages": [1.0] * 4}, "advantages has 4 entries"),
        ({"logprobs": []}, "logprobs has 0 entries"),
        ({"allowed": [None]}, "allowed has 1 entries"),
        ({"advantages": [1.0, math.nan, 0.0]}, "advantages must be finite; found nan at token 1"),
        ({"logprobs": [-math.inf, 0.0, 0.0]}, "logprobs must be finite; found -inf at token 0"),
        ({"weights": [-0.5, 0.5, 0.0]}, "weights must not be negative"),
        ({"logprobs": [0.5, 0.0, 0.0]}, "logprobs must not be positive"),
        ({"allowed": [(4, 9), None, None]}, r"completion token 0 \(id 3\) is not among its allowed tokens"),
    ],
)
def test_impossible_samples(change, message):
    Sample(**GOOD)
    with pytest.raises(TrainingError, match=message):
        Sample(**GOOD | change)


def test_vocabulary():
    check_vocabulary([Sample(**GOOD)], 10)
    with pytest.raises(TrainingError, match="sample 1: token id 9 is outside the vocabulary of 9"):
        check_vocabulary([row(3), Sample(**GOOD)], 9)
    with pytest.raises(TrainingError, match="token id -1"):
        check_vocabulary([Sample(**GOOD | {"prompt_ids": [-1]})], 10)


def test_spread_by_hand():
    steps = [None, 0, 0, None, 1, None, 2, 2, 2, 2]
    weights, advantages = step_weights(steps, [2.0, 0.0, -1.0])
    assert weights == [0, 0.5, 0.5, 0, 0, 0, 0.25, 0.25, 0.25, 0.25]  # step 1 teaches nothing
    assert advantages == [0, 2, 2, 0, 0, 0, -1, -1, -1, -1]
    with pytest.raises(TrainingError, match="step 2 has no advantage"):
        step_weights(steps, [1.0, 1.0])


@given(st.data())
def test_steps_weigh_one_each(data):
    steps = data.draw(st.lists(st.one_of(st.none(), st.integers(0, 4)), min_size=1, max_size=30))
    steps.sort(key=lambda s: -1 if s is None else s)
    advantages = data.draw(st.lists(st.floats(-3, 3), min_size=5, max_size=5))
    weights, token_advantages = step_weights(steps, advantages)
    kept = {s for s in steps if s is not None and advantages[s]}
    assert sum(weights) == pytest.approx(len(kept))
    for step in kept:
        assert sum(weight for weight, of in zip(weights, steps, strict=True) if of == step) == pytest.approx(1)
    assert token_advantages == [0.0 if step is None else advantages[step] for step in steps]


@given(
    lengths=st.lists(st.integers(2, 60), max_size=40),
    steps=st.integers(1, 6),
    tokens=st.integers(1, 200),
    processes=st.integers(1, 4),
    seed=st.integers(0, 9),
)
def test_batches_hold_every_row_once(lengths, steps, tokens, processes, seed):
    samples = [row(length) for length in lengths]
    batches = optimizer_batches(samples, steps, np.random.default_rng(seed))
    assert len(batches) == min(steps, len(samples))
    assert not batches or max(map(len, batches)) - min(map(len, batches)) <= 1
    assert sorted(id(s) for b in batches for s in b) == sorted(map(id, samples))
    for batch in batches:
        apart = prompt_rows(batch, tokens, None)
        assert len(apart) == len(batch)
        for joined in (apart, prompt_rows(batch, tokens, 0.001)):
            groups = micro_batches(joined, tokens, processes)
            assert sorted(id(r) for g in groups for r in g) == sorted(map(id, joined))
            assert sorted(id(s) for r in joined for s in r.samples) == sorted(map(id, batch))
            assert all(len({len(r.samples) > 1 for r in g}) == 1 for g in groups)
            assert all(len(r.samples) == 1 or len(r) <= tokens for r in joined)
            for group in groups:
                own = group[::processes]
                assert len(own) == 1 or len(own) * max(map(len, group)) <= tokens


def test_processes_do_not_repeat_long_rows():
    """Eight processes with rows longer than a pass: each has one of its own in every pass."""
    groups = micro_batches([Row((row(60),)) for _ in range(16)], 25, processes=8)
    assert [len(group) for group in groups] == [8, 8]


@given(st.lists(st.integers(2, 60), min_size=1, max_size=40), st.integers(1, 200), st.integers(1, 4), st.booleans())
def test_rows_end_to_end(lengths, tokens, processes, alike):
    samples = [row(lengths[0] if alike else length) for length in lengths]
    groups = end_to_end(samples, tokens, processes)
    rows = [r for group in groups for r in group]
    assert sorted(id(s) for r in rows for s in r.samples) == sorted(map(id, samples))
    assert sum(map(len, rows)) == sum(map(len, samples)), "no padding, no copies"
    assert all(len(r.samples) == 1 or len(r) <= tokens for r in rows)
    assert all(len(group) == processes for group in groups[:-1])
    assert max(map(len, rows)) - min(map(len, rows)) <= max(map(len, samples))


def test_batches_are_deterministic_and_skip_silent_rows():
    samples = [row(n) for n in range(2, 30)] + [row(5, weight=0.0)]
    first, again, other = (optimizer_batches(samples, 4, np.random.default_rng(s)) for s in (1, 1, 2))
    assert first == again != other
    assert sum(map(len, first)) == len(samples) - 1


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=12))
def test_trimming_cuts_what_comes_after_the_last_weight(weights):
    size = len(weights)
    allowed = [(t, 50) for t in range(size)]
    sample = Sample(
        [9], list(range(size)), weights, [float(t) for t in range(size)], [-float(t) for t in range(size)], allowed
    )
    short = trimmed(sample)
    assert (short.weights[-1] > 0) == any(weights)
    assert not any(weights[len(short.weights) :]) or not any(weights)
    kept = len(short.weights)
    for name in ("completion_ids", "weights", "advantages", "logprobs", "allowed"):
        assert getattr(short, name) == getattr(sample, name)[:kept]
    assert trimmed(short) is short


def votes(prompt, completion, count):
    columns = [[value] * completion for value in (1, 1.0, 1.0, -1.0)]
    return [Sample([0] * prompt, *columns) for _ in range(count)]


@pytest.mark.parametrize(
    ("prompt", "completion", "joined"), [(400, 12, 1), (100, 12, 1), (30, 500, 4), (20, 100, 4), (1, 12, 4)]
)
def test_prompts_are_shared_where_it_is_less_work(prompt, completion, joined):
    made = prompt_rows(votes(prompt, completion, 4), 10_000, 1 / 768)
    assert len(made) == joined
    assert sum(map(len, made)) == (prompt + 4 * completion + 3 if joined == 1 else 4 * (prompt + completion))


def test_a_row_of_several_samples_is_no_longer_than_a_micro_batch():
    made = prompt_rows(votes(400, 12, 9), 430, 1e-4)
    assert sorted(len(r.samples) for r in made) == [1, 2, 2, 2, 2]


@pytest.mark.parametrize(("completion", "lengths"), [(3_000, [15_000] * 4), (2_000, [16_001] * 2), (1_000, [16_003])])
def test_the_mask_of_a_row_is_bounded(completion, lengths):
    assert sorted(map(len, prompt_rows(votes(12_000, completion, 4), 10**6, 1e-9))) == lengths


def test_only_prompts_that_begin_alike_are_shared():
    samples = votes(50, 5, 3) + [replace(s, prompt_ids=[1, *s.prompt_ids]) for s in votes(50, 5, 2)]
    assert sorted(len(r.samples) for r in prompt_rows(samples, 1000, 1e-4)) == [2, 3]
    assert sorted(len(r.samples) for r in prompt_rows(samples, 1000, None)) == [1] * 5
    (row,) = prompt_rows(votes(50, 5, 1) + votes(60, 5, 1), 1000, 1e-4)
    assert len(row) == 55 + 1 + 10 + 5, "a copy of token 50, and what comes after it"


def test_votes_on_a_long_prompt_go_into_the_same_step():
    prompts = [[k] * 40 for k in range(1, 7)]
    samples = [Sample(prompt, [vote], [1.0], [1.0], [-1.0]) for vote in range(4) for prompt in prompts]
    for seed in range(20):
        batches = optimizer_batches(samples, 3, np.random.default_rng(seed))
        assert [len(batch) for batch in batches] == [8, 8, 8]
        assert sorted(map(id, samples)) == sorted(id(s) for batch in batches for s in batch)
        assert all(len({s.prompt_ids[0] for s in batch}) == 2 for batch in batches)
    assert optimizer_batches(samples, 3, np.random.default_rng(0)) != batches


def test_samples_that_share_little_are_spread_over_the_steps():
    samples = [Sample([1, 2], [k] * 20, [1.0] * 20, [1.0] * 20, [-1.0] * 20) for k in range(24)]
    unlike = [Sample([k, 2], [k] * 20, [1.0] * 20, [1.0] * 20, [-1.0] * 20) for k in range(24)]
    split, expected = (
        [[s.completion_ids[0] for s in batch] for batch in optimizer_batches(made, 4, np.random.default_rng(3))]
        for made in (samples, unlike)
    )
    assert split == expected == [part.tolist() for part in np.array_split(np.random.default_rng(3).permutation(24), 4)]


def turn(prompt, answer, allowed=None):
    return PromptedTurn(prompt, answer, [-1.0 - token for token in answer], allowed)


def test_turns_whose_prompts_continue_each_other_are_one_sample():
    played = episode_of(
        turn([1, 2], [3, 4]),
        turn([1, 2, 3, 4, 9, 8], [5], [(5, 6)]),  # goes on
        turn(
            [1, 2, 3, 4, 9, 8, 5], [6, 7], [(6,), (6, 7)]
        ),  # goes on with nothing in between; its first token is forced
        turn([1, 2, 7], [3]),  # breaks
        turn([1, 2, 7, 4, 5], [8, 8]),  # breaks: the answer was 3
        turn([1, 2, 7, 4, 5, 8, 8], [9]),
    )
    first, second, third = trajectory_samples(played, [2.0, 0.0, -1.0, 1.0, 0.5, 3.0], 7)
    assert first == Sample(
        [1, 2],
        [3, 4, 9, 8, 5, 6, 7],
        [0.5, 0.5, 0, 0, 0, 0, 1.0],
        [2.0, 2.0, 0, 0, 0, 0, -1.0],
        [-4.0, -5.0, 0, 0, -6.0, -7.0, -8.0],
        [None, None, None, None, (5, 6), (6,), (6, 7)],
        7,
        [0, 0, None, None, 1, None, 2],
    )
    assert second == Sample([1, 2, 7], [3], [1.0], [1.0], [-4.0], None, 7, [0])
    assert third == Sample(
        [1, 2, 7, 4, 5], [8, 8, 9], [0.5, 0.5, 1.0], [0.5, 0.5, 3.0], [-9.0, -9.0, -10.0], None, 7, [0, 0, 1]
    )
    assert trajectory_samples(played, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]) == [replace(second, episode=None)]


@given(
    starts=st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), min_size=1, max_size=8),
    answers=st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), min_size=8, max_size=8),
    goes_on=st.lists(st.booleans(), min_size=8, max_size=8),
)
def test_every_answer_is_learnt_once_after_its_own_prompt(starts, answers, goes_on):
    turns = []
    for text, answer, on in zip(starts, answers, goes_on, strict=False):
        prompt = turns[-1].prompt_ids + turns[-1].token_ids + text if turns and on else text
        turns.append(turn(prompt, answer))
    samples = trajectory_samples(episode_of(*turns), [1.0 + k for k in range(len(turns))])
    assert_learnt_once(samples, turns)


def test_turns_of_an_episode_go_into_the_same_step():
    opening = list(range(3, 23))
    samples = [
        Sample([*opening, episode, *range(k)], [k], [1.0], [1.0], [-1.0], episode=episode)
        for k in range(6)
        for episode in range(6)
    ]
    for seed in range(20):
        batches = optimizer_batches(samples, 3, np.random.default_rng(seed))
        assert [len(batch) for batch in batches] == [12, 12, 12]
        assert sorted(map(id, samples)) == sorted(id(s) for batch in batches for s in batch)
        assert all(len({s.episode for s in batch}) == 2 for batch in batches)
