"""What single options of a run do, each on the smallest run that shows it."""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from rlanything_agents.config import RunConfig
from rlanything_agents.domains.alfworld.labels import step_labels
from rlanything_agents.reward_models.step_judge import StepJudge
from rlanything_agents.runs.evaluate import _evaluation_settings
from rlanything_agents.runs.folder import RunFolder, RunFolderError
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.train import train, warm_up
from rlanything_agents.tools.cli.pool_views import print_lineages
from rlanything_agents.tools.view.tasks import slot_tree
from rlanything_agents.training.learner import Learner
from rlanything_task_pools import TaskPool
from studies.votes import TrueVotes

SMALL = {"hidden_size": 32, "layers": 1}
BASE: dict[str, Any] = {
    "name": "small",
    "seed": 3,
    "threads": 1,
    "iterations": 2,
    "policy": SMALL,
    "reward_model": SMALL,
    "warm_start": {"demonstrations": 12, "epochs": 2, "judge_steps": 120, "judge_epochs": 2},
    "rollout": {"tasks": 2, "rollouts": 3, "max_steps": 5},
    "feedback": {"policy_band": None, "judge_band": None, "balance": False},
    "judge": {"scope": "all"},
    "curriculum": {"pool_size": 3, "knobs": {"rooms": ["Kitchen"], "kinds": ["heat"]}},
    "evaluation": {"episodes": 4, "max_steps": 5, "judge_episodes": 4},
}


def config(**changes: Any) -> RunConfig:
    """The base with sections laid over it key by key."""
    tree = json.loads(json.dumps(BASE))
    for key, value in changes.items():
        tree[key] = {**tree.get(key, {}), **value} if isinstance(value, Mapping) else value
    return RunConfig.model_validate(tree)


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warm start for all runs here."""
    path = tmp_path_factory.mktemp("runs") / "warm"
    (RunFolder(path).folder("warm_start") / "policy" / "optimizer").mkdir(parents=True)  # of a save that was cut off
    warm_up(config(), RunFolder(path), Reporter.silent())
    return path


def test_imitated_weights_reach_the_engine_before_it_plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The episodes that the judge is warmed up on are those of the policy after its own warm start."""
    folder = RunFolder(tmp_path / "run")
    unfinished: list[bool] = []

    def hand_over(learner: Learner, engine: Any) -> None:
        unfinished.append(folder.stage("warm_start") is None)
        real(learner, engine)

    real = Learner.hand_over
    monkeypatch.setattr(Learner, "hand_over", hand_over)
    warm_up(config(warm_start={"judge_steps": 20, "judge_epochs": 1}), folder, Reporter.silent())
    assert unfinished[0]


