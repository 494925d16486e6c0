"""The adapter for OpenEnv, on the real package, in an environment of its own."""

import pytest
from isolated import Isolated


def test_openenv(monkeypatch: pytest.MonkeyPatch) -> None:
    # Its other needs are here already, in versions that the parts used are content with; gradio and fastmcp are for
    # parts that are not used.
    monkeypatch.setenv("PIP_NO_DEPS", "1")
    Isolated("openenv").run_tests("openenv_checks.py")
