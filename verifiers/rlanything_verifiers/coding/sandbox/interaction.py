"""Conversation of two programs in two workers: this process relays the output of each to the other.

Neither program holds an end of the other's pipes, so neither can read the other's input. Data in transit is buffered
here, up to the limits of output: no program blocks because the other one does not read.
"""

import os
import selectors
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Literal, Protocol

from .errors import WorkerLost
from .limits import Limits
from .run import Run

Side = Literal["program", "interactor"]

#: Bytes taken from a pipe at once: as many as a pipe holds.
_CHUNK = 1 << 16
#: Seconds after the later deadline until the workers are considered dead.
_GRACE = 30.0
#: How lines of a transcript begin.
_MARKS: dict[Side, bytes] = {"program": b"> ", "interactor": b"< "}


@dataclass(frozen=True, slots=True)
class Interaction:
    """Outcome of one conversation.

    Attributes:
        program: The run of the judged program, with its whole ``stdout``.
        interactor: The run of its partner.
        first: The side that ended first. Each side sees the end of the other only after this process has recorded it,
            so an end that the other side's end caused is never the first one.
        transcript: All lines in the order of their arrival; ``> `` marks those of the program, ``< `` those of the
            interactor.
    """

    program: Run
    interactor: Run
    first: Side = "program"
    transcript: bytes = b""


class Talker(Protocol):
    """A worker that runs a program on given streams, see `process.Process`."""

    def fileno(self) -> int: ...  # noqa: D102
    def start(self, stdin: int, stdout: int, limits: Limits) -> None: ...  # noqa: D102
    def attend(self, limits: Limits) -> bool: ...  # noqa: D102
    def result(self, limits: Limits) -> Run: ...  # noqa: D102


def converse(
    program: Talker, interactor: Talker, opening: bytes, limits: Limits, interactor_limits: Limits
) -> Interaction:
    """Relay between two programs until both have ended.

    Args:
        program: Worker of the program that is judged.
        interactor: Worker of its partner.
        opening: Input of the partner before the program's output.
        limits: Resources of the program; all that it writes counts as its output.
        interactor_limits: Resources of the partner.

    Raises:
        WorkerLost: A worker died or broke the protocol.
    """
    transcript: list[tuple[Side, bytes]] = []

    def record(side: Side, data: bytes) -> None:
        transcript.append((side, data))

    sides: dict[Side, tuple[Talker, Limits]] = {
        "program": (program, limits),
        "interactor": (interactor, interactor_limits),
    }
    channels: dict[Side, _Channel] = {}  # by the side that writes
    ended: dict[Side, Run] = {}
    with selectors.DefaultSelector() as selector:
        try:
            for side, (_, bound) in sides.items():
                channels[side] = _Channel(bound.output, selector, partial(record, side))
            channels["program"].send(opening)
            for side, (talker, bound) in sides.items():
                talker.start(channels[_other(side)].readable, channels[side].writable, bound)
                selector.register(talker, selectors.EVENT_READ, side)
            for channel in channels.values():
                channel.hand_over()
            deadline = monotonic() + max(bound.patience for _, bound in sides.values()) + _GRACE
            while len(ended) < len(sides):
                if monotonic() > deadline:
                    raise WorkerLost("a conversation did not end in time")
                for key, _ in selector.select(deadline - monotonic()):
                    if callable(key.data):
                        if key.fd in selector.get_map():  # an event before this one may have closed it
                            key.data()
                        continue
                    side = key.data
                    talker, bound = sides[side]
                    if not talker.attend(bound):
                        continue
                    selector.unregister(talker)
                    ended[side] = talker.result(bound)
                    channels[side].finish()
                    channels[_other(side)].nobody_reads()
        finally:
            for channel in channels.values():
                channel.close()
    for side, run in ended.items():
        said = bytes(channels[side].written)
        ended[side] = replace(run, stdout=said)
        if channels[side].flooded:
            ended[side] = replace(
                ended[side], status="OLE", detail=f"more than {sides[side][1].output} bytes of output"
            )
    return Interaction(ended["program"], ended["interactor"], next(iter(ended)), _lines(transcript))


