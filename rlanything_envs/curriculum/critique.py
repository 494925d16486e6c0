"""Critiques: a few sentences on why attempts at a task failed, for the rewriter.

A trainer passes episodes as plain records, each step with the votes of its reward model; a summariser writes at most
two sentences about each failed episode, and `task_critique` joins those of a group, after a line on the kinds of
actions that the votes blame. Summaries are written by a language model (`LLMSummariser`) or, without one, from patterns
in the record (`ScriptedSummariser`).
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from rlanything_envs.curriculum.patterns import cycle_of, most_frequent, never_reached, shape_of
from rlanything_envs.curriculum.prompting import plain, render
from rlanything_envs.llm.errors import GenerationStopped, RunMustStop
from rlanything_envs.llm.generator import Completion, SamplingParams, TextGenerator

__all__ = [
    "JudgedEpisode",
    "JudgedStep",
    "LLMSummariser",
    "ScriptedSummariser",
    "Summariser",
    "blamed_actions",
    "task_critique",
]

logger = logging.getLogger(__name__)

MAX_SUMMARY = 400
"""Maximal length of the summary of one episode, in characters."""
MAX_ANSWER = 32_000
"""Longest answer in JSON that is read, in characters."""
MAX_CRITIQUE = 2000
"""Maximal length of the critique of a task, in characters."""
MAX_STEPS = 60
"""Most steps of an episode in a prompt; the middle of a longer one is left out."""
MAX_MESSAGE = 300
"""Most characters of a message in a prompt."""

SUMMARY = {
    "type": "object",
    "properties": {"summary": {"type": "string", "maxLength": MAX_SUMMARY}},
    "required": ["summary"],
    "additionalProperties": False,
}
"""JSON schema of a summary, for services that constrain their answers; an answer in plain text is read as well."""

BLAME = "Steps judged wrong by every vote, by action: "
"""Beginning of the line of a critique that both kinds of rewriters read."""
MAX_BLAMED = 6
"""Most kinds of actions in that line."""

_KIND = re.compile(r"[A-Za-z_]{1,20}")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]?\s+(?=[\"'(\[]?[A-Z0-9])")


@dataclass(frozen=True, slots=True)
class JudgedStep:
    """A step with the votes of the reward model."""

    action: str
    observation: str
    """The environment's answer to the action."""
    votes: tuple[float | None, ...] = ()
    """The reward model's scores: positive right, negative wrong, None unreadable. Empty for a step that was not
    judged."""

    @property
    def wrong(self) -> bool:
        """Whether the step has votes and all of them are negative."""
        return bool(self.votes) and all(vote is not None and vote < 0 for vote in self.votes)


@dataclass(frozen=True, slots=True)
class JudgedEpisode:
    """An attempt at a task."""

    goal: str
    steps: tuple[JudgedStep, ...]
    success: bool | None
    """None when the infrastructure failed: such an episode is no evidence about the task."""
    opening: str = ""
    """The first message of the environment."""


class Summariser(Protocol):
    """Writes at most two sentences on why an episode failed."""

    def summarise(self, episodes: Sequence[JudgedEpisode]) -> list[str]:
        """One summary for each episode, in their order. Never raises for any text of a model or an environment."""
        ...


