"""Published formats become tasks; what cannot is named with its place and reason, and nothing else is lost."""

import gzip
import json
import time
from pathlib import Path
from typing import Any

import pytest
from coding_problems import RIGHT, WRONG, sum_task
from hypothesis import given
from hypothesis import strategies as st
from json_values import JSON

from rlanything_task_pools.coding import (
    DOMAIN,
    ImportFormatError,
    import_archive,
    import_contests,
    import_functional,
    import_published,
    import_tasks,
    load,
    read_payload,
)
from rlanything_task_pools.task import TaskFormatError
from rlanything_verifiers.coding import judge

PUBLISHED = {
    "question": "Print the sum of two integers.",
    "test_input": ["1 2\n", "2 2\n", "5 -3\n"],
    "test_output": ["3\n", "4\n", "2\n"],
    "test_method": "stdio",
    "test_time_limit": 1,
}
CONTEST = {
    "name": "sum",
    "description": "Print the sum. If there are multiple answers, print any.",
    "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
    "private_tests": {"input": ["2 2\n"], "output": ["4\n"]},
    "generated_tests": {"input": ["9 9\n", "1 2\n"], "output": ["18\n", "3"]},  # the same with another line end
    "solutions": {"language": [2, 3, 3], "solution": ["int main() {}", RIGHT, WRONG + "# said to be right, is not"]},
    "incorrect_solutions": {"language": [3, 3], "solution": [WRONG, RIGHT + "# said to be wrong, is not"]},
    "time_limit": {"seconds": 1, "nanos": 500_000_000},
    "memory_limit_bytes": 256_000_000,
}
REPACKED = {
    "content": "Print the sum.",
    "test": json.dumps([{"input": {"stdin": f"{i} 1"}, "output": {"stdout": str(i + 1)}} for i in range(4)]),
    "labels": json.dumps({"name": "sum", "difficulty": "A"}),
}
ARCHIVE = {
    "name": "Half",
    "statement": "Print half of it.",
    "samples": [["1\n", "0.5\n"]],
    "tests": [{"group": "a", "input": "3\n", "output": "1.5\n"}],
    "float_tolerance": "1e-6",
}
HUMAN = {
    "task_id": "T/1",
    "prompt": "def double(a):\n    return a + a\n\n\ndef add(a, b):\n    '''Add.'''\n",
    "entry_point": "add",
    "canonical_solution": "    return a + b\n",
    "test": (
        "METADATA = {'author': 'x'}\n\n\ndef check(candidate):\n"
        "    assert candidate(1, 2) == 3\n    assert candidate('a', 'b') == 'a' + 'b', 'told'\n"
        "    assert abs(candidate(0.1, 0.2) - 0.3) < 1e-6\n    assert True\n"
        "    assert candidate([1], [(2, 3)]) == [1, (2, 3)]\n    assert double(candidate(1, 1)) == 4\n"
    ),
}
LOOP = (
    "import random\n\ndef check(candidate):\n    for i in range(30):\n        x = random.random()\n"
    "        assert candidate(i, x) == i + x\n"
)
LISTED = {
    "task_id": 7,
    "text": "Write a function that adds.",
    "code": "def add(a, b):\n    return a + b\n",
    "test_list": ["assert add(1, 2) == 3", "assert add(2, -2) == 0", "assert add(2**10, 1) == 1025"],
}


def rows_of(tmp_path: Path, *rows: object) -> Path:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows))
    return path


def only(tmp_path: Path, row: object) -> Any:
    found = import_tasks(rows_of(tmp_path, row))
    assert found.rejected == ()
    return found.tasks[0]


def reason(tmp_path: Path, row: object) -> str:
    found = import_tasks(rows_of(tmp_path, row))
    assert (found.tasks, len(found.rejected)) == ((), 1)
    assert found.rejected[0].place.startswith(f"{tmp_path / 'rows.json'} row 1")
    return f"{found.rejected[0].place.rpartition('row 1')[2].strip()}: {found.rejected[0].reason}"


def told_by(task: Any) -> list[tuple[str, str]]:
    return [(test.stdin, test.stdout) for test in read_payload(task.payload).tests]


def test_published(tmp_path: Path) -> None:
    task = only(tmp_path, PUBLISHED)
    payload = read_payload(task.payload)
    assert told_by(task) == [("1 2\n", "3\n"), ("2 2\n", "4\n"), ("5 -3\n", "2\n")]
    assert (len(payload.public), payload.limits.cpu, task.proof) == (1, 1.0, ())
    assert task.traits["source"] == "published"
    named = only(tmp_path, PUBLISHED | {"example_input": ["0 0"], "example_output": ["0"]})
    assert [test.stdin for test in read_payload(named.payload).public] == ["0 0"]


