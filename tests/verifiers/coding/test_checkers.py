"""What counts as the right output."""

import itertools
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_verifiers.coding import JudgeError, parse_checker
from rlanything_verifiers.coding.checkers import Float, Lines, Python, Tokens, Unordered, YesNo

BIG = 10**17
HUGE = "1" + "0" * 5000

# kind or data, expected, actual, accepted
CASES = [
    # white space between tokens is free; everything within a token counts
    ("tokens", "1 2\n3\n", "1\t2 3", True),
    ("tokens", "1 2", "1 2 3", False),
    ("tokens", "1 2 3", "1 2", False),
    ("tokens", "", "", True),
    ("tokens", "", " \n\t\r\n", True),
    ("tokens", "", "0", False),
    ("tokens", "YES", "yes", False),
    ("tokens", "a b", "a\u00a0b", False),
    # integers: exact at any size, however they are written, where a plain integer is expected
    ("tokens", f"{BIG}", f"{BIG + 1}", False),
    ("tokens", HUGE + "0", HUGE + "0", True),
    ("tokens", HUGE + "0", HUGE + "1", False),
    ("tokens", "7", "007", True),
    ("tokens", "7", "+7", True),
    ("tokens", "0", "-0", True),
    ("tokens", "-5", "-05", True),
    ("tokens", "5", "-5", False),
    ("tokens", "0011", "11", False),
    ("tokens", "007", "7", False),
    ("tokens", "1", "1.0", False),
    ("tokens", "1.0", "1", False),
    ("tokens", "0.50", "0.5", False),
    ("tokens", "12", "1_2", False),
    ("tokens", "12", "\u0661\u0662", False),
    ("tokens", "nan", "nan", True),  # a text like any other
    ("tokens", "1e5", "100000", False),
    # lines: inner white space counts, outer does not
    ("lines", "a  b\nc\n", "a  b  \r\nc\n\n\n", True),
    ("lines", "a  b", "a b", False),
    ("lines", "a\n\nb", "a\nb", False),
    ("lines", " a", "a", False),
    ("lines", "7", "007", False),
    ("lines", "", "\n\n", True),
    # float
    ("float", "1.0", "1", True),
    ("float", "1", "1.0", True),
    ("float", "0.333333", "0.3333333", True),
    ("float", "1.0", "1.000002", False),
    ("float", "1000000.0", "1000000.9", True),  # relative
    ("float", "1000000.0", "1000001.1", False),
    ("float", "0.0", "0.0000009", True),  # absolute
    ("float", "1.0", "nan", False),
    ("float", "nan", "1.0", False),
    ("float", "nan", "nan", True),  # the very same text
    ("float", "nan", "NaN", False),
    ("float", "1.0", "inf", False),
    ("float", "1e308", "1e999", False),
    ("float", "1e999", "2e999", False),
    ("float", "1.5", "0x1.8p0", False),
    ("float", "1.5", "1_.5", False),
    ("float", "1.5", "1.5 1.5", False),
    ("float", "word 2.50", "word 2.5", True),
    ("float", "word 2.50", "Word 2.5", False),
    ("float", f"{BIG}", f"{BIG + 1}", False),
    ("float", f"{BIG}", f"{BIG}.0", True),
    ("float", "1e9", "1000000000", True),
    ("float", "2.5", "." + "5" * 5000, False),
    ({"kind": "float", "abs": 0, "rel": 0}, "2.50", "2.5", True),
    ({"kind": "float", "abs": 0, "rel": 0}, "2.5", "2.500001", False),
    ({"kind": "float", "abs": 0.1, "rel": 0}, "2.5", "2.59", True),
    ({"kind": "float", "abs": 0, "rel": 0.1}, "100.0", "109", True),
    # yes and no in any case, other words not
    ("yesno", "YES\nno", "Yes NO", True),
    ("yesno", "YES", "NO", False),
    ("yesno", "Alice yes", "alice yes", False),
    ("yesno", "YES", "Y", False),
    ("yesno", "YES 3", "yes 03", True),
    # the same lines in any order, each as often
    ("unordered", "1 2\n3\n", "3\n1  2\n", True),
    ("unordered", "1\n1\n2", "1\n2\n2", False),
    ("unordered", "1\n2", "1\n2\n3", False),
    ("unordered", "1 2", "2 1", False),
    ("unordered", "1\n2", "2\n\n1\n", True),
]


@pytest.mark.parametrize(("checker", "expected", "actual", "accepted"), CASES)
def test_published_and_hand_made_cases(checker, expected, actual, accepted):
    found = parse_checker({"kind": checker} if isinstance(checker, str) else checker)
    complaint = found.complaint(expected.encode(), actual.encode())
    assert (complaint is None) == accepted, complaint
    assert complaint is None or 0 < len(complaint) < 300


def test_complaints_name_the_first_difference():
    assert Tokens().complaint(b"1 2 3", b"1 5 4") == "token 2: expected '2', got '5'"
    assert Tokens().complaint(b"1 2", b"1") == "expected 2 tokens, got 1"
    assert Lines().complaint(b"a\nb", b"a\nc") == "line 2: expected 'b', got 'c'"
    assert Unordered().complaint(b"a\nb", b"a\nc") == "missing line 'b'"
    assert len(Tokens().complaint(b"1", b"x" * 10**6)) < 300


