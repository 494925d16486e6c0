"""Supervised start of policy and judge on generated games."""

from collections.abc import Callable

import gymnasium as gym
import numpy as np
import pytest
import torch
from rlanything_agents.domains.alfworld.dialect import AlfWorldDialect
from rlanything_agents.rollout.dialect import Step

from rlanything_agents.domains.lessons import demonstrate, judge_rows
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models.small import tiny_model
from rlanything_agents.reward_models.step_judge import StepJudge, parse_score
from rlanything_agents.rollout.rollout import rollout
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.training.imitation import Row, fit
from rlanything_task_pools import Task

Games = Callable[..., list[Task]]


@pytest.fixture(scope="module")
def rows(dialect: AlfWorldDialect, envs: list[gym.Env[str, str]], games: Games) -> list[Row]:
    return demonstrate(dialect, envs[0], games(60), max_steps=40, seed=0)


def aimless(dialect: AlfWorldDialect, env: gym.Env[str, str], tasks: list[Task]) -> list[Trajectory]:
    """Episodes of an expert that errs half of the time: right and wrong steps in plenty."""
    from rlanything_agents.domains.alfworld.words import TYPES

    from rlanything_agents.domains.alfworld.expert import ExploringExpert

    trajectories = []
    for seed, task in enumerate(tasks):
        expert = ExploringExpert(frozenset(TYPES), seed, mistakes=0.5)
        opening, info = env.reset(options={"task": task})
        observation, steps, outcome = opening, [], -1
        for _ in range(30):
            move = expert.act(observation, info["admissible_commands"])
            observation, _, done, _, info = env.step(move.action)
            steps.append(Step(move.thought, move.action, observation))
            if done:
                outcome = 1
                break
        trajectories.append(Trajectory(task.id, "", opening, tuple(steps), outcome, "", 0.0, [1], [], [], [], []))
    return trajectories


def test_demonstrations_teach_turns_and_only_turns(dialect: AlfWorldDialect, rows: list[Row]) -> None:
    assert len(rows) > 45
    marks = {word: dialect.tokenizer.convert_tokens_to_ids(word) for word in ("<act>", "<obs>", "<end>")}
    skipped = total = 0
    for row in rows:
        assert len(row.ids) == len(row.learnt)
        ids, learnt = np.array(row.ids), np.array(row.learnt)
        assert not learnt[(ids == marks["<act>"]) | (ids == marks["<obs>"])].any()
        begins, ends = np.flatnonzero(ids == marks["<act>"]) + 1, np.flatnonzero(ids == marks["<end>"]) + 1
        assert len(begins) == len(ends)
        inside = np.zeros(len(ids), dtype=bool)
        for begin, end in zip(begins, ends, strict=True):
            inside[begin:end] = True
            assert learnt[begin:end].all() or not learnt[begin:end].any(), "a turn is learnt whole or not at all"
            skipped, total = skipped + (not learnt[begin]), total + 1
        assert not learnt[~inside].any()
        assert learnt[-1], "the winning move is learnt"
    assert 0.03 < skipped / total < 0.25, "mistakes are read, not learnt"


def test_demonstrations_are_deterministic(
    dialect: AlfWorldDialect, envs: list[gym.Env[str, str]], games: Games, rows: list[Row]
) -> None:
    assert demonstrate(dialect, envs[1], games(60), max_steps=40, seed=0) == rows
    assert demonstrate(dialect, envs[1], games(60), max_steps=40, seed=1) != rows