def test_contests_with_programs(tmp_path: Path) -> None:
    task = only(tmp_path, CONTEST)
    payload = read_payload(task.payload)
    assert told_by(task) == [("1 2\n", "3\n"), ("2 2\n", "4\n"), ("9 9\n", "18\n")]
    assert (task.proof, payload.wrong) == ((RIGHT,), (WRONG,)), "kept are those that do as said"
    assert (payload.limits.cpu, payload.limits.memory) == (1.5, 512 * 2**20)
    assert task.traits["any_answer"] is True
    assert DOMAIN.verify(task) is None
    assert only(tmp_path, {**CONTEST, "solutions": {}}).proof == ()
    bad = CONTEST | {"solutions": {"language": [3], "solution": [WRONG]}}
    unproved = only(tmp_path, bad)
    assert (unproved.proof, read_payload(unproved.payload).wrong) == ((), (WRONG,))
    assert str(unproved.traits["unproved"]).startswith("no correct program passes: public test 1: WA")
    assert import_tasks(rows_of(tmp_path, bad), prove=False).tasks[0].proof == ()


def test_contests_repacked(tmp_path: Path) -> None:
    task = only(tmp_path, REPACKED)
    assert told_by(task) == [("0 1", "1"), ("1 1", "2"), ("2 1", "3"), ("3 1", "4")]
    assert (task.traits["contest_name"], task.traits["any_answer"]) == ("sum", False)


def test_archive(tmp_path: Path) -> None:
    payload = read_payload(only(tmp_path, ARCHIVE).payload)
    assert payload.checker == {"kind": "float", "abs": 1e-6, "rel": 1e-6}
    tests = [(test.stdin, test.stdout) for test in payload.tests]
    assert judge("print(int(input()) / 2 + 1e-9)", tests, checker=payload.checker).passed
    assert not judge("print(int(input()) / 2 + 1e-3)", tests, checker=payload.checker).passed


def test_functions(tmp_path: Path) -> None:
    task = only(tmp_path, HUMAN)
    payload = read_payload(task.payload)
    assert told_by(task) == [
        ("assert candidate(1, 2) == 3\n", ""),
        ("assert candidate('a', 'b') == 'a' + 'b', 'told'\n", ""),
        ("assert abs(candidate(0.1, 0.2) - 0.3) < 1e-6\n", ""),
        ("assert candidate([1], [(2, 3)]) == [1, (2, 3)]\n", ""),
        ("assert double(candidate(1, 1)) == 4\n", ""),
    ]
    assert payload.entry_point == "add"
    assert payload.checker == {"kind": "asserts", "setup": HUMAN["prompt"]}
    assert task.proof == (str(HUMAN["prompt"]) + str(HUMAN["canonical_solution"]),)
    listed = only(tmp_path, LISTED)
    assert [stdin for stdin, _ in told_by(listed)] == LISTED["test_list"]
    assert len(read_payload(listed.payload).public) == 1
    assert "assert add(1, 2) == 3" in listed.goal
    assert DOMAIN.verify(listed) is None


@pytest.mark.parametrize(
    ("test", "tests", "proved"),
    [
        (LOOP, 1, True),
        (LOOP.replace("i + x", "i - x"), 1, False),
        ("assert add(1, 1) == 2\nassert add({1: 2}.get(1), 0) == 2\n", 2, True),
        ("def check(candidate):\n    assert candidate((1,), (2,)) == (1, 2)\n", 1, True),
        ("def check(candidate):\n    assert candidate((1,), (2,)) == [1, 2]\n", 1, False),
        ("def check(candidate):\n    x = candidate(b'1', b'2')\n    if x != b'12': raise ValueError\n", 1, True),
    ],
)
def test_asserts_of_any_kind_are_the_tests(tmp_path: Path, test: str, tests: int, proved: bool) -> None:
    task = only(tmp_path, HUMAN | {"test": test})
    assert (len(told_by(task)), bool(task.proof)) == (tests, proved)
    assert ("unproved" in task.traits) == (not proved)


PAIR = "class Pair:\n    pass\ndef add(x, y):\n    return 3"


