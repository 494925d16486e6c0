"""The adapter for NeMo Gym, on the real package, in an environment of its own."""

import pytest
from isolated import Isolated


@pytest.mark.slow
def test_nemo_gym() -> None:
    Isolated("nemo").run_tests("adapters/nemo_gym_checks.py", marks="")
