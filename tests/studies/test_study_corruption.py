"""Trajectories with a known fault, and what is made of a judge's votes on them."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_agents.rollout.trajectory import Step, Trajectory
from studies.corruption import (
    CORRUPTIONS,
    Corruption,
    CorruptionError,
    Place,
    corrupt,
    flip_outcome,
    insert_steps,
    replace_observation,
    swap_steps,
)
from studies.detection import COLUMNS, auc_of, noticed, noticed_more

GO = Step("find cup", "go to shelf 1", "You arrive at shelf 1.")
TAKE = Step("get cup", "take cup 1 from shelf 1", "You pick up the cup 1 from the shelf 1.")
PUT = Step("put table", "move cup 1 to table 1", "You move the cup 1 to the table 1.")
LOOK = Step("drop cup", "look", "You are facing the table 1.")


def played(task: str, *steps: Step, outcome: int | None = 1) -> Trajectory:
    return Trajectory(
        task_id=task,
        tag="",
        opening=f"You are in the room of {task}.",
        steps=steps,
        outcome=outcome,
        error="" if outcome is not None else "gone",
        score=0.0,
        prompt_ids=[1],
        completion_ids=[2],
        step_of_token=[0],
        logprobs=[-0.5],
        allowed=[None],
    )


def other_room(number: int, outcome: int = -1) -> Trajectory:
    steps = [
        Step("find pen", f"go to desk {number}", f"You arrive at desk {number}."),
        Step("get pen", f"take pen {number} from desk {number}", f"You pick up the pen {number}."),
    ]
    return played(f"room-{number}", *steps, outcome=outcome)


def test_swapped_steps_keep_their_answers() -> None:
    assert swap_steps((GO, TAKE, PUT), 0, 2) == (PUT, TAKE, GO)
    assert swap_steps((GO, TAKE, PUT), 2, 1) == (GO, PUT, TAKE)


def test_inserted_steps_stand_before_the_named_ones() -> None:
    steps, places = insert_steps((GO, TAKE), (LOOK, PUT, LOOK), (0, 2, 2))
    assert steps == (LOOK, GO, TAKE, PUT, LOOK)
    assert places == (0, 3, 4)
    assert insert_steps((GO,), (), ()) == ((GO,), ())


def test_a_replaced_answer_leaves_the_rest() -> None:
    other = Step("find pen", "open box 1", "nothing happens", "refused", message="Nothing happens.")
    steps = replace_observation((GO, TAKE), 1, other)
    assert steps == (GO, Step(TAKE.thought, TAKE.action, "nothing happens", message="Nothing happens."))


def test_a_flipped_outcome_leaves_the_rest() -> None:
    trajectory = played("room", GO, TAKE, outcome=1)
    flipped = flip_outcome(trajectory)
    assert flipped.outcome == -1
    assert flipped.steps == trajectory.steps
    assert flip_outcome(flipped) == trajectory


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: swap_steps((GO, TAKE), 1, 1), "cannot swap the steps 1 and 1 of 2"),
        (lambda: swap_steps((GO, TAKE), -1, 1), "cannot swap the steps -1 and 1 of 2"),
        (lambda: swap_steps((GO, TAKE), 0, 2), "cannot swap the steps 0 and 2 of 2"),
        (lambda: insert_steps((GO,), (LOOK, LOOK), (0,)), "2 steps to insert before"),
        (lambda: insert_steps((GO,), (LOOK, LOOK), (1, 0)), "ascending"),
        (lambda: insert_steps((GO,), (LOOK,), (2,)), "there are 1 steps"),
        (lambda: replace_observation((GO,), 1, LOOK), "there is no step 1 of 1"),
        (lambda: replace_observation((GO,), 0, GO), "has this very observation"),
        (lambda: flip_outcome(played("room", GO, outcome=None)), "has no outcome: gone"),
        (lambda: corrupt("odd", [], [], np.random.default_rng(0)), "choose from again, swapped"),
    ],
)
def test_what_cannot_be_made_is_said(make, said) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(CorruptionError, match=said):
        make()


def test_only_right_steps_of_different_kinds_are_swapped() -> None:
    room = played("room", GO, LOOK, TAKE, PUT)
    for seed in range(20):
        (case,) = corrupt("swapped", [room], [[0, 2]], np.random.default_rng(seed))
        assert case.trajectory.steps == (TAKE, LOOK, GO, PUT)
        # What stands at 0 now stood at 2, and the other way round.
        assert (case.steps, case.origins) == ((0, 2), (Place(0, 2), Place(0, 0)))
    two_ways = played("room", GO, Step("find cup", "go to shelf 2", "You arrive at shelf 2."))
    assert corrupt("swapped", [two_ways], [[0, 1]], np.random.default_rng(0)) == []


def test_swaps_come_in_all_the_ways_there_are() -> None:
    room = played("room", GO, TAKE, PUT)
    seen = {corrupt("swapped", [room], [[0, 1, 2]], np.random.default_rng(seed))[0].steps for seed in range(60)}
    assert seen == {(0, 1), (0, 2), (1, 2)}


@given(seed=st.integers(0, 2**32 - 1), steps=st.integers(1, 5))
def test_every_corrupted_step_is_the_step_it_says_it_is(seed: int, steps: int) -> None:
    trajectories = [played("room", GO, TAKE, LOOK, PUT), other_room(1), other_room(2, outcome=1)]
    right = [[0, 1, 3], [0, 1], []]
    for kind in CORRUPTIONS:
        for case in corrupt(kind, trajectories, right, np.random.default_rng(seed), steps=steps):
            mine = trajectories[case.source]
            assert case.trajectory.opening == mine.opening
            assert case.trajectory.prompt_ids == case.trajectory.completion_ids == []
            assert len(case.steps) == len(case.origins) == len(set(case.steps))
            assert list(case.steps) == sorted(case.steps)
            for step, origin in zip(case.steps, case.origins, strict=True):
                there = trajectories[origin.trajectory].steps[origin.step]
                here = case.trajectory.steps[step]
                assert (here.thought, here.action) == (there.thought, there.action)
                assert (here.observation == there.observation) == (kind != "observation")
                assert origin.step in right[origin.trajectory]
            rest = [s for i, s in enumerate(case.trajectory.steps) if i not in case.steps]
            moved = [] if kind == "inserted" else [origin.step for origin in case.origins]
            assert rest == [s for i, s in enumerate(mine.steps) if i not in moved]
            if kind == "inserted":
                assert all(origin.trajectory != case.source for origin in case.origins)


def test_inserted_steps_are_of_other_tasks_and_new_to_this_one() -> None:
    twin = played("room", GO, TAKE)  # the same task again: nothing is taken from it
    alike = played("elsewhere", GO, LOOK)  # GO was done here as well
    cases = corrupt("inserted", [played("room", GO), twin, alike], [[0], [0, 1], [0, 1]], np.random.default_rng(0))
    assert cases[0].origins == (Place(2, 1),)
    assert cases[1].origins == (Place(2, 1),)
    assert cases[2].origins == (Place(1, 1),)


def test_outcomes_are_flipped_of_as_many_won_as_lost() -> None:
    rooms = [other_room(k, outcome=1 if k < 2 else -1) for k in range(7)]
    rooms.append(played("broken", GO, outcome=None))
    cases = corrupt("outcome", rooms, [[]] * 8, np.random.default_rng(3))
    assert [case.trajectory.outcome for case in cases] == [-1, -1, 1, 1]
    assert all(case.trajectory.steps == rooms[case.source].steps for case in cases)
    assert corrupt("outcome", rooms[:2], [[]] * 2, np.random.default_rng(0)) == []


def test_the_control_changes_nothing() -> None:
    room = played("room", GO, TAKE, PUT)
    (case,) = corrupt("again", [room], [[0, 1, 2]], np.random.default_rng(0), steps=2)
    assert case.trajectory.steps == room.steps
    assert case.origins == tuple(Place(0, step) for step in case.steps)
    assert len(case.steps) == 2


def test_auc_by_hand() -> None:
    # Pairs: 1>0, 1>-1, 0=0, 0>-1 -> (1 + 1 + .5 + 1) / 4.
    assert auc_of(np.array([1.0, 0.0]), np.array([0.0, -1.0])) == 0.875
    assert np.isnan(auc_of(np.array([]), np.array([1.0])))


def frame(rows: list[tuple[int, float, float]], seed: int = 0, judge: str = "a") -> pd.DataFrame:
    """Places from (trajectory, score in order, score corrupted) with two votes each."""
    full = [(seed, judge, "swapped", t, c, x, (1 - c) / 2, (1 - x) / 2) for t, c, x in rows]
    return pd.DataFrame(full, columns=list(COLUMNS))


def test_figures_by_hand() -> None:
    places = frame([(0, 1, 1), (0, 1, -1), (1, 0, -1), (2, -1, 0)])
    auc = noticed(places, "auc")
    assert auc is not None
    # 1s beat (-1, -1, 0) and tie with 1: 3.5 each; 0 beats two, ties one: 2.5; -1 ties two: 1. In all 10.5 of 16.
    assert auc.value == 10.5 / 16 == auc_of(places.clean.to_numpy(), places.corrupted.to_numpy())
    assert (auc.places, auc.trajectories, auc.seeds) == (4, 3, 1)
    assert auc.low <= auc.value <= auc.high
    for figure, value in (("clean_negative", 1.5 / 4), ("corrupted_negative", 2.5 / 4), ("turned", 1 / 2)):
        found = noticed(places, figure)  # type: ignore[arg-type]
        assert found is not None
        assert found.value == pytest.approx(value)


def test_nothing_positive_cannot_turn() -> None:
    assert noticed(frame([(0, -1, -1), (1, 0, -1)]), "turned") is None


def test_seeds_count_alike_however_many_places_they_have() -> None:
    many = frame([(t, 1.0, -1.0) for t in range(9)], seed=0)
    few = frame([(0, -1.0, 1.0)], seed=1)
    found = noticed(pd.concat([many, few]), "auc")
    assert found is not None
    assert found.value == 0.5
    assert (found.places, found.trajectories, found.seeds) == (10, 10, 2)


def test_intervals_are_over_trajectories_not_places() -> None:
    rng = np.random.default_rng(0)
    scores = [(t, 1.0, float(rng.choice((-1.0, 1.0)))) for t in range(40)]
    one, copied = noticed(frame(scores), "auc"), noticed(frame(scores * 25), "auc")
    assert one is not None
    assert copied is not None
    assert copied.value == one.value
    assert copied.high - copied.low == pytest.approx(one.high - one.low)  # 25 equal places tell no more than one
    # 40 fair coins of height .5: standard error .25 / sqrt(10), so the interval is 4 of these wide.
    assert one.high - one.low == pytest.approx(4 * 0.25 / np.sqrt(40), rel=0.2)


def test_a_difference_of_judges_is_paired() -> None:
    rng = np.random.default_rng(1)
    rows = [(t, 1.0, float(rng.choice((-1.0, 0.0, 1.0)))) for t in range(30)]
    same = noticed_more(frame(rows), frame(rows, judge="b"), "auc")
    assert same is not None
    assert (same.value, same.low, same.high) == (0.0, 0.0, 0.0)
    better = noticed_more(frame([(t, c, -1.0) for t, c, _ in rows]), frame(rows, judge="b"), "corrupted_negative")
    assert better is not None
    assert better.value == pytest.approx(1.0 - np.mean([(1 - x) / 2 for _, _, x in rows]))
    assert noticed_more(frame(rows, seed=0), frame(rows, seed=1), "auc") is None


def test_every_kind_of_corruption_is_made_the_same_way_twice() -> None:
    rooms = [other_room(k, outcome=1 if k % 2 else -1) for k in range(6)]
    kinds: tuple[Corruption, ...] = CORRUPTIONS
    for kind, seed in itertools.product(kinds, range(3)):
        made = [corrupt(kind, rooms, [[0, 1]] * 6, np.random.default_rng(seed)) for _ in range(2)]
        assert made[0] == made[1]
        assert len(made[0]) == 6
