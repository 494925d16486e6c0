"""Generators without a model: answers from a log, and scripted answers."""

from __future__ import annotations

import os
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rlanything_envs.llm.errors import GeneratorError
from rlanything_envs.llm.generator import Completion, Locked, Prompt, SamplingParams, cut_at_stop
from rlanything_envs.llm.log import prompt_key, read_log

__all__ = ["RecordedAnswers", "ReplayGenerator", "ScriptedGenerator", "number_samples"]


def number_samples(prompts: Sequence[Prompt], params: SamplingParams) -> list[tuple[str, int]]:
    """For each prompt its `prompt_key` and the index of its first sample.

    The same prompt twice in one call counts its samples on, so that each has a seed and its own record.
    """
    seen: dict[str, int] = defaultdict(int)
    numbered = []
    for prompt, own in zip(prompts, params.each(len(prompts)), strict=True):
        key = prompt_key(prompt, own)
        numbered.append((key, seen[key]))
        seen[key] += params.n
    return numbered


class RecordedAnswers(Locked):
    """The answers of a log, each of which is used once.

    Answers are found by prompt, sampling parameters and index of the sample. Equal calls get their answers in the order
    of writing; calls with their own seeds cannot be confused.

    Args:
        path: A log that `PromptLog` wrote; it is read once, when the object is made. A missing file has no answers.
        model: Use only answers of this model.
        failures: Use recorded failures too, to repeat a run that went on without an answer. By default failed requests
            are sent again.

    Raises:
        GeneratorError: The file is not such a log.
    """

    def __init__(self, path: str | os.PathLike[str], model: str | None = None, *, failures: bool = False) -> None:
        self.path = Path(path)
        self._answers: dict[tuple[str, int], deque[Completion]] = defaultdict(deque)
        super().__init__()
        if self.path.exists():
            for record in read_log(self.path):
                wanted = failures or record.finish_reason != "error"
                if wanted and (model is None or record.model == model):
                    completion = Completion(record.text, record.finish_reason, error=record.error)
                    self._answers[record.key, record.sample].append(completion)

    def __len__(self) -> int:
        with self._lock:
            return sum(map(len, self._answers.values()))

    def take(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion | None]]:
        """For each prompt its ``params.n`` samples, None where the log has no answer."""
        numbered = number_samples(prompts, params)
        with self._lock:
            return [
                [queue.popleft() if (queue := self._answers.get((key, first + i))) else None for i in range(params.n)]
                for key, first in numbered
            ]


class ReplayGenerator:
    """Replays the answers of a log, failures included: a run with the same prompts repeats offline.

    To continue with the service where a log ends, pass the answers to the generator that wrote it
    (``OpenAIGenerator(..., recorded=RecordedAnswers(path))``).

    Args:
        path: A log that `PromptLog` wrote.
        model: Use only answers of this model.

    Raises:
        FileNotFoundError: There is no such file.
        GeneratorError: The file is not such a log.

    Examples:
        >>> import tempfile
        >>> from rlanything_envs.llm import (PromptLog, Record)
        >>> hi = [{"role": "user", "content": "hi"}]
        >>> params = SamplingParams(max_tokens=8, seed=1)
        >>> path = Path(tempfile.mkdtemp()) / "prompts.jsonl"
        >>> PromptLog(path).write(Record(key=prompt_key(hi, params), prompt=hi, text="Hello.", model="m"))
        >>> ReplayGenerator(path).generate([hi], params)[0][0].text
        'Hello.'
    """

    trainable = False

    def __init__(self, path: str | os.PathLike[str], model: str | None = None) -> None:
        if not Path(path).exists():
            raise FileNotFoundError(f"no log of prompts at {path}")
        self._answers = RecordedAnswers(path, model, failures=True)

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """``params.n`` completions for each prompt, in the order of the prompts.

        Raises:
            GeneratorError: The log has no answer for a sample.
        """
        found: list[list[Completion]] = []
        for at, samples in enumerate(self._answers.take(prompts, params)):
            known = [sample for sample in samples if sample is not None]
            if len(known) < params.n:
                raise GeneratorError(
                    f"{self._answers.path} has {len(known)} of {params.n} answers to prompt {at} (key "
                    f"{prompt_key(prompts[at], params)}): this run asks something that the recorded one did not"
                )
            found.append(known)
        return found

    def update_weights(self, source: Any | Path, version: int) -> None:
        """Always raises GeneratorError."""
        raise GeneratorError("recorded answers have no weights to update")

    def close(self) -> None:
        """Nothing to free."""


class ScriptedGenerator(Locked):
    """Answers from a list, in its order, or from a function: for tests and for runs without a model.

    Args:
        answers: Texts or completions, one per sample; or a function of a prompt and the index of the sample among those
            of this prompt. Stop texts cut the answers as they would cut a model's.

    Examples:
        >>> shout = ScriptedGenerator(lambda prompt, sample: prompt[-1]["content"].upper())
        >>> shout.generate([[{"role": "user", "content": "hi"}]], SamplingParams(max_tokens=8, n=2))[0][1].text
        'HI'
    """

    trainable = False

    def __init__(self, answers: Sequence[str | Completion] | Callable[[Any, int], str | Completion]) -> None:
        if isinstance(answers, str):
            raise ValueError("ScriptedGenerator: got one text, not a list of answers; write [text]")
        self._answers = answers if callable(answers) else tuple(answers)
        self._used = 0
        super().__init__()

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """``params.n`` completions for each prompt, in the order of the prompts.

        Raises:
            GeneratorError: The list is used up.
        """
        with self._lock:
            return [[self._next(prompt, sample, params) for sample in range(params.n)] for prompt in prompts]

    def update_weights(self, source: Any | Path, version: int) -> None:
        """Always raises GeneratorError."""
        raise GeneratorError("a script has no weights to update")

    def close(self) -> None:
        """Nothing to free."""

    def _next(self, prompt: Prompt, sample: int, params: SamplingParams) -> Completion:
        if callable(self._answers):
            answer = self._answers(prompt, sample)
        elif self._used < len(self._answers):
            answer = self._answers[self._used]
            self._used += 1
        else:
            raise GeneratorError(f"all {self._used} scripted answers are used up")
        completion = answer if isinstance(answer, Completion) else Completion(answer, "stop")
        text, stopped = cut_at_stop(completion.text, params.stop)
        return replace(completion, text=text, finish_reason="stop") if stopped else completion
