"""``python -m studies two-domains``: one model whose weights learn in two domains in turn."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
import yaml
from safetensors.torch import load_file
from typer.testing import CliRunner

from rlanything_agents.config import CheckpointConfig, SmallConfig
from rlanything_agents.models.small import make_small_model
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.loop import Iteration, Loop
from rlanything_envs.views import get_view
from rlanything_task_pools import get_domain
from studies.__main__ import app
from studies.plan import BEFORE, StudyError, StudyFile, load_study, make_plan
from studies.two_domains import joint_jobs, run_two_domains
from studies.worker import do_work

CONFIGS = Path(__file__).parents[2] / "configs" / "study"
ROOMS = {"rooms": ["Bathroom"], "kinds": ["simple"]}
LISTS = {"families": ["list_steps"], "levels": {"size": 8, "steps": 1}}
MICRO: dict[str, Any] = {
    "name": "micro",
    "meaning": "Two domains.",
    "seeds": 1,
    "arms": [BEFORE, "alone", "together"],
    "ladder": [BEFORE, "alone", "together"],
    "baselines": [BEFORE],
    "config": {
        "threads": 1,
        "iterations": 2,
        "environment": {"view": "short"},
        "policy_trainer": {"learning_rate": 1e-3},
        "judge_trainer": {"learning_rate": 1e-3},
        "evaluation": {"panels": ["valid_seen"], "episodes": 6, "judge_episodes": 3},
    },
    "regimes": {
        "alfworld": {
            "meaning": "Bathrooms.",
            "config": {
                "domain": "alfworld",
                "warm_start": {"demonstrations": 40, "max_steps": 8, "epochs": 6, "batch_size": 8, "judge_steps": 60,
                               "judge_epochs": 2, "learning_rate": 5e-3, "knobs": ROOMS},
                "rollout": {"tasks": 3, "rollouts": 4, "max_steps": 6},
                "feedback": {"policy_band": None, "judge_band": None},
                "judge": {"votes": 3, "steps": 20},
                "curriculum": {"pool_size": 4, "knobs": ROOMS},
                "evaluation": {"max_steps": 6, "knobs": ROOMS},
            },
        },
        "coding": {
            "meaning": "Lists.",
            "config": {
                "domain": "coding",
                "warm_start": {"demonstrations": 120, "mistakes": 0.2, "judge_steps": 120, "knobs": LISTS},
                "rollout": {"tasks": 3, "rollouts": 4, "max_steps": 1, "threads": 2},
                "feedback": {"lam": 0, "policy_band": None, "judge_band": None, "teach_format": True},
                "judge": {"votes": 4},
                "curriculum": {"pool_size": 4, "knobs": LISTS},
                "evaluation": {"max_steps": 1, "knobs": LISTS},
            },
        },
    },
    "variants": {"alone": {"meaning": "One."}, "together": {"meaning": "Both."}},
    "quick": {"seeds": 1, "arms": ["together"]},
}  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of one small checkpoint that has the words of both domains."""
    folder = tmp_path_factory.mktemp("two-domains")
    games, lists = (get_view(get_domain(name).env_id, "short").words for name in ("alfworld", "coding"))
    followed = (":", *(f"{word}:" for word in games if " " not in word))  # the tokenizer drops none: programs have some
    words = list(dict.fromkeys([*games, *followed, *lists]))
    size = SmallConfig(hidden_size=48, layers=1, heads=2, intermediate_size=96)
    make_small_model(folder / "model", words, size, seed=1)
    model = {
        "checkpoint": str(folder / "model"),
        "dtype": "float32",
        "lessons": True,
        "max_tokens": 48,
        "context": 1024,
    }
    settings = {**MICRO["config"], "policy": model, "reward_model": model}
    path = folder / "micro.yaml"
    path.write_text(yaml.safe_dump({**MICRO, "config": settings}))
    return path


@pytest.fixture(scope="module")
def study(file: Path) -> StudyFile:
    return load_study(file)


def weights(folder: Path, iteration: int, role: str = "policy") -> dict[str, torch.Tensor]:
    path = folder / "checkpoints" / f"{iteration:04d}" / role / "model.safetensors"
    return dict(load_file(path))


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    assert one.keys() == other.keys()
    return all(torch.equal(one[name], other[name]) for name in one)