def run(
    warm: Path, path: Path, *, true_votes: bool = False, **changes: Any
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A silent run on the shared warm start: its summary and its metrics."""
    folder = RunFolder(path)
    changed = config(warm_start={"reuse": str(warm)}, **changes)
    hooks = [TrueVotes(changed, "oracle")] if true_votes else []
    return train(changed, folder, Reporter.silent(), command="test", hooks=hooks), folder.rows()


def episodes(path: Path, iteration: int) -> list[dict[str, Any]]:
    """What a run stored of an iteration."""
    with gzip.open(path / "trajectories" / f"{iteration:04d}.jsonl.gz", "rt") as file:
        return [json.loads(line) for line in file]


def weights(path: Path) -> dict[str, torch.Tensor]:
    stored: dict[str, torch.Tensor] = load_file(path / "model.safetensors")
    return stored


def same(one: Path, other: Path) -> bool:
    a, b = weights(one), weights(other)
    return all(torch.equal(a[key], b[key]) for key in a)


@pytest.fixture
def no_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reward model cannot be asked."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the reward model was asked")

    monkeypatch.setattr(StepJudge, "judge", refuse)


def test_arms_share_a_warm_start_bit_for_bit(warm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    threads = torch.get_num_threads()
    _, rows = run(warm, tmp_path / "arm", threads=threads + 1, iterations=1)
    assert capsys.readouterr().out == "", "a silent run says nothing"
    assert torch.get_num_threads() == threads, "the caller's setting comes back"
    for role in ("policy", "judge"):
        assert same(warm / "stages" / "warm_start" / role, tmp_path / "arm" / "stages" / "warm_start" / role)
    stages = [RunFolder(path).stage("before") for path in (warm, tmp_path / "arm")]
    assert stages[1] == {"adopted_from": str(warm), **(stages[0] or {})}
    assert len(rows) == 1


def test_panels_that_differ_are_played_again(warm: Path, tmp_path: Path) -> None:
    run(warm, tmp_path / "arm", evaluation={"seed": 77})
    before = RunFolder(tmp_path / "arm").stage("before")
    theirs = RunFolder(warm).stage("before")
    assert before is not None
    assert theirs is not None
    assert "adopted_from" not in before
    assert before["panels"]["valid_seen"]["tasks"] != theirs["panels"]["valid_seen"]["tasks"]


@pytest.mark.parametrize(
    "changes",
    [
        {"environment": {"hints": True}},
        {"rollout": {"top_p": 0.7}},
        {"rollout": {"history": 1}},
        {"judge": {"answers": "forecasts"}},
        {"judge": {"constrained": False}},
    ],
)
def test_an_evaluation_depends_on_how_models_answer(changes: dict[str, Any]) -> None:
    ours, theirs = (_evaluation_settings(each.model_dump(mode="json")) for each in (config(), config(**changes)))
    assert ours != theirs


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"policy": {"layers": 2}}, "another policy"),
        ({"warm_start": {"reuse": "absent"}}, "absent is not a run folder"),
        ({"judge": {"answers": "forecasts", "votes": 1}}, r"was taught judge\.answers votes"),
    ],
)
def test_a_warm_start_that_does_not_fit_is_refused(
    warm: Path, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(RunFolderError, match=said):
        train(
            config(**{"warm_start": {"reuse": str(warm)}, **changes}),
            RunFolder(tmp_path / "arm"),
            Reporter.silent(),
            command="test",
        )


@pytest.mark.parametrize(
    ("changed", "said"),
    [({"vocabulary": "0123"}, "another vocabulary"), ({"judge_losses": []}, "taught no reward model")],
)
def test_a_warm_start_of_other_words_or_roles_is_refused(
    warm: Path, tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    other = tmp_path / "other"
    (other / "stages").mkdir(parents=True)
    (other / "config.json").write_text((warm / "config.json").read_text())
    result = json.loads((warm / "stages" / "warm_start.json").read_text())
    (other / "stages" / "warm_start.json").write_text(json.dumps({**result, **changed}))
    with pytest.raises(RunFolderError, match=said):
        run(other, tmp_path / "arm")


def test_a_reward_model_that_nothing_reads_is_not_taught(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    warm_up(config(feedback="outcome", warm_start={"demonstrations": 4, "epochs": 1}), folder, Reporter.silent())
    result = folder.stage("warm_start")
    assert result is not None
    assert (bool(result["policy_losses"]), result["judge_losses"]) == (True, [])


@pytest.mark.usefixtures("no_judge")
@pytest.mark.parametrize("feedback", [{"lam": 0}, {"credit": "gigpo"}])
def test_outcomes_alone_ask_no_judge(feedback: dict[str, Any], warm: Path, tmp_path: Path) -> None:
    summary, rows = run(
        warm, tmp_path / "arm", feedback=feedback, judge={"train": False}, evaluation={"seed": 3, "episodes": 3}
    )
    assert summary["before"]["judge"] == summary["after"]["judge"] == {}
    assert [row["judge_quality"] for row in rows] == [None, None]
    assert not any("judge" in line["what"] for line in summary["table"])


@pytest.mark.usefixtures("no_judge")
def test_a_hook_votes_in_the_place_of_the_reward_model(warm: Path, tmp_path: Path) -> None:
    run(warm, tmp_path / "arm", true_votes=True, judge={"votes": 0})
    folder = RunFolder(tmp_path / "arm")
    with TaskPool.open(folder.pool) as pool:
        for episode in episodes(folder.path, 1):
            commands = [turn["action"] for turn in episode["turns"]]
            labels = step_labels(pool.task(episode["task_id"]).payload, commands)
            assert [turn["votes"] for turn in episode["turns"]] == [[label] for label in labels]


@pytest.mark.usefixtures("no_judge")
def test_nothing_is_learnt_from_groups_of_rejected_candidates(warm: Path, tmp_path: Path) -> None:
    changes = {"true_votes": True, "judge": {"votes": 0}, "feedback": {"policy_band": None}, "iterations": 3}
    run(warm, tmp_path / "arm", curriculum={"rejected": "drop", "acceptance": "paper"}, **changes)
    folder = RunFolder(tmp_path / "arm")
    with TaskPool.open(folder.pool) as pool:
        rejected = {event.task_id for event in pool.events(kind="rejected")}
    tried = [e for n in (1, 2, 3) for e in episodes(folder.path, n) if e["role"] == "candidate"]
    assert rejected & {episode["task_id"] for episode in tried}
    for episode in tried:
        if episode["task_id"] in rejected:
            assert not any(turn["advantage"] for turn in episode["turns"])


@pytest.mark.usefixtures("no_judge")
def test_fresh_tasks_have_the_knobs_of_the_pool(warm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changes = {"feedback": "outcome", "judge": {"train": False}, "iterations": 5}
    _, rows = run(warm, tmp_path / "arm", curriculum={"rewriter": "fresh"}, **changes)
    folder = RunFolder(tmp_path / "arm")
    with TaskPool.open(folder.pool) as pool:
        accepted = pool.events(kind="accepted")
        tasks = [pool.task(event.task_id) for event in accepted]
        tree = slot_tree(pool, accepted[0].slot)
        print_lineages(pool, [])
    assert {version["parent"] for version in tree["versions"]} == {None}
    assert [version["current"] for version in tree["versions"]][-1]
    assert "accepted: fresh" in capsys.readouterr().out
    assert tasks
    assert {(task.traits["room"], task.traits["kind"], task.parent) for task in tasks} == {("Kitchen", "heat", None)}
    assert {event.reason for event in accepted} == {"fresh"}
    assert rows[-1]["curriculum"]["accepted"] == len(accepted)


def test_a_judge_that_does_not_learn_is_measured_once(
    warm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    queries = StepJudge.queries

    def count(self: StepJudge, trajectory: Any) -> Any:
        asked.append(trajectory)
        return queries(self, trajectory)

    monkeypatch.setattr(StepJudge, "queries", count)
    summary, _ = run(warm, tmp_path / "arm", judge={"train": False})
    assert len(asked) == 2 * 6, "each episode once; the panel's measurement was taken over"
    assert summary["after"]["judge"] == summary["before"]["judge"] != {}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"curriculum": {"knobs": {"kinds": ["boil"]}}}, "'boil' is unknown"),
        ({"evaluation": {"knobs": {"kinds": ["boil"]}}}, "'boil' is unknown"),
        ({"evaluation": {"panels": ["absent"]}}, "'absent' is unknown"),
        ({"curriculum": {"operators": ["magic"]}}, "no rewrite operator 'magic'"),
    ],
)
def test_what_the_domain_refuses_is_told_before_anything_is_written(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    wrong = config(**changes)
    with pytest.raises(ValueError, match=said):
        train(wrong, RunFolder(tmp_path / "run"), Reporter.silent(), command="test")
    assert not (tmp_path / "run").exists()
