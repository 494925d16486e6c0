"""What is said of packages and their vulnerabilities: never that they are clean where nothing was found out."""

from pathlib import Path
from typing import Any

import pytest
from audit import report

CLEAN: dict[str, Any] = {"name": "a", "version": "1", "vulns": []}
FLAWED: dict[str, Any] = {"name": "b", "version": "2", "vulns": [{"id": "CVE-0", "fix_versions": ["3"]}]}
UNKNOWN: dict[str, Any] = {"name": "c", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("found", "status", "said"),
    [
        ([CLEAN], 0, "1 packages looked up, 0 with"),
        ([CLEAN, UNKNOWN], 0, "not known to the advisory service: 1 of 2 (c ...)"),
        ([CLEAN, FLAWED], 1, "b 2: CVE-0, mended in 3"),
        ([UNKNOWN, UNKNOWN], 2, "answers for none of"),
        ([], 2, "answers for none of"),
    ],
)
def test_what_is_said(found: list[dict[str, Any]], status: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(found, Path("pins.txt")) == status
    printed = capsys.readouterr()
    assert said in printed.out + printed.err
