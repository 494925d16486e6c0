"""Search at test time where the answer is known: a game of right and wrong doors, and the study end to end."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_envs.llm.generator import Completion
from studies.__main__ import app
from studies.branches import Branch, search_steps
from studies.plan import StudyError
from studies.search import ANY, RANDOM, SHORTEST, best_of, most_steps, write_search

DOORS, STEPS = 4, 6


class Doors(gym.Env[str, str]):
    """Every step has one right door of four, by the number of the task; solved after six right ones in a row."""

    def __init__(self, luck: np.random.Generator | None = None) -> None:
        self.luck, self.steps = luck, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        self.task, self.right, self.at = int((options or {})["task"]), True, 0
        return "door?", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        self.right &= int(action) == (self.task + self.at) % DOORS
        self.at += 1
        over = self.at == STEPS
        shown = f"{self.at} {action}" + ("" if self.luck is None else f" {self.luck.random()}")
        return shown, float(self.right), over and self.right, False, {"outcome": 1 if over and self.right else 0}


class Plain:
    """Renders messages as their bytes."""

    end_id, appends = 0, True

    def opening(self, text: str) -> list[int]:
        return list(text.encode())

    def message(self, text: str) -> tuple[int, ...]:
        return tuple(text.encode())

    def read(self, ids: Sequence[int], stop: tuple[str, ...] = ()) -> tuple[str, str]:
        return "", str(ids[0] - 1)


@dataclass
class Chance:
    """Takes any door."""

    rng: np.random.Generator

    def sample(self, episodes: Sequence[Branch], numbers: Sequence[int]) -> int:
        for episode in episodes:
            door = int(self.rng.integers(DOORS))
            episode.take(Completion("", "stop", token_ids=[door + 1, 0], logprobs=[0.0, 0.0]), episode.prompt())
        return 0


def perfect(shown: Sequence[Trajectory], since: int) -> list[float]:
    """Share of right doors; reads neither outcome nor score."""
    return [
        float(np.mean([int(step.action) == (int(t.task_id) + at) % DOORS for at, step in enumerate(t.steps)][since:]))
        for t in shown
    ]


def searched(score: Any, candidates: int, ahead: int, envs: list[Doors] | None = None) -> tuple[list[Any], int]:
    games = 40
    envs = envs or [Doors() for _ in range(games * candidates)]
    places = iter(envs)
    branches = [[Branch(next(places), task, "", Plain(), ()) for _ in range(candidates)] for task in range(games)]  # type: ignore[arg-type]
    turns: Any = Chance(np.random.default_rng(0))
    return search_steps(turns, branches, score, ahead=ahead, max_steps=STEPS), sum(env.steps for env in envs)


def test_a_perfect_score_solves_what_chance_does_not() -> None:
    """24 candidates miss a door of four in 0.1 % of the decisions; by chance a game is solved once in 4096."""
    found, _ = searched(perfect, 24, 1)
    assert sum(game.trajectory.outcome == 1 for game in found) >= 38
    found, _ = searched(lambda shown, since: [0.0] * len(shown), 24, 1)
    assert sum(game.trajectory.outcome == 1 for game in found) <= 1


@pytest.mark.parametrize(("candidates", "ahead"), [(2, 1), (3, 2), (3, 4), (2, 6)])
def test_every_step_of_an_environment_counts_once(candidates: int, ahead: int) -> None:
    found, steps = searched(perfect, candidates, ahead)
    assert sum(game.env_steps for game in found) == steps
    assert max(game.env_steps for game in found) <= most_steps(candidates, ahead, STEPS)
    assert [game.trajectory.task_id for game in found] == [str(task) for task in range(40)]


def test_the_bound_of_a_search() -> None:
    assert most_steps(2, 4, 12) == 2 * 12 + 4 + 8
    assert most_steps(3, 12, 12) == 3 * 12


def test_a_score_sees_new_steps_alone_and_the_best_is_kept() -> None:
    seen = []

    def score(shown: Sequence[Trajectory], since: int) -> list[float]:
        seen.append((since, {len(t.steps) for t in shown}))
        return perfect(shown, since)

    searched(score, 2, 4)
    assert seen == [(0, {4}), (4, {6})]


def test_a_game_that_is_not_deterministic_is_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(StudyError, match="not deterministic"):
        searched(perfect, 2, 1, [Doors(rng) for _ in range(80)])


def test_best_of_n_by_what_is_known() -> None:
    solved = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0]], float)
    steps = np.array([[12, 12, 12], [8, 12, 12], [9, 7, 12]], float)
    scores = {"right": solved, "wrong": -solved, "flat": 0 * solved}
    found = best_of(solved, steps, scores, 36)
    assert found[ANY].tolist() == found["right"].tolist() == found[SHORTEST].tolist() == [1, 1, 0]
    assert found["wrong"].tolist() == [0, 0, 0]
    assert found["flat"].tolist() == found[RANDOM].tolist() == pytest.approx([2 / 3, 1 / 3, 0])
    tight = best_of(solved, steps, scores, 20)
    assert tight["right"].tolist() == [1, 0, 0]
    assert best_of(solved, steps, scores, 5)["right"].tolist() == [0, 0, 0]  # one attempt at least


@pytest.mark.slow
@pytest.mark.usefixtures("in_process")
def test_the_study_from_the_command_to_the_page(micro_file: Path, tmp_path: Path) -> None:
    study = yaml.safe_load(micro_file.read_text())
    study |= {"arms": ["before", "full"]}
    file = tmp_path / "judge.yaml"
    settings = {"games": 6, "attempts": 3, "searches": [[2, 4], [2, 1]]}
    file.write_text(yaml.safe_dump({"study": study, "search": settings}))
    folder = tmp_path / "out"
    arguments = ["search", "--file", str(file), "--out", str(folder), "--seeds", "1", "--workers", "1"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    result = json.loads((folder / "search" / "seed-0" / "result.json").read_text())
    assert len(result["attempts"]) == 3
    assert {part["arm"] for part in result["searches"]} == {
        "heuristic labels",
        "warm judge",
        "trained judge",
        "true labels",
    }
    assert "What would refute it" in write_search(folder).read_text()
    file.write_text(yaml.safe_dump({"study": study, "search": {**settings, "games": 5}}))
    refused = CliRunner().invoke(app, arguments)
    assert refused.exit_code != 0
    assert "other settings" in refused.output
