"""What an agent's files make of a metric is the agent's failure: a score of 0, and never no score."""

import sys
from collections import defaultdict
from itertools import islice

import pytest
from osworld_cases import cases
from osworld_comparison import our_score
from osworld_desk import Desk, Printed, Web, letter

from rlanything_verifiers.osworld import (
    GETTERS,
    METRICS,
    EvaluatorError,
    File,
    MissingRequirement,
    VerifierError,
    check_libraries,
    evaluate,
    evaluator,
    pdf,
)
from rlanything_verifiers.osworld.registry import Metric, score_of

LIBRARIES = (
    *("PIL", "cssselect", "docx", "imageio_ffmpeg", "lxml", "openpyxl"),
    *("pptx", "pygame", "pypdf", "pypdfium2", "rapidfuzz", "regex", "yaml"),
)
AGENTS = {"type": "vm_file", "path": "/a", "dest": "a"}
OWN = {"type": "cloud_file", "path": "u", "dest": "u"}
RULE = {"type": "rule", "rules": {"relation": "eq", "ref_value": 1}}
PAGES = {"func": "check_pdf_pages", "result": AGENTS, "expected": RULE}


def score(given, data=b"", own=b"own", **more):
    desk = Desk({"/a": data}, **more)
    return evaluate(given, desk, last_action="DONE", files=Web(u=own))


def hide(monkeypatch, library):
    """As if it were not installed."""
    for loaded in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.setitem(sys.modules, loaded, None)
    monkeypatch.setitem(sys.modules, library, None)


# -- libraries -----------------------------------------------------------------------------------------------------

BY_METRIC = defaultdict(list)
for row in cases():
    BY_METRIC[row.metric].append(row)


