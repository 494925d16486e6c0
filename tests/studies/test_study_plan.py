"""From a study file to the configuration of each run."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from studies.jobs import Key, training_jobs
from studies.plan import BEFORE, StudyError, StudyFile, load_file, make_plan

TABLE1 = Path(__file__).parents[2] / "configs" / "study" / "table1.yaml"


def test_layers_win_in_their_order(micro: StudyFile) -> None:
    plan = make_plan(micro, regimes=["long"], arms=["outcome", "strong"], quick=True, overrides=["rollout.tasks=3"])
    config = plan.config("long", "outcome", 4)
    assert config.name == "long.outcome.4"
    assert config.seed == 4
    assert config.threads == 1  # the study
    assert config.rollout.max_steps == 12  # the regime, beside what the study says of rollouts
    assert config.rollout.rollouts == 4
    assert config.feedback.lam == 0  # the arm: a preset takes the place of the study's fields
    assert config.iterations == 1  # --quick
    assert config.rollout.tasks == 3  # --set
    strong = plan.config("long", "strong", 0).feedback
    assert (strong.lam, strong.policy_band) == (0.5, None)  # fields on top of the study's


def test_fields_go_on_top_of_a_preset(micro: StudyFile) -> None:
    plan = make_plan(micro, arms=["outcome"], overrides=["feedback.lone=raw"])
    feedback = plan.config("small", "outcome", 0).feedback
    assert (feedback.lam, feedback.lone) == (0.0, "raw")


def test_a_study_begins_with_all_arms_of_its_first_seed(micro: StudyFile, tmp_path: Path) -> None:
    jobs = training_jobs(make_plan(micro), tmp_path, "command")
    assert [str(job.key) for job in jobs] == [
        "small/seed-0/before",
        "small/seed-0/outcome",
        "small/seed-0/full",
        "small/seed-1/before",
        "small/seed-1/outcome",
        "small/seed-1/full",
    ]
    assert [job.needs for job in jobs[:3]] == [(), (Key("small", BEFORE, 0),), (Key("small", BEFORE, 0),)]
    reused = {job.work["config"]["warm_start"]["reuse"] for job in jobs[:3]}
    assert reused == {None, str(tmp_path / "runs" / "small" / "seed-0" / "before")}


def test_arms_of_a_seed_differ_in_nothing_that_decides_their_start(micro: StudyFile, tmp_path: Path) -> None:
    jobs = {job.key: job.work["config"] for job in training_jobs(make_plan(micro), tmp_path, "command")}
    for seed in (0, 1):
        start = jobs[Key("small", BEFORE, seed)]
        for arm in ("outcome", "full"):
            config = jobs[Key("small", arm, seed)]
            for section in ("seed", "policy", "reward_model", "rollout", "evaluation"):
                assert config[section] == start[section]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"arms": ["before", "outcom"]}, "arms: there is no outcom; there are before, full, outcome, strong"),
        ({"ladder": ["best"]}, "ladder: there is no best"),
        ({"regimes": {}}, "regimes: give at least one"),
        ({"variants": {"before": {"meaning": ""}}}, "variants.before: this name is kept"),
        ({"seeds": 0}, "`seeds`"),
        ({"armss": []}, "unknown key `armss`"),
        ({"regimes": {"a b": {"meaning": ""}}}, "`regimes.a b.[key]`"),
    ],
)
def test_mistakes_in_a_study_file_are_named(
    change: dict[str, Any], said: str, micro_file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(micro_file.read_text()), **change}))
    with pytest.raises(StudyError) as error:
        load_file(path, StudyFile)
    assert said in str(error.value)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"regimes": ["odd"]}, "--regime: there is no odd; there are long, small"),
        ({"arms": ["odd"]}, "--arms: there is no odd"),
        ({"overrides": ["rollout.taks=3"]}, "regime small, arm before: unknown key `rollout.taks`"),
        ({"overrides": ["rollout"]}, "expected key.subkey=value"),
        ({"overrides": ["rollout.tasks=50"]}, "larger than curriculum.pool_size (6)"),
        ({"overrides": ["feedback=odd"]}, "feedback preset 'odd'"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_starts(micro: StudyFile, options: Any, said: str) -> None:
    with pytest.raises(StudyError) as error:
        make_plan(micro, **options)
    assert said in str(error.value)


def test_an_arm_may_not_change_what_arms_share(micro: StudyFile) -> None:
    tree = micro.model_dump()
    tree["variants"]["strong"]["config"] = {"evaluation": {"episodes": 3}}
    with pytest.raises(StudyError, match=r"variants.strong.config changes `evaluation` in regime small"):
        make_plan(StudyFile.model_validate(tree), arms=["strong"])


def test_files_that_are_no_studies_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="no study file"):
        load_file(tmp_path / "absent.yaml", StudyFile)
    broken = tmp_path / "broken.yaml"
    broken.write_text("name: [")
    with pytest.raises(StudyError, match="not valid YAML"):
        load_file(broken, StudyFile)


def test_every_combination_of_table1_can_be_run() -> None:
    study = load_file(TABLE1, StudyFile)
    assert study.seeds == 8
    for quick in (False, True):
        plan = make_plan(study, regimes=list(study.regimes), arms=list(study.variants), quick=quick)
        for regime in study.regimes:
            configs = {arm: plan.config(regime, arm, 0) for arm in plan.arms}
            assert len({config.env_steps for config in configs.values()}) == 1  # equal budgets
            assert configs["outcome"].feedback.lam == 0
            assert not configs["outcome"].queries_judge
            assert [configs[arm].judge_learns for arm in ("policy", "reward", "full")] == [False, True, True]
            assert [configs[arm].curriculum.adapt for arm in ("policy", "reward", "full")] == [False, False, True]
            assert configs["step"].feedback.outcome_weight == 0
            assert (study.variants["oracle"].votes, configs["oracle"].queries_judge) == ("oracle", False)


@pytest.mark.parametrize("name", ["table1", "sparse"])
def test_every_run_of_a_shipped_study_has_its_configuration(name: str) -> None:
    study = load_file(TABLE1.with_name(f"{name}.yaml"), StudyFile)
    for quick in (False, True):
        plan = make_plan(study, regimes=list(study.regimes), arms=list(study.variants), seeds=1, quick=quick)
        runs = {
            (
                study.variants[arm].votes,
                plan.config(regime, arm, seed).model_copy(update={"name": "run"}).model_dump_json(),
            )
            for regime, arm, seed in plan.runs()
            if arm != BEFORE
        }
        assert len(runs) == len(study.regimes) * len(study.variants)  # no two arms are the same run
