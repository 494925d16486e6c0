"""What one iteration of a run asks for: episodes, responses, votes, tokens."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rlanything_agents.config.cluster import Assumptions
from rlanything_agents.planning.sizes import ModelSize

__all__ = ["Demand", "Drawn", "Episode", "draw", "middle"]

Drawn = Mapping[str, float]
"""A value for every field of `Assumptions`."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One simulated episode: the tokens of its responses, one a step, and whether it is won."""

    group: int
    responses: tuple[float, ...]

    @property
    def steps(self) -> int:
        """Turns of the agent."""
        return len(self.responses)


@dataclass(frozen=True, slots=True)
class Demand:
    """One iteration, as the configuration asks for it.

    Attributes:
        tasks: Groups of episodes.
        rollouts: Episodes of a group.
        max_steps: Most turns of an episode.
        environments: Environments that are there at once.
        votes: Answers of the reward model for a step, or for a task where ``judges_steps`` is False.
        judges_steps: Whether the reward model judges steps; else it writes something for each task.
        judge_learns: Whether it is trained.
        judge_samples: Most judged steps that train it.
        policy: The policy's shape.
        judge: The reward model's; None where none is asked.
        rewriter: The shape of the language model that writes tasks; None where no model of these machines does.
        rewrites: Whether tasks are rewritten.
        service: Whether a language model elsewhere writes them.
        response_limit: Most tokens of a response.
        vote_limit: Most tokens of an answer of the reward model.
        context: Most tokens of a policy's sequence.
        append_only: Whether an episode is one training sample; else each of its steps is.
        small: Whether the policy is made from nothing and reads few words.
    """

    tasks: int
    rollouts: int
    max_steps: int
    environments: int
    votes: int
    judges_steps: bool
    judge_learns: bool
    judge_samples: int
    policy: ModelSize
    judge: ModelSize | None
    rewriter: ModelSize | None
    rewrites: bool
    service: bool
    response_limit: int
    vote_limit: int
    context: int
    append_only: bool
    small: bool = False

    @property
    def episodes(self) -> int:
        """Of an iteration."""
        return self.tasks * self.rollouts

    @property
    def most_steps(self) -> int:
        """Environment steps, at most."""
        return self.episodes * self.max_steps

    @property
    def most_votes(self) -> int:
        """Answers of the reward model, at most."""
        if self.judge is None:
            return 0
        return self.votes * (self.most_steps if self.judges_steps else self.tasks)

    def play(self, drawn: Drawn, rng: np.random.Generator, *, ragged: bool = True) -> list[Episode]:
        """The episodes of an iteration.

        Args:
            drawn: Uses ``success``, ``won_length``, ``response_tokens`` and ``spread``.
            rng: Where the single ones are drawn.
            ragged: Whether episodes and responses differ; else all have the mean length.
        """
        won = rng.random(self.episodes) < drawn["success"]
        share = drawn["won_length"] * rng.uniform(0.5, 1.5, self.episodes)
        lengths = np.where(won, np.clip(np.round(share * self.max_steps), 1, self.max_steps), self.max_steps)
        if not ragged:
            lengths = np.full(self.episodes, max(1, round(float(lengths.mean()))))
        spread = drawn["spread"] if ragged else 0.0
        return [
            Episode(number // self.rollouts, tuple(self._lengths(drawn["response_tokens"], spread, int(n), rng)))
            for number, n in enumerate(lengths)
        ]

    def vote_lengths(self, count: int, drawn: Drawn, rng: np.random.Generator, *, ragged: bool = True) -> list[float]:
        """Tokens of so many answers of the reward model."""
        spread = drawn["spread"] if ragged else 0.0
        return [min(length, self.vote_limit) for length in _lognormal(drawn["vote_tokens"], spread, count, rng)]

    def prompt(self, step: int, written: float, drawn: Drawn) -> float:
        """Tokens that the policy has read before it writes its response of a step, from 0."""
        return min(self.context, drawn["prompt_tokens"] + step * drawn["observation_tokens"] + written)

    def trained_tokens(self, episodes: list[Episode], drawn: Drawn) -> float:
        """Tokens of the policy's training samples, prompts included; of the groups there is something to learn from."""
        total = 0.0
        for episode in episodes:
            written, prompts = 0.0, 0.0
            for step, tokens in enumerate(episode.responses):
                prompts += self.prompt(step, written, drawn) + tokens
                written += tokens
            total += self.prompt(episode.steps - 1, written, drawn) if self.append_only else prompts
        return total * drawn["learning"]

    def judge_trained_tokens(self, votes: float, judged: int, drawn: Drawn) -> float:
        """Tokens of the reward model's training samples: a prompt and an answer for each vote."""
        if not self.judge_learns or not judged:
            return 0.0
        used = min(1.0, self.judge_samples / (judged * drawn["learning"])) * drawn["learning"]
        prompt = drawn["prompt_tokens"] + self.max_steps / 2 * drawn["observation_tokens"]
        return votes * used * (min(prompt, self.context) + drawn["vote_tokens"])

    def _lengths(self, mean: float, spread: float, count: int, rng: np.random.Generator) -> list[float]:
        return [min(length, self.response_limit) for length in _lognormal(mean, spread, count, rng)]


def _lognormal(mean: float, spread: float, count: int, rng: np.random.Generator) -> list[float]:
    """Log-normal lengths of this mean and relative standard deviation, at least one token."""
    if spread == 0:
        return [max(1.0, mean)] * count
    variance = math.log1p(spread * spread)
    drawn = rng.lognormal(math.log(max(mean, 1e-9)) - variance / 2, math.sqrt(variance), count)
    return [max(1.0, float(value)) for value in drawn]


def draw(assumptions: Assumptions, demand: Demand, rng: np.random.Generator) -> dict[str, float]:
    """One value from each range: log-uniform where the range leaves out 0, else uniform."""
    found = {}
    for name, (low, high) in _ranges(assumptions, demand).items():
        u = float(rng.random())
        found[name] = low * (high / low) ** u if low > 0 else low + (high - low) * u
    return found


def middle(assumptions: Assumptions, demand: Demand) -> dict[str, float]:
    """The median of what `draw` draws."""
    ranges = _ranges(assumptions, demand)
    return {name: math.sqrt(low * high) if low > 0 else (low + high) / 2 for name, (low, high) in ranges.items()}


def _ranges(assumptions: Assumptions, demand: Demand) -> dict[str, tuple[float, float]]:
    """All of them; those that depend on the models are filled in."""
    filled = {
        "prompt_tokens": (30.0, 150.0) if demand.small else (500.0, 1500.0),
        "observation_tokens": (4.0, 20.0) if demand.small else (30.0, 150.0),
        "response_tokens": (0.2 * demand.response_limit, 0.5 * demand.response_limit),
        "vote_tokens": (0.2 * demand.vote_limit, 0.5 * demand.vote_limit),
    }
    given = {name: getattr(assumptions, name) for name in Assumptions.model_fields}
    return {name: filled[name] if value is None else value for name, value in given.items()}
