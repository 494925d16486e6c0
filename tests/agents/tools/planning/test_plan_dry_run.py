"""``train --dry-run``: every failure reported at once, nothing written, nothing started."""

import importlib.util
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from chat_runs import GPUS, changes_in, command_in
from families import checkpoint
from transformers import Qwen2Config, Qwen3Config, Qwen3VLConfig
from typer.testing import CliRunner

from rlanything_agents.config import RunConfig, load_config
from rlanything_agents.engines import shared_memory
from rlanything_agents.feedback import PRESETS
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.tools.cli import app
from rlanything_agents.tools.planning import memory, pilot
from rlanything_agents.tools.planning.checks import dry_run
from rlanything_agents.tools.planning.pilot import estimate
from rlanything_agents.training.ranks.launch import Launch, launched, obstacles

ROOT = Path(__file__).resolve().parents[4]
PAPER = sorted((ROOT / "configs" / "paper").glob("*.yaml"))
TINY = {"hidden_size": 32, "layers": 1}
SMALL: dict[str, Any] = {
    "name": "small",
    "policy": TINY,
    "reward_model": TINY,
    "iterations": 2,
    "feedback": "masked",
    "rollout": {"tasks": 2, "rollouts": 2, "max_steps": 4},
    "curriculum": {"pool_size": 2},
}
PRETRAINED = {
    **SMALL,
    "policy": {"checkpoint": "Qwen/Qwen2.5-0.5B-Instruct", "max_tokens": 100, "context": 1000},
    "reward_model": {"checkpoint": "Qwen/Qwen3-0.6B", "max_tokens": 100, "context": 1000},
}


@pytest.fixture(autouse=True)
def no_pilot(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command's pilot takes seconds, and one test measures it."""
    monkeypatch.setattr(pilot, "estimate", lambda config: "as long as it takes")


def file(folder: Path, **changes: Any) -> Path:
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump({**SMALL, **changes}))
    return path


