"""Summaries of judged episodes: at most two sentences on why an attempt at a task went as it did.

A trainer passes episodes as plain records, each step with the votes of its reward model and their reasons. A language
model reads them and writes the summaries (`LLMSummariser`), or they are made from patterns in the record
(`ScriptedSummariser`). What a model writes is checked; where it fails, the scripted summary takes its place.
"""

from __future__ import annotations

import json
import logging
import os
import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol
from unicodedata import name

from rlanything_envs.curriculum.patterns import cycle_of, most_frequent, shape_of
from rlanything_envs.curriculum.prompting import plain, render
from rlanything_envs.llm.errors import GenerationStopped, RunMustStop
from rlanything_envs.llm.generator import Completion, SamplingParams, TextGenerator
from rlanything_envs.thoughts import split_thought

__all__ = [
    "SCRIPTED",
    "Fault",
    "JudgedEpisode",
    "JudgedStep",
    "LLMSummariser",
    "ScriptedSummariser",
    "Summariser",
    "Summary",
    "fault_of",
    "listed",
]

logger = logging.getLogger(__name__)

SCRIPTED = "scripted"
"""Author of summaries that no model wrote."""
MAX_SUMMARY = 280
"""Maximal length of the summary of one episode, in characters."""
MAX_ANSWER = 32_000
"""Longest answer that is read, in characters."""
MAX_REASON = 400
"""Maximal length of a vote's text that is kept with its step, in characters."""
MAX_STEPS = 60
"""Maximal number of steps of an episode in a prompt; the middle of a longer one is left out."""
MAX_PROMPT = 24_000
"""Characters of a prompt that its steps share."""
REASONS = 3
"""Maximal number of reasons for one step in a prompt."""
ECHO = 6
"""Words in a row that a summary may not have in common with the instructions of its prompt."""

SUMMARY = {
    "type": "object",
    "properties": {"summary": {"type": "string", "minLength": 1, "maxLength": MAX_SUMMARY}},
    "required": ["summary"],
    "additionalProperties": False,
}
"""JSON schema of a summary, for services that constrain their answers; an answer in plain text is read as well."""

Fault = Literal["no answer", "empty", "too long", "echo", "instruction"]
"""Why a model's summary is not used."""

