"""Every family makes sound problems at its ends: what each has to prove is proved by running it."""

import re
from collections.abc import Mapping

import pytest

from rlanything_task_pools.coding import DOMAIN, FAMILIES, read_payload
from rlanything_task_pools.coding.families import Family, Level, Problem
from rlanything_task_pools.coding.gate import MAX_HIDDEN, MAX_INPUT, choose_tests
from rlanything_task_pools.coding.generate import HELD_OUT, check_levels, draw, statement_of
from rlanything_task_pools.coding.statements import STYLES
from rlanything_task_pools.rng_stream import RngStream
from rlanything_task_pools.task import Refused, TaskFormatError
from rlanything_verifiers.coding import Limits, judge, run_program

ENDS = {"easiest": 0, "hardest": -1}
AT_ENDS = [
    pytest.param(name, end, marks=() if place % 4 == turn else pytest.mark.slow)
    for place, name in enumerate(FAMILIES)
    for turn, end in enumerate(ENDS)
]
"""Each family at each end; in the quick tests every fourth family at one end."""
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
    problem = family.make(RngStream(name, 1), levels_of(family, "hardest"))
    for word in ("@", "Input", "Output", "Constraints"):
        assert (word in statement_of(problem)) == (word != "@")
    again = family.make(RngStream(name, 1), levels_of(family, "hardest"))
    for style in STYLES:
        assert statement_of(again, style) == statement_of(problem, style)
    assert (again.reference, again.mutants) == (problem.reference, problem.mutants)
    assert again.full(RngStream(name, 2)) == problem.full(RngStream(name, 2))


def drawn(name: str, seed: int) -> Problem:
    rng = RngStream("drawn", name, seed)
    return FAMILIES[name].make(rng, {knob.name: rng.pick(knob.levels) for knob in FAMILIES[name].knobs})


def inputs_of(problem: Problem, seed: int) -> list[str]:
    small = [problem.small(RngStream("small", seed, i)) for i in range(6)]
    return [*problem.edges, *small, *(problem.full(RngStream("full", seed, i)) for i in range(2))]