@pytest.mark.parametrize("name", sorted(BY_METRIC))
def test_a_metric_uses_no_library_that_it_does_not_name(monkeypatch, name):
    rows = list(islice(BY_METRIC[name], 0, None, max(1, len(BY_METRIC[name]) // 5)))
    wanted = [our_score(row, "own") for row in rows]
    for library in LIBRARIES:
        if library not in METRICS[name].needs:
            hide(monkeypatch, library)
    assert [our_score(row, "own") for row in rows] == wanted


@pytest.mark.parametrize("name", sorted(name for name in {**METRICS, **GETTERS} if {**METRICS, **GETTERS}[name].needs))
def test_libraries_are_asked_for_before_the_desktop_is_looked_at(monkeypatch, name):
    """An agent that chose which of them is needed would choose that there is no score."""
    metric = METRICS.get(name, Metric("any", lambda *_: 1.0))
    slot = METRICS["exact_match"].slots[0]
    check = evaluator._Check(
        metric, (evaluator._Source(GETTERS.get(name, GETTERS["vm_file"]), None, slot, "", False),), {}
    )
    monkeypatch.setattr(evaluator, "_parse", lambda *_: ([check], "and"))
    for library in {**METRICS, **GETTERS}[name].needs:
        with monkeypatch.context() as patch:
            patch.setattr("importlib.util.find_spec", lambda found, library=library: None if found == library else 1)
            patch.setattr("shutil.which", lambda found, library=library: None if found == library else found)
            with pytest.raises(MissingRequirement, match="install"):
                evaluate({}, None, last_action="DONE", files=Web())
            with pytest.raises(MissingRequirement, match="install"):
                check_libraries({})


# -- failures of functions -----------------------------------------------------------------------------------------


def _breaks(result, expected=None):
    raise FAILURES[result.data if isinstance(result, File) else result]


FAILURES = {
    b"0": RuntimeError("a bug"),
    b"1": RecursionError(),
    b"2": MemoryError(),
    b"4": VerifierError("the machine is broken"),
    b"5": VerifierError("the reference is broken"),
    b"6": OSError(28, "no space"),
    b"7": ModuleNotFoundError("pygame"),
    b"8": SyntaxError("x"),
    b"9": StopIteration(),
    b"own": AssertionError("never reached by a control"),
}
SCORES = {
    b"nan": float("nan"),
    b"inf": float("inf"),
    b"-inf": float("-inf"),
    b"huge": 10**400,
    b"text": "1",
    b"list": [1],
}
SCORES |= {b"none": None, b"own": 1.0, b"": 1.0}


def breaks_on_the_agents(result: File, expected: File | None = None) -> float:
    return 1.0 if expected and result.data == expected.data else _breaks(result)


def breaks_on_all_but_nothing(result: File) -> float:
    return _breaks(result) if result.data else 0.0


def breaks_always(result: File, expected: File | None = None) -> float:
    raise KeyError("always")


def says(result: File, expected: File | None = None) -> float:
    return SCORES[result.data]


@pytest.fixture(autouse=True)
def more_metrics(monkeypatch):
    for function in (breaks_on_the_agents, breaks_on_all_but_nothing, breaks_always, says):
        monkeypatch.setitem(METRICS, function.__name__, Metric(function.__name__, function))


@pytest.mark.parametrize("data", sorted(set(FAILURES) - {b"own"}))
def test_a_function_that_fails_with_the_agents_file_alone_scores_nothing(data):
    assert score({"func": "breaks_on_the_agents", "result": AGENTS, "expected": OWN}, data) == 0
    assert score({"func": "breaks_on_all_but_nothing", "result": AGENTS}, data) == 0


def test_a_function_that_fails_without_anything_of_the_agent_gives_no_score():
    for given in (
        {"func": "breaks_always", "result": AGENTS, "expected": OWN},
        {"func": "breaks_always", "result": AGENTS},
    ):
        with pytest.raises(VerifierError, match="always"):
            score(given, b"0")
    with pytest.raises(VerifierError):
        score({"func": "compare_docx_files", "result": AGENTS, "expected": OWN}, letter("a"), b"junk")


@pytest.mark.parametrize("data", sorted(set(SCORES) - {b"own", b""}))
def test_what_is_no_number_scores_nothing(data):
    assert score({"func": "says", "result": AGENTS, "expected": OWN}, data) == 0


@pytest.mark.parametrize(
    "report",
    [True, False, float("nan"), float("inf"), -float("inf"), 10**400, -1, 1.5, "1", [1], {"score": 1}, None, b"1"],
)
def test_a_report_that_is_no_number_in_0_to_1_scores_nothing(report):
    assert score_of(report) == 0


def test_a_report():
    assert [score_of(report) for report in (0, 1, 0.25)] == [0, 1, 0.25]


def test_an_expected_value_that_the_desktop_gives_is_the_agents_too():
    """The agent's programs write it: what does not fit, or breaks its getter, is no fault of the evaluator."""
    rules = {"type": "rule", "rules": {"expected": "x"}}
    given = {
        "func": "is_vlc_fullscreen",
        "result": {"type": "vm_screen_size"},
        "expected": {"type": "vm_window_size", "app_class_name": "x"},
    }

    class Odd(Desk):
        def window_size(self, name):
            return ["wide", None]

        def list_directory(self, path):
            return {"children": 3}

        def screen_size(self):
            return (1, 2, 3)

    assert evaluate(given, Odd(), last_action="DONE", files=Web()) == 0
    minutes = {"func": "compare_time_in_speedtest_results", "result": AGENTS}
    minutes["expected"] = {"type": "vm_command_line", "command": "x"}
    assert score(minutes, b"head\na,1 12:00\n", command=lambda *_: Printed("soon")) == 0
    with pytest.raises(EvaluatorError, match="minutes"):
        score(minutes | {"expected": {"type": "rule", "rules": "soon"}}, b"head\na,1 12:00\n")
    given = {"func": "is_in_vm_clickboard", "result": rules, "expected": {"type": "vm_file", "path": "/a", "dest": "a"}}
    with pytest.raises(EvaluatorError):
        score(given)


def test_what_the_desktop_itself_raises_passes_through():
    class Gone(Exception):
        pass

    def ends(command, shell):
        raise Gone

    given = {"func": "exact_match", "result": {"type": "vm_command_line", "command": "x"}}
    given["expected"] = {"type": "rule", "rules": {"expected": "x"}}
    with pytest.raises(Gone):
        score(given, command=ends)
    with pytest.raises(KeyError):
        evaluate(
            {"func": "compare_text_file", "result": AGENTS, "expected": OWN},
            Desk({"/a": b""}),
            last_action="DONE",
            files=Web(),
        )


# -- the process that reads PDF files ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "deed",
    [
        "sys.exit(3)",
        "print('x', flush=True)",
        "print('0 5', flush=True); sys.exit()",
        "print('0 99999999999', flush=True)",
        "print('9' * 10000, flush=True)",
        "print('0 -1', flush=True)",
        "print('6 0', flush=True); input()",
        "import os; os.kill(os.getpid(), 9)",
    ],
)
def test_a_file_that_ends_its_reader_scores_nothing(monkeypatch, tmp_path, deed):
    lines = ["import sys", "what, size = input().split()", "if size == '0':"]
    lines += ["    print('4 1', end='\\nx', flush=True); input()", f"{deed}"]
    (tmp_path / "worker.py").write_text("\n".join(lines))
    monkeypatch.setattr(pdf, "_WORKER", pdf._Worker(tmp_path / "worker.py"))
    assert score(PAGES, b"%PDF") == 0


def test_a_reader_that_reads_nothing_gives_no_score(monkeypatch, tmp_path):
    (tmp_path / "worker.py").write_text("")
    monkeypatch.setattr(pdf, "_WORKER", pdf._Worker(tmp_path / "worker.py"))
    with pytest.raises(VerifierError, match="ended"):
        score(PAGES, b"%PDF")


def test_slowness_is_no_fault_of_the_tasks_own_file(monkeypatch, tmp_path):
    """The agent's desktop may keep the processors busy while the judge reads it."""
    (tmp_path / "worker.py").write_text("input(); print('6 0', flush=True); input()")
    monkeypatch.setattr(pdf, "_WORKER", pdf._Worker(tmp_path / "worker.py"))
    assert score({"func": "compare_pdfs", "result": OWN, "expected": OWN}) == 0
