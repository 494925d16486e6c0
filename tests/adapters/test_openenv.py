"""The adapter for OpenEnv, on the real package, in an environment of its own."""

from isolated import Isolated


def test_openenv() -> None:
    Isolated("openenv").run_tests("adapters/openenv_checks.py")
