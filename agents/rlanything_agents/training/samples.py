"""Training samples: token ids with an advantage, a weight and a sampling log-probability for each.

A `Sample` may hold a whole trajectory (an append-only transcript: environment text and actions in turn), some turns of
it whose prompts continue each other, or a single step (the paper's layout: everything before the step is its prompt).
All give the same loss, because the weights of one step's sampled tokens sum to 1: ``sum(weight * loss) / sum(weight)``
over a batch is the mean over step samples of the mean over the tokens of each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rlanything_agents.feedback.arrays import Floats
from rlanything_agents.rollout.group import RolloutGroup
from rlanything_agents.rollout.trajectory import PromptedTurn, Trajectory, is_free
from rlanything_agents.training.errors import TrainingError
from rlanything_envs.message import Image

Allowed = tuple[int, ...]
"""Token ids that constrained decoding permitted at one position."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One row of training data; the lists after ``completion_ids`` have one entry per completion token.

    Attributes:
        prompt_ids: Tokens before the first sampled one; at least one.
        completion_ids: Sampled and other tokens, the end-of-sequence token included where it was sampled.
        weights: 0 for tokens that the model did not sample (environment text, forced tokens) or that the update
            leaves out; otherwise one over the number of sampled tokens of the step.
        advantages: Advantage of the step a token belongs to.
        logprobs: Log-probability of a sampled token by the sampler (natural, at temperature 1, over the allowed tokens,
            whatever temperature and ``top_p`` it was drawn with); 0 where the weight is 0.
        allowed: Allowed token ids where decoding was constrained, ``None`` where it was free, no ids where it is
            unknown what was allowed (such a token has weight 0); ``None`` altogether if it was free everywhere.
        episode: Number of the episode in the update, where an episode has several samples, whose prompts begin alike;
            else None.
        steps: Index of the step that a token was sampled in, ``None`` for other tokens; ``None`` altogether if the row
            has one step.
        images: Images of the prompt, in the order of their placeholders.
    """

    prompt_ids: list[int]
    completion_ids: list[int]
    weights: list[float]
    advantages: list[float]
    logprobs: list[float]
    allowed: list[Allowed | None] | None = None
    episode: int | None = None
    steps: list[int | None] | None = None
    images: tuple[Image, ...] = ()

    def __post_init__(self) -> None:
        if not self.prompt_ids or not self.completion_ids:
            raise TrainingError("a sample needs at least one prompt token and one completion token")
        columns = {"weights": self.weights, "advantages": self.advantages, "logprobs": self.logprobs}
        for name, column in columns.items():
            _same_length(name, len(column), len(self.completion_ids))
            if not all(map(math.isfinite, column)):
                raise TrainingError(f"{name} must be finite; found {_first_bad(column)}")
        if min(self.weights) < 0:
            raise TrainingError(f"weights must not be negative; the smallest is {min(self.weights)}")
        if max(self.logprobs) > 1e-4:  # single-precision rounding of a probability of 1
            raise TrainingError(f"logprobs must not be positive; the largest is {max(self.logprobs)}")
        if self.steps is not None:
            _same_length("steps", len(self.steps), len(self.completion_ids))
        if self.allowed is not None:
            _same_length("allowed", len(self.allowed), len(self.completion_ids))
            sets = {id(choice): frozenset(choice) for choice in self.allowed if choice}  # many share one tuple
            for t, (token, weight, choice) in enumerate(
                zip(self.completion_ids, self.weights, self.allowed, strict=True)
            ):
                if weight and choice is not None and token not in sets.get(id(choice), ()):
                    raise TrainingError(f"completion token {t} (id {token}) is not among its allowed tokens")

    def __len__(self) -> int:
        return len(self.prompt_ids) + len(self.completion_ids)


def trajectory_samples(trajectory: Trajectory, advantages: Sequence[float], episode: int | None = None) -> list[Sample]:
    """Turn an episode into training data: one sample for turns whose prompts continue each other.

    The prompt of a turn continues the turn before if it begins with the prompt and the answer of that turn, token by
    token, and holds no images: a turn with screens is a separate sample. So a transcript that only grows is one
    sample, and elsewhere a sample begins where a prompt was rendered otherwise. Samples without an advantage are left
    out.

    Args:
        trajectory: The episode.
        advantages: One per step; steps of advantage 0 are left out of the update.
        episode: Number of the episode in the update.
    """
    if not trajectory.turns:
        transcript = _sample(
            trajectory.prompt_ids,
            trajectory.completion_ids,
            trajectory.step_of_token,
            trajectory.logprobs,
            trajectory.allowed,
            advantages,
        )
        return [transcript]
    turns = trajectory.turns
    starts = [k for k, turn in enumerate(turns) if not k or not _continues(turns[k - 1], turn)]
    return [
        _turns_sample(turns[first:end], advantages[first:end], episode)
        for first, end in pairwise([*starts, len(turns)])
        if any(advantages[first:end])
    ]


def policy_samples(groups: Sequence[RolloutGroup], advantages: Sequence[Sequence[Floats]]) -> list[Sample]:
    """Make the policy's training data of an iteration: the samples of `trajectory_samples` of each episode.

    Args:
        groups: Groups of episodes.
        advantages: For each group and trajectory an array of shape (steps,); an episode with zeros only is left out.
    """
    episodes = (
        (trajectory, values)
        for group, rows in zip(groups, advantages, strict=True)
        for trajectory, values in zip(group.trajectories, rows, strict=True)
        if values.any()
    )
    return [
        sample
        for number, (trajectory, values) in enumerate(episodes)
        for sample in trajectory_samples(trajectory, values.tolist(), number)
    ]


def _continues(before: PromptedTurn, turn: PromptedTurn) -> bool:
    """Whether a turn's prompt begins with prompt and answer of the turn before, and has no images."""
    read = len(before.prompt_ids)
    return (
        not turn.images
        and len(turn.prompt_ids) >= read + len(before.token_ids)
        and turn.prompt_ids[read : read + len(before.token_ids)] == before.token_ids
        and turn.prompt_ids[:read] == before.prompt_ids
    )


