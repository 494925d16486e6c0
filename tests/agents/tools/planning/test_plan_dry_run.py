"""``train --dry-run``: every failure reported at once, nothing written, nothing started."""

import importlib.util
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from families import checkpoint
from pydantic import ValidationError
from typer.testing import CliRunner

from rlanything_agents.config import RunConfig, load_config
from rlanything_agents.config.cluster import Card, ClusterConfig
from rlanything_agents.feedback import PRESETS
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.tools.cli import app
from rlanything_agents.tools.planning import UnknownSize, pilot, plan_run
from rlanything_agents.tools.planning.cards import CARDS
from rlanything_agents.tools.planning.checks import DryRun
from rlanything_agents.tools.planning.pilot import Unmeasured, estimate
from rlanything_agents.tools.planning.show import count, human
from rlanything_agents.training.ranks.launch import launched, obstacles, planned

ROOT = Path(__file__).resolve().parents[4]
PAPER = sorted((ROOT / "configs" / "paper").glob("*.yaml"))
TINY = {"hidden_size": 32, "layers": 1, "heads": 2, "intermediate_size": 64}
SMALL: dict[str, Any] = {
    "name": "small",
    "policy": TINY,
    "reward_model": TINY,
    "iterations": 2,
    "rollout": {"tasks": 2, "rollouts": 2, "max_steps": 4},
    "curriculum": {"pool_size": 2},
}
ON_CARDS = {
    **SMALL,
    "policy": {"checkpoint": "Qwen/Qwen2.5-0.5B-Instruct", "max_tokens": 100, "context": 1000},
    "reward_model": {"checkpoint": "Qwen/Qwen3-0.6B", "max_tokens": 100, "context": 1000},
    "cluster": {"nodes": 2, "gpus": 2},
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


def dry_run(path: Path, runs: Path) -> tuple[int, dict[str, Any]]:
    code, output = invoke("train", path, "--out", runs / "small", "--dry-run", "--json")
    return code, json.loads(output)


def broken(tree: dict[str, Any]) -> dict[str, str]:
    return {found["topic"]: found["said"] for found in tree["findings"] if found["state"] == "broken"}


# -- the dry run ---------------------------------------------------------------------------------------------


def test_a_run_that_can_start(tmp_path: Path) -> None:
    code, tree = dry_run(file(tmp_path), tmp_path / "runs")
    assert (code, broken(tree)) == (0, {})
    assert list(tmp_path.iterdir()) == [tmp_path / "run.yaml"]
    plan = tree["plan"]
    assert [model["role"] for model in plan["models"]] == ["policy", "reward model"]
    assert {row["what"]: row["most"] for row in plan["work"]}["environment steps"] == 2 * 2 * 4
    assert all(row["fits"] for row in plan["memory"])
    code, output = invoke("train", file(tmp_path), "--out", tmp_path / "runs/small", "--dry-run")
    assert code == 0
    assert "made from scratch" in output
    assert "environment steps" in output
    assert "Time: as long as it takes, from a pilot" in output


def test_the_pilot_says_how_long_each_part_of_a_run_takes() -> None:
    took = estimate(RunConfig.model_validate(SMALL))
    assert min(took.warm_start, took.evaluations, took.iterations) > 0
    longer = estimate(RunConfig.model_validate({**SMALL, "iterations": 40}))
    assert longer.iterations > 4 * took.iterations
    part = r"(\d+ h )?\d+ (s|min)"
    assert re.fullmatch(rf"about {part} \(warm start {part}, evaluations {part}, iterations {part}\)", str(took))


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
            "feedback": "recommended",
        }
    )
    took = estimate(config)
    assert min(took.warm_start, took.evaluations, took.iterations) > 0
    assert took.without == "", "its groups teach, although all of them fail"
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def test_the_pilot_downloads_nothing() -> None:
    model = {"checkpoint": "somebody/unheard-of"}
    with pytest.raises(Unmeasured, match="the weights of somebody/unheard-of are not on this machine"):
        estimate(RunConfig.model_validate({**SMALL, "policy": model, "reward_model": model}))


def test_each_step_of_an_iteration_is_scaled_by_what_it_depends_on() -> None:
    judge, pool = {"scope": "useful", "steps": 64}, {"pool_size": 12}
    config, small = (
        RunConfig.model_validate({**SMALL, "rollout": rollout, "judge": judge, "curriculum": pool})
        for rollout in (
            {"tasks": 12, "rollouts": 8, "max_steps": 20},
            {"tasks": 3, "rollouts": 8, "max_steps": 5},
        )
    )
    steps = {"assign": 1.0, "rollout": 1.0, "judge": 1.0, "policy_update": 1.0, "judge_update": 1.0}
    turns = 20 * (1 - 0.45 * 0.65) / 5
    wanted = 7 + 4 * 1 + 4 * turns * (1 + 0.55 + 0.55) + 1  # the checkpoint and the judge's samples stay alike
    assert pilot._iteration(12.0, {"seconds": steps}, small, config) == pytest.approx(wanted)


