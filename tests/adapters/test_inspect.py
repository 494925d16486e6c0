"""Panels and logs for Inspect AI, on the real package, in an environment of its own."""

import pytest
from isolated import Isolated


@pytest.mark.slow
def test_inspect_ai() -> None:
    Isolated("inspect").run_tests("adapters/inspect_checks.py")
