"""An engine that writes many sequences at once, as a discrete-event model.

All sequences of a batch get a token per decoding step, so between two changes of the batch each progresses at the
same rate. The engine therefore keeps one count of tokens written per sequence; a sequence is done when that count
reaches its mark, and an event happens only when a sequence comes or goes. Prompts are read before anything else is
written, as vLLM schedules them without chunking (Agrawal et al. 2024, arXiv 2403.02310, section 3).
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field

import simpy

from rlanything_agents.planning.speed import EngineSpeed

__all__ = ["Engine"]


@dataclass(order=True, slots=True)
class _Sequence:
    mark: float
    number: int
    prompt: float = field(compare=False)
    context: float = field(compare=False)
    tokens: float = field(compare=False)
    done: simpy.Event = field(compare=False)


class Engine:
    """One engine.

    Args:
        env: The simulation.
        speed: How long it takes.
        capacity: Most sequences it writes at once; further ones wait in order.
    """

    def __init__(self, env: simpy.Environment, speed: EngineSpeed, capacity: int) -> None:
        self.env = env
        self.speed = speed
        self.capacity = capacity
        self.busy = 0.0
        """Seconds in which it read or wrote."""
        self.spans: list[tuple[float, float]] = []
        """When it was busy, without gaps between what follows at once."""
        self.tokens = 0.0
        """Tokens read and written."""
        self.finished = 0
        self.present = 0.0
        """Sequences in it, waiting ones included, integrated over time."""
        self._waiting: deque[_Sequence] = deque()
        self._active: list[_Sequence] = []
        self._cached = 0.0
        self._written = 0.0
        self._arrival = env.event()
        self._changed = 0.0
        self._count = 0
        self._inside = 0
        env.process(self._run())

    @property
    def load(self) -> int:
        """Sequences in it."""
        return self._inside

    def generate(self, prompt: float, tokens: float, context: float) -> simpy.Event:
        """Write a sequence.

        Args:
            prompt: Tokens it has to read first, those in the prefix cache left out.
            tokens: To write.
            context: Tokens that lie in its cache, on average, while it is written.
        """
        self._integrate()
        self._count += 1
        self._inside += 1
        done = self.env.event()
        self._waiting.append(_Sequence(0.0, self._count, prompt, context, max(tokens, 0.0), done))
        if len(self._active) < self.capacity and not self._arrival.triggered:
            self._arrival.succeed()
        return done

    def _run(self) -> Generator[simpy.Event, None, None]:
        while True:
            if self._waiting and len(self._active) < self.capacity:
                sequence = self._waiting.popleft()
                if sequence.prompt > 0:
                    yield from self._work(self.speed.prefill_seconds(sequence.prompt))
                self.tokens += sequence.prompt
                sequence.mark = self._written + sequence.tokens
                heapq.heappush(self._active, sequence)
                self._cached += sequence.context
            elif self._active:
                yield from self._write()
            else:
                self._arrival = self.env.event()
                yield self._arrival

    def _write(self) -> Generator[simpy.Event, None, None]:
        """Until the next sequence is done, or one comes."""
        a_token = self.speed.step_seconds(len(self._active), self._cached)
        mark = self._active[0].mark
        wanted = (mark - self._written) * a_token
        self._arrival = self.env.event()
        begun = self.env.now
        if wanted > 0:
            timeout = self.env.timeout(wanted)
            yield timeout | self._arrival
            passed = self.env.now - begun
            self._note(begun)
            reached = mark if timeout.processed else min(mark, self._written + passed / a_token)
            self.tokens += (reached - self._written) * len(self._active)
            self._written = reached
        while self._active and self._active[0].mark <= self._written:
            self._integrate()
            sequence = heapq.heappop(self._active)
            self._cached -= sequence.context
            self.finished += 1
            self._inside -= 1
            sequence.done.succeed()

    def _work(self, seconds: float) -> Generator[simpy.Event, None, None]:
        begun = self.env.now
        yield self.env.timeout(seconds)
        self._note(begun)

    def _note(self, begun: float) -> None:
        """It was busy from then until now."""
        now = self.env.now
        self.busy += now - begun
        if self.spans and self.spans[-1][1] == begun:
            self.spans[-1] = (self.spans[-1][0], now)
        elif now > begun:
            self.spans.append((begun, now))

    def _integrate(self) -> None:
        self.present += self._inside * (self.env.now - self._changed)
        self._changed = self.env.now
