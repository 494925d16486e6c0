"""Hand-worked inputs and outputs of the families: the reference and the brute force print what the statement asks."""

from collections.abc import Mapping

import pytest

from rlanything_task_pools.coding.families import FAMILIES, Level, Problem
from rlanything_task_pools.coding.generate import statement_of
from rlanything_task_pools.rng_stream import RngStream
from rlanything_verifiers.coding import Limits, run_program

MOST_SEEDS = 4000


def find(name: str, levels: Mapping[str, Level], *phrases: str) -> Problem:
    """The first problem, at the easiest level of the other knobs, whose statement has all phrases."""
    family = FAMILIES[name]
    easiest = {knob.name: knob.levels[0] for knob in family.knobs}
    assert set(levels) <= set(easiest)
    for seed in range(MOST_SEEDS):
        problem = family.make(RngStream("answers", seed), {**easiest, **levels})
        if all(phrase in statement_of(problem) for phrase in phrases):
            return problem
    raise AssertionError(f"no {name} with {phrases} in {MOST_SEEDS} seeds")


STRANGE: dict[str, Level] = {"kind": "base", "strange": True}
YMD = ("print the date k", "year-month-day")
# Alive alone or with both neighbours, born with one.
ALONE = ("exactly 0 or 2 living", "exactly 1 living neighbour ", "the state of every")
MORE = "this:\n- more points"
LEVELS: dict[str, Level] = {"levels": 2, "brackets": True}
# Family, levels, phrases of the statement, input, output; lines of the input are separated by slashes.
CASES: list[tuple[str, dict[str, Level], tuple[str, ...], str, str]] = [
    # 1 + 2 + 4 = 7 and 1 + 3 + 4 = 8.
    ("grid_paths", {}, ("smallest",), "2 2/12/34", "7"),
    ("grid_paths", {}, ("largest",), "2 2/12/34", "8"),
    ("grid_paths", {}, ("divisible by 2,",), "2 2/12/34", "1"),
    ("grid_paths", {"walls": True}, ("smallest",), "2 2/1#/34", "8"),
    ("grid_paths", {"walls": True}, ("smallest",), "2 2/1#/#4", "-1"),
    ("grid_paths", {"limit": True}, ("smallest", "above 7"), "2 2 0/18/74", "12"),
    ("grid_paths", {"limit": True}, ("smallest", "above 7"), "2 2 0/18/94", "-1"),
    ("grid_paths", {"limit": True}, ("largest", "above 7"), "2 2 1/18/94", "14"),
    # 5 - 7 = -2, and -2 + 97 = 95.
    ("stack_machine", {}, ("from bottom to top", "modulo 97"), "3/push 5/push 7/sub", "95"),
    ("stack_machine", {}, ("from bottom to top", "has does nothing"), "3/push 4/sub/push 9", "4 9"),
    ("stack_machine", {}, ("from bottom to top", "has ends the program"), "3/push 4/sub/push 9", "4"),
    ("stack_machine", {}, ("from bottom to top", "has takes a 0", "modulo 97"), "2/push 4/sub", "93"),
    ("stack_machine", {}, ("from bottom to top", "above 10 is put"), "4/push 8/push -7/sub/push -30", "10 -10"),
    ("stack_machine", {"control": "skip"}, ("from bottom to top",), "3/push 0/skip/push 5", "EMPTY"),
    ("stack_machine", {"control": "skip"}, ("from bottom to top",), "4/push 6/push 1/skip/push 5", "6 5"),
    ("stack_machine", {"control": "jump"}, ("executed instructions and then",), "2/push 1/jump 1", "500 EMPTY"),
    ("shortest_paths", {}, ("-1 if there is none",), "4 3/1 2/2 3/3 4", "3"),
    ("shortest_paths", {"weights": True}, ("-1 if there is none",), "3 3/1 2 4/2 3 4/1 3 9", "8"),
    ("shortest_paths", {"one_way": True}, ("-1 if there is none",), "2 1/2 1", "-1"),
    ("shortest_paths", {"twist": "tolls"}, ("-1 if there is none",), "3 2/1 2 3/1 2/2 3", "8"),
    ("shortest_paths", {"twist": "coupons", "weights": True}, ("-1 if there",), "3 2 1/1 2 5/2 3 8", "9"),
    ("shortest_paths", {}, ("smallest number",), "4 3/1 2/1 3/1 4", "2 1"),
    ("shortest_paths", {}, ("L or less",), "4 3 1/1 2/2 3/1 4", "3"),
    ("intervals", {"question": "overlap"}, (), "3/0 2 1/1 3 1/5 6 1", "2 1"),
    ("intervals", {"question": "overlap"}, (), "2/0 2 1/2 3 1", "1 0"),
    ("intervals", {"question": "overlap", "closed": True}, (), "2/0 2 1/2 3 1", "2 2"),
    ("intervals", {"question": "covered"}, ("at least 1 booking ",), "2/0 2 1/4 7 1", "5"),
    ("intervals", {"question": "covered"}, ("at least 2 bookings ",), "3/0 4 1/1 3 1/2 7 1", "3"),
    ("intervals", {"question": "schedule"}, (), "3/0 3 1/2 5 1/3 6 1", "2"),
    ("intervals", {"question": "schedule", "rest": True}, ("for 2 more hours",), "2/0 3 1/4 6 1", "1"),
    ("intervals", {"question": "value"}, (), "3/0 3 5/2 5 9/3 6 3", "9"),
    ("range_queries", {}, ("add l", "sum l"), "5 3/add 1 3 4/add 2 5 1/sum 2 4", "11"),
    ("range_queries", {}, ("set l", "max l"), "4 3/set 1 4 -2/set 2 2 -1/max 1 4", "-1"),
    ("range_queries", {"updates": 2}, ("add l", "flip l", "sum l"), "3 3/add 1 3 2/flip 2 3/sum 1 3", "-2"),
    ("range_queries", {"updates": 2}, ("add l", "cap l", "sum l"), "3 3/add 1 3 5/cap 2 2 1/sum 1 3", "11"),
    ("range_queries", {}, ("add l", "many l"), "4 2/add 2 3 7/many 1 4 7", "2"),
    ("range_queries", {}, ("add l", "runs l"), "4 2/add 2 3 7/runs 1 4", "2"),
    ("components", {}, ("same a b",), "4 1 3/1 2/same 1 2/join 2 3/same 1 4", "YES NO"),
    ("components", {}, ("count:",), "4 1 3/1 2/count/join 2 3/count", "3 2"),
    ("components", {}, ("least a",), "4 2 1/4 2/2 3/least 4", "2"),
    ("components", {}, ("most:",), "4 2 1/1 2/2 3/most", "3"),
    ("components", {"ends": True}, ("size a",), "3 2 3/1 2/2 3/size 1/end 1/size 1", "3 1"),
    ("expressions", {}, ("modulo 100,",), "2/9-4-3/3-5", "2 98"),
    ("expressions", {"right": True}, ("modulo 100,",), "1/9-4-3", "8"),
    ("expressions", {}, ("#", "modulo 100,"), "1/3#8-1", "4"),
    ("expressions", {"levels": 2}, ("first: * (from left to right), then + - (",), "2/2+3*4/9-4+3", "14 8"),
    ("expressions", LEVELS, ("first: - (from left to right), then + * (",), "1/2+9-4*(2+1)", "21"),
    # With 1, 2 or 3 stones a move the second player wins at multiples of 4.
    ("take_away", {}, ("takes 1, 2 or 3 ", "move loses", "Print First"), "3/4/5/0", "Second First Second"),
    ("take_away", {}, ("takes 1 or 2 ", "move wins", "Print First"), "3/0/1/2", "First Second First"),
    ("take_away", {}, ("takes 1 or 2 ", "move loses", "Print the number"), "2/5/3", "1 0"),
    ("take_away", {"piles": 2}, ("takes 1 or 2 ", "Print First"), "2/3 3/3 4", "Second First"),
    ("take_away", {"rule": "halve"}, ("takes 1 or 2 ", "move loses", "Print First"), "2/6/7", "First Second"),
    ("take_away", {"rule": "repeat"}, ("takes 1 or 2 ", "move loses", "Print First"), "2/3/4", "Second First"),
    ("tree_queries", {}, ("size a",), "4 1/1 1 1 1/1/1/2/size 2", "2"),
    ("tree_queries", {}, ("sum a",), "3 1/5 6 7/1/2/sum 2", "13"),
    ("tree_queries", {}, ("up a k",), "4 2/1 1 1 1/1/2/3/up 4 2/up 4 5", "2 0"),
    ("tree_queries", {}, ("common a b",), "5 2/1 1 1 1 1/1/1/2/2/common 4 5/common 2 4", "2 2"),
    ("tree_queries", {}, ("steps a b",), "5 1/1 1 1 1 1/1/1/2/2/steps 4 3", "3"),
    ("tree_queries", {"raises": True}, ("sum a",), "2 3/1 2/1/sum 1/add 2 5/sum 1", "3 8"),
    ("tree_queries", {"pairs": True}, ("size a",), "3 1/1 1 1/3 1/2 3/size 3", "2"),
    ("automaton", {}, ALONE, "1 5 1/..#..", ".###."),
    ("automaton", {}, ALONE, "1 5 2/..#..", "#.#.#"),
    ("automaton", {"tired": True}, ALONE, "1 5 2/..#..", "#o#o#"),
    ("automaton", {"wraps": True}, ALONE, "1 3 2/.#.", "###"),
    ("cache", {}, (), "2 5/put 1 10/put 2 20/put 3 30/get 1/get 3", "-1 30"),
    ("cache", {"policy": "unused"}, (), "2 6/put 1 10/put 2 20/get 1/put 3 30/get 2/get 1", "10 -1 10"),
    ("cache", {"policy": "rarest"}, (), "2 6/put 1 10/put 2 20/get 1/put 3 30/get 2/get 3", "10 -1 30"),
    ("cache", {"ages": True}, ("time t + 7.",), "2 8/put 1 5" + "/get 1" * 7, "5 5 5 5 5 5 -1"),
    ("cache", {}, ("size:",), "2 3/put 1 1/size/get 2", "1 -1"),
    ("cache", {}, ("keys:",), "2 4/keys/put 2 9/keys/get 2", "EMPTY 2 9"),
    ("cache", {}, ("del k",), "2 3/put 2 9/del 2/get 2", "-1"),
    ("subsequences", {}, ("y is larger than x", "possible number"), "5/3 1 2 2 4", "3"),
    ("subsequences", {}, ("y is larger than x", "possible sum"), "5/3 1 2 2 4", "7"),
    ("subsequences", {}, ("y is not smaller than x", "possible number"), "5/3 1 2 2 4", "4"),
    ("subsequences", {"sequences": 2}, ("y is larger than x", "possible number"), "3 4/1 3 2/3 1 2 3", "2"),
    ("subsequences", {"sequences": 2}, (), "1 1/1/2", "0"),
    ("conversions", {}, (), "3/IV VI/XL II/CD XC IX", "X XLII CDXCIX"),
    ("conversions", {"kind": "base"}, ("written in base 2.", "line in base 10,"), "2/101 11/1111", "8 15"),
    ("conversions", STRANGE, ("in base 10.", "in base -10,"), "1/12", "192"),
    ("calendars", {}, YMD, "3/2024-2-28 1/1900-2-28 1/2000-2-28 1", "2024-2-29 1900-3-1 2000-2-29"),
    ("calendars", {}, ("how many days", "day.month.year"), "2/1.1.2000 1.1.2001/31.12.2023 1.1.2024", "366 1"),
    # Three years of 365 days, 31 + 29 days: 1155 = 7 * 165.
    ("calendars", {}, ("day of the week", "year-month-day"), "2/4-3-1 0/4-3-1 6", "1 7"),
    ("digit_counts", {}, ("digit sum leaves the remainder 0 when divided by 3.",), "1/1 20", "6"),
    ("digit_counts", {}, ("the number leaves the remainder 1 when divided by 5.",), "1/1 20", "4"),
    ("digit_counts", {}, ("no two neighbouring digits are equal",), "1/1 100", "90"),
    ("digit_counts", {}, ("differ by at most 1.",), "1/8 23", "8"),
    ("digit_counts", {}, ("no digit is smaller",), "1/1 20", "18"),
    ("digit_counts", {}, ("the digit 1 does not occur",), "1/1 20", "9"),
    ("digit_counts", {}, ("the digit 1 occurs exactly once",), "1/1 20", "10"),
    ("brackets", {}, ("brackets ( ) is",), "4/()/(/))/())", "GOOD OPEN 1 3"),
    ("brackets", {"kinds": 2}, ("brackets ( ) [ ] is",), "2/([)]/[()](", "3 OPEN"),
    ("brackets", {"nesting": True}, ("brackets ( ) is",), "2/(())/()()", "2 GOOD"),
    ("brackets", {"question": "longest"}, ("brackets ( ) is",), "3/)()(/(())(/((", "2 4 0"),
    ("brackets", {"question": "repair"}, ("brackets ( ) is",), "2/(()/)(", "1 2"),
    ("brackets", {"question": "repair", "nesting": True}, ("brackets ( ) is",), "1/(())", "2"),
    ("geometry", {"question": "area"}, ("is 1 metre.",), "4 0/0 0/3 0/3 2/0 2", "12"),
    ("geometry", {"question": "area"}, ("is 2 metres.",), "3 0/0 0/0 4/4 0", "64"),
    ("geometry", {"question": "where"}, ("INSIDE",), "4 3/0 0/4 0/4 4/0 4/1 1/4 2/5 5", "INSIDE BORDER OUTSIDE"),
    ("geometry", {"question": "hull"}, ("is 1 metre.",), "5 0/0 0/4 0/4 4/0 4/2 2", "4 32"),
    ("geometry", {"question": "hull"}, (), "3 0/0 0/1 1/2 2", "2 0"),
    ("geometry", {"question": "hull"}, (), "1 0/5 5", "1 0"),
    ("list_steps", {}, ("Keep only the even", "Print them"), "4/1 2 3 4", "2 4"),
    ("list_steps", {}, ("Keep only the even", "Print them"), "1/3", "EMPTY"),
    ("list_steps", {}, ("Multiply every number by 3.", "Print the sum"), "3/1 2 3", "18"),
    ("list_steps", {}, ("sum of all before it.", "Print them"), "3/1 2 3", "1 3 6"),
    ("list_steps", {}, ("Move the first",), "3/1 2 3", "2 3 1"),
    ("list_steps", {"steps": 2}, ("decreasing order.\nKeep the first 2 ", "Print them"), "3/1 5 3", "5 3"),
    ("rankings", {}, (MORE + " come first;\n- if every",), "3/bo red 5 5/al red 7 1/ce blue 5 2", "al bo ce"),
    ("rankings", {"question": "place"}, (MORE,), "3/ca red 5 5/al red 7 1/bo red 5 2", "1 al 2 bo 2 ca"),
    ("rankings", {"question": "first"}, ("- a longer", "first 2"), "3/bo red 5 5/al red 7 1/ca red 5 2", "bo ca"),
    ("rankings", {"selects": True}, ("at least 6", MORE), "3/bo red 5 5/ca red 6 1/al red 7 2", "al ca"),
    ("flows", {}, ("largest possible",), "2 2 3/1 1/1 2/2 1", "2"),
    ("flows", {}, ("smallest possible",), "2 2 2/1 1/2 1", "1"),
    ("flows", {"limits": True}, ("largest possible",), "1 3 3/2/1 1/1 2/1 3", "2"),
    ("flows", {"question": "flow"}, ("and not back",), "3 3/1 2 5/2 3 3/1 3 1", "4"),
    ("flows", {"question": "flow"}, ("both directions",), "3 2/2 1 5/3 2 3", "3"),
    ("flows", {"question": "flow", "limits": True}, ("and not back",), "3 2/2/1 2 5/2 3 3", "2"),
    ("flows", {"question": "cut"}, ("and not back",), "3 3/1 2 5/2 3 3/1 3 1", "4"),
    ("flows", {"question": "cut", "limits": True}, ("and not back",), "3 3/2/1 2 5/2 3 3/1 3 1", "3"),
    # a, ab, aba, b, ba.
    ("substrings", {}, ("one of ab\n",), "3/aba", "5"),
    ("substrings", {"short": True}, ("one of ab\n",), "3 1/aba", "2"),
    ("substrings", {"times": 2}, ("one of ab\n",), "4/aaaa", "3"),
    ("substrings", {"question": "longest"}, ("one of ab\n",), "4/aaaa", "3 1"),
    ("substrings", {"question": "longest"}, ("one of ab\n",), "2/ab", "0 0"),
    ("substrings", {"question": "rank"}, ("one of ab\n",), "3 3/aba", "aba"),
    ("substrings", {"question": "rank"}, ("one of ab\n",), "3 6/aba", "NONE"),
    # (1 + 2)^2 + 3^2 + 2 * 10, where one group costs 46 and three cost 44.
    ("partitions", {}, (), "3 10/1 2 3", "38"),
    ("partitions", {"groups": True}, (), "3 10/1 2 3", "38 2"),
    ("partitions", {"signs": True}, (), "2 1/5 -5", "1"),
    ("partitions", {"twist": "target"}, (), "2 0 3/1 2", "0"),
    ("partitions", {"twist": "least"}, (), "3 0 2/1 1 1", "9"),
    ("partitions", {"twist": "least"}, (), "1 0 2/1", "-1"),
    # Those with one right order only.
    ("orders", {}, ("numbered from 1", "before job"), "3 2/2 1/1 3", "2 1 3"),
    ("orders", {}, ("numbered from 0", "after job"), "3 2/1 0/2 1", "0 1 2"),
    ("orders", {}, ("numbered from 1", "before job", "STUCK"), "3 3/1 2/2 3/3 1", "STUCK"),
    ("orders", {"dates": True}, ("numbered from 1",), "3 0/3 2 1", "3 2 1"),
    ("orders", {"dates": True}, ("numbered from 1", "NONE"), "3 0/3 1 1", "NONE"),
    ("orders", {"chains": True}, ("numbered from 1", "before job"), "3 0 2/2 1/3 2", "3 2 1"),
    ("orders", {"chains": True}, ("numbered from 1", "before job", "NONE"), "3 1 2/3 1/1 2/2 3", "NONE"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[f"{case[0]}-{i}" for i, case in enumerate(CASES)])
def test_hand_worked(case: tuple[str, dict[str, Level], tuple[str, ...], str, str]) -> None:
    name, levels, phrases, given, expected = case
    problem = find(name, levels, *phrases)
    text = given.replace("/", "\n") + "\n"
    problem.statement.input.read(text)
    for program in (problem.reference, problem.brute):
        run = run_program(program, text, Limits(cpu=5.0))
        assert (run.status, run.stdout.decode().split()) == ("OK", expected.split()), program


# Beyond what a brute force could do.
LARGE: list[tuple[str, dict[str, Level], tuple[str, ...], str, str]] = [
    ("range_queries", {"length": 10**9}, ("add l", "sum l"), f"{10**9} 2/add 1 {10**9} 3/sum 1 {10**9}", "3000000000"),
    ("automaton", {"steps": 10**15}, ALONE, f"1 3 {10**15}/.#.", ".#."),
    ("automaton", {"steps": 10**15}, ALONE, f"1 3 {10**15 - 1}/.#.", "###"),
    ("digit_counts", {"digits": 30}, ("digit 1 does not",), f"1/1 {10**30}", str((9**30 - 1) % 1000000007)),
    # 400 years have 146,097 days.
    ("calendars", {"most": 10**12}, YMD, f"1/2000-3-1 {146097 * 10**6}", "400002000-3-1"),
    ("calendars", {}, ("day of the week", "year-month-day"), "1/2024-1-1 0", "1"),
    ("geometry", {"question": "area", "far": 10**9}, ("is 1 metre.",), f"3 0/0 0/{10**9} 0/0 {10**9}", str(10**18)),
]  # fmt: skip


@pytest.mark.parametrize("case", LARGE, ids=[f"{case[0]}-{i}" for i, case in enumerate(LARGE)])
def test_large(case: tuple[str, dict[str, Level], tuple[str, ...], str, str]) -> None:
    name, levels, phrases, given, expected = case
    run = run_program(find(name, levels, *phrases).reference, given.replace("/", "\n") + "\n", Limits(cpu=5.0))
    assert (run.status, run.stdout.decode().split()) == ("OK", expected.split())


@pytest.mark.parametrize("name", FAMILIES)
def test_every_level_of_a_knob_tells_another_story(name: str) -> None:
    """A knob that leaves the statement as it is would change the tests only, behind the reader's back."""
    family = FAMILIES[name]
    for end in (0, -1):
        levels = {knob.name: knob.levels[end] for knob in family.knobs}
        for knob in family.knobs:
            problems = [family.make(RngStream("story", 5), {**levels, knob.name: level}) for level in knob.levels]
            texts = [statement_of(problem) for problem in problems]
            assert len(set(texts)) == len(texts), knob


@pytest.mark.parametrize("name", FAMILIES)
def test_seeds_make_different_statements(name: str) -> None:
    family = FAMILIES[name]
    texts = set()
    for seed in range(60):
        rng = RngStream("seeds", seed)
        texts.add(statement_of(family.make(rng, {knob.name: rng.pick(knob.levels) for knob in family.knobs})))
    assert len(texts) >= 45
