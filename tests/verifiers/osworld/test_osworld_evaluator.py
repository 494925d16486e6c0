"""The frame: reading evaluators, joining scores, errors."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_values import JSON
from osworld_desk import Desk, Printed, Web, sheet

from rlanything_verifiers.osworld import (
    GETTERS,
    METRICS,
    EvaluatorError,
    MissingRequirement,
    VerifierError,
    check_evaluator,
    evaluate,
    evaluator_urls,
)

SHELL = {"type": "vm_command_line", "command": "echo", "shell": "true"}


def expect(text):
    return {"type": "rule", "rules": {"expected": text}}


def score(evaluator, last_action="DONE", desk=None, web=None):
    check_evaluator(evaluator)
    desk = desk or Desk(command=lambda command, shell: Printed("yes\n"))
    return evaluate(evaluator, desk, last_action=last_action, files=web or Web())


def both(one, other, conj=None):
    evaluator = {"func": ["exact_match"] * 2, "result": [SHELL] * 2, "expected": [expect(one), expect(other)]}
    return evaluator | ({"conj": conj} if conj else {})


def test_single():
    evaluator = {"func": "exact_match", "result": SHELL, "expected": expect("yes\n")}
    assert score(evaluator) == 1
    assert score(evaluator | {"expected": expect("yes")}) == 0


def test_giving_up_is_right_for_the_infeasible_alone():
    assert score({"func": "infeasible"}, "FAIL") == 1
    assert score({"func": "infeasible"}, "DONE") == 0
    assert score({"func": "infeasible"}, None) == 0
    assert score({"func": "exact_match", "result": SHELL, "expected": expect("yes\n")}, "FAIL") == 0


@pytest.mark.parametrize(
    ("one", "other", "conj", "wanted"),
    [
        ("yes\n", "yes\n", None, 1),
        ("yes\n", "no", None, 0),
        ("no", "yes\n", "and", 0),
        ("no", "yes\n", "or", 1),
        ("yes\n", "no", "or", 1),
        ("no", "no", "or", 0),
    ],
)
def test_joined(one, other, conj, wanted):
    assert score(both(one, other, conj)) == wanted


def test_parts_of_scores():
    half = {"type": "rule", "rules": {"expected": "ye"}}
    evaluator = {"func": ["fuzzy_match", "exact_match"], "result": [SHELL] * 2, "expected": [half, expect("yes\n")]}
    ratio = 2 * 2 / (2 + 4)
    assert score(evaluator) == pytest.approx((ratio + 1) / 2)
    assert score(evaluator | {"expected": [half, expect("no")], "conj": "or"}) == pytest.approx(ratio)


def test_the_second_is_not_asked_when_the_first_decides():
    asked = []
    desk = Desk(command=lambda command, shell: asked.append(command) or Printed("yes\n"))
    score(both("no", "yes\n"), desk=desk)
    assert len(asked) == 1


def test_a_missing_file_scores_nothing():
    evaluator = {"func": "compare_csv", "result": {"type": "vm_file", "path": "/a", "dest": "a"}}
    evaluator["expected"] = {"type": "cloud_file", "path": "http://gold", "dest": "gold"}
    assert score(evaluator, web=Web({"http://gold": b"a"})) == 0


def test_one_missing_file_of_several_scores_nothing():
    several = {"path": ["/a", "/b"], "dest": ["a", "b"], "multi": True, "gives": [0, 1]}
    evaluator = {"func": "compare_image_list", "result": {"type": "vm_file", **several}}
    evaluator["expected"] = {"type": "cloud_file", **several}
    assert score(evaluator, desk=Desk({"/a": b""}), web=Web({"/a": b"", "/b": b""})) == 0


def test_a_missing_original_on_the_desktop_scores_nothing():
    evaluator = {"func": "compare_text_file"}
    evaluator["result"] = {"type": "vm_file", "path": "/a", "dest": "a"}
    evaluator["expected"] = {"type": "vm_file", "path": "/b", "dest": "b"}
    assert score(evaluator, desk=Desk({"/a": b"text"})) == 0
    assert score(evaluator, desk=Desk({"/a": b"text", "/b": b"text"})) == 1


def test_a_file_too_large_scores_nothing(monkeypatch):
    monkeypatch.setattr("rlanything_verifiers.osworld.getters.files.MAX_FILE", 100)
    evaluator = {"func": "compare_config", "result": {"type": "vm_file", "path": "/a", "dest": "a"}}
    evaluator["expected"] = expect("x" * 100)
    assert score(evaluator, desk=Desk({"/a": b"x" * 100})) == 1
    assert score(evaluator | {"expected": expect("x" * 101)}, desk=Desk({"/a": b"x" * 101})) == 0


def test_a_broken_file_of_the_task_is_no_score():
    rules = [{"type": "sheet_name"}]
    evaluator = {"func": "compare_table", "result": {"type": "vm_file", "path": "/a.xlsx", "dest": "a.xlsx"}}
    evaluator |= {"expected": {"type": "cloud_file", "path": "u", "dest": "b.xlsx"}, "options": {"rules": rules}}
    good = sheet([1])
    assert score(evaluator, desk=Desk({"/a.xlsx": good}), web=Web(u=good)) == 1
    assert score(evaluator, desk=Desk({"/a.xlsx": b"PK\3\4 broken"}), web=Web(u=good)) == 0
    with pytest.raises(VerifierError, match=r"b\.xlsx"):
        score(evaluator, desk=Desk({"/a.xlsx": good}), web=Web(u=b"PK\3\4 broken"))
    assert not issubclass(VerifierError, ValueError)


class OutOfOrder(Exception):
    pass


def test_errors_of_the_desktop_and_of_the_files_pass_through():
    def fail(*_):
        raise OutOfOrder

    with pytest.raises(OutOfOrder):
        score(both("a", "b"), desk=Desk(command=fail))
    evaluator = {"func": "compare_text_file", "result": {"type": "vm_file", "path": "/a", "dest": "a"}}
    evaluator["expected"] = {"type": "cloud_file", "path": "gone", "dest": "b"}
    with pytest.raises(KeyError):
        score(evaluator, desk=Desk({"/a": b""}))


TABLE = {"type": "vm_file", "path": "/a.xlsx", "dest": "a.xlsx"}


@pytest.mark.parametrize(
    ("evaluator", "error", "place"),
    [
        ([], EvaluatorError, "evaluator: a JSON object"),
        ({}, EvaluatorError, r"evaluator\.func"),
        ({"func": 3}, EvaluatorError, r"evaluator\.func"),
        ({"func": []}, EvaluatorError, r"evaluator\.func"),
        ({"func": "frobnicate"}, EvaluatorError, r"evaluator\.func: .*'frobnicate'; use one of.*compare_table"),
        (
            {"func": ["exact_match", 7], "result": [SHELL] * 2, "expected": [expect("a")] * 2},
            EvaluatorError,
            r"func\[1\]",
        ),
        ({"func": ["infeasible"]}, EvaluatorError, r"func\[0\]"),
        (both("a", "b", "xor"), EvaluatorError, r"evaluator\.conj"),
        (both("a", "b") | {"result": SHELL}, EvaluatorError, r"evaluator\.result: a list of 2"),
        (both("a", "b") | {"options": [{}]}, EvaluatorError, r"evaluator\.options: a list of 2"),
        ({"func": "exact_match"}, EvaluatorError, r"evaluator\.result: exact_match needs it"),
        ({"func": "exact_match", "result": SHELL}, EvaluatorError, r"evaluator\.expected: exact_match needs it"),
        ({"func": "exact_match", "result": "SHELL", "expected": expect("a")}, EvaluatorError, r"evaluator\.result"),
        (
            {"func": "exact_match", "result": {"type": "crystal_ball"}},
            EvaluatorError,
            r"evaluator\.result\.type.*vm_file",
        ),
        ({"func": "exact_match", "result": {}, "expected": expect("a")}, EvaluatorError, r"evaluator\.result"),
        ({"func": "exact_match", "result": {"type": []}}, EvaluatorError, r"evaluator\.result\.type"),
        (
            {"func": "exact_match", "result": {"type": "vm_command_line"}, "expected": expect("a")},
            EvaluatorError,
            r"evaluator\.result\.command: Field required",
        ),
        ({"func": "exact_match", "result": TABLE, "expected": expect("a")}, EvaluatorError, "needs .*does not give"),
        ({"func": "compare_table", "result": SHELL}, EvaluatorError, "compare_table needs a file"),
        (
            {"func": "check_moved_jpgs", "result": SHELL, "expected": expect(["a"])},
            EvaluatorError,
            "check_moved_jpgs needs",
        ),
        (
            {"func": "compare_table", "result": TABLE},
            EvaluatorError,
            r"evaluator\.options\.rules: compare_table needs it",
        ),
        (
            {"func": "file_contains", "result": TABLE, "expected": expect("text")},
            EvaluatorError,
            r"evaluator\.expected\.rules\.expected: Input should be a valid list",
        ),
        (
            {"func": "file_contains", "result": TABLE, "expected": {"type": "rule"}},
            EvaluatorError,
            r"evaluator\.expected\.rules: Field required",
        ),
        (
            {"func": "compare_docx_files", "result": TABLE, "expected": TABLE, "options": {"ignore_blank": True}},
            EvaluatorError,
            r"evaluator\.options\.ignore_blank: .*ignore_blanks",
        ),
        (
            {"func": "compare_pptx_files", "result": TABLE, "expected": TABLE, "options": {"examine_text": "perhaps"}},
            EvaluatorError,
            r"evaluator\.options\.examine_text",
        ),
        (
            {"func": "compare_pptx_files", "result": TABLE, "expected": TABLE, "options": {"examine_mood": True}},
            EvaluatorError,
            r"evaluator\.options\.examine_mood",
        ),
        ({"func": "is_utc_0", "result": SHELL, "expected": expect("a")}, EvaluatorError, "compares with nothing"),
        (
            {"func": "compare_csv", "result": {"type": "vm_file", "path": ["/a"], "dest": []}, "expected": TABLE},
            EvaluatorError,
            "path and dest do not match",
        ),
        (
            {"func": "compare_csv", "result": TABLE | {"gives": [1]}, "expected": TABLE},
            EvaluatorError,
            "gives: places from 0 to 0",
        ),
        ({"func": "is_utc_0", "result": SHELL, "options": [1]}, EvaluatorError, r"evaluator\.options: a JSON object"),
    ],
)
def test_what_is_wrong_is_said_before_anybody_plays(evaluator, error, place):
    with pytest.raises(error, match=place):
        check_evaluator(evaluator)


def test_notes_among_the_options_are_passed_over():
    check_evaluator({"func": "compare_csv", "result": TABLE, "expected": TABLE, "options": {"_note": "see issue"}})


SOURCES = JSON | st.fixed_dictionaries(
    {"type": st.sampled_from(sorted(GETTERS))}, optional={"path": JSON, "dest": JSON, "rules": JSON, "command": JSON}
)


@given(
    st.fixed_dictionaries(
        {"func": JSON | st.sampled_from(sorted(METRICS)) | st.lists(st.sampled_from(sorted(METRICS)), max_size=2)},
        optional={
            "result": SOURCES | st.lists(SOURCES, max_size=2),
            "expected": SOURCES | st.lists(SOURCES, max_size=2),
            "options": JSON,
            "conj": JSON,
            "postconfig": JSON,
        },
    )
)
def test_any_json_is_an_evaluator_or_an_evaluator_error(evaluator):
    evaluator_urls(evaluator)
    try:
        check_evaluator(evaluator)
    except EvaluatorError:
        return
    with contextlib.suppress(KeyError):  # from the web, which has no file
        assert 0 <= evaluate(evaluator, Desk(), last_action="DONE", files=Web()) <= 1


def test_urls():
    gold = {"type": "cloud_file", "path": ["https://a", "https://b"], "dest": ["a", "b"], "multi": True}
    one = {"type": "cloud_file", "path": "https://c", "dest": "c"}
    step = {"type": "download", "parameters": {"files": [{"url": "https://d", "path": "d"}, {"url": "https://a"}]}}
    evaluator = {"func": ["x", "y"], "result": [one, SHELL], "expected": [gold, one], "postconfig": [step]}
    assert evaluator_urls(evaluator) == ["https://c", "https://a", "https://b", "https://d"]
    assert evaluator_urls({"func": "infeasible"}) == []


def test_every_metric_and_getter_has_readable_slots():
    for metric in METRICS.values():
        assert len(metric.slots) in (1, 2)
        assert metric.options is not None
    for getter in GETTERS.values():
        assert getter.gives


def folders():
    given = os.environ.get("RLANYTHING_TEST_DATA")
    roots = [Path(given)] if given else [folder / "shared/data" for folder in Path(__file__).resolve().parents]
    return [root / "osworld" for root in roots if (root / "osworld").is_dir()][:1]


@pytest.mark.skipif(not folders(), reason="no task files of OSWorld in shared/data/osworld or $RLANYTHING_TEST_DATA")
def test_evaluators_of_real_tasks_are_in_order():
    checked = 0
    for path in sorted(folders()[0].rglob("*.json")):
        task = json.loads(path.read_text())
        for evaluator in (task.get("evaluator_list") or {"evaluator1": task["evaluator"]}).values():
            check_evaluator(evaluator)
            checked += 1
    assert checked >= 20


HEAVY = ["openpyxl", "docx", "pptx", "PIL", "lxml", "rapidfuzz", "regex", "pypdf", "yaml", "pydantic"]


def test_importing_loads_no_library():
    code = f"import sys, rlanything_verifiers.osworld; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("library", "func", "rules"),
    [
        ("openpyxl", "compare_conference_city_in_order", {"expected": []}),
        ("docx", "is_first_line_centered", None),
        ("pptx", "check_slide_orientation_Portrait", None),
        ("PIL", "check_image_size", {}),
        ("lxml", "check_auto_saving_time", {"minutes": 3}),
        ("yaml", "check_json", {}),
        ("regex", "check_list", {"expect": ["a"]}),
    ],
)
def test_a_library_that_is_missing_is_no_score(monkeypatch, library, func, rules):
    evaluator = {"func": func, "result": {"type": "vm_file", "path": "/a", "dest": "a"}}
    evaluator |= {"options": {"is_yaml": True}} if library == "yaml" else {}
    evaluator |= {} if rules is None else {"expected": {"type": "rule", "rules": rules}}
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingRequirement, match=r"pip install -e '.*\[desktop\]'"):
        score(evaluator, desk=Desk({"/a": b"<a/>"}))
