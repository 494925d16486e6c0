"""Whole runs of two iterations with small pretrained models, for policy and judge."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from chat_runs import LORA, run, settings
from families import checkpoint
from safetensors.torch import load_file

from rlanything_agents.config import RunConfig
from rlanything_agents.rollout.renderer import Renderer
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.loop import Loop
from rlanything_agents.tools.benchmark.policy import RunAgent
from rlanything_agents.tools.benchmark.settings import ChatSettings
from studies.votes import TrueVotes

LESSONS: dict[str, Any] = {
    "policy": {"lessons": True},
    "reward_model": {"lessons": True},
    "warm_start": {
        "demonstrations": 16,
        "max_steps": 10,
        "epochs": 4,
        "batch_size": 4,
        "judge_steps": 24,
        "judge_epochs": 6,
        "learning_rate": 5e-3,
    },
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def taught(models: Path) -> Path:
    """The folder of a finished run whose models were taught first, so that there is something to judge and to learn."""
    folder = models / "taught"
    run(settings(models, **LESSONS), folder)
    return folder


def stored(folder: Path, iteration: int, role: str) -> dict[str, torch.Tensor]:
    path = folder / "checkpoints" / f"{iteration:04d}" / role
    weights: dict[str, torch.Tensor] = load_file(next(path.glob("*.safetensors")))
    return weights


def moved(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    assert one.keys() == other.keys()
    return any(not torch.equal(one[name], other[name]) for name in one)


def test_policy_and_judge_learn(taught: Path) -> None:
    for role in ("policy", "judge"):
        before = load_file(taught / "stages" / "warm_start" / role / "model.safetensors")
        assert moved(before, stored(taught, 2, role)), role
    rows = RunFolder(taught).rows()
    assert len(rows) == 2
    assert all(abs(row[role].get("kl", 0.0)) < 0.5 for row in rows for role in ("policy", "judge"))
    with gzip.open(taught / "trajectories" / "0001.jsonl.gz", "rt") as file:
        turns = [turn for line in file for turn in json.loads(line)["turns"]]
    assert len({vote for turn in turns for vote in turn["votes"]} & {-1, 1}) >= 1
    assert any("boxed" in text for turn in turns for text in turn["judgements"])


class Killed(BaseException):
    """The process ends."""


def interrupted(config: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run, and lose everything in memory at the end of the second iteration; then run again."""
    iterate = Loop.iterate

    def dying(self: Loop, before: Any) -> Any:
        done = iterate(self, before)
        if len(before) == 1:
            raise Killed
        return done

    with monkeypatch.context() as patch:
        patch.setattr(Loop, "iterate", dying)
        with pytest.raises(Killed):
            run(config, folder)
    run(config, folder)


