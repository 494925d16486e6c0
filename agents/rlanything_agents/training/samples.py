"""Training samples: token ids with an advantage, a weight and a sampling log-probability for each.

A `Sample` is one row. It may hold a whole trajectory (an append-only transcript: environment text and actions
in turn) or a single step (the paper's layout: everything before the step is its prompt). Both give the same
loss, because the weights of one step's sampled tokens sum to 1: ``sum(weight * loss) / sum(weight)`` over a
batch is the mean over step samples of the mean over the tokens of each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rlanything_agents.feedback.arrays import Floats
from rlanything_agents.rollout.group import RolloutGroup
from rlanything_agents.rollout.trajectory import Trajectory

Allowed = tuple[int, ...]
"""Token ids that constrained decoding permitted at one position."""


class SampleError(ValueError):
    """Sample that no model can have produced."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One row of training data; the lists after ``completion_ids`` have one entry per completion token.

    Attributes:
        prompt_ids: Tokens before the first sampled one; at least one.
        completion_ids: Sampled and other tokens, the end-of-sequence token included where it was sampled.
        weights: 0 for tokens that the model did not sample (environment text, forced tokens) or that the update
            leaves out; otherwise one over the number of sampled tokens of the step.
        advantages: Advantage of the step a token belongs to.
        logprobs: Log-probability at which a token was sampled (natural log, over the allowed tokens, at the
            trainer's temperature); 0 where the weight is 0.
        allowed: Allowed token ids where decoding was constrained, ``None`` where it was free; ``None``
            altogether if it was free everywhere.
    """

    prompt_ids: list[int]
    completion_ids: list[int]
    weights: list[float]
    advantages: list[float]
    logprobs: list[float]
    allowed: list[Allowed | None] | None = None

    def __post_init__(self) -> None:
        if not self.prompt_ids or not self.completion_ids:
            raise SampleError("a sample needs at least one prompt token and one completion token")
        columns = {"weights": self.weights, "advantages": self.advantages, "logprobs": self.logprobs}
        for name, column in columns.items():
            _same_length(name, len(column), len(self.completion_ids))
            if not all(map(math.isfinite, column)):
                raise SampleError(f"{name} must be finite; found {_first_bad(column)}")
        if min(self.weights) < 0:
            raise SampleError(f"weights must not be negative; the smallest is {min(self.weights)}")
        if max(self.logprobs) > 1e-4:  # single-precision rounding of a probability of 1
            raise SampleError(f"logprobs must not be positive; the largest is {max(self.logprobs)}")
        if self.allowed is not None:
            _same_length("allowed", len(self.allowed), len(self.completion_ids))
            for t, (token, weight, choice) in enumerate(
                zip(self.completion_ids, self.weights, self.allowed, strict=True)
            ):
                if weight and choice is not None and token not in choice:
                    raise SampleError(f"completion token {t} (id {token}) is not among its allowed tokens")

    def __len__(self) -> int:
        return len(self.prompt_ids) + len(self.completion_ids)


def trajectory_samples(trajectory: Trajectory, advantages: Sequence[float]) -> list[Sample]:
    """Turn an episode into training data: one row, or one row per turn where each turn has a prompt of its own.

    Args:
        trajectory: The episode.
        advantages: One per step; steps of advantage 0 are left out of the update.
    """
    if not trajectory.turns:
        return [transcript_sample(trajectory, advantages)]
    return [
        answer_sample(turn.prompt_ids, turn.token_ids, turn.logprobs, turn.allowed, float(advantage))
        for turn, advantage in zip(trajectory.turns, advantages, strict=True)
        if advantage
    ]


def policy_samples(groups: Sequence[RolloutGroup], advantages: Sequence[Sequence[Floats]]) -> list[Sample]:
    """Make the policy's training data of an iteration: the rows of `trajectory_samples` of each episode.

    Args:
        groups: Groups of episodes.
        advantages: For each group and trajectory an array of shape (steps,); an episode with zeros only is left out.
    """
    return [
        sample
        for group, rows in zip(groups, advantages, strict=True)
        for trajectory, values in zip(group.trajectories, rows, strict=True)
        if values.any()
        for sample in trajectory_samples(trajectory, values.tolist())
    ]


def transcript_sample(trajectory: Trajectory, advantages: Sequence[float]) -> Sample:
    """Turn the transcript of an episode into one row.

    Args:
        trajectory: The episode.
        advantages: One per step; steps of advantage 0 are left out of the update.
    """
    weights, token_advantages = step_weights(trajectory.step_of_token, advantages)
    constrained = any(choices is not None for choices in trajectory.allowed)
    return Sample(
        prompt_ids=trajectory.prompt_ids,
        completion_ids=trajectory.completion_ids,
        weights=weights,
        advantages=token_advantages,
        logprobs=trajectory.logprobs,
        allowed=list(trajectory.allowed) if constrained else None,
    )


def answer_sample(
    prompt_ids: list[int],
    token_ids: list[int],
    logprobs: list[float],
    allowed: list[Allowed | None] | None,
    advantage: float,
) -> Sample:
    """Turn one answer to one prompt into a row; its sampled tokens share a weight of 1.

    Args:
        prompt_ids: Ids of the prompt.
        token_ids: Ids of the answer.
        logprobs: Natural-log probability of each token of the answer at temperature 1.
        allowed: See `rlanything_envs.llm.generator.Completion`; forced tokens (one allowed id) get weight 0.
        advantage: Advantage of the answer.
    """
    sampled = [choices is None or len(choices) > 1 for choices in allowed or [None] * len(token_ids)]
    share = 1.0 / max(1, sum(sampled))
    return Sample(
        prompt_ids=prompt_ids,
        completion_ids=token_ids,
        weights=[share if own else 0.0 for own in sampled],
        advantages=[advantage] * len(token_ids),
        logprobs=logprobs,
        allowed=allowed,
    )


def check_vocabulary(samples: Sequence[Sample], vocab_size: int) -> None:
    """Refuse token ids outside ``0 <= id < vocab_size``.

    Raises:
        SampleError: Names the row and the id.
    """
    for row, sample in enumerate(samples):
        choices = {id(c): c for c in sample.allowed or () if c}  # many positions share one tuple
        for ids in (sample.prompt_ids, sample.completion_ids, *choices.values()):
            if not (min(ids) >= 0 and max(ids) < vocab_size):
                bad = next(i for i in ids if not 0 <= i < vocab_size)
                raise SampleError(f"sample {row}: token id {bad} is outside the vocabulary of {vocab_size}")


def step_weights(
    step_of_token: Sequence[int | None], step_advantages: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Weights and advantages of the tokens of one trajectory.

    Args:
        step_of_token: Per completion token, the index of the step it was sampled in; ``None`` if it was not
            sampled.
        step_advantages: Per step; a step of advantage 0 is left out of the update (weight 0).

    Returns:
        Two lists with one entry per token: weights that sum to 1 over each step kept, and advantages.

    Raises:
        SampleError: A step index without an advantage.
    """
    sizes = Counter(step for step in step_of_token if step is not None)
    for step in sizes:
        if not 0 <= step < len(step_advantages):
            raise SampleError(f"step {step} has no advantage: there are {len(step_advantages)}")
    advantages = [0.0 if step is None else float(step_advantages[step]) for step in step_of_token]
    weights = [
        1.0 / sizes[step] if step is not None and advantage else 0.0
        for step, advantage in zip(step_of_token, advantages, strict=True)
    ]
    return weights, advantages


def split_steps(sample: Sample, step_of_token: Sequence[int | None]) -> list[Sample]:
    """Split a trajectory into the paper's layout: one sample per step, with all earlier tokens in its prompt.

    Steps without weight are left out.

    Args:
        sample: A whole trajectory.
        step_of_token: As for `step_weights`.
    """
    _same_length("step_of_token", len(step_of_token), len(sample.completion_ids))
    rows = []
    for step in dict.fromkeys(s for s in step_of_token if s is not None):
        places = [t for t, s in enumerate(step_of_token) if s == step]
        part = slice(places[0], places[-1] + 1)
        if any(sample.weights[part]):
            rows.append(
                Sample(
                    prompt_ids=sample.prompt_ids + sample.completion_ids[: part.start],
                    completion_ids=sample.completion_ids[part],
                    weights=sample.weights[part],
                    advantages=sample.advantages[part],
                    logprobs=sample.logprobs[part],
                    allowed=None if sample.allowed is None else sample.allowed[part],
                )
            )
    return rows


def trimmed(sample: Sample) -> Sample:
    """Drop the tokens after the last one with a weight; no loss depends on them."""
    end = max((t + 1 for t, weight in enumerate(sample.weights) if weight), default=0)
    if end in (0, len(sample.weights)):
        return sample
    return Sample(
        prompt_ids=sample.prompt_ids,
        completion_ids=sample.completion_ids[:end],
        weights=sample.weights[:end],
        advantages=sample.advantages[:end],
        logprobs=sample.logprobs[:end],
        allowed=None if sample.allowed is None else sample.allowed[:end],
    )


def optimizer_batches(samples: Sequence[Sample], steps: int, rng: np.random.Generator) -> list[list[Sample]]:
    """Shuffle the samples and split them into one batch per optimizer step.

    Samples without weight are left out; with fewer samples than steps there are fewer batches. Samples that share most
    of their tokens, such as the votes on one long prompt, follow each other in the shuffled order, so that few of them
    are separated and their prompt is computed once.

    Raises:
        SampleError: ``steps`` is less than 1.
    """
    if steps < 1:
        raise SampleError(f"an update takes at least 1 optimizer step, got {steps}")
    useful = [sample for sample in samples if any(sample.weights)]
    shuffled = [useful[k] for k in rng.permutation(len(useful))]
    place = list(range(len(shuffled)))
    for prompt, ranks in _by_prompt(shuffled).items():
        lengths = [len(shuffled[rank].completion_ids) for rank in ranks]
        if TOGETHER * _length(len(prompt), lengths) <= len(prompt) * len(ranks) + sum(lengths):
            for rank in ranks:
                place[rank] = ranks[0]
    order = np.argsort(place, kind="stable")
    return [[shuffled[k] for k in part] for part in np.array_split(order, min(steps, len(order)) or 1) if len(part)]


TOGETHER = 1.3
"""Samples of one prompt stay together if their tokens are at least this many times those of a row that shares it."""


def _by_prompt(samples: Sequence[Sample]) -> dict[tuple[int, ...], list[int]]:
    """Indices of the samples of each prompt, in order."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for k, sample in enumerate(samples):
        groups.setdefault(tuple(sample.prompt_ids), []).append(k)
    return groups


@dataclass(frozen=True, slots=True)
class Row:
    """Row of a forward pass: one prompt, and the completions of all samples that share it.

    The first completion follows the prompt. Each further one follows a copy of the prompt's last token, so that the
    logits for every token are at the token before it. A completion and the copy before it attend to the prompt without
    its last token, and to themselves.

    Attributes:
        samples: Samples with the same prompt; at least one.
    """

    samples: tuple[Sample, ...]

    def __len__(self) -> int:
        return _length(len(self.prompt_ids), [len(sample.completion_ids) for sample in self.samples])

    @property
    def prompt_ids(self) -> list[int]:
        """Prompt of all samples."""
        return self.samples[0].prompt_ids

    @property
    def places(self) -> Iterator[tuple[int, Sample]]:
        """Samples, each with the column of its first completion token."""
        begin = len(self.prompt_ids)
        for sample in self.samples:
            yield begin, sample
            begin += len(sample.completion_ids) + 1

    def silent(self) -> Row:
        """Copy of the row with all weights 0."""
        return Row(tuple(replace(sample, weights=[0.0] * len(sample.weights)) for sample in self.samples))


def prompt_rows(batch: Sequence[Sample], tokens: int, attention: float | None) -> list[Row]:
    """Join samples with the same prompt into rows where that is less work.

    Attention in a row of several samples computes all pairs of tokens, masked pairs included. So a few long
    completions of a short prompt are computed separately.

    Args:
        batch: Samples of one optimizer step.
        tokens: Most tokens of a row of several samples.
        attention: Work of one token that attends to one other, as a share of its remaining work; None = join nothing.
    """
    rows = []
    for prompt, places in _by_prompt(batch).items():
        row: list[Sample] = []
        for sample in sorted((batch[k] for k in places), key=len):
            if row and attention is not None:
                lengths = [len(other.completion_ids) for other in (*row, sample)]
                apart = _work(len(prompt), lengths[:-1], attention) + _work(len(prompt), lengths[-1:], attention)
                if _length(len(prompt), lengths) <= tokens and _work(len(prompt), lengths, attention) < WORTH * apart:
                    row.append(sample)
                    continue
            if row:
                rows.append(Row(tuple(row)))
            row = [sample]
        rows.append(Row(tuple(row)))
    return rows


WORTH = 0.9
"""Samples share a row if its work is below this share of the work of two rows: attention with a mask is slower."""


def _length(prompt: int, completions: Sequence[int]) -> int:
    return prompt + sum(completions) + len(completions) - 1


def _work(prompt: int, completions: Sequence[int], attention: float) -> float:
    """Work of a row, in units of one token without attention."""
    length = _length(prompt, completions)
    seen = length / 2 if len(completions) == 1 else length  # causal attention leaves out half of the pairs
    return length * (1 + attention * seen)


def micro_batches(rows: Sequence[Row], tokens: int) -> list[list[Row]]:
    """Group rows of similar length so that no group exceeds ``tokens`` padded tokens (single rows may).

    Rows of one sample and rows of several are in separate groups: the former need no attention mask.
    """
    groups: list[list[Row]] = []
    for row in sorted(rows, key=lambda row: (len(row.samples) > 1, len(row)), reverse=True):
        alike = groups and (len(groups[-1][0].samples) > 1) == (len(row.samples) > 1)
        if alike and len(groups[-1][0]) * (len(groups[-1]) + 1) <= tokens:
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _same_length(name: str, length: int, expected: int) -> None:
    if length != expected:
        raise SampleError(f"{name} has {length} entries for {expected} completion tokens")


def _first_bad(column: Sequence[float]) -> str:
    t = next(t for t, value in enumerate(column) if not math.isfinite(value))
    return f"{column[t]} at token {t}"
