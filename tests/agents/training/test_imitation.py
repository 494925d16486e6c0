"""Supervised start of policy and judge on generated games."""

import re
from collections.abc import Callable
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import seeing
import torch
from families import template, tokenizer
from seeing import model_and_template, screen
from transformers import PreTrainedModel

from rlanything_agents.config import CheckpointConfig, RunConfig, SmallConfig
from rlanything_agents.domains.alfworld.expert import ExploringExpert
from rlanything_agents.domains.alfworld.supervision import SUPERVISION
from rlanything_agents.domains.lessons import Move, demonstrate, judge_rows
from rlanything_agents.engines.chat import ChatGenerator
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models.image_reader import image_inputs, vision_weights
from rlanything_agents.models.small import small_model
from rlanything_agents.reward_models.judge_model import JudgeModel
from rlanything_agents.reward_models.step_judge import StepJudge, parse_score
from rlanything_agents.reward_models.step_prompts import PLAIN, FullStepPrompts, Judgement, ShortStepPrompts
from rlanything_agents.rollout.renderer import Renderer
from rlanything_agents.rollout.rollout import Policy, rollout
from rlanything_agents.rollout.trajectory import Step, Trajectory
from rlanything_agents.training import imitation
from rlanything_agents.training.errors import TrainingError
from rlanything_agents.training.imitation import Row, fit, rate_at
from rlanything_envs.alfworld import words as alfworld_words
from rlanything_envs.views import get_view
from rlanything_task_pools import Task
from rlanything_task_pools.alfworld import DOMAIN

Games = Callable[..., list[Task]]
Envs = list[gym.Env[str, str]]
TEMPLATE = template("small")
CONFIG = CheckpointConfig(checkpoint="small", max_tokens=32, context=4096)
EXPERTS = SUPERVISION.experts(RunConfig(name="x"))
RENDERER = Renderer(TEMPLATE, get_view("RLAnything/AlfWorld-v0", "short"), CONFIG)
assert SUPERVISION.form is not None
PROMPTS = ShortStepPrompts(TEMPLATE, SUPERVISION.judge_texts, SUPERVISION.form)


def tiny(seed: int = 0, **sizes: int) -> PreTrainedModel:
    size = {"hidden_size": 32, "layers": 1, **sizes}
    return small_model(tokenizer("small"), SmallConfig.model_validate(size), seed)


def generator(model: PreTrainedModel) -> ChatGenerator:
    return ChatGenerator(TransformersGenerator(model, tokenizer("small")), TEMPLATE)


@pytest.fixture(scope="module")
def rows(envs: Envs, games: Games) -> list[Row]:
    return demonstrate(EXPERTS, RENDERER, envs[0], games(60), max_steps=40, seed=0)


def aimless(env: gym.Env[str, str], tasks: list[Task]) -> list[Trajectory]:
    """Episodes of an expert that errs half of the time: right and wrong steps in plenty."""
    trajectories = []
    for seed, task in enumerate(tasks):
        expert = ExploringExpert(seed, mistakes=0.5)
        observation, info = env.reset(options={"task": task})
        opening, message, steps, outcome = observation, info["message"], [], -1
        for _ in range(30):
            move = expert.act(observation, info)
            observation, _, done, _, info = env.step(move.action)
            steps.append(Step(move.thought, move.action, observation, message=info["message"]))
            if done:
                outcome = 1
                break
        trajectories.append(
            Trajectory(task.id, "", opening, tuple(steps), outcome, "", 0.0, [1], [], [], [], [], message=message)
        )
    return trajectories


def judge_lessons(trajectories: list[Trajectory], steps: int, noise: float) -> list[Row]:
    judge = JudgeModel(generator(tiny()), TEMPLATE, CONFIG)
    return judge_rows(
        SUPERVISION.heuristic_labels, PROMPTS, judge, trajectories, steps=steps, label_noise=noise, seed=0
    )


def test_demonstrations_teach_answers_and_only_answers(rows: list[Row]) -> None:
    assert len(rows) > 45
    begin_id = TEMPLATE.tokenizer.convert_tokens_to_ids("<answer>")
    skipped = total = 0
    for row in rows:
        assert len(row.ids) == len(row.learnt)
        assert TEMPLATE.tokenizer.unk_token_id not in row.ids
        ids, learnt = np.array(row.ids), np.array(row.learnt)
        begins, ends = np.flatnonzero(ids == begin_id) + 1, np.flatnonzero(ids == TEMPLATE.end_id) + 1
        assert len(begins) == len(ends)
        inside = np.zeros(len(ids), dtype=bool)
        for begin, end in zip(begins, ends, strict=True):
            inside[begin:end] = True
            assert learnt[begin:end].all() or not learnt[begin:end].any(), "an answer is learnt whole or not at all"
            skipped, total = skipped + (not learnt[begin]), total + 1
        assert not learnt[~inside].any()
        assert learnt[-1], "the last move is learnt"
    assert 0.03 < skipped / total < 0.25, "mistakes are read, not learnt"


