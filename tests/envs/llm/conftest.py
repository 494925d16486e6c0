"""The scripted service as a fixture."""

import threading
from collections.abc import Iterator

import pytest
from scripted_service import KEY, Service


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield service
    service.stopping.set()
    service.shutdown()
    service.server_close()
    thread.join()


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """A key in the environment variable ``TEST_KEY``."""
    monkeypatch.setenv("TEST_KEY", KEY)
    return KEY
