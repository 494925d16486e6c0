"""What is read of a run folder that nobody vouches for, and how much."""

import contextlib
import gzip
import io
import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_agents.runs.storage import RunFolderError
from rlanything_agents.runs.stored.folder import SafeFolder
from rlanything_agents.runs.stored.lines import unpacked_lines
from rlanything_agents.runs.stored.values import integer, number, readable


@pytest.fixture
def folder(tmp_path: Path) -> SafeFolder:
    (tmp_path / "secret").write_text("not for the viewer")
    run = tmp_path / "run"
    (run / "stages").mkdir(parents=True)
    (run / "config.json").write_text('{"name": "one"}')
    (run / "stages" / "before.json").write_text('{"panels": {}}')
    return SafeFolder(run)


def test_regular_files_are_read(folder: SafeFolder) -> None:
    assert folder.json("config.json") == {"name": "one"}
    assert folder.json("stages/before.json") == {"panels": {}}
    assert folder.json("summary.json") == {}
    assert folder.names("stages", re.compile(r".*\.json")) == ["before.json"]


def test_no_link_is_followed(folder: SafeFolder, tmp_path: Path) -> None:
    (folder.root / "summary.json").symlink_to(tmp_path / "secret")
    (folder.root / "trajectories").symlink_to(tmp_path)
    with pytest.raises(RunFolderError, match=r"summary\.json is not a plain file"):
        folder.open("summary.json")
    with pytest.raises(RunFolderError, match="not a plain file"):
        folder.open("trajectories/secret")
    assert folder.names("trajectories", re.compile(".*")) == []


def test_a_pipe_or_a_folder_is_no_file_and_is_not_waited_for(folder: SafeFolder) -> None:
    os.mkfifo(folder.root / "metrics.jsonl")
    for name in ("metrics.jsonl", "stages"):
        with pytest.raises(RunFolderError, match="not a regular file"):
            folder.open(name)


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", "stages/../../secret", ".", "", "stages//before.json", "a\0b"]
)
def test_no_name_leads_out(folder: SafeFolder, name: str) -> None:
    with pytest.raises(RunFolderError):
        folder.open(name)


@given(st.text(alphabet="./ab\\\0~", max_size=12))
def test_no_name_made_of_dots_and_slashes_leads_out(name: str) -> None:
    with pytest.raises((RunFolderError, FileNotFoundError)):
        SafeFolder(Path(__file__).parent).open(name)


@pytest.mark.parametrize(
    ("content", "why"),
    [("{", "is not JSON"), ("[1]", "JSON object"), ("[" * 100_000, "is not JSON"), ("\udcff", "not JSON")],
)
def test_what_is_no_json_object_is_named(folder: SafeFolder, content: str, why: str) -> None:
    (folder.root / "summary.json").write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(RunFolderError, match=rf"summary\.json.*{why}"):
        folder.json("summary.json")


def test_a_file_larger_than_its_limit_is_refused(folder: SafeFolder) -> None:
    with (folder.root / "config.json").open("wb") as file:
        file.truncate(10 << 20)
    with pytest.raises(RunFolderError, match="larger than 1 MiB"):
        folder.read("config.json", 1 << 20)


# -- lines of packed files -----------------------------------------------------------------------------------


@given(st.lists(st.binary(max_size=60).map(lambda line: line.replace(b"\n", b"")), max_size=20))
def test_lines_come_as_they_are(lines: list[bytes]) -> None:
    packed = gzip.compress(b"".join(line + b"\n" for line in lines))
    found = list(unpacked_lines(io.BytesIO(packed), longest=100))
    assert [line for _, line in found] == [line + b"\n" for line in lines]
    assert [number for number, _ in found] == list(range(len(lines)))


def test_a_line_that_is_too_long_is_passed_over() -> None:
    packed = gzip.compress(b"one\n" + b"x" * 5_000 + b"\nthree\n")
    assert list(unpacked_lines(io.BytesIO(packed), longest=100)) == [(0, b"one\n"), (1, None), (2, b"three\n")]


def test_a_bomb_is_unpacked_to_the_limit_and_no_further() -> None:
    packed = gzip.compress(b"one\n" + b"\0" * (64 << 20))
    lines = unpacked_lines(io.BytesIO(packed), unpacked=1 << 20, longest=1 << 16)
    assert next(lines) == (0, b"one\n")
    with pytest.raises(RunFolderError, match="unpacks to more than 1 MiB"):
        list(lines)


@given(st.data())
def test_a_damaged_file_gives_its_lines_up_to_the_damage(data: st.DataObject) -> None:
    packed = bytearray(gzip.compress(b"".join(b"line %d\n" % k for k in range(50))))
    if data.draw(st.booleans()):
        del packed[data.draw(st.integers(1, len(packed) - 1)) :]
    else:
        packed[data.draw(st.integers(0, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    found = []
    with contextlib.suppress(RunFolderError):  # and nothing else
        for line in unpacked_lines(io.BytesIO(bytes(packed))):
            found.append(line)  # noqa: PERF402 (what came before the error counts)
    assert [n for n, _ in found] == list(range(len(found)))


# -- values --------------------------------------------------------------------------------------------------


@given(st.text(max_size=200))
def test_a_readable_text_has_nothing_invisible(text: str) -> None:
    shown = readable(text)
    assert all(letter == "\n" or letter.isprintable() for letter in shown)
    shown.encode()


def test_escapes_and_overrides_are_spelled_out() -> None:
    assert readable("a\x1b[31mb\u202ec\r\nd\te") == "a\\x1b[31mb\\u202ec\nd   e"
    assert readable("\ud800") == "\\ud800"
    assert readable("x" * 30, 10) == f"{'x' * 10}\n[20 more characters are not shown]"
    assert [readable(value) for value in (None, 3, ["a"])] == ["", "", ""]


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.integers())))
def test_numbers_are_finite_or_missing(value: object) -> None:
    found = number(value)
    assert found is None or json.loads(json.dumps(found, allow_nan=False)) == found
    assert abs(integer(value)) < 10**15
    assert number(True) is None
    assert number(10**400) is None
