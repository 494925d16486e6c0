"""Scores of cases by OSWorld's own metrics, in an environment of their own, and by ours."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from osworld_cases import Case
from osworld_desk import Desk, Web

from rlanything_verifiers.osworld import check_evaluator, evaluate

PROGRAM = Path(__file__).with_name("upstream_program.py")


def upstream_scores(python: Path, cases: Sequence[Case], folder: Path) -> list[float | None]:
    """The scores of the package desktop-env; None where its metric raises an exception."""
    paths: dict[bytes, str] = {}

    def written(value: Any, suffix: str) -> Any:
        if not isinstance(value, bytes):
            return value
        key = value + suffix.encode()
        if key not in paths:
            paths[key] = str(folder / f"{len(paths)}{suffix}")
            Path(paths[key]).write_bytes(value)
        return paths[key]

    listed = folder / "cases.jsonl"
    with listed.open("w") as file:
        for case in cases:
            arguments = [written(value, case.suffix) for value in case.arguments]
            question = {"metric": case.metric, "arguments": arguments, "options": dict(case.options)}
            file.write(json.dumps(question) + "\n")
    done = subprocess.run([str(python), str(PROGRAM), str(listed)], capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(cases):
        raise RuntimeError(f"{len(answers)} answers to {len(cases)} cases: {done.stderr[-2000:]}")
    return [answer.get("score") for answer in answers]


def our_score(case: Case, strict: str) -> float:
    """The score of our metric, through an evaluator."""
    desk, web = Desk(), Web()

    def source(value: Any, kind: str) -> dict[str, Any]:
        if isinstance(value, bytes):
            (desk.files if kind == "vm_file" else web)[f"/{kind}"] = value
            return {"type": kind, "path": f"/{kind}", "dest": f"{kind}{case.suffix}"}
        return {"type": "rule", "rules": value}

    evaluator: dict[str, Any] = {"func": case.metric, "options": dict(case.options)}
    evaluator["result"] = source(case.arguments[0], "vm_file")
    if len(case.arguments) > 1:
        evaluator["expected"] = source(case.arguments[1], "cloud_file")
    check_evaluator(evaluator)
    return evaluate(evaluator, desk, last_action="DONE", files=web, strict=strict)
