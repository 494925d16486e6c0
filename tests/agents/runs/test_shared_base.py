"""Policy and reward model on one base: one copy of its weights, and the run that two copies would give."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from chat_runs import LORA, run, settings
from pydantic import ValidationError
from test_chat_run import interrupted, moved, stored

from rlanything_agents.config import RunConfig, SharedConfig
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.learners import Learners
from rlanything_agents.training.samples import Sample

SHARED = {"base": "policy", "max_tokens": 12, "context": 4096}
ROLES = ("policy", "judge")
SAMPLES = [Sample([1, 2], [k, k + 1], [0.5, 0.5], [1.0, 1.0], [-6.0, -6.0]) for k in range(3, 9)]


def shared(folder: Path, dtype: str = "float32", **changes: Any) -> RunConfig:
    """Short run on one base."""
    plain = settings(folder, policy={"lora": LORA, "dtype": dtype}, **changes).model_dump(mode="json")
    return RunConfig.model_validate({**plain, "reward_model": SHARED})


def copied(config: RunConfig) -> RunConfig:
    """The same run with a copy of the base for each model."""
    return RunConfig.model_validate({**config.model_dump(mode="json"), "reward_model": config.models["reward_model"]})


def held(tensors: Iterable[torch.Tensor]) -> int:
    """Bytes of the tensors together, where one that occurs twice counts once."""
    return sum({tensor.data_ptr(): tensor.nbytes for tensor in tensors}.values())


def tensors(model: Any) -> dict[str, torch.Tensor]:
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_two_models_have_one_base(dtype: str, tmp_path: Path) -> None:
    config = shared(tmp_path, dtype)
    both, apart = Learners(config), Learners(copied(config))
    policy, judge = (tensors(both.both[role].model) for role in ROLES)
    adapters = {name for name, weight in policy.items() if weight.requires_grad}
    assert adapters == {name for name in policy if ".lora_" in name}
    assert policy.keys() == judge.keys()
    for name in policy:
        assert (policy[name].data_ptr() == judge[name].data_ptr()) == (name not in adapters), name
    base = held(weight for name, weight in policy.items() if name not in adapters)
    own = held(policy[name] for name in adapters)
    assert held([*policy.values(), *judge.values()]) == base + 2 * own
    separate = [tensor for role in ROLES for tensor in tensors(apart.both[role].model).values()]
    assert held(separate) == 2 * (base + own)


def test_an_update_of_one_model_changes_nothing_of_the_other(tmp_path: Path) -> None:
    learners = Learners(shared(tmp_path))
    ids = torch.arange(1, 9)[None]

    def logits(role: str) -> torch.Tensor:
        with torch.no_grad():
            found: torch.Tensor = learners.both[role].model(ids).logits  # type: ignore[index]
            return found

    for role, other in (ROLES, ROLES[::-1]):
        before, mine = logits(other), logits(role)
        learners.both[role].update(SAMPLES, 30.0)  # type: ignore[index]
        assert not torch.equal(logits(role), mine)
        assert torch.equal(logits(other), before)


def rows(folder: Path) -> list[dict[str, Any]]:
    """Metrics of a finished run without its times."""
    found = RunFolder(folder).rows()
    assert all(row[role]["optimizer_steps"] for row in found for role in ROLES)
    return [{key: value for key, value in row.items() if key != "seconds"} for row in found]


@pytest.mark.parametrize(
    "iterations",
    [1, pytest.param(2, marks=pytest.mark.slow)],  # the second one is interrupted and resumed
)
def test_one_base_gives_the_run_of_two_copies(iterations: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = shared(tmp_path, iterations=iterations)
    run(copied(config), tmp_path / "copies")
    if iterations == 1:
        run(config, tmp_path / "shared")
    else:
        interrupted(config, tmp_path / "shared", monkeypatch)
    assert len(rows(tmp_path / "shared")) == iterations
    assert json.loads((tmp_path / "shared" / "config.json").read_text())["reward_model"]["base"] == "policy"
    assert rows(tmp_path / "shared") == rows(tmp_path / "copies")
    for role in ROLES:
        learnt = stored(tmp_path / "shared", iterations, role)
        assert all(".lora_" in name for name in learnt)
        assert any(weight.any() for name, weight in learnt.items() if "lora_B" in name)
        assert not moved(learnt, stored(tmp_path / "copies", iterations, role)), role


# ---- Configuration


def test_a_base_needs_few_keys() -> None:
    policy = {"checkpoint": "a/b", "lora": {"rank": 4}, "dtype": "bfloat16", "attention": "eager"}
    config = RunConfig.model_validate({"name": "a", "policy": policy, "reward_model": {"base": "policy"}})
    assert isinstance(config.reward_model, SharedConfig)
    for key in ("checkpoint", "lora", "dtype", "attention"):
        assert getattr(config.models["reward_model"], key) == getattr(config.policy, key)
    assert RunConfig.model_validate(config.model_dump(mode="json")) == config
    assert RunConfig.model_validate(dict(config)) == config


@pytest.mark.parametrize(
    ("policy", "reward_model", "message"),
    [
        ({}, {"dtype": "float32"}, r"reward_model\.dtype"),
        ({}, {"lora": {"rank": 2}}, r"reward_model\.lora"),
        ({"lora": None}, {}, r"without policy\.lora they are trained: set policy\.checkpoint"),
        ({}, {"base": "judge"}, r"reward_model\.base"),
        ({"base": "policy"}, {}, r"policy\.base"),
    ],
)
def test_contradictions_are_refused(policy: dict[str, Any], reward_model: dict[str, Any], message: str) -> None:
    tree = {
        "name": "a",
        "policy": {"checkpoint": "a/b", "lora": {}, **policy},
        "reward_model": {"base": "policy", **reward_model},
    }
    with pytest.raises(ValidationError, match=message):
        RunConfig.model_validate(tree)


def test_a_small_model_is_no_base() -> None:
    with pytest.raises(ValidationError, match=r"set policy\.checkpoint and policy\.lora"):
        RunConfig.model_validate({"name": "a", "reward_model": {"base": "policy"}})