TEXTS = st.binary(max_size=60) | st.text("01 .e-+\nYyEeSsNnOo", max_size=40).map(str.encode)
CHECKERS = [Tokens(), Lines(), Float(), YesNo(), Unordered()]


@pytest.mark.parametrize("checker", CHECKERS, ids=lambda checker: checker.kind)
@given(text=TEXTS, other=TEXTS)
def test_any_bytes_are_compared_and_every_output_equals_itself(checker, text, other):
    assert checker.complaint(text, text) is None
    assert checker.complaint(text, text.rstrip() + b" \n \n") is None
    complaint = checker.complaint(text, other)
    assert complaint is None or isinstance(complaint, str)


@given(st.integers(), st.integers())
def test_integers_are_equal_as_tokens_when_they_are_equal(one, other):
    for write in ("{}", "{:+}", "{:05}"):
        accepted = Tokens().complaint(str(one).encode(), write.format(other).encode()) is None
        assert accepted == (one == other)


NUMBERS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e9, max_value=1e9)


@given(NUMBERS, NUMBERS)
def test_floats_are_compared_by_the_stated_rule(expected, actual):
    written = f"{expected:.12f}".encode(), f"{actual!r}".encode()
    e, a = float(written[0]), float(written[1])
    assert (Float().complaint(*written) is None) == (abs(e - a) <= max(1e-6, 1e-6 * abs(e)))


@given(st.lists(st.text("ab 1", max_size=6), max_size=6))
def test_unordered_accepts_exactly_the_permutations(lines):
    for mixed in itertools.islice(itertools.permutations(lines), 10):
        assert Unordered().complaint("\n".join(lines).encode(), "\n".join(mixed).encode()) is None
    assert Unordered().complaint("\n".join(lines).encode(), "\n".join([*lines, "b"]).encode()) is not None


@pytest.mark.parametrize("checker", [*CHECKERS, Float(0.5, 0), Python("print('AC')")], ids=str)
def test_checkers_survive_json(checker):
    assert parse_checker(json.loads(json.dumps(checker.to_dict()))) == checker
    assert parse_checker(checker) is checker
    assert parse_checker(None) == Tokens()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("tokens", "expected a JSON object, got str"),
        ([], "expected a JSON object, got list"),
        ({}, "kind None is unknown; choose from tokens"),
        ({"kind": "Tokens"}, "'Tokens' is unknown"),
        ({"kind": ["tokens"]}, "is unknown"),
        ({"kind": "tokens", "case": False}, "unknown field 'case'"),
        ({"kind": "float", "abs": -1}, "abs must be a finite number"),
        ({"kind": "float", "abs": math.nan}, "abs must be a finite number"),
        ({"kind": "float", "rel": "1e-6"}, "rel must be a finite number"),
        ({"kind": "float", "rel": True}, "rel must be a finite number"),
        ({"kind": "float", 3: 1}, "unknown field '3'"),
        ({"kind": "python"}, "lacks its source"),
        ({"kind": "python", "source": " "}, "must be the text of a program"),
        ({"kind": "python", "source": 3}, "must be the text of a program"),
    ],
)
def test_malformed_checkers_are_refused_by_name(data, words):
    with pytest.raises(JudgeError, match=words):
        parse_checker(data)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_values_of_functions(value, other):
    assert Tokens().same_value(value, value)
    assert Tokens().same_value(value, other) == (value == other)
    assert Unordered().same_value([value, other, 1], [1, other, value])
    if not Float(0, 0).same_value(value, other):
        assert value != other


def test_values_with_a_tolerance():
    assert Float().same_value({"a": [1.0, 2]}, {"a": [1.0000001, 2.0]})
    assert not Float().same_value({"a": [1.0, 2]}, {"a": [1.1, 2]})
    assert not Float().same_value([10**17], [10**17 + 1])
    assert not Float().same_value([1.0], [1.0, 1.0])
    assert not Float().same_value(1.0, math.nan)
    assert Float().same_value([math.inf, {"a": -math.inf}], [math.inf, {"a": -math.inf}])
    assert not Float().same_value(math.inf, -math.inf)
    assert not Float().same_value(math.inf, 1e308)
    assert not Float().same_value(10**400, math.inf)
    assert not Float().same_value(1.0, 10**400)
    assert not Unordered().same_value([1, 1, 2], [1, 2, 2])
    assert Unordered().same_value([[1], {"a": [2]}], [{"a": [2]}, [1]])
    for checker in (Lines(), YesNo()):
        with pytest.raises(JudgeError, match="compares texts"):
            checker.same_value(1, 1)


def test_the_answer_of_a_python_checker():
    assert Python.answer(b"AC\n") == (True, "")
    assert Python.answer(b" WA \nfar too long\n") == (False, "far too long")
    for nonsense in (b"", b"ok", b"ac", b"AC WA", b"True", b"\xff"):
        assert Python.answer(nonsense) is None
    question = json.loads(Python("pass").question("1\n", "\u00e9", b"\xff\x00"))
    assert question == {"stdin": "1\n", "expected": "\u00e9", "actual": "\udcff\x00"}