def test_fit_learns_deterministically_and_reports(dialect: AlfWorldDialect, rows: list[Row]) -> None:
    def train(seed: int) -> tuple[list[float], torch.Tensor, list[tuple[int, int]]]:
        model = tiny_model(dialect.tokenizer, hidden_size=32, layers=1, heads=2, intermediate_size=64)
        calls: list[tuple[int, int]] = []
        losses = fit(
            model,
            rows,
            epochs=3,
            batch_size=16,
            learning_rate=5e-3,
            seed=seed,
            progress=lambda step, total, loss: calls.append((step, total)),
        )
        assert not model.training
        return losses, model.model.embed_tokens.weight.detach().clone(), calls

    losses, weights, calls = train(0)
    assert losses[2] < losses[1] < losses[0]
    assert losses[2] < 0.8 * np.log(len(dialect.tokenizer))
    steps = 3 * -(-len(rows) // 16)
    assert calls == [(i + 1, steps) for i in range(steps)]
    assert torch.equal(train(0)[1], weights)
    assert not torch.equal(train(1)[1], weights)
    with pytest.raises(ValueError, match="no rows"):
        fit(tiny_model(dialect.tokenizer), [], epochs=1, batch_size=1, learning_rate=1e-3, seed=0)


def test_only_learnt_tokens_are_learnt(dialect: AlfWorldDialect) -> None:
    """A token that is only read leaves no gradient on what precedes it: the model learns 5 -> 6, never 6 -> 7."""
    model = tiny_model(dialect.tokenizer, hidden_size=32, layers=1, heads=2, intermediate_size=64)
    row = Row([1, 5, 6, 7], [False, False, True, False])
    fit(model, [row] * 16, epochs=30, batch_size=16, learning_rate=1e-2, seed=0)
    with torch.no_grad():
        probabilities = model(torch.tensor([row.ids])).logits[0].softmax(-1)
    assert probabilities[1, 6] > 0.9
    assert probabilities[2, 7] < 0.5


@pytest.mark.parametrize("tokens", [1, 60, 10_000])
def test_micro_batches_change_memory_not_the_result(dialect: AlfWorldDialect, tokens: int) -> None:
    """Rows of any length with any share of learnt tokens weigh by what is learnt, however they are cut."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(40):
        size = int(rng.integers(2, 30))
        learnt = rng.random(size) < rng.random()
        rows.append(Row(rng.integers(4, len(dialect.tokenizer), size).tolist(), [False, True, *learnt[2:].tolist()]))
    found, widest = [], []
    for limit in (None, tokens):
        model = tiny_model(dialect.tokenizer, hidden_size=32, layers=1, heads=2, intermediate_size=64)
        counts: list[int] = []
        model.model.embed_tokens.register_forward_hook(
            lambda _, given, __, counts=counts: counts.append(given[0].numel())
        )
        options = {"epochs": 1, "batch_size": 20, "learning_rate": 1e-3, "seed": 0}
        losses = fit(model, rows, **options, micro_batch_tokens=limit)
        found.append((losses, [p.detach().clone() for p in model.parameters()]))
        widest.append(max(counts))
    assert found[1][0] == pytest.approx(found[0][0], abs=1e-5)
    for split, whole in zip(found[1][1], found[0][1], strict=True):
        torch.testing.assert_close(split, whole, atol=1e-5, rtol=0)
    assert widest[1] <= max(tokens, 29)


def test_noise_turns_scores_round(dialect: AlfWorldDialect, envs: list[gym.Env[str, str]], games: Games) -> None:
    trajectories = aimless(dialect, envs[0], games(30))
    clean = judge_rows(dialect, trajectories, steps=400, label_noise=0.0, seed=0)
    noisy = judge_rows(dialect, trajectories, steps=400, label_noise=0.25, seed=0)
    assert len(clean) == 400
    opinions = [dialect.opinions(t.opening, t.steps) for t in trajectories]
    share = np.mean([o.score == 1 for several in opinions for o in several])
    scores = [parse_score(dialect.tokenizer.decode(row.ids[-3:-1])) for row in clean]
    assert set(scores) == {1, -1}
    assert np.mean(np.array(scores) == 1) == pytest.approx(share, abs=0.08)
    flipped = [a.ids != b.ids for a, b in zip(clean, noisy, strict=True)]
    assert np.mean(flipped) == pytest.approx(0.25, abs=0.07)
    assert all(row.learnt[-3:] == [True] * 3 and not any(row.learnt[:-3]) for row in clean)


def test_warm_judge_is_better_than_chance(
    dialect: AlfWorldDialect, envs: list[gym.Env[str, str]], games: Games
) -> None:
    trajectories = aimless(dialect, envs[0], games(150))
    rows = judge_rows(dialect, trajectories, steps=3000, label_noise=0.15, seed=0)
    judge = tiny_model(dialect.tokenizer, layers=2, hidden_size=64, intermediate_size=192, seed=1)
    fit(judge, rows, epochs=3, batch_size=16, learning_rate=3e-3, seed=0)
    unseen = games(40, split="valid_seen")
    judged = aimless(dialect, envs[0], unseen)
    model = StepJudge(TransformersGenerator(judge, dialect.tokenizer), dialect)
    votes = model.judge(judged, votes=3, seed=0)
    scores = np.array([step.scores for steps in votes for step in steps])
    truth = np.concatenate([dialect.true_labels(t.payload, j.steps) for t, j in zip(unseen, judged, strict=True)])
    assert scores.shape == (len(truth), 3)
    assert (scores == 0).mean() < 0.05
    balanced = ((scores[truth > 0] == 1).mean() + (scores[truth < 0] == -1).mean()) / 2
    assert balanced > 0.53
    opinions = [o.score for j in judged for o in dialect.opinions(j.opening, j.steps)]
    assert np.mean(scores[:, 0] == np.array(opinions)) > 0.65, "it was taught this rule, with 15 % noise"


@pytest.mark.slow
def test_warm_policy_wins_a_good_part_of_new_games(
    dialect: AlfWorldDialect, envs: list[gym.Env[str, str]], games: Games
) -> None:
    rows = demonstrate(dialect, envs[0], games(1000), max_steps=40, seed=0)
    policy = tiny_model(dialect.tokenizer, seed=0)
    fit(policy, rows, epochs=6, batch_size=16, learning_rate=2e-3, seed=0)
    for split in ("valid_seen", "valid_unseen"):
        tasks = games(128, first=50_000, split=split)
        trajectories = rollout(policy, dialect, envs, tasks, max_steps=40, seed=0, temperature=0.8)
        assert 0.15 < np.mean([t.outcome == 1 for t in trajectories]) < 0.6, split
