"""Published task files, where they are."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def osworld_data() -> Path:
    """A folder of published tasks, from ``$RLANYTHING_TEST_DATA`` or ``shared/data``; else the test is skipped."""
    named = os.environ.get("RLANYTHING_TEST_DATA")
    places = [Path(named)] if named else [ROOT / "shared" / "data", ROOT.parent / "shared" / "data"]
    for place in places:
        if (place / "osworld").is_dir():
            return place / "osworld"
    pytest.skip("no published tasks: set RLANYTHING_TEST_DATA to a folder with osworld/**/*.json")
