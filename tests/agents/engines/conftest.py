"""The stand-ins for vLLM as fixtures."""

from __future__ import annotations

import fake_vllm
import pytest


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> type[fake_vllm.LLM]:
    """``import vllm`` finds the stand-in."""
    return fake_vllm.install(monkeypatch)
