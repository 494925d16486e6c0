"""Input formats: what obeys format and limits is read, everything else is refused with its line."""

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_task_pools.coding.inputs import Input, Limit, Line, Lines, Row, Whole, letters, one_of
from rlanything_task_pools.task import TaskFormatError

LIST = Input(Line("n k"), Row("a_i", "n"), "1 <= k <= n <= 4", "-9 <= a_i <= 9")
NAMES = Input(
    Line("n"),
    Lines("2 * n - 1", "name team age", name=letters("abc"), team=one_of("red", "blue")),
    "1 <= n <= 3",
    Limit("names have 1 to 3 letters", lambda name: len(name) <= 3),
    Whole("names differ", lambda v: len(set(v["name"])) == len(v["name"])),
    "0 <= age < 10^2",
)
COMMANDS = Input(
    Line("n"),
    Lines("n", {"put": "k v", "get": "k", "size": ""}),
    "1 <= n <= 9",
    "1 <= k <= n",
    "1 <= v <= n",
    Whole("the last command is not a put", lambda v: v["op"][-1] != "put"),
)


def test_values_come_by_name() -> None:
    assert LIST.read("3 1\n4 5 -6\n") == {"n": 3, "k": 1, "a_i": [4, 5, -6]}
    assert NAMES.read("1\nab red 99\n") == {"n": 1, "name": ["ab"], "team": ["red"], "age": [99]}
    assert COMMANDS.read("3\nput 1 2\nsize\nget 3\n") == {"n": 3, "op": ["put", "size", "get"], "k": [1, 3], "v": [2]}


def test_limits_are_the_text_of_the_constraints() -> None:
    assert LIST.limits == ("1 <= k <= n <= 4", "-9 <= a_i <= 9")
    assert NAMES.limits == ("1 <= n <= 3", "names have 1 to 3 letters", "names differ", "0 <= age < 10^2")


@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        (LIST, "", "the last line has no end"),
        (LIST, "1 1\n4", "the last line has no end"),
        (LIST, "5 1\n1 2 3 4 5\n", r"line 1: k = 1, n = 5 breaks 1 <= k <= n <= 4"),
        (LIST, "2 3\n1 2\n", r"line 1: k = 3, n = 2 breaks"),
        (LIST, "2 1\n1 10\n", r"line 2: a_i = 10 breaks -9 <= a_i <= 9"),
        (LIST, "2 1\n1\n", "line 2: expected 2 values, got 1"),
        (LIST, "2 1\n1  2\n", "line 2: expected 2 values, got 3"),
        (LIST, "2 1 \n1 2\n", r"line 1: expected 2 values \(n k\), got 3"),
        (LIST, "2 1\n1 2\n\n", "line 3: the input should have ended"),
        (LIST, "2 1\n", "line 2: expected 2 values, got 0"),
        (LIST, "2 1\n1 2.0\n", r"line 2: a_i: '2.0' is not an integer"),
        (LIST, "2 01\n1 2\n", r"line 1: k: '01' is not an integer"),
        (LIST, "2 1\n1 -0\n", r"line 2: a_i: '-0' is not an integer"),
        (LIST, f"2 1\n1 {'9' * 5000}\n", r"line 2: a_i: '9{39,40} is not an integer of at most 40"),
        (LIST, "2 1\n1 ٣\n", "line 2: a_i: '٣' is not an integer"),
        (NAMES, "1\nab red 100\n", r"line 2: age = 100 breaks 0 <= age < 10\^2"),
        (NAMES, "1\nabca red 1\n", "line 2: name = 'abca' breaks names have 1 to 3 letters"),
        (NAMES, "1\nad red 1\n", "line 2: name: 'ad' is not made of 'abc'"),
        (NAMES, "1\na green 1\n", "line 2: team: 'green' is none of red, blue"),
        (NAMES, "2\na red 1\nb red 1\na red 2\n", "broken: names differ"),
        (NAMES, "2\na red 1\nb red 1\n", "expected 3 lines after line 1, got 2"),
        (COMMANDS, "1\ndrop 1\n", "line 2: 'drop' is none of the commands put, get, size"),
        (COMMANDS, "2\nget 1\nget 3\n", r"line 3: k = 3, n = 2 breaks 1 <= k <= n"),
        (COMMANDS, "1\nsize 1\n", r"line 2: expected 1 values \(op\), got 2"),
        (COMMANDS, "1\nput 1 2\n", r"line 2: v = 2, n = 1 breaks 1 <= v <= n"),
        (COMMANDS, "1\nput 1 1\n", "broken: the last command is not a put"),
    ],
)
def test_what_is_refused(form: Input, text: str, message: str) -> None:
    with pytest.raises(TaskFormatError, match=message):
        form.read(text)


@pytest.mark.parametrize("limit", ["1 <= m <= 2", "n", "1 <= f(n) <= 2"])
def test_limits_that_cannot_be(limit: str) -> None:
    with pytest.raises(ValueError, match=r"limit|expression"):
        Input(Line("n"), limit).read("1\n")


TOKENS = st.lists(st.sampled_from(["1", "2", "-9", "10", " ", " ", "\n", "\n", "red", "put", "size", "ab", "x", "0"]))


@given(TOKENS.map("".join) | st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    for form in (LIST, NAMES, COMMANDS):
        with suppress(TaskFormatError):
            assert set(form.read(text)) <= {"n", "k", "v", "a_i", "op", "name", "team", "age"}


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=4), st.data())
def test_an_input_within_the_limits_is_read_back(numbers: list[int], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(numbers)))
    text = f"{len(numbers)} {k}\n{' '.join(map(str, numbers))}\n"
    assert LIST.read(text) == {"n": len(numbers), "k": k, "a_i": numbers}
    place = data.draw(st.integers(0, len(numbers) - 1))
    wrong = [*numbers[:place], data.draw(st.integers(10) | st.integers(max_value=-10)), *numbers[place + 1 :]]
    with pytest.raises(TaskFormatError, match="line 2: a_i"):
        LIST.read(f"{len(numbers)} {k}\n{' '.join(map(str, wrong))}\n")


def test_reading_is_linear() -> None:
    form = Input(Line("n"), Row("a_i", "n"), Lines("n", "u v"), "1 <= n <= 10^6", "0 <= u < v <= n", "0 <= a_i <= 9")

    def seconds(n: int) -> float:
        text = f"{n}\n{' '.join(['7'] * n)}\n" + "1 2\n" * n
        begin = time.process_time()
        form.read(text)
        return time.process_time() - begin

    assert min(seconds(16_000) for _ in range(3)) < 64 * max(min(seconds(1_000) for _ in range(3)), 1e-3)
