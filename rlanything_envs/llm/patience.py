"""Policies for an outage of a service that lasts longer than the retries of one request."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from rlanything_envs.llm.errors import BudgetExceeded, EndpointRefused, RunMustStop, is_outage
from rlanything_envs.llm.generator import PER_PROMPT, Completion, Locked, Prompt, SamplingParams, TextGenerator

__all__ = ["OnFailure", "PatientGenerator", "Served"]

OnFailure = Literal["wait", "degrade", "stop"]
"""Policy for an outage: wait for the service, go on without it, or end the run."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
"""Shortest and longest pause between two rounds of tries, in seconds; each pause is twice the one before."""


@dataclass(frozen=True, slots=True)
class Served:
    """Counts of a service's prompts since `PatientGenerator.begin`; equal when an interrupted run repeats them.

    Attributes:
        requests: Number of prompts.
        unanswered: Prompts that were sent and got no answer.
        skipped: Prompts that were not sent, because the service had been given up.
    """

    requests: int = 0
    unanswered: int = 0
    skipped: int = 0


class PatientGenerator(Locked):
    """A text generator with a policy for outages of its service.

    - ``wait``: try again, with growing pauses, until it answers. After `patience_s` seconds the run ends.
    - ``degrade``: the prompt and all later ones until the next `begin` have no answer: an outage costs the time of one
      request and not of every request of an iteration.
    - ``stop``: the run ends.

    Other failures are passed on unchanged: a rejected prompt, an endless answer, an exhausted budget. Safe to use from
    several threads.

    Args:
        generator: The generator; its own retries of a request come first.
        on_failure: The policy.
        patience_s: Maximum seconds to wait for an answer to one call, with the policy ``wait``.
        say: Called with one line for each failure that is waited out or skipped; the line quotes the service.
        first_pause_s: Seconds between the first two rounds, with the policy ``wait``.

    Raises:
        ValueError: There is no such policy.

    Examples:
        >>> from rlanything_envs.llm import ScriptedGenerator
        >>> lost = Completion("", "error", error="ConnectionLost: refused")
        >>> patient = PatientGenerator(ScriptedGenerator([lost, "Here I am."]), "wait", first_pause_s=0.0)
        >>> patient.generate([[{"role": "user", "content": "hi"}]], SamplingParams(max_tokens=8))[0][0].text
        'Here I am.'
    """

    def __init__(
        self,
        generator: TextGenerator,
        on_failure: OnFailure = "degrade",
        *,
        patience_s: float = 900.0,
        say: Callable[[str], None] | None = None,
        first_pause_s: float = FIRST_PAUSE_S,
    ) -> None:
        if on_failure not in ("wait", "degrade", "stop"):
            raise ValueError(f"PatientGenerator.on_failure: {on_failure!r}; choose wait, degrade or stop")
        super().__init__()
        self.generator = generator
        self.on_failure = on_failure
        self.patience_s = patience_s
        self.say = say
        self.first_pause_s = first_pause_s
        self._served = Served()
        self._given_up = ""

    @property
    def trainable(self) -> bool:
        """See the wrapped generator."""
        return self.generator.trainable

    @property
    def served(self) -> Served:
        """Counts since `begin`."""
        with self._lock:
            return self._served

    def begin(self) -> None:
        """Use a service that was given up again, and reset the counts."""
        with self._lock:
            self._served, self._given_up = Served(), ""

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """``params.n`` completions for each prompt, in the order of the prompts.

        Raises:
            RunMustStop: The service gave no answer, and the policy is ``stop``, or it is ``wait`` and `patience_s` has
                passed.
            GenerationStopped: The budget is exhausted.
        """
        with self._lock:
            given_up = self._given_up
        if given_up:
            self._count(requests=len(prompts), skipped=len(prompts))
            return _errors(len(prompts), params, f"not asked, for the service had been given up: {given_up}")
        try:
            found, unanswered = self._patiently(prompts, params)
        except BudgetExceeded:
            self._count(requests=len(prompts), unanswered=len(prompts))
            raise
        self._count(requests=len(prompts), unanswered=unanswered)
        return found

    def update_weights(self, source: Any | Path, version: int) -> None:
        """See the wrapped generator."""
        self.generator.update_weights(source, version)

    def close(self) -> None:
        """Close the wrapped generator."""
        self.generator.close()

    def _patiently(self, prompts: Sequence[Prompt], params: SamplingParams) -> tuple[list[list[Completion]], int]:
        """Completions, and the number of prompts without an answer."""
        deadline, pause = time.monotonic() + self.patience_s, self.first_pause_s
        found = self._ask(prompts, params)
        while lost := [at for at, samples in enumerate(found) if any(is_outage(sample.error) for sample in samples)]:
            reason = next(str(sample.error) for sample in found[lost[0]] if is_outage(sample.error))
            if self.on_failure == "degrade":
                with self._lock:
                    self._given_up = reason
                self._say(f"going on without {self.generator!r} for now: {reason}")
                return found, len(lost)
            left = deadline - time.monotonic()
            if self.on_failure == "stop" or left <= 0:
                waited = "" if self.on_failure == "stop" else f" in {self.patience_s:g} s"
                raise RunMustStop(f"{self.generator!r} gave no answer{waited}: {reason}")
            self._say(f"waiting for {self.generator!r}, {left:.0f} s at most: {reason}")
            time.sleep(min(pause, left))
            pause = min(2 * pause, LONGEST_PAUSE_S)
            own = {name: tuple(each[at] for at in lost) for name in PER_PROMPT if (each := getattr(params, name))}
            try:
                answers = self._ask([prompts[at] for at in lost], replace(params, **own))  # type: ignore[arg-type]
            except BudgetExceeded as halt:
                for at, samples in zip(lost, halt.completions, strict=False):
                    found[at] = samples
                raise BudgetExceeded(str(halt), found) from halt
            for at, samples in zip(lost, answers, strict=True):
                found[at] = samples
        return found, 0

    def _ask(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """Completions; where the service refuses every request, each unanswered prompt gets that failure."""
        try:
            return self.generator.generate(prompts, params)
        except EndpointRefused as refusal:
            lost = Completion("", "error", error=f"{type(refusal).__name__}: {refusal}")
            found = refusal.completions or [[lost] * params.n for _ in prompts]
            return [[lost if sample.finish_reason == "error" else sample for sample in samples] for samples in found]

    def _say(self, text: str) -> None:
        if self.say is not None:
            self.say(text)

    def _count(self, requests: int, unanswered: int = 0, skipped: int = 0) -> None:
        with self._lock:
            old = self._served
            self._served = Served(old.requests + requests, old.unanswered + unanswered, old.skipped + skipped)


def _errors(prompts: int, params: SamplingParams, reason: str) -> list[list[Completion]]:
    return [[Completion("", "error", error=reason)] * params.n for _ in range(prompts)]