@pytest.mark.parametrize(
    ("row", "name", "proved"),
    [
        (LISTED | {"test_setup_code": "two = 2", "test_list": ["assert add(1, two) == 3"]}, "add", True),
        (LISTED | {"test_list": ["assert set(add([1], [2])) == {1, 2}"]}, "add", True),
        (LISTED | {"challenge_test_list": ["assert add((1,), (2,)) == (1, 2)"]}, "add", True),
        (LISTED | {"test_list": ["assert math.isclose(add(0.1, 0.2), 0.3)"]}, "add", True),
        (LISTED | {"code": PAIR, "test_list": ["assert add(Pair(), 1) == 3"]}, "add", True),
        (LISTED | {"code": "def add(a, b):\n    return b", "test_list": ["assert add(1, int) == int"]}, "add", True),
        (LISTED | {"test_list": ["assert add(1, open) == 1"]}, "add", False),
    ],
)
def test_lists_of_asserts(tmp_path: Path, row: dict[str, Any], name: str, proved: bool) -> None:
    task = only(tmp_path, row)
    assert (read_payload(task.payload).entry_point, bool(task.proof)) == (name, proved), task.traits


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (PUBLISHED | {"test_output": ["3\n"]}, "test_output: 1 outputs for 3 inputs"),
        (PUBLISHED | {"test_output": ["3\n", 4, "2"]}, "test_output[1]: expected a text, got int"),
        (PUBLISHED | {"test_input": "1 2"}, "test_input: expected a list of texts, got str"),
        (PUBLISHED | {"test_input": [], "test_output": []}, ": there are no tests"),
        (PUBLISHED | {"question": None}, "question: expected a text, got NoneType"),
        (PUBLISHED | {"question": ""}, ": statement: String should have at least 1 character"),
        (PUBLISHED | {"test_method": "function"}, "test_method: 'function' cannot be expressed; only 'stdio' can"),
        (PUBLISHED | {"test_time_limit": -1}, "test_time_limit: expected seconds above 0, got -1"),
        (
            PUBLISHED | {"test_input": ["1 2\n"] * 3},
            ": payload: two tests expect different outputs for the input '1 2\\n'",
        ),
        ({"question": "x", "test_input": []}, "test_output: the field is missing"),
        (CONTEST | {"private_tests": {"input": ["x"]}}, "private_tests.output: the field is missing"),
        (CONTEST | {"public_tests": [{"input": "x"}]}, "public_tests.output[0]: expected a text, got NoneType"),
        (REPACKED | {"test": "[}"}, "test: not JSON"),
        (REPACKED | {"test": "{}"}, "test: expected a JSON list, got dict"),
        (REPACKED | {"test": "[[]]"}, "test[0]: expected an object"),
        (ARCHIVE | {"samples": [["x"]]}, "samples[0]: expected a list of two texts"),
        (ARCHIVE | {"tests": [{"input": "x"}]}, "tests[0]: expected an object"),
        (ARCHIVE | {"float_tolerance": "tiny"}, "float_tolerance: expected a tolerance from 0 to 1, got 'tiny'"),
        (HUMAN | {"entry_point": "a b"}, ": entry_point: String should match"),
        (HUMAN | {"test": ""}, ": there are no tests"),
        (HUMAN | {"test": "x = open('/etc/passwd')"}, "test: there are no asserts in it"),
        (HUMAN | {"test": "assert ("}, "test: not Python"),
        (HUMAN | {"test": "assert add(1, 1)\x00"}, "test: not Python"),
        (HUMAN | {"test": "assert add(" + "[" * 250 + "]" * 250 + ") == 1"}, "test: not Python"),
        (LISTED | {"test_list": []}, "test_list: there are no tests"),
        (LISTED | {"test_list": ["assert 1"]}, "test_list[0]: it calls no function"),
        (LISTED | {"test_setup_code": "import"}, "test_setup_code: not Python"),
        ({"a": 1, "b": 2}, ": the fields (a, b) are those of no format that can be imported"),
        ([1], ": expected a JSON object, got list"),
        ({"domain": "coding", "payload": {}, "goal": ""}, ": task field goal"),
    ],
)
def test_bad_rows(tmp_path: Path, row: object, said: str) -> None:
    assert reason(tmp_path, row).startswith(said)


def test_one_bad_row_costs_no_other(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    lines = [json.dumps(PUBLISHED), "{not json", "", json.dumps(ARCHIVE), json.dumps(PUBLISHED), sum_task().to_json()]
    path.write_text("\n".join(lines))
    found = import_tasks(path)
    assert [task.traits.get("source") for task in found.tasks] == ["published", "archive", None]
    assert found.tasks[2] == sum_task()
    assert [(one.place, one.reason[:13]) for one in found.rejected] == [
        (f"{path} line 2", "not JSON: Exp"),
        (f"{path} line 5", "the same task"),
    ]
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert import_tasks(packed).tasks == found.tasks


def test_load_takes_one(tmp_path: Path) -> None:
    path = rows_of(tmp_path, PUBLISHED, ARCHIVE)
    assert load(f"{path}#2").traits["source"] == "archive"
    with pytest.raises(ImportFormatError, match=r"holds 2 problems; name one, such as .*#1"):
        DOMAIN.load(path)
    for name, message in (("#3", "no row 3"), ("#0", "not the number of a row"), ("#x", "not the number of a row")):
        with pytest.raises(ImportFormatError, match=message):
            load(f"{path}{name}")
    with pytest.raises(ImportFormatError, match=r"row 1 test_output: 1 outputs for 3 inputs"):
        load(rows_of(tmp_path, PUBLISHED | {"test_output": ["3"]}))


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.json", b"", "not JSON"),
        ("a.json", b"3", "expected a JSON object, got int"),
        ("a.json", b"\xff\xfe", "not UTF-8"),
        ("a.json", b"[" * 100_000, "not JSON"),
        ("a.json.gz", b"plain", "cannot be read"),
        ("a.jsonl.gz", gzip.compress(b"{}", mtime=0)[:-9], "cannot be read"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(ImportFormatError, match=message):
        import_tasks(path)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError, match="no such file or folder"):
        import_tasks(tmp_path / "absent.json")
    with pytest.raises(ImportFormatError, match=r"no file in it that ends with \.json"):
        import_tasks(tmp_path)


def test_a_folder_of_files(tmp_path: Path) -> None:
    rows_of(tmp_path, PUBLISHED, 3)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "one.jsonl").write_text(json.dumps(ARCHIVE))
    (tmp_path / "a.json").write_text("{")
    (tmp_path / "README.md").write_text("Some problems.")
    found = import_tasks(tmp_path)
    assert [task.traits["source"] for task in found.tasks] == ["archive", "published"]
    assert [Path(one.place).name for one in found.rejected] == ["a.json", "rows.json row 2"]


