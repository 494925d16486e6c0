"""Fixtures shared by all tests."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def find_alfworld_data() -> Path | None:
    """The folder of real game files: ``$RLANYTHING_TEST_DATA``, or ``shared/data`` in or beside the checkout."""
    named = os.environ.get("RLANYTHING_TEST_DATA")
    places = [Path(named)] if named else [ROOT / "shared" / "data", ROOT.parent / "shared" / "data"]
    return next((p / "alfworld" for p in places if (p / "alfworld" / "json_2.1.1").is_dir()), None)


@pytest.fixture(scope="session")
def alfworld_data() -> Path:
    """Root of official ALFWorld games (``json_2.1.1/...``); the test is skipped where they are absent."""
    found = find_alfworld_data()
    if found is None:
        pytest.skip("no official ALFWorld games: set RLANYTHING_TEST_DATA to a folder with alfworld/json_2.1.1")
    return found
