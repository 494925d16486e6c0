"""The adapter for Prime Intellect's verifiers, on the real package, in an environment of its own."""

import pytest
from isolated import Isolated


def test_verifiers() -> None:
    Isolated("verifiers").run_tests("adapters/verifiers_checks.py")


@pytest.mark.slow
def test_verifiers_at_length() -> None:
    Isolated("verifiers").run_tests("adapters/verifiers_checks.py", marks="slow")
