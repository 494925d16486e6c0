"""The scripted service as a fixture."""

from collections.abc import Iterator

import pytest
from scripted_service import KEY, Service, served


@pytest.fixture
def service() -> Iterator[Service]:
    with served() as service:
        yield service


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """A key in the environment variable ``TEST_KEY``."""
    monkeypatch.setenv("TEST_KEY", KEY)
    return KEY
