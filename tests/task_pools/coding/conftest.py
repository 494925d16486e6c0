"""Real problems, where they are."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def coding_data() -> Path:
    """A folder of published problems, from ``$RLANYTHING_TEST_DATA`` or ``shared/data``; else the test is skipped."""
    named = os.environ.get("RLANYTHING_TEST_DATA")
    places = [Path(named)] if named else [ROOT / "shared" / "data", ROOT.parent / "shared" / "data"]
    for place in places:
        if (place / "coding").is_dir():
            return place / "coding"
    pytest.skip("no published problems: set RLANYTHING_TEST_DATA to a folder with coding/*.json")
