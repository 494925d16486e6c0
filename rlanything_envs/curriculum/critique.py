"""Critiques: what went wrong in the attempts at a task, in a few sentences for whoever rewrites it.

A trainer pushes episodes as plain records, each step with the votes of its reward model; a summariser makes at most
two sentences of a failed one, and `task_critique` joins those of a group. Summaries are written by a language model
(`LLMSummariser`) or, without one, from patterns in the record (`ScriptedSummariser`).
"""

from __future__ import annotations

import logging
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rlanything_envs.curriculum.patterns import cycle_of, most_frequent, never_reached, shape_of
from rlanything_envs.curriculum.prompting import plain, render
from rlanything_envs.llm.errors import GenerationStopped, RunMustStop
from rlanything_envs.llm.generator import Completion, SamplingParams, TextGenerator

__all__ = ["JudgedEpisode", "JudgedStep", "LLMSummariser", "ScriptedSummariser", "Summariser", "task_critique"]

logger = logging.getLogger(__name__)

MAX_SUMMARY = 400
"""Longest summary of one episode, in characters."""
MAX_CRITIQUE = 2000
"""Longest critique of a task, in characters."""
MAX_STEPS = 60
"""Steps of an episode that a model is shown; of longer ones the middle is left out."""
MAX_MESSAGE = 300
"""Characters of a message that a model is shown."""