def invoke(*words: object) -> tuple[int, str]:
    result = CliRunner(env={"COLUMNS": None, "TERM": "dumb"}).invoke(app, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout if result.exit_code != 2 else result.stderr


def checked(path: Path, runs: Path) -> tuple[int, dict[str, Any]]:
    code, output = invoke("train", path, "--out", runs / "small", "--dry-run", "--json")
    return code, json.loads(output)


def broken(tree: dict[str, Any]) -> dict[str, str]:
    return {found["topic"]: found["said"] for found in tree["findings"] if found["state"] == "broken"}


# -- the dry run ---------------------------------------------------------------------------------------------


def test_a_run_that_can_start(tmp_path: Path) -> None:
    code, tree = checked(file(tmp_path), tmp_path / "runs")
    assert (code, broken(tree)) == (0, {})
    assert list(tmp_path.iterdir()) == [tmp_path / "run.yaml"]
    phases = [finding["topic"] for finding in tree["findings"] if finding["topic"].startswith("memory: ")]
    assert phases == ["memory: policy writes", "memory: judge writes", "memory: policy learns", "memory: judge learns"]
    code, output = invoke("train", file(tmp_path), "--out", tmp_path / "runs/small", "--dry-run")
    assert code == 0
    assert "made from scratch" in output
    assert "Time: as long as it takes, from a pilot" in output


@pytest.mark.parametrize("feedback", ["masked", "recommended"])
def test_the_pilot_says_how_long_each_part_of_a_run_takes(feedback: str) -> None:
    """With a reward model and without; the short episodes of the pilot solve nothing."""
    took = estimate(RunConfig.model_validate({**SMALL, "feedback": feedback}))
    assert min(took.warm_start, took.evaluations, took.iterations) > 0
    part = r"(\d+ h )?\d+ (s|min)"
    assert re.fullmatch(rf"about {part} \(warm start {part}, evaluations {part}, iterations {part}\)", str(took))


def test_the_pilot_has_its_own_summariser() -> None:
    llm = {"base_url": "http://localhost:8000/v1", "model": "m"}
    curriculum = {"rewriter": "llm", "llm": llm, "summariser": "rewriter"}
    small = pilot._pilot(RunConfig.model_validate({**SMALL, "curriculum": curriculum}), pilot.SIZES)
    assert small.summariser == "scripted"


@pytest.mark.slow
def test_the_pilot_plays_with_pretrained_models(tmp_path: Path) -> None:
    folder = str(checkpoint("qwen2.5", tmp_path / "model"))
    model = {"checkpoint": folder, "max_tokens": 40, "context": 4096, "lessons": True}
    config = RunConfig.model_validate(
        {
            **SMALL,
            "environment": {"view": "short"},
            "policy": model,
            "reward_model": model,
            "warm_start": {"demonstrations": 40, "judge_steps": 64},
            "feedback": "masked",
        }
    )
    took = estimate(config)
    assert min(took.warm_start, took.evaluations, took.iterations) > 0
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def test_the_pilot_downloads_nothing() -> None:
    model = {"checkpoint": "somebody/unheard-of"}
    with pytest.raises(memory.NotEstimated, match="the weights of somebody/unheard-of are not on this machine"):
        estimate(RunConfig.model_validate({**SMALL, "policy": model, "reward_model": model}))


def test_each_step_of_an_iteration_is_scaled_by_what_it_depends_on() -> None:
    judge, pool = {"scope": "useful", "steps": 64}, {"pool_size": 12}
    config, small = (
        RunConfig.model_validate({**SMALL, "rollout": rollout, "judge": judge, "curriculum": pool})
        for rollout in ({"tasks": 12, "rollouts": 8, "max_steps": 20}, {"tasks": 3, "rollouts": 8, "max_steps": 5})
    )
    steps = {"assign": 1.0, "rollout": 1.0, "judge": 1.0, "policy_update": 1.0, "judge_update": 1.0}
    turns = 20 * (1 - 0.45 * 0.65) / 5
    wanted = 7 + 4 * 1 + 4 * turns * (1 + 0.55 + 0.55) + 1  # the checkpoint and the judge's samples stay alike
    assert pilot._iteration(12.0, {"seconds": steps}, small, config) == pytest.approx(wanted)


def test_the_pilot_is_not_for_several_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(memory.NotEstimated, match="several processes"):
        estimate(RunConfig.model_validate(SMALL))


def test_every_failure_is_told_and_not_only_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    llm = {"base_url": "http://localhost:1/v1", "model": "m", "api_key_env": "NO_SUCH_KEY"}
    path = file(
        tmp_path,
        policy={"checkpoint": str(tmp_path / "absent")},
        reward_model={"checkpoint": "Qwen/Qwen3-0.6B"},
        curriculum={"pool_size": 2, "rewriter": "llm", "llm": llm, "operators": ["juggling"]},
        evaluation={"knobs": {"colour": "red"}},
        environment={"speed": 3},
    )
    code, tree = checked(path, tmp_path / "runs")
    found = broken(tree)
    assert code == 1
    assert {"evaluation.knobs", "domain", "environment", "rewriter", "policy", "memory"} <= set(found)
    assert "NO_SUCH_KEY" in found["rewriter"]
    assert "juggling" in found["domain"]
    assert "absent" in found["policy"]
    assert {"extra train", "extra llm", "run folder"} <= {finding["topic"] for finding in tree["findings"]}


def test_a_checkpoint_that_lacks_files(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    code, tree = checked(file(tmp_path, **{**PRETRAINED, "policy": {"checkpoint": str(folder)}}), tmp_path / "runs")
    assert code == 1
    assert "no *.safetensors, no tokenizer.json" in broken(tree)["policy"]
    assert "no configuration of a model" in broken(tree)["memory"]


def test_models_that_do_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 1e6)
    code, tree = checked(file(tmp_path), tmp_path / "runs")
    assert code == 1
    assert set(broken(tree)) == {"memory: judge writes", "memory: policy learns", "memory: judge learns"}
    assert "optimizer" in broken(tree)["memory: policy learns"]
    assert re.search(r"cache .*, optimizer .*, other model .*; \d+ sequences of", broken(tree)["memory: judge writes"])


def test_a_model_on_the_hub_is_no_obstacle(tmp_path: Path) -> None:
    names = {"policy": {"checkpoint": "somebody/unheard-of"}, "reward_model": {"checkpoint": "somebody/unheard-of"}}
    _, tree = checked(file(tmp_path, **names), tmp_path / "runs")
    (told,) = [finding for finding in tree["findings"] if finding["topic"] == "memory"]
    assert (told["state"], told["remedy"]) == ("warning", "hf download NAME config.json")


def test_the_folder_of_another_run(tmp_path: Path) -> None:
    config = load_config(file(tmp_path))
    folder = RunFolder(tmp_path / "runs" / "small")
    folder.prepare(config.model_dump(mode="json"))
    looked = {finding.topic: finding for finding in dry_run(config, folder)}
    assert looked["run folder"].good
    other = config.model_copy(update={"seed": 5})
    looked = {finding.topic: finding for finding in dry_run(other, folder)}
    assert looked["run folder"].good is False


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir(mode=0o500)
    _, tree = checked(file(tmp_path), tmp_path / "runs")
    assert "cannot be written" in broken(tree)["run folder"]


def test_a_file_in_the_way_of_the_run_folder(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    code, tree = checked(file(tmp_path), tmp_path / "runs")
    assert code == 1
    assert "cannot be written to" in broken(tree)["run folder"]


# -- the published configurations ----------------------------------------------------------------------------


@pytest.mark.parametrize("path", PAPER, ids=lambda p: p.stem)
def test_published_configurations_start_as_they_are_launched(path: Path) -> None:
    config = load_config(path)
    assert config.queries_judge
    assert list(obstacles(config, Launch(0, 32, "fsdp"))) == []


def test_an_attention_whose_package_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "flash_attn" else found(name, *more)
    )
    policy = {**PRETRAINED["policy"], "attention": "flash_attention_2"}
    _, tree = checked(file(tmp_path, **{**PRETRAINED, "policy": policy}), tmp_path / "runs")
    assert "pip install flash-attn" in broken(tree)["policy.attention"]


def test_the_published_values() -> None:
    alfworld, coding, osworld = (load_config(ROOT / "configs" / "paper" / f"{name}.yaml") for name in
                                 ("alfworld", "coding", "osworld"))  # fmt: skip
    assert (alfworld.rollout.tasks, alfworld.rollout.rollouts, alfworld.rollout.max_steps) == (16, 8, 40)
    assert (coding.rollout.tasks, coding.rollout.rollouts, coding.judge.votes) == (64, 32, 16)
    assert (osworld.rollout.tasks, osworld.rollout.rollouts, osworld.rollout.max_steps) == (12, 8, 30)
    assert [config.iterations for config in (alfworld, coding, osworld)] == [200, 300, 400]
    for config in (alfworld, coding, osworld):
        trainer = config.policy_trainer
        assert (trainer.learning_rate, trainer.clip, trainer.beta, trainer.fresh_optimizer) == (1e-6, 0.2, 0.01, True)
        assert config.curriculum.band == (0.2, 0.8)
        assert config.curriculum.acceptance == "reference"
        assert config.seed == 10086
        assert trainer.recompute
    assert [config.rollout.top_p for config in (alfworld, coding, osworld)] == [0.95, 0.95, 0.9]
    assert alfworld.rollout.stop == coding.rollout.stop
    assert "</answer>" in coding.rollout.stop
    assert alfworld.feedback == PRESETS["reference"]
    assert osworld.feedback == PRESETS["reference"].model_copy(update={"policy_band": None})
    assert osworld.rollout.history == 2, "the last 3 screens"
    assert osworld.environment_arguments["relative_coordinates"] == 1000
    assert (coding.feedback.policy_band, coding.feedback.judge_band) == ((0.2, 0.8), (0.2, 0.8))


CARD = 80e9
"""Bytes of the card that configs/gpu is for."""
QWENS: dict[str, Any] = {
    "qwen2.5-1.5b": Qwen2Config(hidden_size=1536, num_hidden_layers=28, num_attention_heads=12, num_key_value_heads=2,
                                intermediate_size=8960, vocab_size=151936, tie_word_embeddings=True),
    "qwen3-8b": Qwen3Config(hidden_size=4096, num_hidden_layers=36, num_attention_heads=32, num_key_value_heads=8,
                            head_dim=128, intermediate_size=12288, vocab_size=151936),
}  # fmt: skip
"""Published sizes (``config.json`` of Qwen/Qwen2.5-1.5B-Instruct and Qwen/Qwen3-8B)."""


@pytest.mark.parametrize("cards", [1, 8])
@pytest.mark.parametrize("name", QWENS)
def test_configurations_for_gpus_fit_their_cards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, cards: int
) -> None:
    """As the command in the file starts them, with the shapes of the real models."""
    QWENS[name].save_pretrained(tmp_path)
    config = launched_as(name, cards, str(tmp_path), monkeypatch)
    launch = launched()
    assert (launch.size, launch.strategy) == {1: (1, ""), 8: (6, "fsdp" if name == "qwen3-8b" else "")}[cards]
    assert list(obstacles(config, launch)) == []
    monkeypatch.setattr(memory, "available", lambda: CARD)
    models = memory.planned(config)
    phases = {phase.name: phase.total for phase in memory.phases(config, models) if phase.limit}
    assert {"policy learns", "judge learns"} <= set(phases)
    assert max(phases.values()) < 0.8 * CARD
    if cards == 1:
        assert max(total for phase, total in phases.items() if phase.endswith("writes")) < 0.4 * CARD
    for model in models:
        assert model.trainer is not None
        assert model.longest < model.context == model.trainer.micro_batch_tokens