@pytest.mark.parametrize("seeds", [3, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", FAMILIES)
def test_every_input_obeys_the_statement(name: str, seeds: int) -> None:
    for seed in range(seeds):
        problem = drawn(name, seed)
        for text in inputs_of(problem, seed):
            problem.statement.input.read(text)


HUGE = "9" * 39
"""Above every limit of every family."""


@pytest.mark.parametrize("seeds", [1, pytest.param(10, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", FAMILIES)
def test_what_breaks_the_statement_is_refused(name: str, seeds: int) -> None:
    for seed in range(seeds):
        problem = drawn(name, seed)
        for text in inputs_of(problem, seed):
            lines = text.split("\n")[:-1]
            wrong = [text[:-1], f"{text}\n", text.replace("\n", " \n", 1), f" {text}", "", "\n", "x\n"]
            wrong += ["\n".join([*lines[:i], *lines[i + 1 :], ""]) for i in {len(lines) // 2, len(lines) - 1} - {0}]
            spots = list(re.finditer(r"\d+", text))
            rng = RngStream("spots", name, seed)
            for spot in [spots[rng.below(len(spots))] for _ in range(6)]:
                wrong.append(text[: spot.start()] + HUGE + text[spot.end() :])
            for bad in wrong:
                with pytest.raises(TaskFormatError):
                    problem.statement.input.read(bad)


@pytest.mark.parametrize(
    ("corners", "simple"),
    [
        ("0 0/4 0/4 4/0 4", True),
        ("0 0/2 0/4 0/0 4", True),
        ("0 0/4 0/0 4", True),
        ("0 0/4 4/4 0/0 4", False),
        ("0 0/4 0/2 0/2 4", False),
        ("0 0/4 0/4 0/0 4", False),
        ("0 0/4 0/0 0/0 4", False),
        ("0 0/4 0/4 4/2 0/0 4", False),
        ("0 0/4 0/8 0", False),
    ],
)
def test_polygons_are_simple(corners: str, simple: bool) -> None:
    problem = FAMILIES["geometry"].make(RngStream(1), {"size": 5, "question": "area", "far": 8})
    points = corners.replace("/", "\n")
    text = f"{points.count(chr(10)) + 1} 0\n{points}\n"
    if simple:
        problem.statement.input.read(text)
    else:
        with pytest.raises(TaskFormatError, match="polygon"):
            problem.statement.input.read(text)


@pytest.mark.parametrize("name", FAMILIES)
def test_styles_share_the_sections(name: str) -> None:
    stories = set()
    for seed in range(12):
        problem = drawn(name, seed)
        plain, story = (statement_of(problem, style) for style in STYLES)
        assert plain != story
        assert plain[plain.index("\n\nInput\n") :] == story[story.index("\n\nInput\n") :]
        assert (plain.count("\n\nInput\n"), plain.splitlines()[0]) == (1, story.splitlines()[0])
        stories.add(problem.statement.story.split("\n")[0])
    assert len(stories) >= 2


CLUMSY = re.compile(
    r"@|\b(\w+) \1\b(?! \1)|  |(?<!- )\b1 (?!is|has|as|was|costs|divides)\w+s\b"
    r"|(?<!\.)\.\.(?!\.)| [,.;:] |\n\n\n"
)
"""Holes, words twice, double blanks, ``1 steps``, lonely commas."""


@pytest.mark.parametrize("name", FAMILIES)
def test_statements_read_well(name: str) -> None:
    for seed in range(30):
        for style in STYLES:
            text = statement_of(drawn(name, seed), style)
            assert not CLUMSY.search(text), text
            # Paragraphs end like sentences; lists and tables of commands do not have to.
            assert all(part.rstrip()[-1] in ".:?;" for part in text.split("\n\nInput\n")[0].split("\n\n")[1:]), text


def test_digits_above_nine_are_told() -> None:
    texts = [statement_of(drawn("conversions", seed), "plain") for seed in range(300)]
    high = [text for text in texts if re.search(r"digits from 0 to 1[01]|base -?1[1-6]", text)]
    assert len(high) > 50
    assert all("digits with the values 10, 11, 12" in text for text in high)


def test_run_lengths_come_last() -> None:
    """After them there are digits in the string, and the other rules are about letters."""
    runs = [text for seed in range(300) if "(aaab" in (text := statement_of(drawn("string_rules", seed), "plain"))]
    assert len(runs) > 5
    assert not any(re.search(r"\(aaab becomes a3b\)\.\n\d\.", text) for text in runs)


@pytest.mark.parametrize(("name", "end"), AT_ENDS)
def test_at_the_ends(name: str, end: str) -> None:
    check(FAMILIES[name], levels_of(FAMILIES[name], end), 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_the_same_task_is_made_again(name: str) -> None:
    rng = RngStream("again", name)
    levels = {knob.name: rng.pick(knob.levels) for knob in FAMILIES[name].knobs}
    one, other = (draw(FAMILIES[name], levels, seed=6, split="train") for _ in range(2))
    assert one.to_json() == other.to_json()


@pytest.mark.slow
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("name", FAMILIES)
def test_several_seeds(name: str, end: str) -> None:
    for seed in (1, 2):
        check(FAMILIES[name], levels_of(FAMILIES[name], end), seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_every_level_alone(name: str) -> None:
    family = FAMILIES[name]
    for knob in family.knobs:
        for place, level in enumerate(knob.levels):
            check(family, levels_of(family, "easiest") | {knob.name: level}, 10 + place)


@pytest.fixture(scope="module")
def allowed() -> float:
    """Processor seconds that a reference may take on this machine: those of twenty million additions."""
    program = "def main():\n    total = 0\n    for number in range(20_000_000):\n        total += number\nmain()\n"
    return run_program(program, "", Limits(cpu=20.0), cache=False).cpu


@pytest.mark.parametrize("name", FAMILIES)
def test_the_reference_needs_a_fraction_of_the_time_limit(name: str, allowed: float) -> None:
    family = FAMILIES[name]
    problem = family.make(RngStream(name, 3), levels_of(family, "hardest"))
    given = problem.full(RngStream(name, 4))
    limits, seconds = Limits(cpu=20.0), list[float]()
    while len(seconds) < 3 and not (seconds and seconds[-1] < allowed):  # other work on the processor only adds time
        if problem.checker["kind"] == "interactor":
            found = judge(problem.reference, [(given, "")], checker=problem.checker, limits=limits, cache=False)
            assert found.verdicts == ("AC",), found
            seconds.append(found.cpu[0])
        else:
            run = run_program(problem.reference, given, limits, cache=False)
            assert run.status == "OK", run
            seconds.append(run.cpu)
    assert min(seconds) < allowed, seconds
    assert len(given) <= MAX_INPUT


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_most_draws_pass_the_gate(name: str) -> None:
    """A family that is refused at every second draw is slow to draw from."""
    family, refused = FAMILIES[name], []
    for seed in range(4):
        rng = RngStream("gate", name, seed)
        levels = {knob.name: rng.pick(knob.levels) for knob in family.knobs}
        try:
            choose_tests(family.make(rng, levels), lambda *key, seed=seed: RngStream("gate", name, seed, *key))
        except Refused as error:
            refused.append((levels, str(error)))
    assert len(refused) <= 2, refused