def test_rows_that_import_packages(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    row = {
        "prompt": "import numpy as np\n\ndef total(rows):\n    'Sum up.'\n",
        "entry_point": "total",
        "canonical_solution": "    return float(np.array(rows).sum())\n",
        "test": "import numpy as np\ndef check(f):\n    for n in range(3):\n        assert np.allclose(f([[n]]), n)\n",
    }
    path = rows_of(tmp_path, row)
    (proved,), (unproved,) = import_tasks(path, packages=["numpy"]).tasks, import_tasks(path).tasks
    assert (len(proved.proof), unproved.proof) == (1, ())
    assert "No module named 'numpy'" in str(unproved.traits["unproved"])


def test_many_asserts_are_taken_apart_in_linear_time(tmp_path: Path) -> None:
    lines = "".join(f"    assert add({i}, 0) == {i}\r\n" for i in range(6000))
    row = HUMAN | {"test": "def check(add):\r\n" + lines}
    started = time.process_time()
    assert "at most 512" in reason(tmp_path, row)
    assert time.process_time() - started < 10  # it took minutes where each assert split the text


def test_real_archive(coding_data: Path) -> None:
    found = import_tasks(coding_data / "google_coding_competitions_20.json")
    assert (len(found.tasks), found.rejected) == (20, ())
    rows = json.loads((coding_data / "google_coding_competitions_20.json").read_text())
    for row, task in zip(rows, found.tasks, strict=True):
        told = {(sample[0], sample[1]) for sample in row["samples"]}
        told |= {(test["input"], test["output"]) for test in row["tests"]}
        assert set(told_by(task)) == told
        assert task.payload["statement"] == row["statement"]


def test_real_contests(coding_data: Path) -> None:
    found = import_tasks(coding_data / "code_contests_8.jsonl")
    assert (len(found.tasks), found.rejected) == (8, ())
    rows = [json.loads(line) for line in (coding_data / "code_contests_8.jsonl").read_text().splitlines()]
    for row, task in zip(rows, found.tasks, strict=True):
        wanted = {(test["input"]["stdin"], test["output"]["stdout"]) for test in json.loads(row["test"])}
        assert set(told_by(task)) == wanted
    shirts = next(task for task in found.tasks if "T-shirts" in str(task.traits["contest_name"]))
    program = (
        "from collections import Counter\nn = int(input())\n"
        "a = Counter(input() for _ in range(n))\nb = Counter(input() for _ in range(n))\nprint(sum((b - a).values()))\n"
    )
    assert judge(program, told_by(shirts)).passed
    assert not judge(program.replace("b - a", "b"), told_by(shirts)).passed


READERS = [
    (import_published, PUBLISHED),
    (import_contests, CONTEST),
    (import_contests, REPACKED),
    (import_archive, ARCHIVE),
    (import_functional, HUMAN),
    (import_functional, LISTED),
]


@given(data=st.data())
@pytest.mark.parametrize(("reader", "row"), READERS)
def test_any_row_is_read_or_refused(reader: Any, row: dict[str, Any], data: st.DataObject) -> None:
    fields = data.draw(st.dictionaries(st.sampled_from(sorted(row)), JSON, min_size=1, max_size=3))
    removed = data.draw(st.sets(st.sampled_from(sorted(row)), max_size=1))
    changed = {name: value for name, value in (row | fields).items() if name not in removed}
    try:
        draft = reader.read(changed)
        payload = draft.payload()
    except (ImportFormatError, TaskFormatError):
        return
    assert payload.hidden
    assert {(test.stdin, test.stdout) for test in payload.tests} <= {*draft.public, *draft.hidden}
