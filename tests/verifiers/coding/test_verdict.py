"""What the verdicts of a program's tests mean together."""

import pytest

from rlanything_verifiers.coding import Judgement


@pytest.mark.parametrize(
    ("verdicts", "outcome"),
    [
        (("AC", "AC"), True),
        (("AC", "WA"), False),
        (("AC", "IE"), None),
        (("IE", "IE"), None),
        (("IE", "WA"), False),  # one failed test decides; the judge's failure on another cannot undo it
        (("TLE", "IE"), False),
    ],
)
def test_one_failed_test_decides(verdicts: tuple[str, ...], outcome: bool | None) -> None:
    error = "the judge failed" if "IE" in verdicts else None
    judgement = Judgement(verdicts, "full", (0.0,) * len(verdicts), ("",) * len(verdicts), error)  # type: ignore[arg-type]
    assert judgement.outcome is outcome
    assert judgement.passed is (outcome is True)
