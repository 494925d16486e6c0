"""The adapter for OpenEnv, on the real package, in an environment of its own."""

import pytest
from isolated import Isolated


@pytest.mark.slow
def test_openenv() -> None:
    Isolated("openenv").run_tests("adapters/openenv_checks.py", "adapters/openenv_tool_checks.py")


@pytest.mark.slow
def test_the_package_in_examples() -> None:
    Isolated("openenv").run_tests("adapters/openenv_package_checks.py")


@pytest.mark.slow
def test_openenv_at_length() -> None:
    Isolated("openenv").run_tests("adapters/openenv_checks.py", marks="slow")
