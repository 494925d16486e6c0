"""The server of one submission: compiles it, then forks a process for each input and watches it."""

from __future__ import annotations

import gc
import os
import resource
import select
import signal
import time
from contextlib import suppress

from . import libc, messages, program, threads
from .messages import CPU_LIMIT, WALL_LIMIT, WITHIN, Socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ctypes
    from collections.abc import Callable
    from types import CodeType
    from typing import NoReturn

#: Processor time and memory for compiling: a text of a mebibyte of nested brackets needs both.
_COMPILE_CPU = 10.0
_COMPILE_MEMORY = 1 << 30

#: Modules worth importing once for all tests of a submission that names them. None of them does anything on import, and
#: a worker does not hold them for all submissions: each makes every fork of every test a little slower.
_MODULES = """
abc argparse array ast asyncio bisect calendar cmath collections contextlib copy csv dataclasses datetime decimal enum
fractions functools hashlib heapq inspect io itertools json logging math numbers operator pickle pprint queue random re
secrets statistics string struct tempfile textwrap threading time timeit traceback types typing unittest uuid warnings
zlib zoneinfo
"""
_WARM = frozenset(_MODULES.split())


def serve(
    control: Socket, source: int, memory: int, output: int, listener: int | None, filters: ctypes.Structure | None
) -> NoReturn:
    """Compile a program and run the inputs that arrive; never returns, the process ends with the submission."""
    code = 1
    try:
        libc.prctl(libc.PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        text = os.pread(source, os.fstat(source).st_size, 0)
        os.close(source)
        compiled = _compile(control, text, max(memory, _COMPILE_MEMORY))
        if compiled is not None:
            _warm(text)
            stand_ins = b"/dev/std" in text
            del text
            bound(memory, output)
            gc.freeze()  # a collection in a test would touch, and so copy, every object of the server
            messages.send(control, messages.READY)

            def start(stdio: list[int], cpu: float, server: int) -> NoReturn:
                program.run(compiled, stdio, cpu, memory, server, filters, stand_ins)

            run(control, start, listener, own_children=filters is not None)
        code = 0
    except OSError:  # the judge is gone
        code = 0
    finally:
        os._exit(code)


def _compile(control: Socket, text: bytes, memory: int) -> CodeType | None:
    resource.setrlimit(resource.RLIMIT_AS, (memory, resource.RLIM_INFINITY))
    signal.setitimer(signal.ITIMER_PROF, _COMPILE_CPU)  # without a handler its signal ends the process
    try:
        compiled: CodeType = compile(text, "main.py", "exec", dont_inherit=True)
    except Exception as error:
        del text
        messages.send(control, messages.BROKEN, _said(error))
        return None
    signal.setitimer(signal.ITIMER_PROF, 0)
    return compiled


def _said(error: Exception) -> bytes:
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, SyntaxError) and error.msg:
        said = f"{type(error).__name__}: {error.msg}"
        if error.lineno:
            line = (error.text or "").strip()
            said = f'File "main.py", line {error.lineno}\n    {line[:400]}\n{said}'
    return said.encode("utf-8", "replace")[: messages.MAX_TEXT]


def _warm(text: bytes) -> None:
    names: set[str] = set()
    for line in text.splitlines():
        words = line[:400].replace(b",", b" ").replace(b";", b" ").split()
        if words and words[0] in (b"import", b"from"):
            names.update(word.partition(b".")[0].decode("latin-1") for word in words[1:])
    for name in sorted(names & _WARM):
        with suppress(Exception):
            __import__(name)


def bound(memory: int, output: int) -> None:
    """Set the limits that all tests of a submission share."""
    # One byte more than the limit, so that a full file differs from a truncated one.
    resource.setrlimit(resource.RLIMIT_FSIZE, (output + 1, output + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def run(
    control: Socket,
    start: Callable[[list[int], float, int], NoReturn],
    listener: int | None,
    *,
    own_children: bool,
    finish: Callable[[list[int]], None] | None = None,
) -> None:
    """Run the inputs that arrive until the submission ends.

    Args:
        control: Socket of the judge.
        start: Becomes the program, in a process forked for it, on its standard streams.
        listener: Descriptor on which the kernel reports each new thread, if it does.
        own_children: Whether no process of a program can outlive it.
        finish: Called with the standard streams when the program has ended.
    """
    server = os.getpid()
    while True:
        kind, body, fds = messages.receive(control)
        if kind != messages.TEST:
            return
        cpu, wall = messages.LIMITS.unpack(body)
        child = os.fork()
        if child == 0:
            start(fds, cpu, server)
        if finish is None:
            _close(fds)
        started = time.monotonic()
        passed = _watch(control, child, cpu, started, wall, listener)
        _, status, usage = os.wait4(child, 0)
        if finish is not None:
            finish(fds)
            _close(fds)
        if not own_children:
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
        used = usage.ru_utime + usage.ru_stime
        if passed == WITHIN and used > cpu:
            passed = CPU_LIMIT
        outcome = messages.OUTCOME.pack(passed, status, used, time.monotonic() - started)
        messages.send(control, messages.DONE, outcome)


def _close(fds: list[int]) -> None:
    for fd in fds:
        os.close(fd)


def _watch(control: Socket, child: int, cpu: float, started: float, wall: float, listener: int | None) -> int:
    """Wait for a child, and end it when it passes a limit or when the judge is gone."""
    deadline = started + wall
    clock = (~child << 3) | 2  # CPUCLOCK_SCHED of a process, see clock_getcpuclockid(3)
    ended = os.pidfd_open(child)
    try:
        poller = select.poll()
        poller.register(ended, select.POLLIN)
        poller.register(control.fileno(), select.POLLRDHUP)
        if listener is not None:
            poller.register(listener, select.POLLIN)
        left = min(cpu, deadline - time.monotonic())
        while True:
            ready = {fd for fd, _ in poller.poll(max(1.0, 1000.0 * left))}
            if ended in ready:
                return WITHIN
            if control.fileno() in ready:
                os.kill(child, signal.SIGKILL)
                os._exit(0)
            if listener in ready:
                threads.answer(listener, child)
            used, late = time.clock_gettime(clock), time.monotonic() >= deadline
            if used >= cpu:
                os.kill(child, signal.SIGKILL)
                return CPU_LIMIT
            if late:
                more = _more_time(control, ended, time.monotonic() - started)
                if more <= 0.0 and not any(fd == ended for fd, _ in poller.poll(0)):
                    os.kill(child, signal.SIGKILL)
                    return WALL_LIMIT
                deadline = time.monotonic() + more
            left = min(cpu - used, deadline - time.monotonic())
    finally:
        os.close(ended)


def _more_time(control: Socket, process: int, elapsed: float) -> float:
    """Further wall time, from the judge, which sees how long the process waited for a core."""
    messages.send(control, messages.LATE, messages.SECONDS.pack(elapsed), (process,))
    kind, body, _ = messages.receive(control)
    if kind != messages.WAIT:
        os._exit(0)  # the judge is gone; the child dies with its parent
    more: float = messages.SECONDS.unpack(body)[0]
    return more
