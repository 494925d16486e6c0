"""Shares as text."""

from rlanything_agents.feedback.percent import interval, percent, points


def test_shares_as_text() -> None:
    assert percent(0.354) == "35.4 %"
    assert percent(1, 0) == "100 %"
    assert points(-0.0123) == "-1.2 points"
    assert interval(0.354, 0.3211, 0.3889) == "35.4 % [32.1, 38.9]"
