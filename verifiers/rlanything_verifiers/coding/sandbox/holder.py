"""A program with the worker it holds; alone, or connected with an interactor."""

from collections.abc import Callable
from typing import Protocol, TypeVar, cast

from .errors import SandboxError, SandboxUnsupported, WorkerLost
from .interaction import Interaction, Talker, converse
from .limits import Limits
from .run import Run

T = TypeVar("T")


class Worker(Protocol):
    """Interface of workers, see `process.Process`."""

    def begin(self, program: bytes, limits: Limits, language: str) -> str | None: ...  # noqa: D102
    def test(self, data: bytes, limits: Limits) -> Run: ...  # noqa: D102
    def end(self) -> None: ...  # noqa: D102
    def kill(self) -> None: ...  # noqa: D102
    def interrupt(self) -> None: ...  # noqa: D102
    def forget(self) -> None: ...  # noqa: D102


class Lender(Protocol):
    """Interface of a pool that lends workers, see `pool.Sandbox`."""

    def _acquire(self) -> Worker: ...
    def _release(self, worker: Worker | None, *, lost: bool = False) -> None: ...
    def _check_open(self) -> None: ...


class Holder:
    """One program in a sandbox: holds a worker, and acquires another when that is lost.

    Attributes:
        limits: Resources of each test.
        verdict: Verdict on all inputs of a program that does not compile; None before.
    """

    def __init__(self, sandbox: Lender, program: bytes, limits: Limits, language: str, verdict: Run | None) -> None:
        self.limits = limits
        self.verdict = verdict
        self._sandbox = sandbox
        self._program = program
        self._language = language
        self._worker: Worker | None = None

    def test(self, data: bytes) -> Run:
        """Run the program on an input; IE after two lost workers."""

        def once() -> Run:
            worker = self.ready()
            return self.verdict or Run("IE") if worker is None else worker.test(data, self.limits)

        return _tried((self,), once, lambda reason: Run("IE", detail=reason))

    def ready(self) -> Worker | None:
        """A worker that has compiled the program; None if it does not compile, with the reason in `verdict`."""
        if self.verdict is None and self._worker is None:
            self._worker = self._sandbox._acquire()
            message = self._worker.begin(self._program, self.limits, self._language)
            if message is not None:
                worker, self._worker = self._worker, None
                self._sandbox._release(worker)
                self.verdict = Run("CE", detail=message)
        return self._worker

    def close(self) -> None:
        """Give the worker back."""
        worker, self._worker = self._worker, None
        if worker is not None:
            try:
                worker.end()
            except WorkerLost:
                self._sandbox._release(worker, lost=True)
            else:
                self._sandbox._release(worker)

    def abandon(self) -> None:
        """Give up the worker."""
        worker, self._worker = self._worker, None
        if worker is not None:
            self._sandbox._release(worker, lost=True)

    def check_open(self) -> None:
        """Check that the sandbox is open.

        Raises:
            SandboxError: The sandbox is closed.
        """
        self._sandbox._check_open()


def talk(program: Holder, interactor: Holder, opening: bytes) -> Interaction:
    """Connect a program with an interactor; both are IE when workers are lost repeatedly."""

    def once() -> Interaction:
        one, other = program.ready(), interactor.ready()
        if one is None or other is None:
            return Interaction(program.verdict or Run("OK"), interactor.verdict or Run("OK"))
        # Both are processes: no other worker gets here, see `Sandbox.check_interaction`.
        return converse(cast("Talker", one), cast("Talker", other), opening, program.limits, interactor.limits)

    def lost(reason: str) -> Interaction:
        run = Run("IE", detail=reason)
        return Interaction(run, run)

    return _tried((program, interactor), once, lost)


def _tried(holders: tuple[Holder, ...], once: Callable[[], T], lost: Callable[[str], T]) -> T:
    """Result of a call with the workers of some holders; each worker is replaced once, the next loss is reported."""
    reason = ""
    for _ in range(len(holders) + 1):
        try:
            return once()
        except SandboxUnsupported:  # another worker would not have it either
            raise
        except (WorkerLost, SandboxError, OSError) as error:
            for holder in holders:
                holder.abandon()
            for holder in holders:
                holder.check_open()
            reason = str(error)
    return lost(reason)
