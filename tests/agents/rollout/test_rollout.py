"""Batched rollouts against real games, with a policy of random weights."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import pytest
import torch
from rlanything_agents.domains.alfworld.dialect import AlfWorldDialect
from transformers import Qwen3ForCausalLM

from rlanything_agents.feedback.metrics import action_shares
from rlanything_agents.rollout.rollout import rollout
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_envs.errors import InfrastructureError
from rlanything_task_pools import Task, TaskFormatError
from rlanything_verifiers.alfworld import Game, Goal, Scene, World

Games = Callable[..., list[Task]]
Envs = list[gym.Env[str, str]]


@pytest.fixture(scope="module")
def played(
    untrained: Qwen3ForCausalLM, dialect: AlfWorldDialect, envs: Envs, games: Games
) -> tuple[list[Task], list[Trajectory]]:
    tasks = games(16)
    return tasks, rollout(untrained, dialect, envs, tasks, max_steps=10, seed=3)


def rescored(model: Qwen3ForCausalLM, trajectory: Trajectory) -> list[tuple[float, float]]:
    """(stored, recomputed) log-probability of every sampled token, by one pass over the whole transcript."""
    ids = trajectory.prompt_ids + trajectory.completion_ids
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0]
    pairs = []
    for t, step in enumerate(trajectory.step_of_token):
        if step is not None:
            row = logits[len(trajectory.prompt_ids) + t - 1]
            choice = trajectory.allowed[t]
            allowed = list(range(row.shape[0])) if choice is None else list(choice)
            place = allowed.index(trajectory.completion_ids[t])
            pairs.append((trajectory.logprobs[t], float(row[allowed].log_softmax(-1)[place])))
    return pairs


@pytest.mark.parametrize(("constrained", "temperature"), [(True, 1.0), (True, 0.7), (False, 1.0)])
def test_stored_log_probs_are_those_of_a_full_forward(
    untrained: Qwen3ForCausalLM,
    dialect: AlfWorldDialect,
    envs: Envs,
    games: Games,
    constrained: bool,
    temperature: float,
) -> None:
    trajectories = rollout(
        untrained,
        dialect,
        envs,
        games(10),
        max_steps=8,
        seed=1,
        temperature=temperature,
        constrained=constrained,
    )
    for trajectory in trajectories:
        pairs = rescored(untrained, trajectory)
        assert len(pairs) >= 8
        assert max(abs(stored - again) for stored, again in pairs) < 1e-4


def test_constrained_turns_are_admissible_and_replayable(
    dialect: AlfWorldDialect, played: tuple[list[Task], list[Trajectory]]
) -> None:
    for task, trajectory in zip(*played, strict=True):
        world = World(
            Game(Scene.from_dict(task.payload["scene"]), Goal.from_dict(task.payload["goal"]), sentence=task.goal)
        )
        assert trajectory.opening == world.reset()
        assert trajectory.task_id == task.id
        for step in trajectory.steps:
            assert step.action in world.admissible_commands
            assert step.observation == world.step(step.action)
        assert (trajectory.outcome, trajectory.score) == ((1, 1.0) if world.won else (-1, 0.0))


def test_tokens_are_the_transcript(dialect: AlfWorldDialect, played: tuple[list[Task], list[Trajectory]]) -> None:
    for trajectory in played[1]:
        assert trajectory.prompt_ids == dialect.opening(trajectory.opening)
        expected: list[int] = []
        for step in trajectory.steps:
            expected += [*dialect.thought(step.thought), *dialect.command(step.action)]
            expected += dialect.message(step.observation)
        length = len(trajectory.completion_ids)
        assert trajectory.completion_ids == expected[:length]
        assert trajectory.step_of_token[-1] == len(trajectory.steps) - 1, "nothing is kept after the last choice"
        assert {s for s in trajectory.step_of_token if s is not None} == set(range(len(trajectory.steps)))
        for step, logprob, choice in zip(
            trajectory.step_of_token, trajectory.logprobs, trajectory.allowed, strict=True
        ):
            assert (step is None) == (choice is None)
            assert choice is None or len(choice) > 1, "a forced token is no choice"
            assert step is not None or logprob == 0.0


def test_a_lane_depends_on_nothing_but_itself(
    untrained: Qwen3ForCausalLM, dialect: AlfWorldDialect, envs: Envs, played: tuple[list[Task], list[Trajectory]]
) -> None:
    tasks, trajectories = played
    again = rollout(untrained, dialect, envs[:5], tasks, max_steps=10, seed=3)
    assert [t.steps for t in again] == [t.steps for t in trajectories]
    assert [t.completion_ids for t in again] == [t.completion_ids for t in trajectories]
    other = rollout(untrained, dialect, envs, tasks, max_steps=10, seed=4)
    assert [t.steps for t in other] != [t.steps for t in trajectories]


def test_free_turns_go_to_the_environment_as_they_are(
    untrained: Qwen3ForCausalLM, dialect: AlfWorldDialect, envs: Envs, games: Games
) -> None:
    trajectories = rollout(untrained, dialect, envs, games(6), max_steps=6, seed=0, constrained=False)
    steps = [step for trajectory in trajectories for step in trajectory.steps]
    nothing = [step.observation == "Nothing happens." for step in steps]
    assert sum(nothing) > len(steps) / 2
    assert [step.command != "ok" for step in steps] == nothing
    shares = action_shares(step.command for step in steps)
    assert shares["admissible"] == pytest.approx(1 - sum(nothing) / len(steps))
    assert shares["admissible"] <= shares["readable"] < 1
    for trajectory in trajectories:
        assert trajectory.outcome == -1
        assert set(trajectory.allowed) == {None}
        assert trajectory.sample([1.0] * len(trajectory.steps)).allowed is None
        for number in range(len(trajectory.steps)):
            assert 1 <= trajectory.step_of_token.count(number) <= dialect.turn_limit


def test_samples_weigh_steps_alike_and_leave_out_the_rest(played: tuple[list[Task], list[Trajectory]]) -> None:
    trajectory = played[1][0]
    advantages = [0.0 if i % 3 == 0 else float(i) - 4 for i in range(len(trajectory.steps))]
    sample = trajectory.sample(advantages)
    for number, advantage in enumerate(advantages):
        tokens = [t for t, step in enumerate(trajectory.step_of_token) if step == number]
        assert sum(sample.weights[t] for t in tokens) == pytest.approx(1.0 if advantage else 0.0)
        assert {sample.advantages[t] for t in tokens} == {advantage}
    assert sample.completion_ids == trajectory.completion_ids


class Failing(gym.Wrapper[str, str, str, str]):
    """An environment whose machinery fails at a given step (0: at reset)."""

    def __init__(self, env: gym.Env[str, str], at: int, how: str) -> None:
        super().__init__(env)
        self.at, self.how, self.count = at, how, 0

    def reset(self, **kwargs: Any) -> Any:
        self.count = 0
        observation, info = super().reset(**kwargs)
        if self.at == 0:
            raise InfrastructureError("no world")
        return observation, info

    def step(self, action: str) -> Any:
        self.count += 1
        result = super().step(action)
        if self.count < self.at:
            return result
        if self.how == "raise":
            raise ConnectionResetError("gone")
        return result[0], 0.0, False, True, {**result[4], "outcome": "error"}


def test_failures_of_the_machinery_end_their_own_lane(
    untrained: Qwen3ForCausalLM, dialect: AlfWorldDialect, envs: Envs, played: tuple[list[Task], list[Trajectory]]
) -> None:
    tasks, whole = played
    some: list[gym.Env[str, str]] = list(envs)
    some[2] = Failing(envs[2], 0, "raise")
    some[5] = Failing(envs[5], 3, "raise")
    some[7] = Failing(envs[7], 4, "report")
    trajectories = rollout(untrained, dialect, some, tasks, max_steps=10, seed=3, tags=[f"slot {i}" for i in range(16)])
    for i, trajectory in enumerate(trajectories):
        assert trajectory.tag == f"slot {i}"
        if i in (2, 5, 7):
            assert trajectory.outcome is None
            assert trajectory.success is None
            assert trajectory.error
        else:
            assert trajectory.steps == whole[i].steps
            assert trajectory.error == ""
    assert [len(trajectories[i].steps) for i in (2, 5, 7)] == [0, 3, 4]
    assert trajectories[2].task_id == tasks[2].id
    assert "gone" in trajectories[5].error


def test_misuse_is_raised_not_masked(
    untrained: Qwen3ForCausalLM, dialect: AlfWorldDialect, envs: Envs, games: Games
) -> None:
    (task,) = games(1)
    broken = task.model_copy(update={"domain": "chess"})
    with pytest.raises(TaskFormatError):
        rollout(untrained, dialect, envs, [task, broken], max_steps=2, seed=0)
    with pytest.raises(ValueError, match="at least one environment"):
        rollout(untrained, dialect, [], [task], max_steps=2, seed=0)
    with pytest.raises(ValueError, match="one tag per task"):
        rollout(untrained, dialect, envs, [task], max_steps=2, seed=0, tags=[])
    with pytest.raises(ValueError, match="temperature"):
        rollout(untrained, dialect, envs, [task], max_steps=2, seed=0, temperature=0.0)
    assert rollout(untrained, dialect, envs, [], max_steps=2, seed=0) == []


def test_progress_counts_every_episode_once(
    untrained: Qwen3ForCausalLM, dialect: AlfWorldDialect, envs: Envs, games: Games
) -> None:
    ended: list[int] = []
    rollout(untrained, dialect, envs[:3], games(7), max_steps=3, seed=0, progress=ended.append)
    assert sum(ended) == 7