def test_demonstrations_are_deterministic(envs: Envs, games: Games, rows: list[Row]) -> None:
    again, other = (demonstrate(EXPERTS, RENDERER, envs[1], games(6), max_steps=40, seed=s) for s in (0, 1))
    assert again == rows[: len(again)]
    assert other != rows[: len(other)]


@pytest.mark.parametrize("history", [0, 2])
def test_with_a_window_the_same_answers_are_learnt(history: int, envs: Envs, games: Games, rows: list[Row]) -> None:
    renderer = Renderer(TEMPLATE, get_view("RLAnything/AlfWorld-v0", "short"), CONFIG, history)
    windowed = demonstrate(EXPERTS, renderer, envs[1], games(6), max_steps=40, seed=0)
    answers = [answer for row in windowed for answer in learnt(row)]
    assert answers == [answer for row in rows for answer in learnt(row)][: len(answers)]
    assert len(windowed) > 6 * 4
    assert TEMPLATE.tokenizer.unk_token_id not in {token for row in windowed for token in row.ids}


def learnt(row: Row) -> list[list[int]]:
    """Answers that a row teaches."""
    parts = [list(part) for own, part in groupby(zip(row.ids, row.learnt, strict=True), key=itemgetter(1)) if own]
    return [[token for token, _ in part] for part in parts]


def test_fit_learns_deterministically_and_reports(rows: list[Row]) -> None:
    def train(seed: int) -> tuple[list[float], torch.Tensor, list[tuple[int, int]]]:
        model = tiny()
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
    assert losses[2] < 0.8 * np.log(len(tokenizer("small")))
    steps = 3 * -(-len(rows) // 16)
    assert calls == [(i + 1, steps) for i in range(steps)]
    assert torch.equal(train(0)[1], weights)
    assert not torch.equal(train(1)[1], weights)
    with pytest.raises(TrainingError, match="the expert solved no task"):
        fit(tiny(), [], epochs=1, batch_size=1, learning_rate=1e-3, seed=0)


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_an_interrupted_fit_goes_on(
    rows: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: torch.dtype
) -> None:
    """Interrupted in each of its steps and once in the middle of a write, it comes to the same weights and losses."""
    monkeypatch.setattr(imitation, "KEEP_S", 0.0)
    options: Any = {"epochs": 2, "batch_size": 8, "learning_rate": 5e-3, "seed": 0}
    whole = tiny().to(precision)
    losses = fit(whole, rows[:20], **options)
    kept = tmp_path / "policy.pt"
    for stop in range(1, 7):

        def interrupt(step: int, total: int, loss: float, stop: int = stop) -> None:
            if step == stop < total:
                raise KeyboardInterrupt

        parted = tiny().to(precision)
        with suppress(KeyboardInterrupt):
            again = fit(parted, rows[:20], **options, kept=kept, progress=interrupt)
    assert again == losses
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), parted.parameters(), strict=True))
    kept.write_bytes(kept.read_bytes()[:1000])
    assert fit(tiny().to(precision), rows[:20], **options, kept=kept) == losses


def test_only_learnt_tokens_are_learnt() -> None:
    """A token that is only read leaves no gradient on what precedes it: the model learns 5 -> 6, never 6 -> 7."""
    model = tiny()
    row = Row([1, 5, 6, 7], [False, False, True, False])
    fit(model, [row] * 16, epochs=30, batch_size=16, learning_rate=1e-2, seed=0)
    with torch.no_grad():
        probabilities = model(torch.tensor([row.ids])).logits[0].softmax(-1)
    assert probabilities[1, 6] > 0.9
    assert probabilities[2, 7] < 0.5


def learnt_texts(rows: list[Row], family: str) -> list[str]:
    """The learnt answers of some rows, without their ends."""
    texts, chat = [], template(family)
    for row in rows:
        marks = "".join("x" if learnt else " " for learnt in row.learnt)
        texts += [chat.decode(row.ids[part.start() : part.end()]) for part in re.finditer("x+", marks)]
    return texts