_BOX = re.compile(r"\\boxed\s{0,4}\{[^{}]{0,16}\}?")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]?\s+(?=[\"'(\[]?[A-Z0-9])")
_WORD = re.compile(r"[a-z0-9']+")
_ORDER = re.compile(
    r"\b(?:you|your|yours|please|instructions?)\b"
    r"|(?:^|[.!?:]\s+)(?:you|please|ignore|disregard|forget|follow|obey|make|propose|change|write|return|output|answer"
    r"|respond|print|choose|use|do|don't|let|give|remember|say|note|ensure|add|remove|replace|accept|reject)\b"
)
"""Words that address the reader, and verbs at the beginning of a sentence that give an order."""


@dataclass(frozen=True, slots=True)
class JudgedStep:
    """A step with the votes of the reward model."""

    action: str
    observation: str
    """The environment's answer to the action."""
    votes: tuple[float | None, ...] = ()
    """The reward model's scores: positive right, negative wrong, None unreadable. Empty for a step that was not
    judged."""
    reasons: tuple[str, ...] = ()
    """Texts of the votes, as the reward model wrote them; empty where nothing was written."""

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


@dataclass(frozen=True, slots=True)
class Summary:
    """Summary of one episode."""

    text: str
    author: str = SCRIPTED
    """Name of the language model that wrote it, or `SCRIPTED`."""


class Summariser(Protocol):
    """Writes at most two sentences on why an episode ended as it did."""

    def summarise(self, episodes: Sequence[JudgedEpisode]) -> list[Summary]:
        """One summary for each episode, in their order. Never raises for any text of a model or an environment."""
        ...


class ScriptedSummariser:
    """Summaries from patterns: steps judged wrong, and loops.

    >>> steps = [JudgedStep(f"open drawer {n}", "The drawer is empty.", (-1, -1)) for n in (1, 2, 1)]
    >>> ScriptedSummariser().summarise([JudgedEpisode("find a pen.", tuple(steps), success=False)])[0].text
    "Steps 1, 2 and 3 of 3 were judged wrong by every vote, mostly 'open drawer'."
    """

    def summarise(self, episodes: Sequence[JudgedEpisode]) -> list[Summary]:
        """One summary for each episode, in their order."""
        return [Summary(self._summary(episode)) for episode in episodes]

    def _summary(self, episode: JudgedEpisode) -> str:
        if not episode.steps:
            return "The attempt ended before its first step."
        sentences = [self._judged(episode.steps), self._repeated(episode.steps)]
        summary = [plain(sentence, MAX_SUMMARY // 2) for sentence in sentences if sentence]
        return " ".join(summary) or f"None of its {len(episode.steps)} steps stands out."

    def _judged(self, steps: Sequence[JudgedStep]) -> str:
        wrong = [number for number, step in enumerate(steps, 1) if step.wrong]
        if not wrong:
            return ""
        noun, verb = ("Step", "was") if len(wrong) == 1 else ("Steps", "were")
        shape, count = most_frequent([shape_of(steps[number - 1].action) for number in wrong])
        share = "mostly " if count > 1 else ""
        return (
            f"{noun} {listed([str(number) for number in wrong])} of {len(steps)} {verb} judged wrong by every vote, "
            f"{share}'{plain(shape, 60)}'."
        )

    def _repeated(self, steps: Sequence[JudgedStep]) -> str:
        actions = [step.action for step in steps]
        if cycle := cycle_of(actions):
            commands, times = cycle
            named = listed([repr(plain(command, 40)) for command in commands])
            return f"The agent repeated {named} {times} times in a row."
        action, times = most_frequent(actions)
        return f"The agent gave the command {plain(action, 40)!r} {times} times." if times > 2 else ""


class LLMSummariser:
    """Summaries by a language model, which reads each step with the reasons of its votes; safe to use from several
    threads.

    A summary that `fault_of` refuses is replaced by the scripted one, so that no critique is lost.

    Args:
        generator: Language model that writes the summaries, one batch per call.
        params: Sampling parameters; one completion for each episode, with a fixed seed, so that a log can be replayed.
        template: Prompt template: the path of a Jinja file that uses ``solved``, ``goal`` and ``steps``; None for the
            built-in one.
        name: Name of the model, the author of its summaries.
        characters: Characters of a prompt that its steps share; fewer for a model with a short context.
    """

    def __init__(
        self,
        generator: TextGenerator,
        params: SamplingParams | None = None,
        template: str | os.PathLike[str] = "critique.j2",
        *,
        name: str = "model",
        characters: int = MAX_PROMPT,
    ) -> None:
        self.generator, self.name = generator, name
        self.params = replace(params or SamplingParams(max_tokens=512, temperature=0.7, seed=0), schema=SUMMARY)
        self.template, self.characters = template, characters
        if self.params.n != 1:
            raise ValueError(f"LLMSummariser: one completion for each episode, got params.n = {self.params.n}")
        self._lock = threading.Lock()
        self._counts = Counter[str]()

    @property
    def counts(self) -> dict[str, int]:
        """Summaries since `begin`: those that were ``written`` by the model, and those refused by their `Fault`."""
        with self._lock:
            return dict(sorted(self._counts.items()))

    def begin(self) -> None:
        """Reset the counts."""
        with self._lock:
            self._counts.clear()

    def summarise(self, episodes: Sequence[JudgedEpisode]) -> list[Summary]:
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
        instructions = render(self.template, solved=False, goal="", steps=[])
        summaries, faults = ScriptedSummariser().summarise(episodes), Counter[str]()
        for number, (episode, answer) in enumerate(zip(episodes, found, strict=True)):
            text, fault = _read(answer, episode, instructions)
            faults[fault or "written"] += 1
            if fault is None:
                summaries[number] = Summary(text, self.name)
        with self._lock:
            self._counts += faults
        if refused := {fault: count for fault, count in faults.items() if fault != "written"}:
            logger.warning("summaries: %d of %d are scripted: %s", sum(refused.values()), len(episodes), refused)
        return summaries

    def _prompt(self, episode: JudgedEpisode) -> list[dict[str, str]]:
        shown = min(len(episode.steps), MAX_STEPS)
        # An even share for the action, the observation and the reasons of each step.
        limit = max(20, min(2000, self.characters // (3 * max(1, shown))))
        steps: list[dict[str, Any] | None] = [
            {
                "number": number,
                "action": plain(step.action, limit),
                "observation": plain(step.observation, limit),
                "wrong": step.wrong,
                "reasons": list(_reasons(step, limit // REASONS)),
            }
            for number, step in enumerate(episode.steps, 1)
        ]
        if len(steps) > MAX_STEPS:
            half = MAX_STEPS // 2
            steps = [*steps[:half], None, *steps[-half:]]
        text = render(self.template, solved=bool(episode.success), goal=plain(episode.goal, 2000), steps=steps)
        return [{"role": "user", "content": text}]


def fault_of(text: str, episode: JudgedEpisode, instructions: str) -> Fault | None:
    """Why a summary in one line is not used; None for a good one. Linear in the lengths of the texts.

    - ``empty``: it has no word.
    - ``too long``: it is longer than `MAX_SUMMARY`, or its only sentence has no end.
    - ``echo``: it has `ECHO` words in a row of the prompt's instructions, or half of its words stand in the record of
      the episode in the same order, four and four. Reasons of votes may be repeated.
    - ``instruction``: it addresses its reader or gives an order, or has letters of another script, in which it might.
    """
    words = _WORD.findall(text.lower())
    if not words:
        return "empty"
    if not _runs(words, ECHO).isdisjoint(_runs(_WORD.findall(instructions.lower()), ECHO)):
        return "echo"
    record = "\n".join([episode.goal, *(f"{step.action}\n{step.observation}" for step in episode.steps)])
    runs, known = _runs(words, 4), _runs(_WORD.findall(record.lower()), 4)
    if runs and 2 * len(runs & known) >= len(runs):
        return "echo"
    if len(text) > MAX_SUMMARY or not text.endswith((".", "!", "?", '."', ".'", ".)")):
        return "too long"
    foreign = any(letter.isalpha() and not name(letter, "").startswith("LATIN") for letter in text)
    return "instruction" if foreign or _ORDER.search(text.lower()) else None


def listed(items: Sequence[str], most: int = 6) -> str:
    """``a, b and c``; of many, the first and how many more."""
    if len(items) > most:
        return f"{', '.join(items[:most])} and {len(items) - most} more"
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _reasons(step: JudgedStep, limit: int) -> Iterator[str]:
    """Different reasons for a step, without their scores and thoughts."""
    texts = dict.fromkeys(plain(_BOX.sub("", split_thought(text)[1]), limit) for text in step.reasons)
    yield from [text for text in texts if text][:REASONS]


def _read(answer: Completion | None, episode: JudgedEpisode, instructions: str) -> tuple[str, Fault | None]:
    """The first two whole sentences of an answer, and why they are not used."""
    if answer is None or answer.finish_reason == "error":
        return "", "no answer"
    text = split_thought(answer.text[:MAX_ANSWER])[1].strip()
    if text.startswith("{"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return "", "too long" if answer.finish_reason == "length" else "empty"
        text = str(value.get("summary", "")) if isinstance(value, dict) else ""
    sentences = _SENTENCE_END.split(plain(text, 4 * MAX_SUMMARY))[:2]
    if len(sentences) == 2 and not sentences[1].rstrip("\"')").endswith((".", "!", "?")):
        sentences.pop()  # cut off at the limit of tokens
    text = " ".join(sentences)
    return text, fault_of(text, episode, instructions)


def _runs(words: Sequence[str], length: int) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + length]) for at in range(len(words) - length + 1)}