class ScriptedSummariser:
    """Summaries from patterns: steps judged wrong, loops, and things of the goal that were never reached.

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
        summary = [plain(sentence, MAX_SUMMARY // 2) for sentence in sentences if sentence]
        return " ".join(summary) or f"None of the {len(episode.steps)} steps stands out; the goal was not reached."

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
        """Sentences on loops and on things of the goal that the agent never reached."""
        actions = [step.action for step in episode.steps]
        clauses = []
        if cycle := cycle_of(actions):
            commands, times = cycle
            clauses.append(
                f"repeated {_listed([repr(plain(command, 40)) for command in commands])} {times} times in a row"
            )
        else:
            action, times = most_frequent(actions)
            if times > 2:
                clauses.append(f"gave the command {plain(action, 40)!r} {times} times")
        missed = never_reached(
            episode.goal, episode.opening, [(step.action, step.observation) for step in episode.steps]
        )
        if missed.unseen:
            clauses.append(f"never saw {_listed(missed.unseen)}")
        if missed.unused:
            clauses.append(f"never acted on {_listed(missed.unused)}")
        if missed.unvisited and not missed.unused:
            places = _listed(missed.unvisited, 3)
            clauses.append(f"never went to {len(missed.unvisited)} of {missed.places} places ({places})")
        return f"The agent {_listed(clauses)}." if clauses else ""


class LLMSummariser:
    """Summaries by a language model; where it fails, the scripted summary is used, so that no critique is lost.

    Args:
        generator: Language model that writes the summaries, one batch per call.
        params: Sampling parameters; one completion for each episode, with a fixed seed, so that a log can be replayed.
        template: Prompt template: the path of a Jinja file that uses ``goal`` and ``steps``; None for the built-in one.
    """

    def __init__(
        self,
        generator: TextGenerator,
        params: SamplingParams | None = None,
        template: str | os.PathLike[str] = "critique.j2",
    ) -> None:
        self.generator = generator
        self.params = replace(params or SamplingParams(max_tokens=256, temperature=0.7, seed=0), schema=SUMMARY)
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
        except Exception as error:  # any failure of a service: a critique must not end a run
            logger.warning("summaries: the generator failed with %s: %s", type(error).__name__, error)
            answers = []
        found = [samples[0] if samples else None for samples in answers[: len(episodes)]]
        found += [None] * (len(episodes) - len(found))
        texts = [_two_sentences(one.text) if one is not None and one.finish_reason != "error" else "" for one in found]
        if missing := [n for n, text in enumerate(texts) if not text]:
            logger.warning("summaries: %d of %d are scripted for want of an answer", len(missing), len(episodes))
            for n, text in zip(missing, ScriptedSummariser().summarise([episodes[n] for n in missing]), strict=True):
                texts[n] = text
        return texts

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
    """Critique of a group of attempts at one task: the success count, the kinds of actions that the votes blame, then
    summaries of the failed attempts.

    Attempts with infrastructure errors are left out; equal summaries appear once.

    Args:
        episodes: The attempts.
        summariser: Summarises the failed attempts; scripted if None.
        limit: Maximal length, in characters.

    Returns:
        Lines of text; empty without a valid attempt.
    """
    valid = [episode for episode in episodes if episode.success is not None]
    failed = [episode for episode in valid if not episode.success]
    if not valid:
        return ""
    lines = [f"{len(valid) - len(failed)} of {len(valid)} attempts succeeded."]
    lengths = sorted(len(episode.steps) for episode in valid if episode.success)
    if lengths:
        lines[0] += f" Those that did took {lengths[0]} to {lengths[-1]} steps."
    lines += _blame(valid)
    if failed:
        counts = Counter(plain(text, MAX_SUMMARY) for text in (summariser or ScriptedSummariser()).summarise(failed))
        lines += [f"{times} failed attempts: {text}" if times > 1 else text for text, times in counts.items()]
    while len("\n".join(lines)) > limit and len(lines) > 1:
        lines.pop()
    return "\n".join(lines)[:limit]


def blamed_actions(critique: str) -> tuple[str, ...]:
    """Kinds of actions that a critique blames, the most blamed first; empty where it blames none. For any text."""
    line = next((line for line in critique.splitlines() if line.startswith(BLAME)), "")
    kinds = (_KIND.match(part) for part in line.removeprefix(BLAME).split(", ")[:MAX_BLAMED])
    return tuple(kind[0] for kind in kinds if kind)


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


def _two_sentences(text: str) -> str:
    """The first two sentences of a model's text, or of the summary in its JSON object, without its reasoning."""
    text = text.rpartition("</think>")[2].strip()
    if text.startswith("{"):
        try:
            value = json.loads(text[:MAX_ANSWER])
        except (ValueError, RecursionError):
            return ""
        text = str(value.get("summary", "")) if isinstance(value, dict) else ""
    text = plain(text, 4 * MAX_SUMMARY)
    return plain(" ".join(_SENTENCE_END.split(text)[:2]), MAX_SUMMARY)


def _listed(items: Sequence[str], most: int = 6) -> str:
    """``a, b and c``; of many, the first and how many more."""
    if len(items) > most:
        return f"{', '.join(items[:most])} and {len(items) - most} more"
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
