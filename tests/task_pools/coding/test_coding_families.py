"""Every family makes sound problems at its ends: what each has to prove is proved by running it."""

import re
from collections.abc import Mapping

import pytest

from rlanything_task_pools.coding import DOMAIN, FAMILIES, read_payload
from rlanything_task_pools.coding.families import Family, Level
from rlanything_task_pools.coding.gate import MAX_HIDDEN, MAX_INPUT, Refused, choose_tests
from rlanything_task_pools.coding.generate import HELD_OUT, check_levels, draw
from rlanything_task_pools.dice import Dice
from rlanything_verifiers.coding import Limits, run_program

ENDS = {"easiest": 0, "hardest": -1}
LONG = 8
"""Inputs of so many characters cannot stand in a statement by chance."""


def levels_of(family: Family, end: str) -> dict[str, Level]:
    return {knob.name: knob.levels[ENDS[end]] for knob in family.knobs}


def check(family: Family, levels: Mapping[str, Level], seed: int) -> None:
    """A task is made, its proof solves it, each wrong program fails a test, nothing hidden is told."""
    task = draw(family, levels, seed=seed, split="train")
    assert DOMAIN.verify(task) is None, "reference and mutants are run anew"
    payload = read_payload(task.payload)
    assert len(payload.wrong) >= 3
    assert (len(payload.public), dict(payload.knobs), payload.family) == (2, dict(levels), family.name)
    assert 3 <= len(payload.hidden) <= MAX_HIDDEN
    assert not {test.stdin for test in payload.public} & {test.stdin for test in payload.hidden}
    assert len({test.stdout for test in payload.hidden}) >= 3
    for test in payload.hidden:
        assert len(test.stdin.strip()) < LONG or test.stdin.strip() not in payload.statement
        assert max(len(test.stdin), len(test.stdout)) <= MAX_INPUT
    assert len(task.to_json()) < 1_000_000


def test_there_are_at_least_twenty_families() -> None:
    assert len(FAMILIES) >= 20
    assert set(FAMILIES) > HELD_OUT


@pytest.mark.parametrize("name", FAMILIES)
def test_form(name: str) -> None:
    family = FAMILIES[name]
    assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
    assert family.summary
    assert len(family.knobs) >= 2
    for knob in family.knobs:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", knob.name)
        assert len(set(knob.levels)) == len(knob.levels) >= 2
        assert len({type(level) for level in knob.levels}) == 1
    check_levels(family, levels_of(family, "hardest"))
    problem = family.make(Dice(name, 1), levels_of(family, "hardest"))
    for word in ("@", "Input", "Output", "Constraints"):
        assert (word in problem.statement) == (word != "@")
    again = family.make(Dice(name, 1), levels_of(family, "hardest"))
    assert (again.statement, again.reference, again.mutants) == (problem.statement, problem.reference, problem.mutants)
    assert again.full(Dice(name, 2)) == problem.full(Dice(name, 2))


@pytest.mark.parametrize("name", FAMILIES)
def test_easiest(name: str) -> None:
    check(FAMILIES[name], levels_of(FAMILIES[name], "easiest"), 0)


@pytest.mark.parametrize("name", FAMILIES)
def test_hardest(name: str) -> None:
    check(FAMILIES[name], levels_of(FAMILIES[name], "hardest"), 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_the_same_task_is_made_again(name: str) -> None:
    family = FAMILIES[name]
    for end in ENDS:
        one, other = (draw(family, levels_of(family, end), seed=6, split="train") for _ in range(2))
        assert one.to_json() == other.to_json()


@pytest.mark.slow
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("name", FAMILIES)
def test_several_seeds(name: str, end: str) -> None:
    for seed in range(1, 6):
        check(FAMILIES[name], levels_of(FAMILIES[name], end), seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_every_level_alone(name: str) -> None:
    family = FAMILIES[name]
    for knob in family.knobs:
        for place, level in enumerate(knob.levels):
            check(family, levels_of(family, "easiest") | {knob.name: level}, 10 + place)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_reference_needs_a_fraction_of_the_time_limit(name: str) -> None:
    family = FAMILIES[name]
    problem = family.make(Dice(name, 3), levels_of(family, "hardest"))
    given = problem.full(Dice(name, 4))
    run = run_program(problem.reference, given, Limits(cpu=2.0))
    assert (run.status, run.cpu < 1.0) == ("OK", True), run
    assert len(given) <= MAX_INPUT


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_most_draws_pass_the_gate(name: str) -> None:
    """A family that is refused at every second draw is slow to draw from."""
    family, refused = FAMILIES[name], []
    for seed in range(4):
        dice = Dice("gate", name, seed)
        levels = {knob.name: dice.pick(knob.levels) for knob in family.knobs}
        try:
            choose_tests(family.make(dice, levels), lambda *key, seed=seed: Dice("gate", name, seed, *key))
        except Refused as error:
            refused.append((levels, str(error)))
    assert len(refused) <= 2, refused
