"""``python -m studies report --json``: one JSON object with the results, and nothing else on standard output."""

import json
from collections.abc import Callable
from pathlib import Path

from typer.testing import CliRunner

from studies.__main__ import app
from studies.plan import BEFORE


def test_the_report_as_json(written: Callable[..., Path]) -> None:
    folder = written({BEFORE: [0.2, 0.3], "outcome": [0.4, 0.5]})
    result = CliRunner().invoke(app, ["report", str(folder), "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["pages"] == [str(folder / "table.md")]
    rates = [
        (row["arm"], row["seed"], round(row["value"], 3))
        for row in found["results"]
        if row["metric"] == "success" and row["panel"] == "valid_seen" and row["arm"] == "outcome"
    ]
    assert sorted(rates) == [("outcome", 0, 0.4), ("outcome", 1, 0.5)]
    assert CliRunner().invoke(app, ["report", str(folder / "absent"), "--json"]).exit_code == 2
