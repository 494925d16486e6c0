"""The adapter for verl, on the real package, in an environment of its own."""

import pytest
from isolated import Isolated


@pytest.mark.slow
def test_verl() -> None:
    Isolated("verl").run_tests("adapters/verl_checks.py")