_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]?\s+(?=[\"'(\[]?[A-Z0-9])")


@dataclass(frozen=True, slots=True)
class JudgedStep:
    """A step, and what the reward model said of it."""

    action: str
    observation: str
    """The answer to the action."""
    votes: tuple[int, ...] = ()
    """The reward model's scores: 1 right, -1 wrong, 0 unreadable. Empty where nobody judged."""

    @property
    def wrong(self) -> bool:
        """Whether every vote says so."""
        return bool(self.votes) and all(vote < 0 for vote in self.votes)


@dataclass(frozen=True, slots=True)
class JudgedEpisode:
    """An attempt at a task."""

    goal: str
    steps: tuple[JudgedStep, ...]
    success: bool | None
    """None when the infrastructure failed: such an episode says nothing of the task."""
    opening: str = ""
    """The first message of the environment."""


class Summariser(Protocol):
    """Says in at most two sentences why episodes failed."""

    def summarise(self, episodes: Sequence[JudgedEpisode]) -> list[str]:
        """One summary for each episode, in their order. Never raises for what a model or an environment wrote."""
        ...


class ScriptedSummariser:
    """Summaries from patterns: which steps were judged wrong, loops, and what was never reached.

    >>> steps = [JudgedStep(f"open drawer {n}", "The drawer is empty.", (-1, -1)) for n in (1, 2, 1)]
    >>> ScriptedSummariser().summarise([JudgedEpisode("find a pen.", tuple(steps), success=False)])[0]
    "Steps 1, 2 and 3 of 3 were judged wrong by every vote, mostly 'open drawer'."
    """

    def summarise(self, episodes: Sequence[JudgedEpisode]) -> list[str]:
        """One summary for each episode, in their order."""
        return [self._summary(episode) for episode in episodes]

    def _summary(self, episode: JudgedEpisode) -> str:
        if not episode.steps:
            return "The attempt ended before its first step."
        sentences = [self._judged(episode.steps), self._done(episode)]
        told = [plain(sentence, MAX_SUMMARY // 2) for sentence in sentences if sentence]
        return " ".join(told) or f"None of the {len(episode.steps)} steps stands out; the goal was not reached."

    def _judged(self, steps: Sequence[JudgedStep]) -> str:
        wrong = [number for number, step in enumerate(steps, 1) if step.wrong]
        if not wrong:
            return ""
        noun, verb = ("Step", "was") if len(wrong) == 1 else ("Steps", "were")
        shape, count = most_frequent([shape_of(steps[number - 1].action) for number in wrong])
        share = "mostly " if count > 1 else ""
        return (
            f"{noun} {_listed([str(number) for number in wrong])} of {len(steps)} {verb} judged wrong by every vote, "
            f"{share}'{plain(shape, 60)}'."
        )

    def _done(self, episode: JudgedEpisode) -> str:
        """What the agent did over and over, and what it never came to."""
        actions = [step.action for step in episode.steps]
        told = []
        if cycle := cycle_of(actions):
            commands, times = cycle
            told.append(
                f"repeated {_listed([repr(plain(command, 40)) for command in commands])} {times} times in a row"
            )
        else:
            action, times = most_frequent(actions)
            if times > 2:
                told.append(f"gave the command {plain(action, 40)!r} {times} times")
        left = never_reached(episode.goal, episode.opening, [(step.action, step.observation) for step in episode.steps])
        if left.unseen:
            told.append(f"never saw {_listed(left.unseen)}")
        if left.unused:
            told.append(f"never acted on {_listed(left.unused)}")
        if left.unvisited and not left.unused:
            told.append(f"never went to {len(left.unvisited)} of {left.places} places ({_listed(left.unvisited, 3)})")
        return f"The agent {_listed(told)}." if told else ""


class LLMSummariser:
    """Summaries by a language model; where it fails, the scripted ones step in, so that no critique is lost.

    Args:
        generator: Writes the summaries, those of a call in one batch.
        params: How to sample; one completion for each episode, with a fixed seed, so that a log of answers can
            be replayed.
        template: Another prompt: the path of a Jinja file that uses ``goal`` and ``steps``.
    """

    def __init__(
        self,
        generator: TextGenerator,
        params: SamplingParams | None = None,
        template: str | os.PathLike[str] = "critique.j2",
    ) -> None:
        self.generator = generator
        self.params = params or SamplingParams(max_tokens=256, temperature=0.7, seed=0)
        self.template = template
        if self.params.n != 1:
            raise ValueError(f"LLMSummariser: one completion for each episode, got params.n = {self.params.n}")

    def summarise(self, episodes: Sequence[JudgedEpisode]) -> list[str]:
        """One summary for each episode, in their order."""
        if not episodes:
            return []
        prompts = [self._prompt(episode) for episode in episodes]
        try:
            answers: Sequence[Sequence[Completion]] = self.generator.generate(prompts, self.params)
        except GenerationStopped as stopped:
            logger.warning("summaries: %s", stopped)
            answers = stopped.completions
        except RunMustStop:
            raise
        except Exception as error:  # whatever breaks in a service: a critique is not worth a run
            logger.warning("summaries: the generator failed with %s: %s", type(error).__name__, error)
            answers = []
        found = [samples[0] if samples else None for samples in answers[: len(episodes)]]
        found += [None] * (len(episodes) - len(found))
        told = [_two_sentences(one.text) if one is not None and one.finish_reason != "error" else "" for one in found]
        if missing := [n for n, text in enumerate(told) if not text]:
            logger.warning("summaries: %d of %d are scripted for want of an answer", len(missing), len(episodes))
            for n, text in zip(missing, ScriptedSummariser().summarise([episodes[n] for n in missing]), strict=True):
                told[n] = text
        return told

    def _prompt(self, episode: JudgedEpisode) -> list[dict[str, str]]:
        steps: list[dict[str, Any] | None] = [
            {
                "number": number,
                "action": plain(step.action, MAX_MESSAGE),
                "observation": plain(step.observation, MAX_MESSAGE),
                "wrong": step.wrong,
            }
            for number, step in enumerate(episode.steps, 1)
        ]
        if len(steps) > MAX_STEPS:
            half = MAX_STEPS // 2
            steps = [*steps[:half], None, *steps[-half:]]
        text = render(self.template, goal=plain(episode.goal, 2000), steps=steps)
        return [{"role": "user", "content": text}]


def task_critique(
    episodes: Sequence[JudgedEpisode], summariser: Summariser | None = None, limit: int = MAX_CRITIQUE
) -> str:
    """What a group of attempts at one task came to: the count, then the summaries of those that failed.

    Attempts that the infrastructure broke are left out; equal summaries are told once.

    Args:
        episodes: The attempts.
        summariser: Of the failed ones; scripted if None.
        limit: Longest critique, in characters.

    Returns:
        Lines of text; empty if no attempt says anything.
    """
    valid = [episode for episode in episodes if episode.success is not None]
    lost = [episode for episode in valid if not episode.success]
    if not valid:
        return ""
    lines = [f"{len(valid) - len(lost)} of {len(valid)} attempts succeeded."]
    won = sorted(len(episode.steps) for episode in valid if episode.success)
    if won:
        lines[0] += f" Those that did took {won[0]} to {won[-1]} steps."
    if lost:
        told = Counter(plain(text, MAX_SUMMARY) for text in (summariser or ScriptedSummariser()).summarise(lost))
        lines += [f"{times} failed attempts: {text}" if times > 1 else text for text, times in told.items()]
    while len("\n".join(lines)) > limit and len(lines) > 1:
        lines.pop()
    return "\n".join(lines)[:limit]


def _two_sentences(text: str) -> str:
    """The first two sentences of what a model wrote, without its thoughts."""
    text = plain(text.rpartition("</think>")[2], 4 * MAX_SUMMARY)
    return plain(" ".join(_SENTENCE_END.split(text)[:2]), MAX_SUMMARY)


def _listed(items: Sequence[str], most: int = 6) -> str:
    """``a, b and c``; of many, the first and how many more."""
    if len(items) > most:
        return f"{', '.join(items[:most])} and {len(items) - most} more"
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
