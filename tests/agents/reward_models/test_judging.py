"""The benchmark of untrained reward models, with a model of random weights."""

from __future__ import annotations

from pathlib import Path

import pytest
from families import checkpoint

from benchmarks import judging


@pytest.mark.parametrize("answers", ["forecasts", "votes"])
def test_free_rules_stand_beside_the_model(
    answers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(checkpoint("qwen2.5", tmp_path / "model"))
    monkeypatch.setattr("sys.argv", ["judging", model, "--answers", answers, "--episodes", "5", "--max-tokens", "24"])
    judging.main()
    lines = capsys.readouterr().out.splitlines()
    rows = {cells[1].strip(): cells[2:-1] for line in lines if len(cells := line.split("|")) > 3}
    assert lines[0].startswith("5 episodes, 2 solved, ")
    labels, remain, own = rows["heuristic labels"], rows["turns that remain"], rows[f"{model}, {answers}"]
    assert remain[2].strip() == "50.0 %", "at the same turn the number of turns tells nothing"
    assert [cells[0].strip() for cells in (labels, remain, own)] == ["100.0 %"] * 3, "answers have a form"
    assert float(labels[4].split()[0]) > 80
    assert float(own[-1]) >= 0
