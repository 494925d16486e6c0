"""The adapter for GEM, on the real package, in an environment of its own."""

import pytest
from isolated import Isolated


def test_gem() -> None:
    Isolated("gem").run_tests("adapters/gem_checks.py")


@pytest.mark.slow
def test_gem_at_length() -> None:
    Isolated("gem").run_tests("adapters/gem_checks.py", marks="slow")
