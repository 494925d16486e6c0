"""Seeds become tasks: the same ones anywhere, of the split's families, with the knobs asked for."""

import sys

import pytest

from rlanything_task_pools import KnobError
from rlanything_task_pools.coding import DOMAIN, FAMILIES, HELD_OUT, CodingDomain, generate, read_payload
from rlanything_task_pools.coding.families import Family, Problem
from rlanything_task_pools.coding.gate import choose_tests
from rlanything_task_pools.coding.generate import difficulty, families_of
from rlanything_task_pools.coding.inputs import Input, Line, letters
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Statement
from rlanything_task_pools.rng_stream import RngStream
from rlanything_task_pools.task import Refused

EASY = {"families": "window_sums", "difficulty": 0}


def test_operators_by_name() -> None:
    assert DOMAIN.operators == ("knob", "statement")
    assert DOMAIN.with_operators(["knob"]).operators == ("knob",)
    with pytest.raises(KnobError, match="knob, statement"):
        DOMAIN.with_operators(["goal"])


@pytest.mark.parametrize(
    ("family", "id"),
    [
        ("number_filters", "coding-a8a6f16a739e3cec"),
        ("string_rules", "coding-d2ad16279cd1bc0d"),
        ("window_sums", "coding-13b653338529fbf0"),
    ],
)
def test_tasks_are_those_of_every_machine(family: str, id: str) -> None:
    """A change of a family that gives other tasks for the same seeds has to change this, too."""
    assert generate(7, families=family, difficulty=0).id == id


def test_seeds_and_splits_give_distinct_tasks() -> None:
    tasks = [generate(seed, split, **EASY) for seed in range(4) for split in ("train", "valid_seen")]
    assert len({task.id for task in tasks}) == 8
    assert {task.traits["split"] for task in tasks} == {"train", "valid_seen"}


def test_difficulty_sets_the_knobs_and_is_a_trait() -> None:
    family = FAMILIES["window_sums"]
    for wanted, place in ((0, 0), (1, -1)):
        task = generate(1, families=("window_sums",), difficulty=wanted)
        assert dict(read_payload(task.payload).knobs) == {knob.name: knob.levels[place] for knob in family.knobs}
        assert task.traits["difficulty"] == wanted


def test_difficulty_is_the_mean_place_of_the_levels() -> None:
    levels = {"rule": "at least", "ask": "length", "circle": False, "size": 200}
    # Places 2 of 3, 1 of 2, 0 of 1 and 1 of 3.
    assert difficulty(FAMILIES["window_sums"], levels) == round((2 / 3 + 1 / 2 + 0 + 1 / 3) / 4, 4)


def test_levels_are_taken_as_asked() -> None:
    task = generate(2, families="window_sums", levels={"size": 20, "rule": "between"}, difficulty=0)
    assert dict(task.payload["knobs"]) == {"size": 20, "rule": "between", "ask": "sum", "circle": False}


def test_a_style_changes_the_task_told_and_nothing_else() -> None:
    plain, story = (generate(3, style=style, **EASY) for style in ("plain", "story"))
    assert plain.id != story.id
    assert (plain.traits["style"], story.traits["style"]) == ("plain", "story")
    assert plain.payload["statement"] != story.payload["statement"]
    for name in ("public", "hidden", "wrong", "knobs"):
        assert plain.payload[name] == story.payload[name]
    assert generate(3, **EASY).id == plain.id


