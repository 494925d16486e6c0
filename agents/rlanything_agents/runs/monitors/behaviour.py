"""Metrics of the episodes of an iteration that no loss shows: votes by outcome, repetition, length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

__all__ = ["behaviour"]


def behaviour(episodes: Iterable[Mapping[str, Any]]) -> dict[str, float | None]:
    """Measure the episodes of an iteration; a value is None where there was nothing to measure.

    Args:
        episodes: As the run folder stores them, see `rlanything_agents.runs.stored.episodes`.

    Returns:
        ``errors``: share of episodes with an infrastructure error; they are left out of everything else. ``vote_won``,
        ``vote_lost``: mean of the readable votes on the steps of solved and of failed episodes. ``repeated``: share of
        steps whose action equals one of the two before it. ``words``: mean number of words in a turn.
    """
    errors: list[bool] = []
    votes: dict[int, list[float]] = {1: [], -1: []}
    repeated: list[bool] = []
    words: list[int] = []
    for episode in episodes:
        outcome, turns = episode["outcome"], episode["turns"]
        errors.append(outcome is None)
        if outcome is None:
            continue
        votes[outcome] += [vote for turn in turns for vote in turn["votes"] if vote is not None]
        actions = [turn["action"] for turn in turns]
        repeated += [action in actions[max(0, at - 2) : at] for at, action in enumerate(actions)]
        words += [len(f"{turn['thought']} {turn['action']}".split()) for turn in turns]
    return {
        "errors": _mean(errors),
        "vote_won": _mean(votes[1]),
        "vote_lost": _mean(votes[-1]),
        "repeated": _mean(repeated),
        "words": _mean(words),
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(fmean(values), 4) if values else None
