"""The sandbox: a pool of warm workers."""

import atexit
import os
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Literal, Self, cast

from rlanything_verifiers.coding.language import TITLES, Language, check_language

from .errors import SandboxError, SandboxUnsupported, UnsafeSandbox
from .holder import Holder, Worker, talk
from .interaction import Interaction
from .limits import Limits
from .packages import show
from .run import Run
from .tier import SAFE, TIERS, Tier, probe

#: Called with the index of an input and its run; ``True`` leaves the remaining inputs out.
Stop = Callable[[int, Run], bool]
#: The same for a conversation.
StopTalks = Callable[[int, Interaction], bool]


class Sandbox:
    """Runs untrusted programs on inputs, each in its own process without other rights.

    Workers start on demand and stay warm. Several threads may use one sandbox at once: each
    submission has a worker to itself, and a thread waits while all are busy. After a fork the child starts workers
    of its own.

    Args:
        workers: Number of worker processes; ``None``: one for each core this process may use.
        tier: Protection, see `Tier`; ``None``: the best this machine offers.
        backend: ``"process"`` for workers on this machine (Linux), ``"docker"`` for workers in containers.
        allow_unsafe: Accept a tier below ``"landlock"``, which leaves this machine's files open to programs.
        packages: Third-party packages that Python programs may import besides the standard library, with those that
            they need; nothing else of the environment can be read. They are imported once a worker.
        environment: Where they are installed: path of a virtual environment of this Python version, or of a directory
            of packages. ``None``: the environment of this process, or of the image's Python for containers.

    Attributes:
        identity: Everything that a run depends on besides program, input and limits: tier, packages and environment.
        tier: The protection in force; ``"docker"`` for containers.
        workers: Number of worker processes.

    Raises:
        SandboxUnsupported: A package is not installed in the environment.
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
        packages: Sequence[str] = (),
        environment: str | None = None,
    ) -> None:
        if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
            raise ValueError(f"workers is {workers!r}; expected a positive integer, or None for one a core")
        self.workers = workers or _cores()
        self.tier: str
        self.packages, self.environment = _names(packages), environment
        self.tier, self._start = _starter(backend, tier, allow_unsafe, self.packages, environment)
        self.identity = " ".join((self.tier, *self.packages, *([environment] if environment else [])))
        self._reset()
        _POOLS.add(self)

    def run(
        self,
        program: str | bytes,
        inputs: Sequence[bytes],
        limits: Limits = Limits(),  # noqa: B008 - frozen
        stop: Stop | None = None,
        language: Language = "python",
    ) -> list[Run]:
        """Run one program on inputs, one after the other.

        Args:
            program: Source text; bytes as they would stand in a file.
            inputs: Standard input of each test.
            limits: Resources of each test.
            stop: Called after each test with its index and run; ``True`` ends the submission there.
            language: Language of the program.

        Returns:
            One run an input, in order; fewer if ``stop`` ended it.

        Raises:
            JudgeError: There is no such language.
            SandboxUnsupported: There is no compiler for it here; the message names the package.
            SandboxError: The sandbox is closed.
            TypeError: An input is not bytes.
        """
        for index, data in enumerate(inputs):
            if not isinstance(data, bytes):
                raise TypeError(f"input {index} is {type(data).__name__}; expected bytes")
        holder = self._holder(program, limits, check_language(language))
        runs: list[Run] = []
        try:
            for index, data in enumerate(inputs):
                runs.append(holder.test(data))
                if stop is not None and stop(index, runs[-1]):
                    break
        except BaseException:
            holder.abandon()
            raise
        holder.close()
        return runs

    def interact(
        self,
        program: str | bytes,
        interactor: str | bytes,
        inputs: Sequence[bytes],
        limits: Limits = Limits(),  # noqa: B008 - frozen
        interactor_limits: Limits = Limits(),  # noqa: B008 - frozen
        stop: StopTalks | None = None,
        language: Language = "python",
    ) -> list[Interaction]:
        """Connect a program with an interactor, which is equally untrusted, once for each input.

        The output of each is the input of the other; only the interactor reads the test's input, before anything else.
        The interactor runs in a worker of a second pool, which starts on demand.

        Args:
            program: Source text; bytes as they would stand in a file.
            interactor: Source text of the interactor.
            inputs: First input of the interactor, for each test.
            limits: Resources of the program in each test.
            interactor_limits: Resources of the interactor in each test.
            stop: Called after each test with its index and outcome; ``True`` ends the submission there.
            language: Language of the program; the interactor is in Python.

        Returns:
            One outcome an input, in order; fewer if ``stop`` ended it.

        Raises:
            SandboxUnsupported: The backend cannot connect programs.
            JudgeError: There is no such language.
            SandboxUnsupported: There is no compiler for it here; the message names the package.
            SandboxError: The sandbox is closed.
        """
        partner = self._partners()._holder(interactor, interactor_limits, "python")
        pair = (self._holder(program, limits, check_language(language)), partner)
        talks: list[Interaction] = []
        try:
            for index, data in enumerate(inputs):
                talks.append(talk(*pair, data))
                if stop is not None and stop(index, talks[-1]):
                    break
        except BaseException:
            for holder in pair:
                holder.abandon()
            raise
        for holder in pair:
            holder.close()
        return talks

    def check_interaction(self) -> None:
        """Check that `interact` works with this backend.

        Raises:
            SandboxUnsupported: It does not.
        """
        if self.tier == "docker":
            raise SandboxUnsupported(
                "programs in containers cannot talk with an interactor: judge interactive problems with "
                "backend='process', inside a container with allow_unsafe=True"
            )

    def require(self, language: Language) -> None:
        """Check that programs in a language can run here, by running one.

        Raises:
            JudgeError: There is no such language.
            SandboxUnsupported: There is no compiler for it here; the message names the package.
            SandboxError: The sandbox cannot run it for another reason, or is closed.
        """
        if language == "python":
            return
        (run,) = self.run("int main() {}", [b""], language=language)
        if run.status != "OK":
            raise SandboxError(f"programs in {TITLES[language]} do not run here: {run.status}: {run.detail}")

    def close(self) -> None:
        """End all workers and their running programs. May be called more than once."""
        with self._free:
            self._closed = True
            second = self._second
            idle = list(self._idle)
            busy = self._all.difference(idle)
            self._idle.clear()
            self._all.clear()
            self._free.notify_all()
        for worker in idle:
            worker.kill()
        if second is not None:
            second.close()
        for worker in busy:  # the thread that waits for it gets an error and cleans up
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
        self._second: Sandbox | None = None
        self._free = threading.Condition(threading.Lock())
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._busy = 0
        self._closed = False

    def _holder(self, program: str | bytes, limits: Limits, language: Language) -> Holder:
        text = program.encode("utf-8", "surrogatepass") if isinstance(program, str) else bytes(program)
        verdict = None
        if len(text) > limits.source:
            verdict = Run("CE", detail=f"the program has {len(text)} bytes; the limit is {limits.source}")
        return Holder(self, text, limits, language, verdict)

    def _partners(self) -> "Sandbox":
        """The pool of the interactors: as many workers again, so that no pair waits for its second half."""
        self.check_interaction()
        with self._free:
            self._check_open()
            if self._second is None:
                self._second = Sandbox(self.workers, tier=cast("Tier", self.tier), allow_unsafe=True)
            return self._second

    def _after_fork(self) -> None:
        closed = self._closed
        for worker in self._all:
            worker.forget()
        self._reset()
        self._closed = closed

    def _acquire(self) -> Worker:
        """Reserve a free worker.

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


def _names(packages: Sequence[str]) -> tuple[str, ...]:
    if isinstance(packages, str):
        raise ValueError(f"packages is the text {packages!r:.60}; expected a list of names")
    return tuple(packages)


def _starter(
    backend: str, tier: Tier | None, allow_unsafe: bool, packages: tuple[str, ...], environment: str | None
) -> tuple[str, Callable[[], Worker]]:
    if backend == "docker":
        if tier is not None:
            raise ValueError(f"tier {tier!r} with backend='docker': a container takes the best that works inside")
        from .container import Container, connect

        connect().close()
        return "docker", lambda: Container(packages, environment)
    if backend != "process":
        raise ValueError(f"backend is {backend!r}; expected 'process' or 'docker'")
    chosen = _choose(tier, allow_unsafe)
    from .process import Process

    shown = show(packages, environment) if packages else None
    return chosen, lambda: Process(chosen, packages=shown)


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
os.register_at_fork(after_in_child=_after_fork)