def test_unseen_families_are_not_those_of_training() -> None:
    assert set(families_of("valid_unseen")) == HELD_OUT
    assert not HELD_OUT & set(families_of("train"))
    assert families_of("train") == families_of("valid_seen")
    assert set(families_of("train")) | HELD_OUT == set(FAMILIES)
    assert generate(0, "valid_unseen", difficulty=0).traits["family"] in HELD_OUT


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed = -1"),
        ({"seed": 0.5}, "seed = 0.5"),
        ({"seed": "x"}, "seed = 'x'"),
        ({"split": "test"}, "split 'test' is unknown"),
        ({"families": "chess"}, "'chess' is unknown"),
        ({"families": "knapsack"}, "train does not use knapsack"),
        ({"families": "window_sums", "levels": {"colour": 1}}, "no knob 'colour'"),
        ({"families": "window_sums", "levels": {"size": 21}}, "size = 21 of window_sums is none of 20"),
        ({"families": "window_sums", "levels": {"circle": 1}}, "circle = 1 "),
        ({"families": "window_sums", "levels": 3}, "levels = 3"),
        ({"levels": {"size": 20}}, "name the families too"),
        ({"difficulty": 1.5}, "difficulty = 1.5"),
        ({"difficulty": float("nan")}, "difficulty = nan"),
        ({"difficulty": "hard"}, "difficulty = 'hard'"),
        ({"style": "verse"}, "style = 'verse': choose from plain, story"),
        ({"colour": 1}, r"unknown knobs \['colour'\]"),
    ],
)
def test_knobs_that_cannot_be(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(KnobError, match=message):
        generate(**({"seed": 0} | arguments))  # type: ignore[arg-type]


ECHO = "n = int(input())\nprint(n * n)\n"


ANY = Input(Line("n", n=letters("-0123456789")))


def squares(**parts: object) -> Problem:
    """A problem that is sound as it stands."""
    fields = {
        "title": "Squares",
        "statement": Statement("Print the square.", "A square is a field. Print its area.", "n", "n * n", ANY),
        "reference": ECHO,
        "brute": "n = abs(int(input()))\nprint(sum(n for _ in range(n)))\n",
        "mutants": ("print(2 * int(input()))", "print(int(input()))", "n = int(input())\nprint(n ** 3)"),
        "small": lambda rng: f"{rng.below(100) - 50}\n",
        "full": lambda rng: f"{rng.below(10**6)}\n",
    }
    return Problem(**(fields | parts))  # type: ignore[arg-type]


def rng(*key: str | int) -> RngStream:
    return RngStream("squares", *key)


def test_the_gate_lets_a_sound_problem_through() -> None:
    tests = choose_tests(squares(edges=("0\n", "1\n")), rng)
    assert len(tests.public) == 2
    assert 3 <= len(tests.hidden) <= 16
    for test in tests.public + tests.hidden:
        assert int(test.stdout) == int(test.stdin) ** 2
    for wrong in (lambda n: 2 * n, lambda n: n, lambda n: n**3):
        assert any(wrong(int(test.stdin)) != int(test.stdout) for test in tests.hidden)
    assert sum(len(test.stdin) > 4 for test in tests.hidden) == 3, "inputs of full size are among them"


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"reference": "print(1 / 0)"}, "reference_failed"),
        ({"reference": "print(int(input()))"}, "brute_differs"),
        ({"brute": "print('x')"}, "brute_differs"),
        ({"brute": "print(1 // 0)"}, "brute_differs"),
        ({"reference": "print(1)", "brute": "print(1)"}, "degenerate"),
        ({"small": lambda rng: f"{rng.below(19)}\n"}, "few_inputs"),
        ({"mutants": ("print(0)", ECHO + "#")}, "mutant_survives"),
        ({"mutants": ("while True:\n    pass",)}, "mutant_survives"),
        ({"full": lambda rng: "0" * 70_000 + "\n"}, "too_large"),
        ({"statement": Statement("", "", "", "", Input(Line("n"), "-50 <= n <= 49"))}, "out_of_bounds"),
        ({"statement": Statement("", "", "", "", Input(Line("n"))), "edges": ("0 \n",)}, "out_of_bounds"),
    ],
)
def test_the_gate_refuses(parts: dict[str, object], reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from rlanything_task_pools.coding import gate
    from rlanything_verifiers.coding import Limits

    monkeypatch.setattr(gate, "LIMITS", Limits(cpu=0.3))
    with pytest.raises(Refused) as refused:
        choose_tests(squares(**parts), rng)
    assert refused.value.reason == reason


def test_a_family_without_sound_problems_is_a_knob_error(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["rlanything_task_pools.coding.generate"]
    monkeypatch.setattr(module, "MAX_DRAWS", 2)
    family = Family("bad", "never sound", (), lambda rng, levels: squares(mutants=(ECHO + "#",)))
    with pytest.raises(KnobError, match=r"bad with \{\}: no task of seed 3 in 2 draws \(mutant_survives"):
        module.draw(family, {}, seed=3, split="train")


def test_fill_indents_like_the_hole() -> None:
    text = "\n    if @test@:\n        @body@\n    print({1: '%s'})\n"
    assert fill(text, test="x", body="a\n\nb") == "if x:\n    a\n\n    b\nprint({1: '%s'})\n"


def test_unsafe_sandboxes_are_for_those_who_ask() -> None:
    assert CodingDomain().allow_unsafe is False
    assert CodingDomain(allow_unsafe=True).with_operators(["knob"]).allow_unsafe is True


@pytest.mark.slow
def test_many_tasks_are_distinct_and_verified() -> None:
    tasks = [generate(seed) for seed in range(60)]
    assert len({task.id for task in tasks}) == 60
    assert len({task.traits["family"] for task in tasks}) >= 14
    assert [DOMAIN.verify(task) for task in tasks] == [None] * 60
