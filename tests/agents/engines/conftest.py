"""The stand-ins for vLLM as fixtures."""

from __future__ import annotations

import pytest
import stand_in_vllm


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> type[stand_in_vllm.LLM]:
    """``import vllm`` finds the stand-in."""
    return stand_in_vllm.install(monkeypatch)