def _turns_sample(turns: Sequence[PromptedTurn], advantages: Sequence[float], episode: int | None) -> Sample:
    """One sample of turns, the prompt of each of which continues the turn before."""
    prompt = turns[0].prompt_ids
    ids, steps, logprobs, allowed = list[int](), list[int | None](), list[float](), list[Allowed | None]()
    for step, turn in enumerate(turns):
        between = turn.prompt_ids[len(prompt) + len(ids) :]
        choices = turn.allowed or [None] * len(turn.token_ids)
        ids += between + turn.token_ids
        steps += [None] * len(between) + [step if is_free(choice) else None for choice in choices]
        logprobs += [0.0] * len(between) + turn.logprobs
        allowed += [None] * len(between) + choices
    return _sample(prompt, ids, steps, logprobs, allowed, advantages, episode, turns[0].images)


def _sample(
    prompt_ids: list[int],
    completion_ids: list[int],
    step_of_token: Sequence[int | None],
    logprobs: list[float],
    allowed: Sequence[Allowed | None],
    step_advantages: Sequence[float],
    episode: int | None = None,
    images: tuple[Image, ...] = (),
) -> Sample:
    weights, advantages = step_weights(step_of_token, step_advantages)
    constrained = any(choices is not None for choices in allowed)
    return Sample(
        prompt_ids=prompt_ids,
        completion_ids=completion_ids,
        weights=weights,
        advantages=advantages,
        logprobs=logprobs,
        allowed=list(allowed) if constrained else None,
        episode=episode,
        steps=list(step_of_token),
        images=images,
    )


def answer_sample(
    prompt_ids: list[int],
    token_ids: list[int],
    logprobs: list[float],
    allowed: list[Allowed | None] | None,
    advantage: float,
    images: tuple[Image, ...] = (),
) -> Sample:
    """Turn one answer to one prompt into a row; its sampled tokens share a weight of 1.

    Args:
        prompt_ids: Ids of the prompt.
        token_ids: Ids of the answer.
        logprobs: Natural-log probability of each token of the answer at temperature 1.
        allowed: See `rlanything_envs.llm.generator.Completion`; forced tokens (one allowed id) get weight 0.
        advantage: Advantage of the answer.
        images: Images of the prompt.
    """
    sampled = [is_free(choice) for choice in allowed or [None] * len(token_ids)]
    share = 1.0 / max(1, sum(sampled))
    return Sample(
        prompt_ids=prompt_ids,
        completion_ids=token_ids,
        weights=[share if own else 0.0 for own in sampled],
        advantages=[advantage] * len(token_ids),
        logprobs=logprobs,
        allowed=allowed,
        images=images,
    )


def unknown_tokens(samples: Sequence[Sample]) -> int:
    """Sampled tokens that have weight 0 because it is unknown which tokens were allowed."""
    return sum(choice == () for sample in samples for choice in sample.allowed or ())


def check_vocabulary(samples: Sequence[Sample], vocab_size: int) -> None:
    """Refuse token ids outside ``0 <= id < vocab_size``.

    Raises:
        TrainingError: Names the row and the id.
    """
    for row, sample in enumerate(samples):
        choices = {id(c): c for c in sample.allowed or () if c}  # many positions share one tuple
        for ids in (sample.prompt_ids, sample.completion_ids, *choices.values()):
            if not (min(ids) >= 0 and max(ids) < vocab_size):
                bad = next(i for i in ids if not 0 <= i < vocab_size)
                raise TrainingError(f"sample {row}: token id {bad} is outside the vocabulary of {vocab_size}")


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
        TrainingError: A step index without an advantage.
    """
    sizes = Counter(step for step in step_of_token if step is not None)
    for step in sizes:
        if not 0 <= step < len(step_advantages):
            raise TrainingError(f"step {step} has no advantage: there are {len(step_advantages)}")
    advantages = [0.0 if step is None else float(step_advantages[step]) for step in step_of_token]
    weights = [
        1.0 / sizes[step] if step is not None and advantage else 0.0
        for step, advantage in zip(step_of_token, advantages, strict=True)
    ]
    return weights, advantages


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
        steps=None if sample.steps is None else sample.steps[:end],
        images=sample.images,
    )


def _same_length(name: str, length: int, expected: int) -> None:
    if length != expected:
        raise TrainingError(f"{name} has {length} entries for {expected} completion tokens")


def _first_bad(column: Sequence[float]) -> str:
    t = next(t for t, value in enumerate(column) if not math.isfinite(value))
    return f"{column[t]} at token {t}"
