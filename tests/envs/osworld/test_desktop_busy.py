"""Which threads of a desktop compute, as its inside sees them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rlanything_envs.osworld.desktop.guest.inside import _Threads


def test_a_process_that_ends_while_it_is_looked_at_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends between the look at all processes and that at its threads, as some do on a busy desktop."""
    listed = Path.glob

    def vanishing(path: Path, pattern: str) -> Iterator[Path]:
        if pattern.startswith("task"):
            raise FileNotFoundError(2, "No such file or directory", str(path / "task"))
        return listed(path, pattern)

    monkeypatch.setattr(Path, "glob", vanishing)
    assert _Threads().look() == 0
