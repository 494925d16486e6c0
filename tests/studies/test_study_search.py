"""Best of n at test time where the answer is known, and the study end to end."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from studies.__main__ import app
from studies.search import ANY, RANDOM, SHORTEST, best_of, best_unfinished, write_search


def test_best_of_n_by_what_is_known() -> None:
    solved = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0]], float)
    steps = np.array([[12, 12, 12], [8, 12, 12], [9, 7, 12]], float)
    scores = {"right": solved, "wrong": -solved, "flat": 0 * solved}
    found = best_of(solved, steps, scores, 36)
    assert found[ANY].tolist() == found["right"].tolist() == found[SHORTEST].tolist() == [1, 1, 0]
    assert found["wrong"].tolist() == [0, 0, 0]
    assert found["flat"].tolist() == found[RANDOM].tolist() == pytest.approx([2 / 3, 1 / 3, 0])
    tight = best_of(solved, steps, scores, 20)
    assert tight["right"].tolist() == [1, 0, 0]
    assert best_of(solved, steps, scores, 5)["right"].tolist() == [0, 0, 0]  # one attempt at least


def test_the_best_unfinished_attempt_is_chosen_where_two_are_left() -> None:
    """After eight steps two attempts are unfinished in the first game, three in the second, one in the last."""
    solved = np.array([[0, 0, 0], [1, 0, 1], [1, 1, 1]], float)
    steps = np.array([[12, 12, 12], [8, 12, 8], [9, 9, 8]], float)
    found = best_unfinished(solved, steps, {"right": solved, "wrong": -solved}, 8)
    assert SHORTEST not in found
    assert found["right"].tolist() == found[ANY].tolist() == [1, 1]
    assert found["wrong"].tolist() == [0, 0]
    assert found[RANDOM].tolist() == pytest.approx([1 / 2, 1 / 3])


@pytest.mark.slow
@pytest.mark.usefixtures("in_process")
def test_the_study_from_the_command_to_the_page(micro_file: Path, tmp_path: Path) -> None:
    study = yaml.safe_load(micro_file.read_text())
    study |= {"arms": ["before", "full"]}
    file = tmp_path / "judge.yaml"
    settings = {"games": 6, "attempts": 3, "budgets": [16], "cut": 2}
    file.write_text(yaml.safe_dump({"study": study, "search": settings}))
    folder = tmp_path / "out"
    arguments = ["search", "--file", str(file), "--out", str(folder), "--seeds", "1", "--workers", "1"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    result = json.loads((folder / "search" / "seed-0" / "result.json").read_text())
    assert len(result["attempts"]) == 3
    arms = ["heuristic labels", "warm judge", "trained judge", "true labels"]
    assert [list(attempt["scores"]) for attempt in result["attempts"]] == [arms] * 3
    assert result["budgets"] == [8, 16]
    text = write_search(folder).read_text()
    assert "| chosen by | 8 steps | 16 steps | unfinished |" in text
    assert "What would refute it" in text
    shutil.copytree(folder, tmp_path / "other")
    refused = CliRunner().invoke(app, [*arguments, "--warm", str(tmp_path / "other")])
    assert (refused.exit_code, "other settings" in refused.output) == (2, True), "the judges are of another study"
    file.write_text(yaml.safe_dump({"study": study, "search": {**settings, "games": 5}}))
    refused = CliRunner().invoke(app, arguments)
    assert refused.exit_code != 0
    assert "other settings" in refused.output
