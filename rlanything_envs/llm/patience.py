"""What happens when a service is down, slow or lying for longer than the tries of one request last."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from rlanything_envs.llm.errors import BudgetExceeded, EndpointRefused, ServiceLost, is_outage
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams, TextGenerator

__all__ = ["OnFailure", "PatientGenerator", "Served"]

OnFailure = Literal["wait", "degrade", "stop"]
"""What to do without the service: wait for it, go on without it, or end the run."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
"""Pauses between two rounds of tries while a service is waited for; each is twice the one before."""


@dataclass(frozen=True, slots=True)
class Served:
    """What a service did since `PatientGenerator.begin`; the same when an interrupted run repeats it.

    Attributes:
        requests: Prompts it was to answer.
        unanswered: Of those, prompts that it was asked in vain.
        skipped: Of those, prompts that it was not asked, for it had been given up.
    """

    requests: int = 0
    unanswered: int = 0
    skipped: int = 0


class PatientGenerator:
    """A source of text that may fail as a whole, and what to do then.

    - ``wait``: ask again, with growing pauses, until it answers. After `patience_s` seconds the run ends.
    - ``degrade``: the prompt has no answer, and neither has any other until the next `begin`: one outage costs one
      request's time and not that of every request of an iteration.
    - ``stop``: the run ends.

    What says nothing of the service is handed on as it is: a prompt that it rejects, an answer that makes no sense, an
    empty budget. Safe to use from several threads.

    Args:
        generator: Who is asked; its own tries of a request come first.
        on_failure: What to do.
        patience_s: Most seconds to wait for an answer to one call, where it waits.
        say: Is told of each failure that is waited for or gone on without, in one line that holds what the service
            wrote.
        first_pause_s: Seconds between the first two rounds, where it waits.

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
        self.generator = generator
        self.on_failure = on_failure
        self.patience_s = patience_s
        self.say = say
        self.first_pause_s = first_pause_s
        self._lock = threading.Lock()
        self._served = Served()
        self._given_up = ""

    @property
    def trainable(self) -> bool:
        """As the generator's."""
        return self.generator.trainable

    @property
    def served(self) -> Served:
        """What happened since `begin`."""
        with self._lock:
            return self._served

    def begin(self) -> None:
        """From now on a service that was given up is asked again, and counts begin at 0."""
        with self._lock:
            self._served, self._given_up = Served(), ""

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """``params.n`` completions for each prompt, in the order of the prompts.

        Raises:
            ServiceLost: The service gave no answer, and the policy is to stop, or the waiting took too long.
            GenerationStopped: The budget is empty.
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
        """As the generator's."""
        self.generator.update_weights(source, version)

    def close(self) -> None:
        """Free what the generator holds."""
        self.generator.close()

    def _patiently(self, prompts: Sequence[Prompt], params: SamplingParams) -> tuple[list[list[Completion]], int]:
        """Completions, and to how many prompts there is no answer."""
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
                raise ServiceLost(f"{self.generator!r} gave no answer{waited}: {reason}")
            self._say(f"waiting for {self.generator!r}, {left:.0f} s at most: {reason}")
            time.sleep(min(pause, left))
            pause = min(2 * pause, LONGEST_PAUSE_S)
            again = replace(params, seeds=tuple(params.seeds[at] for at in lost)) if params.seeds else params
            for at, samples in zip(lost, self._ask([prompts[at] for at in lost], again), strict=True):
                found[at] = samples
        return found, 0

    def _ask(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """Completions; a refusal of everything is the failure of each prompt that was not answered before it."""
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

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())


def _errors(prompts: int, params: SamplingParams, reason: str) -> list[list[Completion]]:
    return [[Completion("", "error", error=reason)] * params.n for _ in range(prompts)]