def launched_as(name: str, cards: int, model: str, monkeypatch: pytest.MonkeyPatch) -> RunConfig:
    """Settings of a command in the comments of a file of configs/gpu, with another model; as its first process."""
    command = command_in(name, cards)
    if cards > 1:
        monkeypatch.setenv("WORLD_SIZE", command[command.index("--num_processes") + 1])
        monkeypatch.setenv("RANK", "0")
        monkeypatch.setenv("ACCELERATE_USE_FSDP", str("configs/accelerate/fsdp2.yaml" in command).lower())
    changes = [change.replace("Qwen/Qwen3-8B", model) for change in changes_in(command)]
    keys = ("policy",) if name == "qwen3-8b" else ("policy", "reward_model")
    return load_config(GPUS / f"{name}.yaml", [*changes, *(f"{key}.checkpoint={model}" for key in keys)])


def test_rows_longer_than_a_micro_batch_and_weights_without_shared_memory_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    QWENS["qwen3-8b"].save_pretrained(tmp_path)
    config = launched_as("qwen3-8b", 8, str(tmp_path), monkeypatch)
    trainer = config.policy_trainer.model_copy(update={"micro_batch_tokens": 4096})
    config = config.model_copy(update={"policy_trainer": trainer})

    def found() -> dict[str, Any]:
        return {finding.topic: finding for finding in dry_run(config, RunFolder(tmp_path / "run"))}

    monkeypatch.setattr(shared_memory, "memory_of_machine", lambda: (10**12, 10**12))
    monkeypatch.setattr(shared_memory, "room", lambda: 10**11)
    said = found()
    assert said["shared memory"].good, "three times the 16 GB of a model, one of them while it is gathered"
    assert said["policy_trainer.micro_batch_tokens"].good is None
    assert "8,192 (`context`)" in said["policy_trainer.micro_batch_tokens"].said
    assert "judge_trainer.micro_batch_tokens" not in said
    monkeypatch.setattr(shared_memory, "room", lambda: 64 << 20)
    less = found()
    assert less["shared memory"].good is None
    assert "--shm-size" in less["shared memory"].remedy
    assert less["disk"].said != said["disk"].said, "they go through the disk"


