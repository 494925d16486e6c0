"""The judge's end of one worker process."""

import marshal
import os
import signal
import socket
import subprocess
from contextlib import suppress
from hashlib import blake2b

from . import messages, runtime, toolchain, waiting
from .compiled import EXECUTABLES, Built, Executable
from .errors import SandboxError, WorkerLost
from .limits import Limits
from .memory_file import executable, seal, sealed
from .packages import Shown
from .run import Run, signal_name, status_of

#: Seconds a worker may take to start, and to compile Python, on a machine that is very busy.
_START, _COMPILE = 60.0, 120.0
#: Processor time of a compiler for all that it does, and how much longer each of its steps may take, in seconds. The
#: largest standard header takes 2 s; a step that waits for something else than a core reads what it should not.
_COMPILER, _IDLE = 10.0, 3.0
#: Seconds after a test's own deadline until the worker is considered dead.
_GRACE = 30.0
#: Seconds after which a program that was ready to run is looked at again.
_STEP = 0.5
#: Bytes kept of standard error: its end.
_STDERR, _HEAD = 8192, 1024
#: Bytes read of a compiler's messages: their beginning, where the first error stands.
_MESSAGES = 1 << 16


class Process:
    """A worker process of one tier. Not thread-safe; `Sandbox` lends it to one submission at a time.

    Args:
        tier: Rights that it drops before it runs anything.
        tools: For a compile worker: the compiler it may start.
        packages: Packages that programs may import besides the standard library.

    Raises:
        SandboxError: It did not start; the message holds its reason.
    """

    def __init__(self, tier: str, tools: toolchain.Toolchain | None = None, packages: Shown | None = None) -> None:
        found = runtime.runtime()
        self._tier = tier
        self._compiler: Process | None = None
        links, more = found.links, None
        if tools is not None:
            links = tools.links | links
            more = (tools.readable, tools.steps, toolchain.ENVIRONMENT)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # The worker's streams are a file in memory, so that Python opens them as it opens those of a test.
        log = os.memfd_create("worker")
        command = [runtime.interpreter(), *runtime.FLAGS, "-c", runtime.BOOT.format(module="worker")]
        command += [runtime.package(), str(theirs.fileno()), "0"]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=log,
                stdout=log,
                stderr=log,
                env=runtime.ENVIRONMENT | (runtime.ONE_THREAD if packages is not None else {}),
                cwd="/",
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            os.close(log)
            raise SandboxError(f"the interpreter {command[0]} does not start: {error}") from error
        finally:
            theirs.close()
        self._control = ours
        self._log = log
        self._stderr = -1  # of the running program
        self._grace = 0.0  # seconds it may still take because it is ready to run
        self._overload = ""  # reason why it waits for a core
        self._seen: tuple[float, float, float] | None = None  # the witness when it was late first, and that time
        self._outcome: bytes | None = None
        self._places = [f"{place}/".encode() for place in (runtime.package(), *sorted(found.library, key=len)[::-1])]
        try:
            third = None if packages is None else (packages.path, packages.modules)
            shared = found.shared if packages is None else [*found.shared, *packages.readable]
            links = links if packages is None else links | packages.links
            body = marshal.dumps((tier, found.library, found.members, found.hidden, shared, links, more, third))
            messages.send(ours, messages.START, body)
            kind, said, _ = self._receive(_START)
            if kind != messages.HELLO:
                raise WorkerLost(said.decode(errors="replace") or "it sent nonsense")
        except (WorkerLost, OSError) as error:
            tail = os.pread(log, 2000, max(0, os.fstat(log).st_size - 2000)).decode(errors="replace").strip()
            self.kill()
            raise SandboxError(f"a worker of tier {tier!r} does not start: {error}{tail and '; ' + tail}") from error
        #: Protection in force, as the worker reports it.
        self.facts = said.decode(errors="replace")

    def begin(self, program: bytes, limits: Limits, language: str = "python") -> str | None:
        """Compile a program.

        Returns:
            The compiler's message, or ``None`` if inputs can be run; then `end` must follow.

        Raises:
            SandboxUnsupported: There is no compiler here.
            WorkerLost: The worker died for another reason than the program's text.
        """
        body = messages.SUBMISSION.pack(limits.memory, limits.output)
        if language == "cpp":
            tools = toolchain.toolchain()
            key = self._tier, blake2b(program, digest_size=16).digest()
            built = EXECUTABLES.get(key, lambda: self._build(program, tools))
            if isinstance(built, str):
                return built
            self._send(messages.EXECUTE, body, (built.fd,))
        else:
            source = sealed(program)
            try:
                self._send(messages.SUBMIT, body, (source,))
            finally:
                os.close(source)
        kind, said, _ = self._receive(_COMPILE)
        if kind == messages.READY:
            return None
        if kind == messages.BROKEN:
            return said.decode(errors="replace")
        if kind == messages.DEAD:
            code = os.waitstatus_to_exitcode(messages.STATUS.unpack(said)[0])
            if code == -signal.SIGPROF:
                return "compiling takes too long"
            if code in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS):
                return f"the compiler crashed ({signal_name(-code)})"
        raise WorkerLost(f"the answer to a program was {kind!r} {said[:100]!r}")

    def _build(self, program: bytes, tools: toolchain.Toolchain) -> Built:
        """The executable of a C++ program, or the compiler's message.

        Raises:
            SandboxError: The compile worker does not start.
            WorkerLost: It died.
        """
        if self._compiler is None:
            self._compiler = Process(self._tier, tools)
        try:
            return self._compiler.compile(program, tools)
        except WorkerLost:
            self._compiler.kill()
            self._compiler = None
            raise

    def compile(self, program: bytes, tools: toolchain.Toolchain) -> Built:
        """Run the compiler, in a compile worker.

        Returns:
            The executable, or the beginning of the messages.

        Raises:
            WorkerLost: The worker failed, or the machine is overloaded.
        """
        files = [sealed(program)]
        try:
            result = Executable(executable())
            files += [os.memfd_create("main.s"), os.memfd_create("main.o"), os.dup(result.fd)]
            left = _COMPILER
            for step in range(len(tools.steps)):
                limits = Limits(cpu=left, wall=left + _IDLE)
                self._send(messages.COMPILE, bytes((step,)))
                self.start(files[step], files[step + 1], limits)
                try:
                    passed, ended, used, _ = self._ended(limits)
                    said = os.pread(self._stderr, _MESSAGES, 0)
                finally:
                    self._close_stderr()
                self._send(messages.END)
                left -= used
                code = os.waitstatus_to_exitcode(ended)
                if passed == messages.WALL_LIMIT and self._overload:
                    raise WorkerLost(self._overload)
                if passed != messages.WITHIN or left < _STEP or code == -signal.SIGXCPU:
                    return f"compiling takes longer than {_COMPILER:g} s of processor time, or waits for something"
                if code == messages.NOT_STARTED:
                    raise WorkerLost(f"{tools.steps[step][0][0]} does not start")
                if code != 0:
                    text = tools.tidy(step, said.decode(errors="replace")).strip().encode()[: messages.MAX_TEXT]
                    return text.decode(errors="ignore") or (
                        f"the compiler was ended by {signal_name(-code)}" if code < 0 else "the compiler failed"
                    )
        finally:
            for fd in files:
                os.close(fd)
        seal(result.fd)
        result.size = os.fstat(result.fd).st_size
        return result

    def test(self, data: bytes, limits: Limits) -> Run:
        """Run the program on one input.

        Raises:
            WorkerLost: The worker died or broke the protocol.
        """
        stdin, stdout = sealed(data), os.memfd_create("stdout")
        try:
            self.start(stdin, stdout, limits)
            return self.result(limits, stdout)
        finally:
            os.close(stdin)
            os.close(stdout)

    def start(self, stdin: int, stdout: int, limits: Limits) -> None:
        """Start the program on streams, pipes for example; `result` must follow.

        Raises:
            WorkerLost: The worker is gone.
        """
        self._stderr = os.memfd_create("stderr")
        self._grace, self._overload, self._seen, self._outcome = limits.deadline, "", None, None
        try:
            body = messages.LIMITS.pack(limits.cpu, limits.deadline)
            self._send(messages.TEST, body, (stdin, stdout, self._stderr))
        except BaseException:
            self._close_stderr()
            raise

    def result(self, limits: Limits, stdout: int | None = None) -> Run:
        """Wait for the end of the program of `start`.

        Args:
            limits: The limits of `start`.
            stdout: The file it writes to; None for a pipe, whose data is not in the run.

        Raises:
            WorkerLost: The worker died or broke the protocol.
        """
        try:
            passed, ended, cpu, wall = self._ended(limits)
            written, complained = 0 if stdout is None else os.fstat(stdout).st_size, os.fstat(self._stderr).st_size
            out = b"" if stdout is None else os.pread(stdout, min(written, limits.output), 0)
            err = self._plain(os.pread(self._stderr, _STDERR, max(0, complained - _STDERR)), complained > _STDERR)
            head = os.pread(self._stderr, _HEAD, 0).decode(errors="replace") if complained > _STDERR else ""
        finally:
            self._close_stderr()
        code = os.waitstatus_to_exitcode(ended)
        exit_code, number = (code, None) if code >= 0 else (None, -code)
        if passed == messages.WALL_LIMIT and self._overload:
            return Run("IE", out, err, cpu, wall, exit_code, number, self._overload)
        status, detail = status_of(
            passed, exit_code, number, err, max(written, complained) > limits.output, limits, cpu
        )
        return Run(status, out, err, cpu, wall, exit_code, number, detail, head)

    def _ended(self, limits: Limits) -> tuple[int, int, float, float]:
        while self._outcome is None:
            self.attend(limits)
        outcome: tuple[int, int, float, float] = messages.OUTCOME.unpack(self._outcome)
        return outcome

    def attend(self, limits: Limits) -> bool:
        """Wait for a message of the worker: the program has ended, or takes long, which is answered.

        Returns:
            Whether it has ended; `result` does not wait then.

        Raises:
            WorkerLost: The worker died or broke the protocol.
        """
        kind, said, fds = self._receive(limits.deadline + _GRACE)
        if kind == messages.LATE and len(fds) == 1:
            try:
                more = self._more_time(fds[0], messages.SECONDS.unpack(said)[0], limits)
            finally:
                os.close(fds[0])
            self._send(messages.WAIT, messages.SECONDS.pack(more))
            return False
        if kind != messages.DONE:
            raise WorkerLost(f"the answer to an input was {kind!r} {said[:100]!r}")
        self._outcome = said
        return True

    def _more_time(self, process: int, elapsed: float, limits: Limits) -> float:
        """Further wall time of a program in seconds: the time that it has been waiting for a core.

        When its patience ends, only the witness can tell whether the machine is overloaded: with less of a core than
        the program may use, it could not have ended. Else it is the program that lets others go first.
        """
        delay = waiting.run_delay(process, elapsed)
        if delay is None:
            return 0.0
        more = limits.deadline - (elapsed - delay.seconds)
        if more < _STEP and delay.ready:  # the current wait is not counted yet
            more = max(more, 0.0)
            grace = min(_STEP - more, self._grace)
            self._grace -= grace
            more += grace
        if more <= 0.0:
            return 0.0
        more = min(more, limits.deadline, max(_STEP, limits.patience - elapsed))
        ran, lacked = waiting.WITNESS.look(more + _GRACE)
        if self._seen is None:
            self._seen = ran, lacked, elapsed
        if elapsed <= limits.patience:
            return more
        ran, lacked, late = ran - self._seen[0], lacked - self._seen[1], elapsed - self._seen[2]
        if ran > 0.0 and late * ran / (ran + lacked) < min(limits.cpu, limits.deadline):
            self._overload = (
                f"the machine is overloaded: {delay.seconds:.0f} of {elapsed:.0f} s the program waited for a core, and "
                f"nobody got more than {ran / (ran + lacked):.1%} of one; use fewer workers or a less busy machine"
            )
        return 0.0

    def _plain(self, errors: bytes, cut: bool) -> bytes:
        """The error stream without this machine's paths: where Python lies, and this package."""
        if cut:  # the first line may begin within a path
            errors = errors[errors.find(b"\n") + 1 :]
        for place in self._places:
            errors = errors.replace(place, b"")
        return errors

    def fileno(self) -> int:
        """The descriptor that becomes readable when there is something to `attend` to."""
        return self._control.fileno()

    def end(self) -> None:
        """End a submission; the worker is free for the next.

        Raises:
            WorkerLost: The worker is gone.
        """
        self._send(messages.END)

    def kill(self) -> None:
        """End the worker and everything in it."""
        self._close()
        self._process.kill()
        self._process.wait()
        compiler, self._compiler = self._compiler, None
        if compiler is not None:
            compiler.kill()

    def interrupt(self) -> None:
        """End the worker while another thread waits for it; that thread gets `WorkerLost`, and must `kill` it."""
        self._process.kill()
        with suppress(AttributeError):  # the other thread may just let go of it
            if self._compiler is not None:
                self._compiler.interrupt()

    def forget(self) -> None:
        """Release a worker that another process owns, after a fork."""
        self._close()
        self._process.returncode = 0  # or its destructor would wait for a child of another process
        if self._compiler is not None:
            self._compiler.forget()

    def _close_stderr(self) -> None:
        if self._stderr >= 0:
            os.close(self._stderr)
            self._stderr = -1

    def _close(self) -> None:
        self._close_stderr()
        self._control.close()
        if self._log >= 0:
            os.close(self._log)
            self._log = -1

    def _send(self, kind: bytes, body: bytes = b"", fds: tuple[int, ...] = ()) -> None:
        try:
            messages.send(self._control, kind, body, fds)
        except OSError as error:
            raise WorkerLost(f"the worker is gone: {error}") from error

    def _receive(self, seconds: float) -> tuple[bytes, bytes, list[int]]:
        self._control.settimeout(seconds)
        try:
            answer = messages.receive(self._control)
        except TimeoutError as error:
            raise WorkerLost(f"no answer in {seconds:g} s") from error
        except OSError as error:
            raise WorkerLost(f"the worker is gone: {error}") from error
        if not answer[0]:
            raise WorkerLost("the worker ended")
        return answer