def test_pretrained_models_imitate_plain_words(full_envs: Envs, envs: Envs, games: Games) -> None:
    """In the full view a sentence and a marked action, in the short one two words and the command; both for a model
    with a tokenizer of its own."""
    config = CheckpointConfig(checkpoint="x", max_tokens=32, context=8192)
    found = {}
    for view, env in (("full", full_envs[0]), ("short", envs[0])):
        renderer = Renderer(template("qwen2.5"), get_view("RLAnything/AlfWorld-v0", view), config)
        taught = demonstrate(EXPERTS, renderer, env, games(12), max_steps=40, seed=0)
        assert len(taught) > 7
        found[view] = learnt_texts(taught, "qwen2.5")
        sentence = r"I [A-Za-z' ,]+\.\nAction: " if view == "full" else "(find|get|need|put|light|drop) [a-z]+: "
        command = "(go to|take|move|open|close|use|heat|cool|clean|examine) "
        assert [text for text in found[view] if not re.match(sentence + command, text)] == []
    actions = {view: [re.split(": ", text)[-1] for text in texts] for view, texts in found.items()}
    assert actions["full"] == actions["short"]


def test_judgements_of_the_full_view_are_sentences(envs: Envs, games: Games) -> None:
    assert set(PLAIN) == set(alfworld_words.REASONS)
    chat = template("qwen2.5")
    judge = JudgeModel(generator(tiny()), chat, CheckpointConfig(checkpoint="x", max_tokens=64, context=8192))
    prompts = FullStepPrompts(chat, judge.config)
    rows = judge_rows(
        SUPERVISION.heuristic_labels, prompts, judge, aimless(envs[0], games(4)), steps=40, label_noise=0.0, seed=0
    )
    texts = learnt_texts(rows, "qwen2.5")
    assert len(texts) == 40
    assert all(re.fullmatch(r"(The|It) [a-z ,]+\. \\boxed\{-?1\}", text, re.I) for text in texts), texts
    assert {parse_score(text) for text in texts} == {1, -1}


class Namer:
    """Answers the same, and errs first."""

    def act(self, observation: str, info: Any) -> Move:
        return Move("", "the blue one", exemplary="said" in observation)


@pytest.mark.parametrize("tokens", [None, 1])
def test_demonstrations_with_screens_are_learnt_from_them(tokens: int | None) -> None:
    """A row for each turn, with the screens of its window; the loss is that of whole passes over rows and screens."""
    model, chat = model_and_template()
    renderer = Renderer(chat, seeing.VIEW, seeing.settings(), history=1)
    rows = demonstrate(lambda seed, task: Namer(), renderer, seeing.Lamps(), [0], max_steps=9, seed=0)
    assert [len(row.images) for row in rows] == [2] * 4, "that of the first turn teaches nothing"
    assert [row.images[-1] for row in rows] == [screen(turn) for turn in range(1, 5)]
    assert [chat.decode(answer) for row in rows for answer in learnt(row)] == ["the blue one"] * 4
    (trajectory,) = rollout(seeing.policy(1), [seeing.Lamps()], [0], max_steps=5, seed=0)
    judge = JudgeModel(ChatGenerator(TransformersGenerator(model, chat.tokenizer), chat), chat, seeing.settings())
    labels = [Judgement("Good", 1)] * 5
    judged = judge_rows(
        lambda _: labels, FullStepPrompts(chat, judge.config), judge, [trajectory], steps=5, label_noise=0.0, seed=0
    )
    assert {len(row.images) for row in judged} == {2}
    rows += judged
    loss = weight = 0.0
    for row in rows:
        ids = torch.tensor([row.ids])
        with torch.no_grad():
            logits = model(ids, **image_inputs(model, ids, row.images)).logits[0, :-1].log_softmax(-1)
        own = logits.gather(1, ids[0, 1:, None])[:, 0][torch.tensor(row.learnt[1:])]
        loss, weight = loss - float(own.sum()), weight + len(own)
    tower = [weight.clone() for _, weight in vision_weights(model)]
    losses = fit(model, rows, epochs=4, batch_size=len(rows), learning_rate=1e-2, seed=0, micro_batch_tokens=tokens)
    assert losses[0] == pytest.approx(loss / weight, abs=1e-4)
    assert losses[-1] < losses[0] - 0.3
    assert all(torch.equal(before, after) for before, (_, after) in zip(tower, vision_weights(model), strict=True))


def test_the_rate_rises_for_a_share_of_the_steps_and_falls_to_a_tenth() -> None:
    rates = [rate_at(step, 100, 0.1) for step in range(100)]
    assert rates[:10] == pytest.approx([k / 10 for k in range(1, 11)])
    assert sorted(rates[10:], reverse=True) == rates[10:]
    assert rates[-1] == pytest.approx(0.1, abs=0.001)