def _other(side: Side) -> Side:
    return "interactor" if side == "program" else "program"


class _Channel:
    """One direction of the conversation.

    Attributes:
        writable: The end for the side that writes, until `hand_over`.
        readable: The end for the side that reads, until then.
        written: All data so far, up to the limit.
        flooded: Whether the limit was exceeded.
    """

    def __init__(self, limit: int, selector: selectors.BaseSelector, record: Callable[[bytes], None]) -> None:
        self.limit = limit
        self.written = bytearray()
        self.flooded = False
        self._selector = selector
        self._record = record
        self._waiting = bytearray()
        self._last = False  # no more data will be buffered
        self._full = False  # the reader's pipe is full
        self._source, self.writable = os.pipe()
        self.readable, self._sink = os.pipe()
        os.set_blocking(self._source, False)
        os.set_blocking(self._sink, False)
        selector.register(self._source, selectors.EVENT_READ, self._take)

    def hand_over(self) -> None:
        """Close the ends that the programs have inherited."""
        self.writable, self.readable = _closed(self.writable), _closed(self.readable)

    def send(self, data: bytes) -> None:
        """Append data for the reading side."""
        self._waiting += data
        self._pass_on()

    def finish(self) -> None:
        """Relay the rest of the pipe and the end of the stream, after the writing side has ended."""
        while self._source >= 0 and self._take():
            pass
        self._close_source()
        self._last = True
        self._pass_on()

    def nobody_reads(self) -> None:
        """Discard further data, which still counts as output, after the reading side has ended."""
        self._close_sink()

    def close(self) -> None:
        """Close everything."""
        self.hand_over()
        self._close_source()
        self._close_sink()

    def _take(self) -> bool:
        """Read available data; returns whether there may be more."""
        try:
            data = os.read(self._source, _CHUNK)
        except BlockingIOError:
            return False
        kept = data[: self.limit - len(self.written)]
        self.written += kept
        if kept:
            self._record(kept)
            self.send(kept)
        if len(kept) < len(data):
            self.flooded = True
        if self.flooded or not data:
            # The end of the stream is relayed only after the side has ended: see `Interaction.first`.
            self._close_source()
            return False
        return True

    def _pass_on(self) -> None:
        try:
            while self._waiting and self._sink >= 0:
                del self._waiting[: os.write(self._sink, self._waiting[:_CHUNK])]
        except BlockingIOError:
            if not self._full:
                self._selector.register(self._sink, selectors.EVENT_WRITE, self._pass_on)
                self._full = True
            return
        except BrokenPipeError:  # closed by the reading side, which may live on
            self._last = True
        self._waiting.clear()
        self._rest()
        if self._last:
            self._sink = _closed(self._sink)

    def _rest(self) -> None:
        if self._full:
            self._selector.unregister(self._sink)
            self._full = False

    def _close_source(self) -> None:
        if self._source >= 0:
            self._selector.unregister(self._source)
        self._source = _closed(self._source)

    def _close_sink(self) -> None:
        self._waiting.clear()
        self._rest()
        self._sink = _closed(self._sink)


def _closed(fd: int) -> int:
    if fd >= 0:
        os.close(fd)
    return -1


def _lines(transcript: list[tuple[Side, bytes]]) -> bytes:
    """The pieces as lines, each with the mark of its side."""
    said: list[tuple[Side, bytearray]] = []
    for side, data in transcript:
        if not said or said[-1][0] != side:
            said.append((side, bytearray()))
        said[-1][1].extend(data)
    lines = bytearray()
    for side, text in said:
        for line in bytes(text).removesuffix(b"\n").split(b"\n"):
            lines += _MARKS[side] + line + b"\n"
    return bytes(lines)
