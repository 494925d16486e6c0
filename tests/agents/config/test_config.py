"""Every knob is checked before anything starts, and the message names the key."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from rlanything_agents.config import CheckpointConfig, ConfigError, LoraConfig, RunConfig, load_config
from rlanything_agents.feedback import PRESETS

CONFIGS = sorted((Path(__file__).resolve().parents[3] / "configs").glob("*.yaml"))


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "run.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.name)
def test_shipped_configurations_are_valid(path: Path) -> None:
    assert load_config(path).name


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("name: a\nrollout: {taks: 3}", "unknown key `rollout.taks`"),
        ("name: a\nsed: 1", "unknown key `sed`"),
        ("seed: 1", "`name` is missing"),
        ("name: a\nrollout: {tasks: 0}", "`rollout.tasks`"),
        ("name: a\nrollout: {temperature: -1}", "`rollout.temperature`"),
        ("name: a\nrollout: {temperature: .nan}", "`rollout.temperature`"),
        ("name: ../escape", "`name`"),
        ("name: a\ncurriculum: {band: [0.8, 0.2]}", "`curriculum.band`"),
        ("name: a\ncurriculum: {pool_size: 4}", "rollout.tasks (16) is larger than curriculum.pool_size (4)"),
        ("name: a\nfeedback: papper", "papper"),
        ("name: a\nfeedback: {lam: -1}", "`feedback.lam`"),
        ("name: a\nfeedback: {credit: luck}", "no credit rule 'luck'"),
        ("name: a\nenvironment: {view: full}", "policy is a small model, whose words are those of the short view"),
        ("name: a\npolicy: {hidden_size: 130}", "`policy.hidden_size`"),
        ("name: a\ncurriculum: {rewriter: llm}", "needs a section `llm`"),
        ("name: a\nenv_steps: 0", "`env_steps`"),
        ("name: a\npolicy_trainer: {clip: 1}", "`policy_trainer.clip`"),
        ("name: a\nevaluation: {knobs: []}", "`evaluation.knobs`"),
        ("name: a\ncurriculum: {knobs: [{share: 0}]}", "`curriculum.knobs.0.share`"),
        ("name: a\npolicy: 3", "the key `checkpoint`"),
        ("name: a\npolicy: {checkpoint: x, hidden_size: 3}", "unknown key `policy.hidden_size`"),
        ("name: a\npolicy: {checkpoint: x, max_tokens: 9000}", "leaves no room for a prompt in a context of 8192"),
        ("name: a\npolicy: {checkpoint: x, lora: {rank: 0}}", "`policy.lora.rank`"),
        ("name: a\npolicy: {checkpoint: x}\nfeedback: paper", "or give reward_model a checkpoint"),
        ("name: a\nreward_model: {checkpoint: ''}", "`reward_model.checkpoint`"),
        ("- just\n- a list", "mapping"),
        ("name: [unclosed", "not valid YAML"),
    ],
)
def test_a_wrong_key_or_value_is_named(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(write(tmp_path, text))
    assert named in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no configuration file .*absent\.yaml"):
        load_config(tmp_path / "absent.yaml")


def test_overrides_reach_nested_keys(tmp_path: Path) -> None:
    path = write(tmp_path, "name: a\nfeedback: paper")
    config = load_config(path, ["rollout.tasks=4", "feedback.lam=0.25", "seed=7"])
    assert (config.rollout.tasks, config.seed) == (4, 7)
    assert config.feedback == PRESETS["paper"].model_copy(update={"lam": 0.25})


@pytest.mark.parametrize("override", ["rollout.tasks", "=3", "seed.deeper=1", "rollout.tasks=[1"])
def test_a_broken_override_is_an_error(tmp_path: Path, override: str) -> None:
    with pytest.raises(ConfigError, match="--set"):
        load_config(write(tmp_path, "name: a\nseed: 1"), [override])


def test_one_word_switches_the_feedback() -> None:
    for name, preset in PRESETS.items():
        assert RunConfig.model_validate({"name": "a", "feedback": name}).feedback == preset


def test_a_configuration_survives_json() -> None:
    config = RunConfig(name="a", seed=3)
    assert RunConfig.model_validate(config.model_dump(mode="json")) == config


def test_a_pretrained_model_is_told_by_its_key() -> None:
    model = {"checkpoint": "a/b", "lora": {"rank": 4}, "thinking": "strip"}
    config = RunConfig.model_validate({"name": "a", "policy": model, "reward_model": {"checkpoint": "c"}})
    assert isinstance(config.policy, CheckpointConfig)
    assert (config.policy.lora, config.policy.thinking) == (LoraConfig(rank=4), "strip")
    assert RunConfig.model_validate(config.model_dump(mode="json")) == config


def test_what_has_no_part_in_a_run_is_not_stored() -> None:
    stored = RunConfig(name="a").model_dump(mode="json")
    assert not {"monitors", "workers", "trackers"} & stored.keys()
    assert stored["policy"] == {"hidden_size": 128, "layers": 4}


def test_the_view_follows_the_policy_unless_it_is_chosen() -> None:
    models = {role: {"checkpoint": "a/b"} for role in ("policy", "reward_model")}
    assert RunConfig(name="a").view == "short"
    assert RunConfig.model_validate({"name": "a", **models}).view == "full"
    chosen = RunConfig.model_validate({"name": "a", **models, "environment": {"view": "short", "max_turns": 3}})
    assert (chosen.view, chosen.environment_arguments) == ("short", {"max_turns": 3})


def test_knobs_are_a_mapping_or_a_mixture() -> None:
    one = RunConfig.model_validate({"name": "a", "evaluation": {"knobs": {"kinds": ["heat"]}}}).evaluation.knobs
    assert [(part.share, part.knobs) for part in one] == [(1.0, {"kinds": ["heat"]})]
    parts = [{"share": 3, "knobs": {"kinds": ["simple"]}}, {"share": 1, "knobs": {"kinds": ["heat"]}}]
    two = RunConfig.model_validate({"name": "a", "curriculum": {"knobs": parts}})
    assert [part.share for part in two.curriculum.knobs] == [3.0, 1.0]
    assert RunConfig.model_validate(two.model_dump(mode="json")) == two


def test_the_budget_is_used_up_by_whatever_comes_first() -> None:
    rows = [{"env_steps": 100}, {"env_steps": 300}]
    assert RunConfig(name="a", iterations=8).used(rows) == pytest.approx(2 / 8)
    assert RunConfig(name="a", iterations=8, env_steps=1000).used(rows) == pytest.approx(0.4)
    assert RunConfig(name="a", iterations=2, env_steps=1000).used(rows) == 1.0
    assert RunConfig(name="a", iterations=8, env_steps=400).used([]) == 0.0


@pytest.mark.parametrize(
    ("changes", "asked"),
    [
        ({}, False),
        ({"judge": {"train": True}}, True),
        ({"judge": {"train": True, "votes": 0}}, False),
        ({"feedback": "masked"}, True),
        ({"feedback": "masked", "judge": {"train": False}}, True),
        ({"feedback": "masked", "judge": {"votes": 0}}, False),
        ({"feedback": "critic"}, True),
        ({"feedback": "pooled"}, False),
        ({"feedback": {"credit": "gigpo"}}, False),
    ],
)
def test_who_is_asked_for_votes(changes: dict[str, object], asked: bool) -> None:
    assert RunConfig.model_validate({"name": "a", **changes}).queries_judge == asked


ALL, ADAPTED = {"checkpoint": "a/b"}, {"checkpoint": "a/b", "lora": {}}


@pytest.mark.parametrize(
    ("tree", "policy", "judge"),
    [
        ({}, 3e-4, 2e-4),
        ({"policy_trainer": {"clip": 0.1}}, 3e-4, 2e-4),
        ({"policy": ALL}, 1e-6, 2e-4),
        ({"policy": ADAPTED, "reward_model": {"base": "policy"}}, 1e-5, 1e-5),
        ({"policy": ADAPTED, "reward_model": ALL, "judge_trainer": {"clip": 0.1}}, 1e-5, 1e-6),
        ({"policy": ALL, "policy_trainer": {"learning_rate": 2e-5}}, 2e-5, 2e-4),
        ({"policy": ALL, "policy_trainer": {"learning_rate": 1e-3}, "large_rates": True}, 1e-3, 2e-4),
        ({"policy": ALL, "reward_model": ALL, "judge_trainer": {"learning_rate": 1.0}}, 1e-6, 1.0),
    ],
)
def test_rates_are_those_of_the_kind_of_model(tree: dict[str, Any], policy: float, judge: float) -> None:
    """The last judge is not trained, so its rate has no effect."""
    config = RunConfig.model_validate({"name": "a", **tree})
    assert (config.policy_trainer.learning_rate, config.judge_trainer.learning_rate) == (policy, judge)
    assert RunConfig.model_validate(config.model_dump(mode="json")) == config
    kept = config.policy_trainer
    assert (kept.betas, kept.warmup_updates, kept.schedule) == ((0.9, 0.99), 3, "linear"), "one key drops no other"


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        (
            {"policy": ALL, "policy_trainer": {"learning_rate": 3e-4}},
            r"policy_trainer\.learning_rate 0\.0003 is more than 20 times 1e-06, which is usual for all weights of a",
        ),
        (
            {"policy": ADAPTED, "policy_trainer": {"learning_rate": 3e-4}},
            r"policy_trainer\.learning_rate 0\.0003 is more than 20 times 1e-05, which is usual for adapters",
        ),
        (
            {"policy": ALL, "reward_model": ALL, "feedback": "paper", "judge_trainer": {"learning_rate": 1e-4}},
            r"judge_trainer\.learning_rate 0\.0001 .*\(reward_model\): lower it, or set large_rates to true",
        ),
        (
            {"policy": {**ALL, "lessons": True}, "warm_start": {"learning_rate": 3e-4}},
            r"warm_start\.learning_rate 0\.0003 is more than 20 times 1e-05",
        ),
    ],
)
def test_a_rate_that_ruins_a_checkpoint_is_refused_unless_it_is_meant(tree: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        RunConfig.model_validate({"name": "a", **tree})
    RunConfig.model_validate({"name": "a", **tree, "large_rates": True})