def test_checkpointing_changes_memory_not_the_result(rows: list[Row]) -> None:
    found, passes = [], []
    for on in (False, True):
        model, count = tiny(layers=2), []
        model.model.layers[0].mlp.register_forward_pre_hook(lambda *_, count=count: count.append(1))
        losses = fit(model, rows[:8], epochs=1, batch_size=4, learning_rate=1e-3, seed=0, checkpointing=on)
        found.append((losses, [p.detach().clone() for p in model.parameters()]))
        passes.append(len(count))
        assert not model.is_gradient_checkpointing
    assert passes == [2, 4], "each block is computed again"
    assert found[0][0] == pytest.approx(found[1][0])
    for plain, again in zip(found[0][1], found[1][1], strict=True):
        torch.testing.assert_close(plain, again)


@pytest.mark.parametrize("tokens", [1, 60, 10_000])
def test_micro_batches_change_memory_not_the_result(tokens: int) -> None:
    """Rows of any length with any share of learnt tokens weigh by what is learnt, however they are cut."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(40):
        size = int(rng.integers(2, 30))
        learnt = rng.random(size) < rng.random()
        rows.append(Row(rng.integers(4, len(tokenizer("small")), size).tolist(), [False, True, *learnt[2:].tolist()]))
    found, widest = [], []
    for limit in (None, tokens):
        model = tiny()
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
        torch.testing.assert_close(split, whole, atol=3e-5, rtol=0)
    assert widest[1] <= max(tokens, 29)


def test_noise_flips_scores(envs: Envs, games: Games) -> None:
    trajectories = aimless(envs[0], games(30))
    clean, noisy = (judge_lessons(trajectories, 400, noise) for noise in (0.0, 0.25))
    assert len(clean) == 400
    labels = [label.score for trajectory in trajectories for label in SUPERVISION.heuristic_labels(trajectory)]
    scores = [parse_score(TEMPLATE.decode(row.ids[-3:-1])) for row in clean]
    assert set(scores) == {1, -1}
    assert np.mean(np.array(scores) == 1) == pytest.approx(np.mean(np.array(labels) == 1), abs=0.08)
    flipped = [a.ids != b.ids for a, b in zip(clean, noisy, strict=True)]
    assert np.mean(flipped) == pytest.approx(0.25, abs=0.07)
    assert all(row.learnt[-3:] == [True] * 3 and not any(row.learnt[:-3]) for row in clean)


@pytest.mark.slow
def test_a_warm_judge_is_better_than_chance(envs: Envs, games: Games) -> None:
    rows = judge_lessons(aimless(envs[0], games(150)), 3000, 0.15)
    judge = tiny(1, layers=2, hidden_size=64)
    fit(judge, rows, epochs=3, batch_size=16, learning_rate=3e-3, seed=0)
    unseen = games(40, split="valid_seen")
    judged = aimless(envs[0], unseen)
    votes = StepJudge(generator(judge), PROMPTS, 8).judge(judged, votes=3, seed=0)
    scores = np.array([step.scores for steps in votes for step in steps])
    truth = np.concatenate([SUPERVISION.true_labels(t.payload, j) for t, j in zip(unseen, judged, strict=True)])
    assert scores.shape == (len(truth), 3)
    assert (scores == 0).mean() < 0.05
    balanced = ((scores[truth > 0] == 1).mean() + (scores[truth < 0] == -1).mean()) / 2
    assert balanced > 0.53
    labels = [label.score for played in judged for label in SUPERVISION.heuristic_labels(played)]
    assert np.mean(scores[:, 0] == np.array(labels)) > 0.65, "it was taught these labels, with 15 % noise"


@pytest.mark.slow
def test_a_warm_policy_solves_a_good_part_of_new_games(envs: Envs) -> None:
    """In one sort of room, for which few games and a small model are enough."""

    def games(number: int, first: int, split: str) -> list[Task]:
        return [DOMAIN.generate(first + seed, split, rooms=["Bathroom"]) for seed in range(number)]

    rows = demonstrate(EXPERTS, RENDERER, envs[0], games(400, 0, "train"), max_steps=40, seed=0)
    model = tiny(layers=2, hidden_size=64)
    fit(model, rows, epochs=6, batch_size=8, learning_rate=3e-3, seed=0)
    for split in ("valid_seen", "valid_unseen"):
        policy = Policy(generator(model), RENDERER)
        trajectories = rollout(policy, envs, games(64, 50_000, split), max_steps=40, seed=0, temperature=0.8)
        assert 0.2 < np.mean([t.outcome == 1 for t in trajectories]) < 0.7, split
