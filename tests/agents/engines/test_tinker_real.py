"""The SDK of Tinker against SkyRL's server on a processor, in an environment of its own."""

import pytest
from isolated import Isolated


@pytest.mark.slow
def test_tinker() -> None:
    Isolated("tinker").run_tests("agents/engines/tinker_checks.py", marks="")