def test_runs_that_train_the_same_models_are_one_job(study: StudyFile) -> None:
    jobs = joint_jobs(make_plan(study, regimes=list(study.regimes)), Path("s"), "")
    assert [(str(job.key), [str(need) for need in job.needs]) for job in jobs] == [
        ("alfworld+coding/seed-0/before", []),
        ("alfworld/seed-0/alone", ["alfworld+coding/seed-0/before"]),
        ("alfworld+coding/seed-0/together", ["alfworld+coding/seed-0/before"]),
        ("coding/seed-0/alone", ["alfworld+coding/seed-0/before"]),
    ]
    _, alone, together, _ = jobs
    assert "others" not in alone.work
    assert [run["config"]["domain"] for run in (together.work, *together.work["others"])] == ["alfworld", "coding"]
    assert together.results == tuple(
        Path("s/runs") / domain / "seed-0/together/summary.json" for domain in ("alfworld", "coding")
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"regimes": {"alfworld": MICRO["regimes"]["alfworld"]}}, "give at least two"),
        ({"variants": {"alone": {"meaning": "o"}, "together": {"meaning": "b"}, "more": {"meaning": "m"}},
          "arms": ["more"]}, "more is not an arm of this study"),
        ({"regimes": {**MICRO["regimes"], "coding": {"meaning": "Faster.", "config": {
            "domain": "coding", "policy_trainer": {"learning_rate": 1e-2}}}}}, "coding.config changes policy_trainer"),
    ],
)  # fmt: skip
def test_studies_of_one_model_in_several_domains_alone(
    study: StudyFile, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    changed = StudyFile.model_validate({**study.model_dump(), **change})
    with pytest.raises(StudyError, match=message):
        run_two_domains(make_plan(changed, regimes=list(changed.regimes)), tmp_path / "s", workers=1, command="")
    assert not (tmp_path / "s").exists()


def test_the_study_file_holds() -> None:
    file = load_study(CONFIGS / "two-domains.yaml")
    for quick in (False, True):
        plan = make_plan(file, regimes=list(file.regimes), quick=quick)
        for config in (by_arm[BEFORE] for by_arm in plan.configs.values()):
            assert isinstance(config.policy, CheckpointConfig)
            assert config.policy.lessons
        assert joint_jobs(plan, Path("s"), "")


class Killed(BaseException):
    """The process ends."""


@pytest.mark.slow
@pytest.mark.usefixtures("in_process")
def test_groups_of_both_domains_train_the_same_weights(
    file: Path, study: StudyFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "study"
    done = CliRunner().invoke(app, ["two-domains", "--file", str(file), "--out", str(folder)])
    assert done.exit_code == 0, done.output
    runs = {
        (domain, arm): folder / "runs" / domain / "seed-0" / arm
        for domain in ("alfworld", "coding")
        for arm in (BEFORE, "alone", "together")
    }

    # The warm start is one, on the demonstrations of both domains.
    for role in ("policy", "judge"):
        one, other = (
            load_file(runs[domain, BEFORE] / "stages/warm_start" / role / "model.safetensors")
            for domain in ("alfworld", "coding")
        )
        assert equal(one, other), role
    warm = RunFolder(runs["alfworld", BEFORE]).stage("warm_start") or {}
    assert warm["demonstrations"] > 120 > 40  # more than either domain has

    # The first turn is that of the first domain alone; from then on each turn begins with the weights of the other.
    for role in ("policy", "judge"):
        own, shared = (
            {(d, k): weights(runs[d, arm], k, role) for d in ("alfworld", "coding") for k in (1, 2)}
            for arm in ("alone", "together")
        )
        assert equal(own["alfworld", 1], shared["alfworld", 1]), role
        for turn in (("coding", 1), ("alfworld", 2), ("coding", 2)):
            assert not equal(own[turn], shared[turn]), (role, turn)
        state = torch.load(runs["coding", "together"] / "checkpoints/0002" / role / "learner.pt", weights_only=True)
        rows = [row for d in ("alfworld", "coding") for row in RunFolder(runs[d, "together"]).rows()]
        assert [row["iteration"] for row in rows] == [1, 2, 1, 2]
        assert all(row[role]["optimizer_steps"] > 0 for row in rows), role
        steps = {int(moment["step"]) for moment in state["trainer"]["optimizer"]["state"].values()}
        assert steps == {sum(row[role]["optimizer_steps"] for row in rows)}, "one optimizer took the steps of both"

    # Every policy is played in both domains.
    results = pd.read_parquet(folder / "two-domains.parquet")
    assert set(zip(results.trained, results.played, strict=True)) == {
        (trained, played) for trained in (BEFORE, "alfworld", "coding", "together") for played in ("alfworld", "coding")
    }
    assert "| together |" in (folder / "two-domains.md").read_text()
    table = (folder / "table.md").read_text()
    assert table.count("| together − alone |") == 2
    stamp = (folder / "two-domains.md").stat().st_mtime_ns
    assert CliRunner().invoke(app, ["report", str(folder)]).exit_code == 0
    assert (folder / "two-domains.md").stat().st_mtime_ns > stamp

    # Killed twice at the end of an iteration, before its checkpoint: it comes to the same weights.
    again, calls, iterate = tmp_path / "again", [0], Loop.iterate
    plan = make_plan(study, regimes=list(study.regimes), arms=["together"])
    job = next(job for job in joint_jobs(plan, folder, "") if job.key.arm == "together")
    work = json.loads(json.dumps(job.work).replace(f"{folder}/runs", f"{again}/runs"))
    for domain, run in zip(("alfworld", "coding"), (work, *work["others"]), strict=True):
        run["config"]["warm_start"]["reuse"] = str(runs[domain, BEFORE])

    def dying(self: Loop, before: Any) -> Iteration:
        result = iterate(self, before)
        calls[0] += 1
        if calls[0] in (2, 4):  # in the first turn of coding, and in the second of AlfWorld
            raise Killed
        return result

    monkeypatch.setattr(Loop, "iterate", dying)
    for _ in range(2):
        with pytest.raises(Killed):
            do_work(work)
    do_work(work)
    assert calls == [6]
    for role in ("policy", "judge"):
        ended = weights(again / "runs/coding/seed-0/together", 2, role)
        assert equal(ended, weights(runs["coding", "together"], 2, role)), role
