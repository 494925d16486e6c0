"""The sandbox: a pool of warm workers."""

import atexit
import os
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Literal, Protocol, Self

from .errors import SandboxError, UnsafeSandbox, WorkerLost
from .limits import Limits
from .run import Run
from .tier import SAFE, TIERS, Tier, probe

#: Called with the index of an input and its run; ``True`` leaves the remaining inputs out.
Stop = Callable[[int, Run], bool]

#: A worker that is lost is replaced once for each input; the second loss is reported.
_ATTEMPTS = 2


class Worker(Protocol):
    """One place where programs run, see `process.Process`."""

    def begin(self, program: bytes, limits: Limits) -> str | None: ...  # noqa: D102
    def test(self, data: bytes, limits: Limits) -> Run: ...  # noqa: D102
    def end(self) -> None: ...  # noqa: D102
    def kill(self) -> None: ...  # noqa: D102
    def interrupt(self) -> None: ...  # noqa: D102
    def forget(self) -> None: ...  # noqa: D102


class Sandbox:
    """Runs untrusted Python programs on inputs, each in a process of its own that can do nothing else.

    Workers start when they are first needed and stay warm. Several threads may use one sandbox at once: each
    submission has a worker to itself, and a thread waits while all are busy. After a fork the child starts workers
    of its own.

    Args:
        workers: Number of worker processes; ``None``: one for each core this process may use.
        tier: Protection, see `Tier`; ``None``: the best this machine offers.
        backend: ``"process"`` for workers on this machine (Linux), ``"docker"`` for workers in containers.
        allow_unsafe: Accept a tier below ``"landlock"``, which leaves this machine's files open to programs.

    Attributes:
        tier: The protection in force; ``"docker"`` for containers.
        workers: Number of worker processes.

    Raises:
        SandboxError: The tier or backend does not work here; the message says why.
        UnsafeSandbox: Only tiers below ``"landlock"`` work here, and ``allow_unsafe`` is not given.
        ValueError: An argument is out of range.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        tier: Tier | None = None,
        backend: Literal["process", "docker"] = "process",
        allow_unsafe: bool = False,
    ) -> None:
        if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
            raise ValueError(f"workers is {workers!r}; expected a positive integer, or None for one a core")
        self.workers = workers or _cores()
        self.tier: str
        self.tier, self._start = _starter(backend, tier, allow_unsafe)
        self._reset()
        _POOLS.add(self)

    def run(
        self,
        program: str | bytes,
        inputs: Sequence[bytes],
        limits: Limits = Limits(),  # noqa: B008 - frozen
        stop: Stop | None = None,
    ) -> list[Run]:
        """Run one program on inputs, one after the other.

        Args:
            program: Source text; bytes as they would stand in a file.
            inputs: Standard input of each test.
            limits: Resources of each test.
            stop: Called after each test with its index and run; ``True`` ends the submission there.

        Returns:
            One run an input, in order; fewer if ``stop`` ended it.

        Raises:
            SandboxError: The sandbox is closed.
            TypeError: An input is no bytes.
        """
        for index, data in enumerate(inputs):
            if not isinstance(data, bytes):
                raise TypeError(f"input {index} is {type(data).__name__}; expected bytes")
        text = program.encode("utf-8", "surrogatepass") if isinstance(program, str) else bytes(program)
        verdict = None
        if len(text) > limits.source:
            verdict = Run("CE", detail=f"the program has {len(text)} bytes; the limit is {limits.source}")
        submission = _Submission(self, text, limits, verdict)
        runs: list[Run] = []
        try:
            for index, data in enumerate(inputs):
                runs.append(submission.test(data))
                if stop is not None and stop(index, runs[-1]):
                    break
        except BaseException:
            submission.abandon()
            raise
        submission.close()
        return runs

    def close(self) -> None:
        """End all workers; what runs is lost. May be called more than once."""
        with self._free:
            self._closed = True
            idle = list(self._idle)
            busy = self._all.difference(idle)
            self._idle.clear()
            self._all.clear()
            self._free.notify_all()
        for worker in idle:
            worker.kill()
        for worker in busy:  # the thread that waits for it hears of it and cleans up
            worker.interrupt()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_free"):
            self.close()

    def _reset(self) -> None:
        self._free = threading.Condition(threading.Lock())
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._busy = 0
        self._closed = False

    def _after_fork(self) -> None:
        closed = self._closed
        for worker in self._all:
            worker.forget()
        self._reset()
        self._closed = closed

    def _acquire(self) -> Worker:
        """A worker nobody else uses.

        Raises:
            SandboxError: The sandbox is closed, or no worker starts.
        """
        with self._free:
            while not self._closed and self._busy >= self.workers:
                self._free.wait()
            self._check_open()
            self._busy += 1
            if self._idle:
                return self._idle.pop()
        try:
            worker = self._start()
        except BaseException:
            self._release(None)
            raise
        with self._free:
            if not self._closed:
                self._all.add(worker)
                return worker
        self._release(worker, lost=True)
        raise SandboxError(_CLOSED)

    def _release(self, worker: Worker | None, *, lost: bool = False) -> None:
        with self._free:
            self._busy -= 1
            lost = lost or self._closed
            if worker is not None and lost:
                self._all.discard(worker)
            elif worker is not None:
                self._idle.append(worker)
            self._free.notify()
        if worker is not None and lost:
            worker.kill()

    def _check_open(self) -> None:
        if self._closed:
            raise SandboxError(_CLOSED)


_CLOSED = "the sandbox is closed; make a new one"


class _Submission:
    """One program on its way through a sandbox: holds a worker, and gets another when it is lost."""

    def __init__(self, sandbox: Sandbox, program: bytes, limits: Limits, verdict: Run | None) -> None:
        self._sandbox = sandbox
        self._program = program
        self._limits = limits
        self._verdict = verdict  # of all inputs, when the program does not compile
        self._worker: Worker | None = None

    def test(self, data: bytes) -> Run:
        reason = ""
        for _ in range(_ATTEMPTS):
            if self._verdict is not None:
                return self._verdict
            try:
                return self._attempt(data)
            except (WorkerLost, SandboxError, OSError) as error:
                self.abandon()
                with self._sandbox._free:
                    self._sandbox._check_open()
                reason = str(error)
        return Run("IE", detail=reason)

    def _attempt(self, data: bytes) -> Run:
        if self._worker is None:
            self._worker = self._sandbox._acquire()
            message = self._worker.begin(self._program, self._limits)
            if message is not None:
                worker, self._worker = self._worker, None
                self._sandbox._release(worker)
                self._verdict = Run("CE", detail=message)
                return self._verdict
        return self._worker.test(data, self._limits)

    def close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            try:
                worker.end()
            except WorkerLost:
                self._sandbox._release(worker, lost=True)
            else:
                self._sandbox._release(worker)

    def abandon(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            self._sandbox._release(worker, lost=True)


def _starter(backend: str, tier: Tier | None, allow_unsafe: bool) -> tuple[str, Callable[[], Worker]]:
    if backend == "docker":
        if tier is not None:
            raise ValueError(f"tier {tier!r} with backend='docker': a container takes the best that works inside")
        from .container import Container, connect

        connect().close()
        return "docker", Container
    if backend != "process":
        raise ValueError(f"backend is {backend!r}; expected 'process' or 'docker'")
    chosen = _choose(tier, allow_unsafe)
    from .process import Process

    return chosen, lambda: Process(chosen)


def _choose(tier: Tier | None, allow_unsafe: bool) -> Tier:
    if tier is not None and tier not in TIERS:
        raise ValueError(f"tier is {tier!r}; expected one of {', '.join(TIERS)}, or None for the best")
    if sys.platform != "linux":
        raise SandboxError(f"worker processes need Linux, this is {sys.platform}; use backend='docker'")
    reasons = {}
    for candidate in TIERS if tier is None else (tier,):
        if candidate not in SAFE and not allow_unsafe:
            break
        reason = probe(candidate)
        if reason is None:
            return candidate
        reasons[candidate] = reason
    why = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    if tier in SAFE or (tier is not None and allow_unsafe):
        raise SandboxError(f"tier {tier!r} does not work here: {why}")
    if tier is not None:
        raise UnsafeSandbox(f"tier {tier!r} leaves this machine's files open to programs; allow_unsafe=True accepts it")
    raise UnsafeSandbox(f"no safe tier works here ({why}); use backend='docker', or accept with allow_unsafe=True")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_POOLS: "weakref.WeakSet[Sandbox]" = weakref.WeakSet()
_default: Sandbox | None = None
_default_lock = threading.Lock()


def default_sandbox() -> Sandbox:
    """The sandbox of this process: one worker a core, made at the first call.

    Raises:
        SandboxError: No safe tier works here.
    """
    global _default
    with _default_lock:
        if _default is None or _default._closed:
            _default = Sandbox()
        return _default


def _close_all() -> None:
    for pool in list(_POOLS):
        pool.close()


def _after_fork() -> None:
    global _default_lock
    _default_lock = threading.Lock()
    for pool in list(_POOLS):
        pool._after_fork()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
