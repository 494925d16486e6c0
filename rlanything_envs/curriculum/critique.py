"""Critiques: what the rewriter reads about a group of attempts at a task.

`task_critique` joins the summaries of the attempts (see `rlanything_envs.curriculum.summary`) into one paragraph with
counts, after a line on the kinds of actions that the votes blame and one on what the failed attempts never reached.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rlanything_envs.curriculum.patterns import never_reached
from rlanything_envs.curriculum.prompting import plain
from rlanything_envs.curriculum.summary import (
    MAX_SUMMARY,
    SCRIPTED,
    JudgedEpisode,
    ScriptedSummariser,
    Summariser,
    listed,
)

__all__ = ["Critique", "blamed_actions", "task_critique"]

MAX_CRITIQUE = 2000
"""Maximal length of the critique of a task, in characters."""

BLAME = "Steps judged wrong by every vote, by action: "
"""Beginning of the line of a critique that both kinds of rewriters read."""
MAX_BLAMED = 6
"""Maximal number of kinds of actions in that line."""

_KIND = re.compile(r"[A-Za-z_]{1,20}")


@dataclass(frozen=True, slots=True)
class Critique:
    """What the rewriter reads about a group of attempts, besides how many of them succeeded.

    The number of successes is not part of the text: the rewriter has it from the group that triggered the rewrite, so
    that a prompt cannot give two numbers. `solved` and `attempts` are compared with that group.
    """

    text: str
    author: str = SCRIPTED
    """Who wrote the summaries in it: the name of a language model, ``scripted``, or both."""
    solved: int | None = None
    attempts: int | None = None
    """Numbers of the successes and attempts that were read; None where they are not known."""


def task_critique(episodes: Sequence[JudgedEpisode], summariser: Summariser | None = None) -> Critique:
    """Critique of a group of attempts at one task.

    Lines: the lengths of the attempts that succeeded; the kinds of actions that the votes blame; what the failed
    attempts never reached; and a paragraph of all summaries, those of failed attempts first where most failed, equal
    ones counted. Attempts with infrastructure errors are left out.

    Args:
        episodes: The attempts.
        summariser: Summarises the attempts; scripted summaries, of the failed ones alone, if None.
    """
    valid = [episode for episode in episodes if episode.success is not None]
    solved = [episode for episode in valid if episode.success]
    failed = [episode for episode in valid if not episode.success]
    lines = [*_lengths(solved), *_blame(valid), *_missed(failed)]
    kinds = [("failed", failed), ("solved", solved)]
    if len(solved) > len(failed):
        kinds.reverse()
    read = [(kind, group) for kind, group in kinds if group and (summariser is not None or kind == "failed")]
    summaries = (summariser or ScriptedSummariser()).summarise([episode for _, group in read for episode in group])
    left, authors, sentences = iter(summaries), set[str](), list[str]()
    for kind, group in read:
        counts = Counter[str]()
        for _ in group:
            summary = next(left)
            authors.add(summary.author)
            counts[plain(summary.text, MAX_SUMMARY)] += 1
        sentences += [f"{times} of {len(group)} {kind} attempts: {text}" for text, times in counts.most_common()]
    room = MAX_CRITIQUE - sum(len(line) + 1 for line in lines)
    while len(sentences) > 1 and len(" ".join(sentences)) > room:
        sentences.pop()
    text = "\n".join([*lines, *([" ".join(sentences)] if sentences else [])])[:MAX_CRITIQUE]
    author = " and ".join(sorted(authors, key=lambda name: (name == SCRIPTED, name))) or SCRIPTED
    return Critique(text, author, len(solved), len(valid))


def blamed_actions(critique: str) -> tuple[str, ...]:
    """Kinds of actions that a critique blames, the most blamed first; empty where it blames none. For any text."""
    line = next((line for line in critique.splitlines() if line.startswith(BLAME)), "")
    kinds = (_KIND.match(part) for part in line.removeprefix(BLAME).split(", ")[:MAX_BLAMED])
    return tuple(kind[0] for kind in kinds if kind)


def _lengths(solved: Sequence[JudgedEpisode]) -> list[str]:
    lengths = sorted({len(episode.steps) for episode in solved})
    if not lengths:
        return []
    steps = f"{lengths[0]} to {lengths[-1]} steps" if len(lengths) > 1 else f"{lengths[0]} steps"
    return [f"The attempts that succeeded took {steps}."]


def _missed(failed: Sequence[JudgedEpisode]) -> list[str]:
    """A line with what failed attempts did not reach, with counts."""
    unseen, unused = Counter[str](), Counter[str]()
    for episode in failed:
        missed = never_reached(
            episode.goal, episode.opening, [(step.action, step.observation) for step in episode.steps]
        )
        unseen.update(plain(name, 40) for name in missed.unseen)
        unused.update(plain(name, 40) for name in missed.unused)
    said = [
        f"{times} of {len(failed)} failed attempts never {verb} the {name}"
        for verb, counts in (("saw", unseen), ("touched", unused))
        for name, times in counts.most_common(3)
    ]
    return [f"{listed(said)}."] if said else []


def _blame(episodes: Sequence[JudgedEpisode]) -> list[str]:
    """A line with the kinds of actions that were judged wrong; none without such steps.

    First come those judged wrong more often than steps of all kinds are, by the number of steps beyond that: by the
    plain number the most frequent kind of action would nearly always be first. A kind is the first word of an action,
    where that is one of letters.
    """
    taken, wrong = Counter[str](), Counter[str]()
    for step in (step for episode in episodes for step in episode.steps):
        if kind := _KIND.fullmatch(step.action.split(maxsplit=1)[0] if step.action.strip() else ""):
            taken[kind[0]] += 1
            wrong[kind[0]] += step.wrong
    total, all_wrong = taken.total(), wrong.total()
    found = sorted(
        ((kind, count) for kind, count in wrong.items() if count),
        key=lambda one: (all_wrong * taken[one[0]] - total * one[1], -one[1]),
    )
    blamed = found[:MAX_BLAMED]
    return [BLAME + ", ".join(f"{kind} {count} of {taken[kind]}" for kind, count in blamed) + "."] if blamed else []