def test_the_pilot_is_not_for_several_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(Unmeasured, match="several processes"):
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
    code, tree = dry_run(path, tmp_path / "runs")
    found = broken(tree)
    assert code == 1
    assert {"evaluation.knobs", "domain", "environment", "rewriter", "policy", "plan"} <= set(found)
    assert "NO_SUCH_KEY" in found["rewriter"]
    assert "juggling" in found["domain"]
    assert "absent" in found["policy"]
    assert tree["plan"] is None  # the policy's size is not known
    assert {"extra train", "extra llm", "run folder"} <= {finding["topic"] for finding in tree["findings"]}


def test_a_plan_of_other_engines_than_those_of_the_run_is_a_warning(tmp_path: Path) -> None:
    engine = {"kind": "vllm", "tensor_parallel_size": 2}
    cluster = {**ON_CARDS["cluster"], "policy_parallel": 2, "judge_parallel": 1}
    _, tree = dry_run(file(tmp_path, **{**ON_CARDS, "engine": engine, "cluster": cluster}), tmp_path / "runs")
    (told,) = [finding for finding in tree["findings"] if finding["topic"] == "engines"]
    assert (told["state"], told["said"].split(",")[0]) == ("warning", "cluster.judge_parallel is 1")


def test_a_checkpoint_that_lacks_files(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    code, tree = dry_run(file(tmp_path, **{**ON_CARDS, "policy": {"checkpoint": str(folder)}}), tmp_path / "runs")
    assert code == 1
    assert "no *.safetensors, no tokenizer.json" in broken(tree)["policy"]
    assert "model type" in broken(tree)["plan"] or "size of this model" in broken(tree)["plan"]


def test_models_that_do_not_fit(tmp_path: Path) -> None:
    big = {"checkpoint": "Qwen/Qwen2.5-32B-Instruct", "context": 4096}
    path = file(tmp_path, **{**ON_CARDS, "policy": big, "cluster": {"gpus": 1, "card": "A100-40GB"}})
    code, tree = dry_run(path, tmp_path / "runs")
    assert code == 1
    assert {"memory: policy writes", "memory: policy learns"} <= set(broken(tree))
    assert tree["plan"]["models"][0]["parameters"] == 32_763_876_352


def test_a_model_that_reads_pictures_is_not_for_the_loop(tmp_path: Path) -> None:
    _, tree = dry_run(file(tmp_path, **{**ON_CARDS, "policy": {"checkpoint": "Qwen/Qwen3-VL-8B-Thinking"}}), tmp_path)
    assert "reads pictures" in broken(tree)["policy"]


def test_the_folder_of_another_run(tmp_path: Path) -> None:
    config = load_config(file(tmp_path))
    folder = RunFolder(tmp_path / "runs" / "small")
    folder.prepare(config.model_dump(mode="json"))
    looked = {finding.topic: finding for finding in DryRun(config, folder).findings()}
    assert looked["run folder"].good
    other = config.model_copy(update={"seed": 5})
    looked = {finding.topic: finding for finding in DryRun(other, folder).findings()}
    assert looked["run folder"].good is False


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir(mode=0o500)
    _, tree = dry_run(file(tmp_path), tmp_path / "runs")
    assert "cannot be written" in broken(tree)["run folder"]


def test_a_file_in_the_way_of_the_run_folder(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    code, tree = dry_run(file(tmp_path), tmp_path / "runs")
    assert code == 1
    assert "is no folder" in broken(tree)["run folder"]


def test_bad_input_is_exit_code_2(tmp_path: Path) -> None:
    code, error = invoke("train", tmp_path / "absent.yaml", "--dry-run")
    assert (code, error.startswith("error: no configuration file")) == (2, True)


def test_a_base_of_both_models_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = {"checkpoint": "Qwen/Qwen2.5-7B-Instruct", "dtype": "bfloat16", "lora": {"rank": 8}}
    shared = file(tmp_path, **{**ON_CARDS, "policy": model, "reward_model": {"base": "policy"}})
    code, tree = dry_run(shared, tmp_path / "runs")
    told = {finding["topic"]: finding["said"] for finding in tree["findings"]}
    assert code == 0, broken(tree)
    assert told["processes"] == "planned for 4 training processes that each have both models (DDP)"
    assert told["reward_model"] == "adapters on the policy's base, which is in memory once"
    one, two = tree["plan"]["models"]
    assert (one["shares_weights"], two["shares_weights"]) == (False, True)
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "4")
    config = load_config(shared)
    apart = load_config(file(tmp_path, **{**ON_CARDS, "policy": model, "reward_model": model}))
    for row, other in zip(tree["plan"]["memory"], plan_run(apart).memory, strict=True):
        learns = row["phase"].endswith("learns")
        assert other.total - row["total"] == (2 * 7_615_616_512 if learns else 0), row["phase"]
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    (said,) = [
        found.said
        for found in DryRun(config, RunFolder(tmp_path / "runs" / "small")).findings()
        if found.topic == "processes" and found.good is False and "base" in found.said
    ]
    assert said.startswith("reward_model.base: policy shares tensors")


# -- the published configurations ----------------------------------------------------------------------------


@pytest.mark.parametrize("path", PAPER, ids=lambda p: p.stem)
def test_published_configurations_are_valid_and_can_be_planned(path: Path) -> None:
    config = load_config(path)
    plan = plan_run(config)
    assert all(row.fits for row in plan.memory), plan.memory
    assert [model.role for model in plan.models] == ["policy", "reward model", "rewriter"]
    assert config.cluster is not None
    assert config.policy_trainer.world_size == config.cluster.all_gpus
    assert "cluster" not in config.model_dump(mode="json")


@pytest.mark.parametrize("path", PAPER, ids=lambda p: p.stem)
def test_published_configurations_start_as_they_are_launched(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sharded over their machines they can be trained and fit; whole models on each card do not fit."""
    config = load_config(path)
    assert list(obstacles(config, planned(config))) == []
    assert config.cluster is not None
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", str(config.cluster.all_gpus))
    assert [row.phase for row in plan_run(config).memory if not row.fits] == ["policy learns", "reward model learns"]
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    assert launched() == planned(config)
    assert all(row.fits for row in plan_run(config).memory)


def test_a_plan_follows_the_launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(**changes: Any) -> list[str]:
        config = load_config(file(tmp_path, **{**ON_CARDS, "engine": {"kind": "vllm"}, **changes}))
        found = DryRun(config, RunFolder(tmp_path / "runs" / "small")).findings()
        return [finding.said for finding in found if finding.topic == "processes"]

    assert said() == ["planned for 4 training processes that share each model (FSDP2)"]
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "4"), ("ACCELERATE_USE_FSDP", "true")):
        monkeypatch.setenv(name, value)
    led = "4 train together; this one leads, and does all else"
    assert said() == [led]
    away = {"nodes": 2, "gpus": 2, "offload": True}
    assert said(cluster=away) == ["cluster.offload is true, and fsdp_offload_params of the launcher is not", led]
    monkeypatch.setenv("FSDP_OFFLOAD_PARAMS", "true")
    assert said(cluster=away) == [led]


def test_an_attention_whose_package_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "flash_attn" else found(name, *more)
    )
    policy = {**ON_CARDS["policy"], "attention": "flash_attention_2"}
    _, tree = dry_run(file(tmp_path, **{**ON_CARDS, "policy": policy}), tmp_path / "runs")
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
    assert (coding.feedback.policy_band, coding.feedback.judge_band) == ((0.2, 0.8), (0.2, 0.8))


def test_every_published_value_says_where_it_is_from() -> None:
    for path in PAPER:
        text = path.read_text()
        below = text[text.index("name:") : text.index("  assumptions:")]
        said = [line for line in below.splitlines() if ":" in line and not line.rstrip().endswith(":")]
        unsaid = [line for line in said if "#" not in line and "[" not in line.partition("#")[0]]
        # What has no source of its own: names, and values that follow from the line above.
        assert len(unsaid) <= 12, (path.name, unsaid)


# -- settings ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"assumptions": {"success": 0}},
        {"assumptions": {"success": 1.5}},
        {"assumptions": {"vote_tokens": 0}},
        {"assumptions": {"weather": 1}},
        {"nodes": 0},
        {"card": "abacus"},
    ],
)
def test_impossible_clusters_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ClusterConfig.model_validate(changes)


def test_every_card_is_in_the_table() -> None:
    assert set(CARDS) == set(Card.__args__)  # type: ignore[attr-defined]


def test_the_cluster_is_no_part_of_what_a_run_is() -> None:
    config = RunConfig.model_validate({"name": "a", "cluster": {"nodes": 3}})
    assert config.model_dump(mode="json") == RunConfig(name="a").model_dump(mode="json")


def test_a_size_that_nobody_knows() -> None:
    config = RunConfig.model_validate({**ON_CARDS, "policy": {"checkpoint": "somebody/unheard-of"}})
    with pytest.raises(UnknownSize, match="somebody/unheard-of"):
        plan_run(config)


def test_numbers_for_people() -> None:
    assert [human(n) for n in (0, 999, 2048, 3 << 30, 5000 << 30)] == [
        "0 B", "999 B", "2.0 KiB", "3.0 GiB", "5,000.0 GiB"
    ]  # fmt: skip
    assert [count(n) for n in (7_615_616_512, 11_325, 5.5, 1.2e6)] == ["7.62 B", "11,325", "5.5", "1.2 M"]
