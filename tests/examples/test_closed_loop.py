"""The example that is the algorithm in one file."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

torch = pytest.importorskip("torch", reason="extra train")
torch.set_num_threads(1)  # the models are tiny, and idle threads spin when cores are shared

FILE = Path(__file__).resolve().parents[2] / "examples" / "closed_loop.py"


@pytest.fixture
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("closed_loop", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_loop_goes_round(example: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    example.main(["--iterations", "2", "--demonstrations", "8"], tasks=2, rollouts=3, max_steps=6)
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("iteration 1: solved ")
    assert "of 6; " in second
    assert "'outcomes': 12" in second, "the task pool has every episode"


def test_it_stays_short(example: ModuleType) -> None:
    assert len(FILE.read_text(encoding="utf-8").splitlines()) <= 100
