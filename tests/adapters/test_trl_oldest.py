"""The adapter for TRL on the oldest version of TRL that it is said to work with."""

from __future__ import annotations

import subprocess

import pytest
from isolated import Isolated

FILES = ("adapters/test_trl.py", "adapters/test_trl_source.py", "adapters/test_trl_tools.py")


@pytest.mark.slow
def test_the_adapter_on_the_oldest_trl() -> None:
    oldest = Isolated("trl")
    version = [str(oldest.python()), "-c", "import importlib.metadata as m; print(m.version('trl'))"]
    assert subprocess.check_output(version, text=True).strip() == "1.11.0"
    oldest.run_tests(*FILES)
