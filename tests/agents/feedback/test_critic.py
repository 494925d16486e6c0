"""The critic: numbers worked out by hand, what it may know, and that wrong votes leave outcomes alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rlanything_agents.feedback import PRESETS, Critic, batch_feedback, evidence_of
from rlanything_agents.feedback.critic import LEAST_LAMBDA, generalised_advantages, step_features
from rlanything_agents.reward_models.critic_memory import REMEMBERED, CriticMemory

CRITIC = PRESETS["critic"]


def test_advantages_by_hand() -> None:
    """Values 0 and .5, then the outcome 1: changes .5 and .5."""
    assert generalised_advantages(np.array([0.0, 0.5]), 1.0, 0.5).tolist() == [0.75, 0.5]
    assert generalised_advantages(np.array([0.0, 0.5]), 1.0, 1.0).tolist() == [1.0, 0.5]
    assert generalised_advantages(np.array([0.0, 0.5]), -1.0, 0.0).tolist() == [0.5, -1.5]
    assert generalised_advantages(np.zeros(0), 1.0, 0.9).tolist() == []


def test_features_know_the_past_alone() -> None:
    """The votes come to 1 (the other cannot be read), 0 and -1: before the third step the latest is 0, the mean .5."""
    votes = np.array([[1.0, np.nan], [1.0, -1.0], [-1.0, -1.0]])
    second, third = np.log(2), np.log(3)
    assert step_features(votes) == pytest.approx(
        np.array(
            [
                [1, 0, 0, 0, 0, 0, 0],
                [1, second, second**2, 1, 1, second, second],
                [1, third, third**2, 0, 0.5, 0, 0.5 * third],
            ]
        )
    )
    changed = votes.copy()
    changed[2] = 1.0
    assert step_features(changed).tolist() == step_features(votes).tolist(), "no step knows the vote on itself"
    assert step_features(np.full((2, 3), np.nan))[:, 3:].tolist() == [[0] * 4] * 2
    assert step_features(np.zeros((0, 3))).shape == (0, 7)


def test_a_regression_by_hand() -> None:
    """One step an episode, so that only the constant counts: the sum of the rest over the steps and the ridge of 3.

    Task a's two episodes have the baselines -1 and 1 by each other (one other group: no pool), so rests of 2 and -2;
    b's three have -1, 0 and 0, so 2, -1 and -1: the rests of a task cancel, and the weight for the other is 0.
    """
    one = [np.zeros((1, 0))]
    evidence = evidence_of(["a", "b"], [np.array([1.0, -1.0]), np.array([1.0, -1.0, -1.0])], [one * 2, one * 3])
    assert evidence.gram[:, 0, 0].tolist() == [2, 3]
    assert evidence.moment[:, 0] == pytest.approx([0, 0])
    assert evidence.square == pytest.approx([8, 6])
    third = evidence_of(["c"], [np.array([1.0, np.nan])], [one * 2])  # nothing to compare with: a rest of 0
    assert (third.gram[0, 0, 0], third.square[0]) == (1, 0)
    told = evidence_of(["d"] * 2, [np.array([1.0]), np.array([-1.0, -1.0])], [one, one * 2])
    # d twice: the lone episode has the pool's -1, a rest of 2; the others have each other's -1, a rest of 0
    assert (told.moment[0, 0], told.square[0]) == (2, 4)
    assert Critic([evidence, told]).weights("a", used=1)[0] == pytest.approx(2 / (3 + 3 + 3))
    assert Critic([evidence, told]).weights("d", used=1)[0] == pytest.approx(0)


def played(
    rng: np.random.Generator, tasks: int = 24, size: int = 6, told: float = 1.0
) -> Iterator[tuple[str, np.ndarray, list[np.ndarray]]]:
    """Groups whose votes agree with the outcome with a probability that grows over six steps, turned by ``told``."""
    for task in range(tasks):
        ends = np.where(rng.random(size) < 0.4, 1.0, -1.0)
        sure = np.linspace(0.55, 0.95, 6)
        yield (str(task), ends, [told * end * np.where(rng.random((6, 3)) < sure[:, None], 1.0, -1.0) for end in ends])


def columns(
    groups: Iterator[tuple[str, np.ndarray, list[np.ndarray]]],
) -> tuple[list[str], list[np.ndarray], list[list[np.ndarray]]]:
    tasks, ends, votes = zip(*groups, strict=True)
    return list(tasks), list(ends), list(votes)


def test_votes_that_are_turned_round_are_turned_back() -> None:
    right = columns(played(np.random.default_rng(0)))
    wrong = columns(played(np.random.default_rng(0), told=-1.0))
    good, bad = Critic([evidence_of(*right)]), Critic([evidence_of(*wrong)])
    assert good.explained == pytest.approx(bad.explained)
    assert good.explained > 0.25
    assert good.lam == pytest.approx(bad.lam) == pytest.approx(LEAST_LAMBDA)
    for task, ends, own, other in zip(right[0], right[1], right[2], wrong[2], strict=True):
        for end, ours, theirs in zip(ends, own, other, strict=True):
            assert good.advantages(task, end, 0.0, ours) == pytest.approx(bad.advantages(task, end, 0.0, theirs))


def test_a_constant_judge_explains_nothing() -> None:
    tasks, ends, votes = columns(played(np.random.default_rng(1)))
    constant = [[np.ones((6, 3)) for _ in group] for group in votes]
    critic = Critic([evidence_of(tasks, ends, constant)])
    assert critic.explained < 0.01
    assert critic.lam > 0.99


def test_without_votes_it_is_the_pooled_baseline_but_for_the_index_of_the_step() -> None:
    tasks, ends, votes = columns(played(np.random.default_rng(2)))
    none = [[np.zeros((6, 0)) for _ in group] for group in votes]
    critic = batch_feedback(list(zip(ends, none, strict=True)), CRITIC, tasks=tasks)
    pooled = batch_feedback(list(zip(ends, none, strict=True)), PRESETS["pooled"])
    for one, other in zip(critic, pooled, strict=True):
        for ours, theirs in zip(one.policy, other.policy, strict=True):
            assert ours == pytest.approx(theirs, abs=0.2)


def test_the_outcomes_of_a_task_have_no_part_in_its_own_weights() -> None:
    tasks, ends, votes = columns(played(np.random.default_rng(3)))
    turned = [-end if task == "5" else end for task, end in zip(tasks, ends, strict=True)]
    # Its baselines draw those of the others a little, so the evidence of the others is kept as it was.
    before, after = (evidence_of(tasks, outcomes, votes) for outcomes in (ends, turned))
    at = tasks.index("5")
    for name in ("moment", "square"):
        column = getattr(before, name).copy()
        column[at] = getattr(after, name)[at]
        getattr(after, name)[:] = column
    own, others = (Critic([one]).weights("5", used=7) for one in (before, after))
    assert own == pytest.approx(others, abs=1e-12)
    own, others = (Critic([one]).weights("4", used=7) for one in (before, after))
    assert own != pytest.approx(others, abs=1e-3)


def test_a_masked_episode_changes_nothing() -> None:
    tasks, ends, votes = columns(played(np.random.default_rng(4)))
    more = [np.append(end, np.nan) for end in ends]
    spoiled = [[*group, np.full((4, 3), 1.0)] for group in votes]
    clean = batch_feedback(list(zip(ends, votes, strict=True)), CRITIC, tasks=tasks)
    masked = batch_feedback(list(zip(more, spoiled, strict=True)), CRITIC, tasks=tasks)
    for one, other in zip(clean, masked, strict=True):
        assert [row.tolist() for row in one.policy] == [row.tolist() for row in other.policy[:-1]]
        assert other.policy[-1].tolist() == [0.0] * 4


def test_one_task_alone_has_nothing_to_learn_from() -> None:
    ends = np.array([1.0, -1.0, -1.0])
    (group,) = batch_feedback([(ends, [np.ones((2, 3)) for _ in ends])], CRITIC)
    assert [row.tolist() for row in group.policy] == [[2, 2], [-1, -1], [-1, -1]], "the mean of the other episodes"


def test_a_memory_holds_the_last_iterations_and_is_stored_to_the_bit(tmp_path: Path) -> None:
    memory = CriticMemory()
    for iteration in range(1, REMEMBERED + 3):
        groups = columns(played(np.random.default_rng(iteration), tasks=4))
        critic = memory.critic(iteration, evidence_of(*groups))
    memory.save(tmp_path)
    restored = CriticMemory()
    restored.load(tmp_path)
    evidence = evidence_of(*columns(played(np.random.default_rng(99), tasks=4)))
    again = [one.critic(REMEMBERED + 3, evidence) for one in (memory, restored)]
    assert again[0].weights("2").tolist() == again[1].weights("2").tolist()
    assert again[0].lam == again[1].lam
    last = [evidence_of(*columns(played(np.random.default_rng(n), tasks=4))) for n in range(4, REMEMBERED + 3)]
    assert Critic([*last, evidence]).weights("2").tolist() == again[0].weights("2").tolist()
    # an iteration that was interrupted is run again, and says what it has to say once
    assert restored.critic(REMEMBERED + 3, evidence).weights("2").tolist() == again[0].weights("2").tolist()
    assert critic.explained > 0
    empty = CriticMemory()
    empty.save(tmp_path / "none")
    empty.load(tmp_path / "none")


# A small world in which the gradient of success is known: corridors of four places, three actions, ten steps. One
# action moves on with the chance of the task, one stays, one goes back. A policy of one table for all tasks.
PLACES, STEPS, ACTIONS, TASKS = 4, 10, 3, 80


class Corridors:
    """Corridors with a random policy that solves a tenth of them, and its exact values and gradient."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.luck = rng.uniform(0.3, 1, TASKS)
        logits = rng.normal(0, 0.5, (PLACES, ACTIONS)) + np.array([0.2, 0, 0])
        self.policy = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        self.value = np.zeros((TASKS, STEPS + 1, PLACES + 1))
        self.value[:, :, PLACES] = 1
        self.gradient = np.zeros((PLACES, ACTIONS))
        worth = np.zeros((TASKS, STEPS, PLACES, ACTIONS))
        for t in range(STEPS - 1, -1, -1):
            for x in range(PLACES):
                after = self.value[:, t + 1]
                worth[:, t, x, 0] = self.luck * after[:, x + 1] + (1 - self.luck) * after[:, x]
                worth[:, t, x, 1], worth[:, t, x, 2] = after[:, x], after[:, max(0, x - 1)]
                self.value[:, t, x] = worth[:, t, x] @ self.policy[x]
        there = np.zeros((TASKS, PLACES + 1))
        there[:, 0] = 1
        for t in range(STEPS):
            then = np.zeros_like(there)
            for x in range(PLACES):
                on, stay, back = self.policy[x]
                better = worth[:, t, x] - self.value[:, t, x, None]
                self.gradient[x] += self.policy[x] * (there[:, x] @ better)
                then[:, x + 1] += there[:, x] * on * self.luck
                then[:, x] += there[:, x] * (on * (1 - self.luck) + stay)
                then[:, max(0, x - 1)] += there[:, x] * back
            there = then

    def play(self, task: int, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        """Places, one more than actions, and actions of an episode."""
        places, actions = [0], list[int]()
        while len(actions) < STEPS and places[-1] < PLACES:
            action = int(rng.choice(ACTIONS, p=self.policy[places[-1]]))
            step = (int(rng.random() < self.luck[task]), 0, -1)[action]
            places.append(max(0, places[-1] + step))
            actions.append(action)
        return places, actions

    def cosine(self, batch: list[list[tuple[list[int], list[int]]]], advantages: list[tuple[np.ndarray, ...]]) -> float:
        """Cosine of the update of a batch with the gradient of success."""
        update = np.zeros_like(self.gradient)
        for group, rows in zip(batch, advantages, strict=True):
            for (places, actions), row in zip(group, rows, strict=True):
                for x, action, advantage in zip(places, actions, row, strict=False):
                    update[x] -= advantage * self.policy[x]
                    update[x, action] += advantage
        length = np.linalg.norm(update) * np.linalg.norm(self.gradient)
        return float((update * self.gradient).sum() / length) if length else 0.0


def forecasts(kind: str, chance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if kind == "random":
        return rng.uniform(-1, 1, len(chance))
    return 2 * chance - 1 if kind == "exact" else 1 - 2 * chance


@pytest.mark.parametrize("seed", range(3))
def test_no_forecast_ends_below_outcomes_alone(seed: int) -> None:
    """Means over eight batches of sixteen groups of four. Paid out as rewards the same forecasts do harm."""
    rng = np.random.default_rng(seed)
    world = Corridors(rng)
    kinds = ("exact", "turned round", "random")
    memories = {kind: CriticMemory() for kind in kinds}
    found: dict[str, list[float]] = {}
    for iteration in range(8):
        tasks = rng.choice(TASKS, 16, replace=False)
        names = list(map(str, tasks))
        batch = [[world.play(task, rng) for _ in range(4)] for task in tasks]
        ends = [np.array([1.0 if places[-1] == PLACES else -1.0 for places, _ in group]) for group in batch]
        none = [[np.zeros((len(actions), 0)) for _, actions in group] for group in batch]
        for name in ("outcome", "pooled"):
            rows = batch_feedback(list(zip(ends, none, strict=True)), PRESETS[name])
            found.setdefault(name, []).append(world.cosine(batch, [group.policy for group in rows]))
        for kind in kinds:
            votes = [
                [
                    forecasts(kind, world.value[task, range(1, len(places)), places[1:]], rng)[:, None]
                    for places, _ in group
                ]
                for task, group in zip(tasks, batch, strict=True)
            ]
            groups = list(zip(ends, votes, strict=True))
            critic = memories[kind].critic(iteration, evidence_of(names, ends, votes))
            rows = batch_feedback(groups, CRITIC, tasks=names, critic=critic)
            found.setdefault(kind, []).append(world.cosine(batch, [group.policy for group in rows]))
            rows = batch_feedback(groups, PRESETS["paper"])
            found.setdefault(f"{kind}, as rewards", []).append(world.cosine(batch, [group.policy for group in rows]))
    mean = {name: float(np.mean(cosines)) for name, cosines in found.items()}
    assert mean["pooled"] > mean["outcome"]
    assert mean["random"] > mean["outcome"]
    assert mean["exact"] > mean["pooled"]
    assert mean["turned round"] == pytest.approx(mean["exact"])
    assert mean["turned round, as rewards"] < mean["outcome"] - 0.1
