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
    module.TASKS, module.ROLLOUTS, module.STEPS, module.POOL = 2, 3, 6, 3
    return module


def test_the_loop_goes_round(example: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    example.main(["--iterations", "2", "--demonstrations", "8"])
    printed = capsys.readouterr().out
    assert "rows to imitate" in printed
    assert "iteration 2: solved" in printed
    assert "steps teach the judge" in printed
    assert printed.splitlines()[-1].startswith("tasks: ")


def test_it_stays_short(example: ModuleType) -> None:
    assert len(FILE.read_text(encoding="utf-8").splitlines()) <= 220
