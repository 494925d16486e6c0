"""Who writes the next turn of the episodes that are played: a small model by tokens, or a source of text by turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeAlias

import numpy as np
from transformers import PreTrainedModel

from rlanything_agents.config.seeds import seed_of
from rlanything_agents.engines.decoder import Decoder, open_decoder
from rlanything_agents.engines.sampling import LaneNoise, sample_tokens
from rlanything_agents.rollout.dialect import Dialect, TurnDialect
from rlanything_agents.rollout.lane import Lane
from rlanything_envs.errors import InfrastructureError
from rlanything_envs.llm.errors import ServiceLost
from rlanything_envs.llm.generator import Completion, SamplingParams, TextGenerator

__all__ = ["Player", "TokenWriter", "TurnWriter", "Writer", "open_writer"]

Player: TypeAlias = PreTrainedModel | TextGenerator
"""A policy: a model over a small dialect's vocabulary, or a source of text for a `TurnDialect`."""


class Writer(Protocol):
    """Writes turns."""

    def keep(self, numbers: np.ndarray) -> None:
        """Forget all lanes but these; only they are written from now on.

        Args:
            numbers: int64 array: positions among the lanes kept before, ascending.
        """
        ...

    def write(self, lanes: Sequence[Lane], numbers: np.ndarray) -> None:
        """Write the next turn of each lane; one that cannot have one is done afterwards.

        Args:
            lanes: Those kept.
            numbers: Number of each lane in the beginning; names its stream of chance.
        """
        ...


class TokenWriter:
    """A model that is decoded here, token by token, under constraints.

    Args:
        decoder: Has one lane for each episode.
        noise: Has one stream for each episode.
        temperature: Divides the logits.
        constrained: Sample only what `Dialect.constraint` allows.
    """

    def __init__(self, decoder: Decoder, noise: LaneNoise, temperature: float, constrained: bool) -> None:
        self._decoder, self._noise = decoder, noise
        self._temperature, self._constrained = temperature, constrained

    def keep(self, numbers: np.ndarray) -> None:
        """Forget all lanes but these."""
        self._decoder.keep(numbers)

    def write(self, lanes: Sequence[Lane], numbers: np.ndarray) -> None:
        """All lanes that are still writing share every forward pass."""
        for lane in lanes:
            lane.begin_turn(self._constrained)
        rows = np.array([row for row, lane in enumerate(lanes) if lane.writing], dtype=np.int64)
        while len(rows):
            writers = [lanes[row] for row in rows]
            logits = self._decoder.append(rows, [lane.unread for lane in writers])
            choices = [lane.choices for lane in writers]
            tokens, logprobs = sample_tokens(logits, choices, self._noise.draw(numbers[rows]), self._temperature)
            for lane, token, logprob, choice in zip(writers, tokens, logprobs, choices, strict=True):
                lane.unread = []
                lane.write(token, logprob, choice)
            rows = rows[[lane.writing for lane in writers]]


class TurnWriter:
    """A source of text: all lanes are asked for a whole turn at once.

    Args:
        generator: Must return the ids it sampled.
        dialect: Renders the prompts.
        seed: Of the sampling.
        first: Number of the first lane among all episodes of the rollout.
        temperature: Of the sampling.
    """

    def __init__(
        self, generator: TextGenerator, dialect: TurnDialect, seed: int, first: int, temperature: float
    ) -> None:
        self._generator, self._dialect = generator, dialect
        self._seed, self._first, self._temperature = seed, first, temperature

    def keep(self, numbers: np.ndarray) -> None:
        """Nothing is kept: prompts are read anew."""

    def write(self, lanes: Sequence[Lane], numbers: np.ndarray) -> None:
        """A lane whose next turn would outgrow the context is cut off, one whose turn was not written has failed.

        Raises:
            ServiceLost: Not a single one of several turns was written.
            ValueError: The generator hides the ids it sampled.
        """
        limit, context, anew = self._dialect.turn_limit, self._dialect.context, self._dialect.anew
        asked: list[tuple[Lane, list[int], int]] = []
        for lane, number in zip(lanes, numbers, strict=True):
            prompt = self._dialect.chat(lane.opening, _turns(lane)) if anew else lane.prompt_ids + lane.ids
            if len(prompt) + limit > context:
                lane.cut(len(prompt), context)
            else:
                asked.append((lane, prompt, seed_of(self._seed, self._first + int(number), len(lane.steps))))
        if not asked:
            return
        params = SamplingParams(limit, temperature=self._temperature, seeds=tuple(seed for *_, seed in asked))
        answers = self._generator.generate([prompt for _, prompt, _ in asked], params)
        failed = 0
        for (lane, prompt, _), (answer,) in zip(asked, answers, strict=True):
            if error := _error(answer):
                lane.fail(InfrastructureError(f"the policy's turn was not written: {error}"))
                failed += 1
            elif answer.token_ids is None or answer.logprobs is None:
                raise ValueError("the policy's generator must return token ids and log-probabilities")
            else:
                lane.take(list(answer.token_ids), list(answer.logprobs), prompt if anew else None)
        if failed == len(asked) > 1:
            raise ServiceLost(f"the policy's generator wrote none of {failed} turns: {_error(answers[-1][0])}")


@contextmanager
def open_writer(
    player: Player, dialect: Dialect, lanes: int, *, seed: int, first: int, temperature: float, constrained: bool
) -> Iterator[Writer]:
    """The writer for a policy.

    Args:
        player: The policy.
        dialect: Its dialect.
        lanes: How many episodes it plays at once.
        seed: Of the sampling.
        first: Number of the first of them.
        temperature: Of the sampling.
        constrained: For models that are decoded here.

    Raises:
        ValueError: A source of text, and a dialect that has no whole turns.
    """
    if isinstance(player, PreTrainedModel):
        noise = LaneNoise(seed, range(first, first + lanes))
        with open_decoder(player, lanes) as decoder:
            yield TokenWriter(decoder, noise, temperature, constrained)
    elif isinstance(dialect, TurnDialect):
        yield TurnWriter(player, dialect, seed, first, temperature)
    else:
        raise ValueError(f"{type(dialect).__name__} is for small models: a source of text needs a dialect of chats")


def _turns(lane: Lane) -> list[tuple[list[int], str]]:
    return [(turn.token_ids, step.observation) for turn, step in zip(lane.turns, lane.steps, strict=True)]


def _error(answer: Completion) -> str:
    if answer.finish_reason == "error":
        return answer.error or "the generator does not say why"
    return "" if answer.token_ids or answer.token_ids is None else "no tokens"
