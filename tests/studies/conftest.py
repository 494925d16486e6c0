"""Study files and run folders of known content."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from studies.jobs import Job, run_path
from studies.plan import BEFORE, Plan, StudyFile, load_file, make_plan
from studies.runner import Board, Entry, State
from studies.worker import do_work

MICRO = """
name: micro
meaning: Two arms of a model of a few thousand weights.
seeds: 2
arms: [before, outcome, full]
ladder: [before, outcome, full]
baselines: [outcome, before]
config:
  threads: 1
  iterations: 2
  policy: {hidden_size: 32, layers: 1}
  reward_model: {hidden_size: 32, layers: 1}
  warm_start: {demonstrations: 30, max_steps: 8, epochs: 2, batch_size: 8, judge_steps: 60, judge_epochs: 1}
  rollout: {tasks: 4, rollouts: 4, max_steps: 8}
  feedback: {policy_band: null, judge_band: null}
  judge: {votes: 3, steps: 40}
  curriculum: {pool_size: 6, knobs: {rooms: [Bathroom], kinds: [simple, clean]}}
  evaluation: {episodes: 16, max_steps: 8, judge_episodes: 8, every: 1, every_episodes: 8}
regimes:
  small: {meaning: Everything small.}
  long: {meaning: Longer episodes., config: {rollout: {max_steps: 12}}}
variants:
  outcome: {meaning: Outcomes alone., config: {feedback: outcome, judge: {train: false}, curriculum: {rewriter: null}}}
  full: {meaning: The whole system.}
  strong: {meaning: A heavier judge., config: {feedback: {lam: 0.5}}}
quick: {seeds: 1, arms: [outcome], config: {iterations: 1}}
"""


@pytest.fixture(scope="session")
def micro_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "micro.yaml"
    path.write_text(MICRO)
    return path


@pytest.fixture(scope="session")
def micro(micro_file: Path) -> StudyFile:
    return load_file(micro_file, StudyFile)


def evaluation(rates: Sequence[float], judge: dict[str, Any]) -> dict[str, Any]:
    """The stage of an evaluation of ten games a panel; the first so many are won."""
    panels = {}
    for split, rate in zip(("valid_seen", "valid_unseen"), rates, strict=True):
        won = round(10 * rate)
        panels[split] = {"rate": rate, "episodes": 10, "outcomes": [1] * won + [0] * (10 - won)}
    return {"panels": panels, "judge": judge, "seconds": 1.0}


@pytest.fixture
def written(micro: StudyFile, tmp_path: Path) -> Callable[..., Path]:
    """Writes the folder of a study in which arm ``a`` of seed ``s`` has the success ``values[a][s]``."""

    def write(values: dict[str, Sequence[float]], unfinished: Sequence[tuple[str, int]] = ()) -> Path:
        plan: Plan = make_plan(micro, seeds=max(map(len, values.values())), arms=[a for a in values if a != BEFORE])
        study = tmp_path / "study"
        (study / "configs" / "small").mkdir(parents=True)
        (study / "study.json").write_text(micro.model_dump_json())
        (study / "versions.json").write_text('{"python": "3"}')
        (study / "command.txt").write_text("python -m studies table1\n")
        config = plan.configs["small"][BEFORE].model_dump(mode="json")
        (study / "configs" / "small" / f"{BEFORE}.yaml").write_text(yaml.safe_dump(config))
        for arm, rates in values.items():
            for seed, rate in enumerate(rates):
                folder = run_path(study, "small", arm, seed)
                (folder / "stages").mkdir(parents=True)
                config = plan.config("small", arm, seed).model_dump(mode="json")
                (folder / "config.json").write_text(json.dumps(config))
                judge = {} if arm == "outcome" else {"process": 0.5, "process_balanced": 0.6, "trajectories": 8}
                start = evaluation((values[BEFORE][seed], values[BEFORE][seed]), judge)
                (folder / "stages" / "before.json").write_text(json.dumps(start))
                (folder / "stages" / "warm_start.json").write_text('{"seconds": 5.0}')
                if arm == BEFORE:
                    continue
                rows = [
                    {
                        "iteration": k,
                        "env_steps": 100 + k,
                        "success": {"active": k / 10, "candidate": None},
                        "tasks": {"accepted": 2 * k, "proposed": 3 * k},
                        "seconds": {"rollout": 1.0, "adapt": 0.5},
                    }
                    for k in (1, 2)
                ]
                (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
                if (arm, seed) not in unfinished:
                    end = evaluation((rate, rate), judge)
                    (folder / "stages" / "after.json").write_text(json.dumps(end))
                    (folder / "summary.json").write_text("{}")
        return study

    return write


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The jobs of a study are done in this process one after the other, which saves starting one for each."""

    def run_here(jobs: Sequence[Job], workers: int, watch: Callable[[Board], None]) -> Board:
        board = Board({job.key: Entry(job, State.waiting) for job in jobs}, workers)
        for entry in board.entries.values():
            if not entry.job.done:
                Path(entry.job.work["folder"]).mkdir(parents=True, exist_ok=True)
                do_work(entry.job.work)
            entry.state = State.done if entry.job.done else State.failed
        watch(board)
        return board

    monkeypatch.setattr("studies.study.run_jobs", run_here)
