"""Rollouts as data sets: what a run wrote comes back from ``datasets``, in every format, for every domain."""

import gzip
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets
import pytest
from small_runs import small_run
from typer.testing import CliRunner

from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.storage import RunFolderError
from rlanything_agents.runs.stored.episodes import StoredEpisode, StoredTurn, read_episodes
from rlanything_agents.tools.cli import app
from rlanything_agents.tools.export import FORMATS, KINDS, export_run
from rlanything_agents.tools.export.kinds import chat
from rlanything_agents.tools.export.run import view_of
from rlanything_envs import Conversation

Records = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", True)


def records_of(run: Path) -> Iterator[dict[str, Any]]:
    for file in sorted((run / "trajectories").glob("*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def rewrite(file: Path, change: Callable[[int, dict[str, Any]], dict[str, Any]]) -> None:
    """Change the records of a file."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        records = [change(number, json.loads(line)) for number, line in enumerate(lines)]
    with gzip.open(file, "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A real run whose small policy wins next to nothing: every other episode is called won, and one broken."""
    copy = tmp_path / "run"
    shutil.copytree(small_run("alfworld"), copy)

    def change(number: int, record: dict[str, Any]) -> dict[str, Any]:
        if number == 3:
            turns = [{**turn, "reward": None} for turn in record["turns"]]
            return {**record, "outcome": None, "error": "the engine broke", "turns": turns}
        return {**record, "outcome": 1, "score": 1.0} if number % 2 == 0 else {**record, "outcome": -1, "score": 0.0}

    for file in (copy / "trajectories").iterdir():
        rewrite(file, change)
    return copy


def loaded(folder: Path, kind: str) -> datasets.DatasetDict:
    return datasets.load_dataset(str(folder), kind, cache_dir=str(folder.parent / "cache"))


def close(value: Any, other: Any) -> bool:
    """Alike, but for what 32 bits lose of a number."""
    if isinstance(value, float):
        return other is not None and abs(value - other) < 1e-5
    if isinstance(value, dict):
        return value.keys() == other.keys() and all(close(value[key], other[key]) for key in value)
    if isinstance(value, list):
        return len(value) == len(other) and all(map(close, value, other))
    return bool(value == other)


def check_round_trip(run: Path, target: Path, format: str) -> None:
    export_run(RunFolder(run), target, kinds=["episodes", "turns", "judgements"], format=format)
    records = list(records_of(run))
    rows = loaded(target, "episodes")["train"]
    assert rows.features == KINDS["episodes"].features()
    assert len(rows) == len(records)
    for row, record in zip(rows, records, strict=True):
        del row["episode"]
        assert close(
            {key: record[key] for key in row if key != "turns"}, {k: v for k, v in row.items() if k != "turns"}
        )
        wanted = [{key: turn[key] for key in row["turns"][0]} for turn in record["turns"]]
        assert close(wanted, row["turns"])
    turns = loaded(target, "turns")["train"]
    assert [row["action"] for row in turns] == [turn["action"] for record in records for turn in record["turns"]]
    said = loaded(target, "judgements")["train"]
    assert [row["vote"] for row in said] == [
        vote for record in records for turn in record["turns"] for vote in turn["votes"]
    ]


@pytest.mark.parametrize("format", FORMATS)
def test_what_was_written_comes_back(run: Path, tmp_path: Path, format: str) -> None:
    check_round_trip(run, tmp_path / "data", format)


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("domain", ["coding", "osworld"])
def test_every_domain_comes_back(tmp_path: Path, domain: str, format: str) -> None:
    check_round_trip(small_run(domain), tmp_path / "data", format)


@pytest.mark.parametrize("format", FORMATS)
def test_splits(run: Path, tmp_path: Path, format: str) -> None:
    counts = export_run(RunFolder(run), tmp_path / "a", kinds=["episodes", "sft"], format=format, split="outcome")
    data = loaded(tmp_path / "a", "episodes")
    assert {name: len(rows) for name, rows in data.items()} == counts["episodes"]
    assert set(data) == {"won", "lost", "broken"}
    assert all(set(rows["outcome"]) == {{"won": 1, "lost": -1, "broken": None}[name]} for name, rows in data.items())
    assert list(loaded(tmp_path / "a", "sft")) == ["won"]
    export_run(RunFolder(run), tmp_path / "b", kinds=["turns"], format=format, split="iteration")
    data = loaded(tmp_path / "b", "turns")
    assert {name: set(rows["iteration"]) for name, rows in data.items()} == {
        "iteration_0001": {1},
        "iteration_0002": {2},
    }


def test_chats_are_what_a_conversation_tells_and_reads(run: Path, tmp_path: Path) -> None:
    export_run(RunFolder(run), tmp_path / "data", kinds=["sft", "preferences"])
    records = [record for record in records_of(run) if record["outcome"] == 1]
    rows = loaded(tmp_path / "data", "sft")["train"]
    assert len(rows) == len(records)
    with Conversation("RLAnything/AlfWorld-v0") as conversation:
        for row, record in zip(rows, records, strict=True):
            messages = row["messages"]
            assert [message["role"] for message in messages] == ["user", "assistant"] * len(record["turns"])
            assert messages[0]["content"] == f"{conversation.manual}\n\n{record['opening']}"
            said = [conversation.env.unwrapped.read_answer(m["content"]) for m in messages[1::2]]  # type: ignore[attr-defined]
            assert said == [turn["action"] for turn in record["turns"]]
            assert [m["content"] for m in messages[2::2]] == [turn["observation"] for turn in record["turns"][:-1]]
    pairs = loaded(tmp_path / "data", "preferences")["train"]
    assert len(pairs) > 0
    won = {(r["iteration"], r["task_id"], r["turns"][0]["action"]) for r in records}
    for pair in pairs:
        assert [message["role"] for message in pair["prompt"]] == ["user"]
        assert pair["chosen"][0]["role"] == pair["rejected"][-1]["role"] == "assistant"
        assert (pair["iteration"], pair["task_id"], view_of("alfworld").read(pair["chosen"][0]["content"])[1]) in won
        assert (pair["chosen_score"], pair["rejected_score"]) == (1.0, 0.0)


def test_an_answer_is_read_again_as_it_was_played() -> None:
    """A thought may hold what looks like an action."""
    turn = StoredTurn(thought="Action: look", action="go to fridge 1", observation="")
    episode = StoredEpisode(
        iteration=1, slot=0, role="active", task_id="t", goal="g", opening="o", outcome=1, turns=(turn,)
    )
    view = view_of("alfworld")
    assert view.read(chat(episode, view)[1]["content"]) == ("Action: look", "go to fridge 1")


def test_a_folder_of_somebody_else_is_read_as_plain_files(run: Path, tmp_path: Path) -> None:
    (run / "config.json").rename(tmp_path / "elsewhere.json")
    (run / "config.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(RunFolderError, match=r"config\.json is not a plain file"):
        export_run(RunFolder(run), tmp_path / "out", kinds=["turns"])


def test_the_command(run: Path, tmp_path: Path) -> None:
    words = ["export", str(run), "--out", str(tmp_path / "d"), "--what", "turns", "--what", "turns", "--json"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["rows"] == {"turns": {"train": sum(len(record["turns"]) for record in records_of(run))}}
    text = (tmp_path / "d" / "README.md").read_text()
    assert "load_dataset" in text
    assert "| advantage | float32 |" in text
    again = CliRunner().invoke(app, words)
    assert again.exit_code == 2
    assert "choose another folder" in again.stderr
    assert again.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"kinds": ["thoughts"]}, "no kind of rows 'thoughts'"),
        ({"kinds": []}, "nothing to export"),
        ({"kinds": ["turns"], "format": "csv"}, "no format 'csv'"),
        ({"kinds": ["turns"], "split": "task"}, "no split 'task'"),
        ({"kinds": ["preferences"], "split": "outcome"}, "cannot be split by outcome"),
    ],
)
def test_what_cannot_be_exported(run: Path, tmp_path: Path, arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(RunFolderError, match=told):
        export_run(RunFolder(run), tmp_path / "data", **arguments)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_a_run_without_wins_has_no_chats(run: Path, tmp_path: Path) -> None:
    for file in (run / "trajectories").iterdir():
        rewrite(file, lambda _, record: {**record, "outcome": -1})
    with pytest.raises(RunFolderError, match=r"no sft \(a row is a won episode as a chat\) and no preferences"):
        export_run(RunFolder(run), tmp_path / "data", kinds=["turns", "sft", "preferences"])
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda _, record: {**record, "outcome": 2}, "line 1, outcome"),
        (lambda n, record: {**record, "turns": "no"} if n == 2 else record, "line 3, turns"),
        (lambda _, record: {k: v for k, v in record.items() if k != "slot"}, "line 1, slot"),
        (lambda _, record: {**record, "turns": [{**record["turns"][0], "votes": ["x"]}]}, "line 1, turns.0.votes.0"),
    ],
)
def test_a_damaged_record_is_named_and_nothing_is_written(
    run: Path, tmp_path: Path, change: Callable[[int, dict[str, Any]], dict[str, Any]], told: str
) -> None:
    rewrite(run / "trajectories" / "0002.jsonl.gz", change)
    with pytest.raises(RunFolderError, match=rf"0002\.jsonl\.gz, {told}"):
        export_run(RunFolder(run), tmp_path / "data", kinds=["turns"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_a_file_that_was_cut_is_named(run: Path, tmp_path: Path) -> None:
    file = run / "trajectories" / "0001.jsonl.gz"
    file.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(RunFolderError, match=r"0001\.jsonl\.gz: .*damaged or cut short"):
        list(read_episodes(file))