def test_memory_of_the_papers_model_that_sees(tmp_path: Path) -> None:
    """Sizes of Qwen3-VL-8B: 3 screens of 2,040 tokens in a prompt of the policy, 2 in one of the judge."""
    Qwen3VLConfig(
        text_config={"hidden_size": 4096, "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8,
                     "head_dim": 128, "intermediate_size": 12288, "vocab_size": 151936},
        vision_config={"depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "num_heads": 16,
                       "out_hidden_size": 4096, "deepstack_visual_indexes": [8, 16, 24]},
    ).save_pretrained(tmp_path)  # fmt: skip
    models = [f"{key}.checkpoint={tmp_path}" for key in ("policy", "reward_model")]
    config = load_config(ROOT / "configs" / "paper" / "osworld.yaml", models)
    policy, judge = memory.planned(config)
    assert (policy.seen, judge.seen) == (3 * 2040, 2 * 2040)
    assert policy.longest > policy.seen, "text stands beside the screens"
    assert policy.shape.parameters == pytest.approx(8.77e9, rel=0.01)
    assert policy.learning == policy.shape.parameters
    assert policy.learns(config.policy_trainer, 0.0, None).parts["images"] > 4 * 3 * 2040 * 4 * 1536, (
        "patches in float32"
    )
    frozen, _ = memory.planned(
        load_config(ROOT / "configs" / "paper" / "osworld.yaml", [*models, "policy.freeze_vision=true"])
    )
    assert policy.learning - frozen.learning == frozen.shape.tower.parameters == pytest.approx(0.58e9, rel=0.01)
    assert frozen.optimizer < policy.optimizer


def test_every_published_value_says_where_it_is_from() -> None:
    for path in PAPER:
        text = path.read_text()
        below = text[text.index("name:") :]
        said = [line for line in below.splitlines() if ":" in line and not line.rstrip().endswith(":")]
        unsaid = [line for line in said if "#" not in line and "[" not in line.partition("#")[0]]
        # What has no source of its own: names, and values that follow from the line above.
        assert len(unsaid) <= 12, (path.name, unsaid)
