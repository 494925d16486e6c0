"""The adapter for verl, on the real package, in an environment of its own."""

from isolated import Isolated


def test_verl() -> None:
    Isolated("verl").run_tests("adapters/verl_checks.py")
