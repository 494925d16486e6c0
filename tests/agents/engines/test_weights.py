"""Weights in transit: in shared memory, or on the disk where they do not fit."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from small_models import WORDS, adapted, make_small, shake

from rlanything_agents.engines import shared_memory
from rlanything_agents.engines.shared_memory import SharedFolder, fits_in_memory, temporary_folder
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.engines.weights import Weights
from rlanything_envs.llm.generator import SamplingParams

IN_ANOTHER_PROCESS = """
import sys, pathlib
from rlanything_agents.engines import shared_memory
shared_memory.PLACE = pathlib.Path(sys.argv[1])
folder = shared_memory.SharedFolder()
print(folder.path, flush=True)
sys.stdin.read()
"""


def test_weights_lie_in_memory_for_this_user_alone(tmp_path: Path, memory: Path) -> None:
    model = make_small()
    weights = Weights(tmp_path / "policy", model, WORDS)
    for version in range(2):
        shake(model, version)
        weights.put(model, version)
        stored = load_file(weights.path() / "model.safetensors")
        assert torch.equal(stored["model.norm.weight"], model.model.norm.weight)
    (folder,) = memory.iterdir()
    assert weights.path().parent == folder
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(list(folder.iterdir())) == 2, "an engine may still read the old ones"
    weights.prune()
    assert list(folder.iterdir()) == [weights.path()]
    assert not list(tmp_path.glob("policy/weights-*"))
    weights.clear()
    assert not list(memory.iterdir())


def test_adapters_are_handed_over_without_the_hub(
    tmp_path: Path, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*_: object, **__: object) -> None:
        pytest.fail("the hub was asked")

    monkeypatch.setattr("peft.utils.save_and_load.check_file_exists_on_hf_hub", asked)
    model, other = (adapted(tmp_path / "base", seed) for seed in (1, 2))
    model.peft_config["default"].base_model_name_or_path = "someone/model-of-the-hub"
    weights = Weights(tmp_path / "policy", model, WORDS)
    weights.put(model, 1)
    engine = TransformersGenerator(other, WORDS)
    engine.update_weights(weights.path(), 1)
    params = SamplingParams(5, seed=1)
    assert engine.generate([[5, 6]], params)[0][0].logprobs == pytest.approx(
        TransformersGenerator(model, WORDS).generate([[5, 6]], params)[0][0].logprobs
    )


@pytest.mark.parametrize("adapters", [False, True])
def test_without_room_they_lie_on_the_disk(
    tmp_path: Path, memory: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, adapters: bool
) -> None:
    model = adapted(tmp_path / "base") if adapters else make_small()
    size = sum(weight.nbytes for weight in model.parameters() if weight.requires_grad or not adapters)
    weights = Weights(tmp_path / "policy", model, WORDS)
    places = []
    for version, available in enumerate((2 * size, 2 * size - 1, 2 * size - 1, 2 * size)):
        monkeypatch.setattr(shared_memory, "memory_of_machine", lambda available=available: (available, available))
        weights.put(model, version)
        places.append("memory" if memory in weights.path().parents else "disk")
    assert places == ["memory", "disk", "disk", "memory"]
    assert caplog.text.count("go through the disk") == 1
    weights.prune()
    assert [path.name for path in tmp_path.rglob("weights-*")] == ["weights-000003"]


def test_with_room_for_one_the_old_ones_make_place(
    tmp_path: Path, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = Weights(tmp_path / "policy", make_small(), WORDS)
    monkeypatch.setattr(shared_memory, "fits_in_memory", lambda size: not list(memory.rglob("*.safetensors")))
    monkeypatch.setattr("rlanything_agents.engines.weights.fits_in_memory", shared_memory.fits_in_memory)
    for version in range(3):
        weights.put(make_small(version), version)
        (stored,) = memory.rglob("*.safetensors")
        assert stored.parent == weights.path()
    assert not list(tmp_path.glob("policy/weights-*"))


def test_a_stored_model_is_not_copied_within_memory(tmp_path: Path, memory: Path) -> None:
    model, weights = make_small(), Weights(tmp_path / "policy", make_small(1), WORDS)
    with temporary_folder(1) as folder:
        model.save_pretrained(folder)
        before = (folder / "model.safetensors").stat().st_ino
        weights.put(folder, 1)
    stored = weights.path() / "model.safetensors"
    assert stored.stat().st_ino == before
    assert torch.equal(load_file(stored)["model.norm.weight"], model.model.norm.weight)


def test_a_machine_without_shared_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_memory, "PLACE", tmp_path / "none")
    assert not fits_in_memory(1)
    weights = Weights(tmp_path / "policy", make_small(), WORDS)
    assert weights.path() == tmp_path / "policy" / "weights-000000"
    with temporary_folder(1) as folder:
        assert folder.is_dir()
    assert not folder.exists()


def test_weights_leave_memory(tmp_path: Path, memory: Path) -> None:
    weights = Weights(tmp_path / "policy", make_small(), WORDS)
    before = {file.name: file.read_bytes() for file in weights.path().iterdir()}
    assert weights.leave_memory()
    assert weights.path() == tmp_path / "policy" / "weights-000000"
    assert {file.name: file.read_bytes() for file in weights.path().iterdir()} == before
    assert not list(memory.iterdir())
    assert not weights.leave_memory()
    weights.put(make_small(1), 1)
    assert weights.path() == tmp_path / "policy" / "weights-000001"


def test_what_a_killed_process_left_is_deleted_and_what_is_in_use_is_not(tmp_path: Path, memory: Path) -> None:
    command = [sys.executable, "-c", IN_ANOTHER_PROCESS, str(memory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        theirs = Path(process.stdout.readline().strip())
        (theirs / "model.safetensors").write_bytes(b"weights")
        with closing(SharedFolder()) as ours:
            assert set(memory.iterdir()) == {theirs, ours.path}
            process.kill()
            process.wait()
            with temporary_folder(1) as third:
                assert set(memory.iterdir()) == {ours.path, third}
    assert not list(memory.iterdir())


def test_a_link_in_place_of_a_folder_is_left_alone(tmp_path: Path, memory: Path) -> None:
    (tmp_path / "precious").mkdir()
    (memory / "rlanything-weights-x").symlink_to(tmp_path / "precious")
    SharedFolder().close()
    assert (tmp_path / "precious").is_dir()
    assert (memory / "rlanything-weights-x").is_symlink()
