"""A supervised start: the policy imitates an exploring expert, the judge a rule of thumb with noise."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch.nn import functional
from transformers import PreTrainedModel

from rlanything_agents.dialect import Dialect, Judgement
from rlanything_agents.trajectory import Trajectory, outcome_of

__all__ = ["Row", "demonstrate", "fit", "judge_rows"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Row:
    """A sequence to imitate.

    Attributes:
        ids: Tokens.
        learnt: Per token whether it is to be imitated; the others are only read.
    """

    ids: list[int]
    learnt: list[bool]


def demonstrate(
    dialect: Dialect,
    env: gym.Env[Any, Any],
    tasks: Sequence[Any],
    *,
    max_steps: int,
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> list[Row]:
    """Let the domain's expert play, and keep what it won.

    Args:
        dialect: Has the expert and the tokens.
        env: Where it plays, one episode after the other.
        tasks: What ``reset(options={"task": ...})`` takes.
        max_steps: An episode that has not ended by then is lost.
        seed: Seed of the expert.
        progress: Called with 1 after each episode.

    Returns:
        One row per episode won: thoughts and commands are learnt, messages and deliberate mistakes are read.
    """
    rows = []
    for number, task in enumerate(tasks):
        row = _demonstration(
            dialect, env, task, max_steps, int(np.random.SeedSequence((seed, number)).generate_state(1)[0])
        )
        if row is not None:
            rows.append(row)
        if progress is not None:
            progress(1)
    return rows


def _demonstration(dialect: Dialect, env: gym.Env[Any, Any], task: Any, max_steps: int, seed: int) -> Row | None:
    expert = dialect.expert(seed)
    observation, info = env.reset(options={"task": task})
    ids = dialect.opening(observation)
    learnt = [False] * len(ids)
    for _ in range(max_steps):
        move = expert.act(observation, info["admissible_commands"])
        turn = [*dialect.thought(move.thought), *dialect.command(move.action)]
        ids += turn
        learnt += [move.exemplary] * len(turn)
        observation, _, terminated, truncated, info = env.step(move.action)
        if terminated or truncated:
            return Row(ids, learnt) if outcome_of(info)[0] == 1 else None
        message = dialect.message(observation)
        ids += message
        learnt += [False] * len(message)
    return None


def judge_rows(
    dialect: Dialect, trajectories: Sequence[Trajectory], *, steps: int, label_noise: float, seed: int
) -> list[Row]:
    """What a judge is warmed up with: steps of these trajectories under the dialect's rule of thumb.

    Args:
        dialect: Has the rule of thumb and the tokens.
        trajectories: Episodes of the policy that is going to be judged.
        steps: How many steps to take, at random.
        label_noise: Share of scores that are turned round, so that the judge starts with room to learn.
        seed: Seed of the choice and of the noise.
    """
    rng = np.random.default_rng(seed)
    places = [(t, i) for t, trajectory in enumerate(trajectories) for i in range(len(trajectory.steps))]
    chosen = rng.permutation(len(places))[:steps]
    flipped = rng.random(len(chosen)) < label_noise
    opinions = [dialect.opinions(trajectory.opening, trajectory.steps) for trajectory in trajectories]
    rows = []
    for place, flip in zip(chosen, flipped, strict=True):
        t, i = places[place]
        opinion = opinions[t][i]
        judgement = Judgement(opinion.reason, -opinion.score if flip else opinion.score)
        prompt = dialect.judge_prompt(trajectories[t].opening, trajectories[t].steps, i)
        response = dialect.judgement(judgement)
        rows.append(Row([*prompt, *response], [False] * len(prompt) + [True] * len(response)))
    return rows


def fit(
    model: PreTrainedModel,
    rows: Sequence[Row],
    *,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    seed: int,
    progress: Callable[[int, int, float], None] | None = None,
) -> list[float]:
    """Maximise the likelihood of the learnt tokens: AdamW, 5 % linear warm-up, then cosine decay to a tenth.

    Args:
        model: Trained in place; left in evaluation mode.
        rows: What to imitate.
        epochs: Passes over the rows.
        batch_size: Rows per optimiser step; rows of like length share a batch.
        learning_rate: Peak rate.
        seed: Seed of the order.
        progress: Called after each optimiser step with its number, the number of all steps, and the loss.

    Returns:
        Mean loss per epoch, nats per learnt token.

    Raises:
        ValueError: There are no rows.
    """
    if not rows:
        raise ValueError("nothing to imitate: no rows; the expert may have won no episode")
    rng = np.random.default_rng(seed)
    batches = -(-len(rows) // batch_size)
    total = epochs * batches
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.95), weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, total))
    decoder, head = model.get_decoder(), model.get_output_embeddings()
    model.train()
    means, step = [], 0
    for _ in range(epochs):
        losses = []
        for batch in _batches(rows, batch_size, rng):
            ids, learnt = _pad(batch, model.device)
            hidden = decoder(input_ids=ids[:, :-1], use_cache=False).last_hidden_state
            loss = functional.cross_entropy(head(hidden[learnt[:, 1:]]), ids[:, 1:][learnt[:, 1:]])
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            schedule.step()
            step += 1
            losses.append(loss.item())
            if progress is not None:
                progress(step, total, losses[-1])
        means.append(float(np.mean(losses)))
    model.eval()
    return means


def _rate(step: int, total: int) -> float:
    warm = max(1, total // 20)
    if step < warm:
        return (step + 1) / warm
    return 0.1 + 0.45 * (1 + float(np.cos(np.pi * (step - warm) / max(1, total - warm))))


def _batches(rows: Sequence[Row], size: int, rng: np.random.Generator, pool: int = 16) -> list[list[Row]]:
    """Random batches of rows of like length: sorted within pools of ``pool`` batches, then shuffled."""
    order = rng.permutation(len(rows))
    batches = []
    for first in range(0, len(order), size * pool):
        ranked = sorted(order[first : first + size * pool], key=lambda i: len(rows[i].ids))
        batches += [[rows[i] for i in ranked[k : k + size]] for k in range(0, len(ranked), size)]
    return [batches[i] for i in rng.permutation(len(batches))]


def _pad(rows: Sequence[Row], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Right-padded ids and learnt flags of shape (rows, longest). Causal attention needs no mask for such padding."""
    width = max(len(row.ids) for row in rows)
    ids = torch.zeros((len(rows), width), dtype=torch.int64)
    learnt = torch.zeros((len(rows), width), dtype=torch.bool)
    for i, row in enumerate(rows):
        ids[i, : len(row.ids)] = torch.tensor(row.ids)
        learnt[i, : len(row.ids)] = torch.tensor(row.learnt)
    return ids.to(device), learnt.to(device)
