"""The adapter for GEM, on the real package, in an environment of its own."""

from isolated import Isolated


def test_gem() -> None:
    Isolated("gem").run_tests("adapters/gem_checks.py")