@pytest.mark.slow  # the quick tests restore one such model bit for bit, and kill a run of small ones
def test_an_interrupted_run_reaches_the_same_weights(
    taught: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {**LESSONS, "warm_start": {**LESSONS["warm_start"], "reuse": str(taught)}}
    interrupted(settings(models, **changes), models / "again", monkeypatch)
    for role in ("policy", "judge"):
        assert not moved(stored(taught, 2, role), stored(models / "again", 2, role)), role


@pytest.mark.slow
def test_adapters_learn_on_what_another_run_stored(taught: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = {role: str(taught / "stages" / "warm_start" / role) for role in ("policy", "judge")}
    changes = {
        "policy": {"checkpoint": paths["policy"], "lora": LORA, "dtype": "bfloat16"},
        "reward_model": {"checkpoint": paths["judge"], "lora": LORA},
    }
    config = settings(models, **changes)
    run(config, models / "lora")
    interrupted(config, models / "lora-again", monkeypatch)
    for role in ("policy", "judge"):
        adapters = stored(models / "lora", 2, role)
        assert all("lora_" in name for name in adapters)
        assert any(weight.any() for name, weight in adapters.items() if "lora_B" in name), "adapters start at 0"
        assert not moved(adapters, stored(models / "lora-again", 2, role)), role


@pytest.mark.slow
def test_turns_without_earlier_thoughts_are_rows_of_their_own(taught: Path, models: Path) -> None:
    policy = {"checkpoint": str(taught / "stages" / "warm_start" / "policy"), "thinking": "strip"}
    run(settings(models, policy=policy, iterations=1), models / "strip")  # votes of a judge that was not taught differ
    (row,) = RunFolder(models / "strip").rows()
    assert 4 < row["policy"]["rows"] <= row["policy"]["step_samples"] + 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("thinking", [None, "strip"])
def test_a_run_with_a_history_window(thinking: str | None, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lessons, rollouts, updates, evaluation, an interruption, and the benchmark of the run's policy."""
    policy = {"lessons": True, "thinking": thinking}
    rollout = {"history": 2, "max_steps": 5}
    lessons = {**LESSONS, "reward_model": {"lessons": False}}  # votes of a judge that was not taught differ
    config = settings(models, **{**lessons, "policy": policy, "rollout": rollout})
    prompts: list[str] = []
    drawn = Renderer.prompt

    def recorded(self: Renderer, opening: str, turns: Any, screen: None = None) -> Any:
        ids = drawn(self, opening, turns, screen)
        prompts.append(self.template.tokenizer.decode(ids))
        return ids

    folder, again = models / f"window-{thinking}", models / f"window-{thinking}-again"
    with monkeypatch.context() as patch:
        patch.setattr(Renderer, "prompt", recorded)
        run(config, folder)
    late = [prompt for prompt in prompts if "Your earlier turns in short:\n1. " in prompt]
    assert late
    assert {prompt.count("<|im_start|>assistant") for prompt in late} == {3}
    rows = RunFolder(folder).rows()
    updates = [row["policy"] for row in rows if "rows" in row["policy"]]
    assert all(update["rows"] < update["step_samples"] for update in updates if not thinking)
    assert all(row["overlong"]["episodes"] == 0 for row in rows)
    assert all(abs(update["kl"]) < 0.5 for update in updates)
    interrupted(config, again, monkeypatch)
    assert not moved(stored(folder, 2, "policy"), stored(again, 2, "policy"))
    agent = RunAgent(str(folder), ChatSettings())
    assert agent.learners.actor.renderer._history == 2
    agent.close()


@pytest.mark.slow
def test_a_policy_that_chats_learns_to_act(models: Path) -> None:
    """From the planner's labels alone it comes to write commands that the game takes and that bring it nearer."""
    knobs = {"rooms": ["Bathroom"], "kinds": ["simple"]}
    model = {
        "checkpoint": str(checkpoint("qwen2.5", models / "learner", hidden=64, spread=0.08)),
        "dtype": "float32",
        "max_tokens": 24,
        "context": 2048,
        "lessons": True,
    }
    config = RunConfig.model_validate(
        {
            "name": "learn",
            "seed": 1,
            "threads": 1,
            "iterations": 10,
            "large_rates": True,
            "policy": model,
            "judge": {"votes": 0},
            "feedback": {"policy_band": None},
            "warm_start": {
                "demonstrations": 120,
                "max_steps": 8,
                "epochs": 14,
                "batch_size": 8,
                "learning_rate": 5e-3,
                "judge_steps": 1,
                "judge_epochs": 1,
            },
            "rollout": {"tasks": 4, "rollouts": 6, "max_steps": 4},
            "policy_trainer": {"learning_rate": 1e-3, "warmup_updates": 2},
            "curriculum": {"pool_size": 8, "rewriter": None, "knobs": knobs},
            "evaluation": {"episodes": 2, "max_steps": 2, "panels": ["valid_seen"], "knobs": knobs},
        }
    )
    run(config, models / "learn", hooks=[TrueVotes(config, "oracle")])
    taken, good = [], []
    for path in sorted((models / "learn" / "trajectories").glob("*.jsonl.gz")):
        with gzip.open(path, "rt") as file:
            turns = [turn for line in file for turn in json.loads(line)["turns"]]
        taken.append(sum(not turn["observation"].startswith("Nothing happens") for turn in turns) / len(turns))
        good.append(sum(sum(turn["votes"]) > 0 for turn in turns) / len(turns))
    for shares in (taken, good):
        assert sum(shares[-3:]) / 3 > 1.5 * shares[0], shares
