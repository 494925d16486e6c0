"""Episodes of unknown origin, in the form pages show."""

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_values import JSON
from view_runs import read_episodes, write_episodes

from rlanything_agents.runs.storage import RunFolderError
from rlanything_agents.runs.stored.folder import SafeFolder
from rlanything_agents.tools.view.episodes import CHUNK, brief, read_chunk, read_episode, read_index

KEYS = ("iteration", "slot", "role", "goal", "task_id", "outcome", "error", "score", "opening", "tests", "verdicts")
TURN = ("thought", "action", "observation", "judgements", "votes", "reward", "advantage")
RECORDS = st.fixed_dictionaries(
    {"turns": st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(TURN, JSON)) | JSON, max_size=3) | JSON},
    optional=dict.fromkeys(KEYS, JSON),
)
FIRST = "trajectories/0001.jsonl.gz"


@given(RECORDS | JSON)
def test_any_json_is_an_episode_or_refused(record: Any) -> None:
    try:
        episode = read_episode(0, json.dumps(record).encode())
    except RunFolderError:
        return
    assert json.loads(json.dumps(episode, allow_nan=False)) == episode
    assert episode["outcome"] in (1, -1, None)
    scores = [vote["score"] for turn in episode["turns"] for vote in turn["votes"]]
    assert all(score is None or math.isfinite(score) for score in scores)
    assert brief(episode)["turns"] == len(episode["turns"])


def test_a_real_episode_loses_nothing(runs: Path) -> None:
    record = read_episodes(runs / "alfworld")[0]
    episode = read_episode(0, json.dumps(record).encode())
    assert (episode["goal"], episode["task"], episode["outcome"]) == (
        record["goal"],
        record["task_id"],
        record["outcome"],
    )
    for shown, turn in zip(episode["turns"], record["turns"], strict=True):
        assert (shown["thought"], shown["action"], shown["observation"]) == tuple(turn[key] for key in TURN[:3])
        assert [vote["text"] for vote in shown["votes"]] == turn["judgements"]
        assert [vote["score"] for vote in shown["votes"]] == turn["votes"]
        assert (shown["reward"], shown["advantage"]) == (turn["reward"], turn["advantage"])


def test_an_index_counts_and_chunks_hold_everything(runs: Path) -> None:
    folder = SafeFolder(runs / "alfworld")
    index = read_index(folder, FIRST)
    assert index["problems"] == []
    assert [row["n"] for row in index["episodes"]] == list(range(16))
    chunks = [read_chunk(folder, FIRST, chunk)["episodes"] for chunk in range(3)]
    assert [len(chunk) for chunk in chunks] == [CHUNK, CHUNK, 0]
    assert [brief(episode) for chunk in chunks for episode in chunk] == index["episodes"]
    scores = [vote["score"] for turn in chunks[0][0]["turns"] for vote in turn["votes"]]
    votes = [score for score in scores if score is not None]
    assert index["episodes"][0]["votes"] == (round(sum(votes) / len(votes), 3) if votes else None)


def test_what_cannot_be_read_is_named_and_the_rest_is_shown(run: Path) -> None:
    lines = [json.dumps(episode).encode() for episode in read_episodes(run)]
    lines[1], lines[2], lines[3] = b"{broken", b'{"turns": 3}', b"\xff\xfe"
    whole = gzip.compress(b"\n".join(lines) + b"\n")
    (run / FIRST).write_bytes(whole)
    index = read_index(SafeFolder(run), FIRST)
    assert [row["n"] for row in index["episodes"]] == [0, *range(4, 16)]
    assert [problem.split(":")[0] for problem in index["problems"]] == [f"episode {n} of {FIRST}" for n in (1, 2, 3)]
    (run / FIRST).write_bytes(whole[: len(whole) // 2])
    cut = read_index(SafeFolder(run), FIRST)
    assert 0 < len(cut["episodes"]) < 13
    assert "cut short" in cut["problems"][-1]


def test_huge_texts_and_lists_are_cut(run: Path) -> None:
    episode = read_episodes(run)[0]
    episode["turns"][0] |= {"action": "x" * 3_000_000, "judgements": ["y"] * 5_000, "votes": [1] * 5_000}
    episode["turns"] = episode["turns"][:1] * 6
    write_episodes(run, [{**episode, "goal": "z" * 33_600_000}])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rlanything_agents.tools.view.episodes.MAX_TURNS", 4)
        assert "too long" in read_index(SafeFolder(run), FIRST)["problems"][0]
        write_episodes(run, [episode])
        (shown,) = read_chunk(SafeFolder(run), FIRST, 0)["episodes"]
    assert len(shown["turns"]) == 4
    assert shown["turns"][0]["action"].endswith("[2900000 more characters are not shown]")
    assert len(shown["turns"][0]["votes"]) == 256


def test_tests_and_verdicts_of_programs(runs: Path) -> None:
    for episode in read_chunk(SafeFolder(runs / "coding"), FIRST, 0)["episodes"]:
        assert len(episode["tests"]) == 5
        assert [len(turn["votes"]) for turn in episode["turns"]] == [5]
        assert sum(episode["verdicts"].values()) > 0
        assert (episode["outcome"] == 1) == (set(episode["verdicts"]) == {"accepted"})
