"""The inside of the desktop, seen from the server: started, asked, and ended with everything that runs in it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import math
import os
import select
import signal
import socket
import struct
import subprocess
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .cgroup import ControlGroup
from .storage import LARGEST_FILE, Refusal

__all__ = ["Answer", "Interior", "InteriorError", "Settings", "in_memory", "pixels_file"]

_END_SECONDS = 10.0
_STATE_SECONDS = 15.0
_WATCH_SECONDS = 2.0
"""How often the desktop is looked at while a request is carried out, which a stopped program would make endless."""
_PROBE_EVERY = 3
"""Looks at the desktop between two questions to its X server, which a program may have grabbed."""
_PROBE = ["xset", "q"]
_PROBE_SECONDS = 10.0
_SLACK_SECONDS = 5.0
"""After which a request counts as lost that the inside should have ended itself."""
_LONGEST_ANSWER = 1 << 16
_SCREEN_EXTRA = 1 << 16
"""Bytes of the header and the colour map before the pixels, generously."""
_MFD_ALLOW_SEALING, _F_ADD_SEALS, _SEALS = 2, 1033, 1 | 2 | 4  # seal, shrink, grow
_PRINTED = 1 << 14
"""Bytes that are kept of what the programs of a sandbox print; an agent can write there."""
_KEYS = {"x86_64": (0xC000003E, 248), "aarch64": (0xC00000B7, 217)}
"""By machine: the kernel's mark, and the first of three calls for its keys, which no namespace hides."""
_LOAD, _EQUALS, _FROM, _ANSWER, _REFUSED, _ALLOWED = 0x20, 0x15, 0x35, 0x06, 0x50000 | errno.ENOSYS, 0x7FFF0000


class InteriorError(RuntimeError):
    """The inside cannot be started, or has ended."""


@dataclass(frozen=True)
class Settings:
    """How the inside is started.

    Attributes:
        home: the home directory as programs inside see it.
        screen: width and height in pixels.
        pixels: file descriptor of the screen's file in memory, see `pixels_file`.
        bwrap: the command that makes a sandbox.
        sandbox: arguments of it; None where this process is in a sandbox or a container already.
        user: id of the user inside: of bwrap's own process, or of everything inside; None for that of this process.
        memory, disk: bytes; processes: number, with threads. 0 for no limit.
        patience: seconds for the session to get ready; on an idle machine it takes one.
    """

    home: str
    screen: tuple[int, int]
    pixels: int
    bwrap: tuple[str, ...] = ("bwrap",)
    sandbox: list[str] | None = None
    user: int | None = None
    memory: int = 0
    disk: int = 0
    processes: int = 0
    patience: float = 60.0


@dataclass(slots=True)
class Answer:
    """Values of an answer, and what was written to the two streams."""

    values: dict[str, Any]
    out: bytes = b""
    err: bytes = b""


def _is_stopped(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "Tt"
    except OSError:
        return False


def pixels_file(screen: tuple[int, int]) -> int:
    """A file in memory for a screen: 4 bytes a pixel and a header; its size is fixed, so that no program fills it."""
    descriptor = os.memfd_create("screen", os.MFD_CLOEXEC | _MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, 4 * screen[0] * screen[1] + _SCREEN_EXTRA)
    fcntl.fcntl(descriptor, _F_ADD_SEALS, _SEALS)
    return descriptor


def _cleared(pixels: int) -> int:
    """A new handle of the screen's file, in which, and in whose attributes, the last session has left nothing."""
    os.fchmod(pixels, 0o666)  # nosec B103 # a file in memory; whoever runs the desktop draws in it
    handle = os.open(f"/proc/self/fd/{pixels}", os.O_RDWR | os.O_CLOEXEC)
    os.pwrite(handle, bytes(os.fstat(handle).st_size), 0)
    with contextlib.suppress(OSError):
        for name in os.listxattr(handle):
            if not name.startswith("security."):  # which no program of the desktop sets
                os.removexattr(handle, name)
    os.utime(handle)
    return handle


@dataclass
class Interior:
    """The process namespace, or the user, that everything on the desktop belongs to."""

    settings: Settings
    environment: dict[str, str] = field(default_factory=dict)
    _socket: socket.socket | None = None
    _process: subprocess.Popen[bytes] | None = None
    _keeper: threading.Thread | None = None
    _first: int = -1
    """Handle of the first process of bwrap's namespace: all others end with it."""
    _group: ControlGroup | None = None
    _deaf: str = ""
    """Why programs can no longer reach the screen."""
    _pid: int = 0
    """Process that carries out the requests, as this one sees it."""

    def start(self) -> None:
        """Start the session; returns when its window manager is there.

        Raises:
            InteriorError: it does not start; the message has the reason.
        """
        settings, self._deaf = self.settings, ""
        pixels = _cleared(settings.pixels)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        ours.settimeout(settings.patience)
        width, height = settings.screen
        command = ["/usr/bin/python3", "-BPs", "-m", "guest.inside", "--home", settings.home]
        command += ["--screen", f"{width}x{height}", "--socket", str(theirs.fileno())]
        command += ["--pixels", str(pixels), "--patience", str(settings.patience), "--disk", str(settings.disk)]
        command += ["--memory", str(settings.memory), "--processes", str(settings.processes)]
        self._group = ControlGroup(settings.memory, settings.processes)
        try:
            if settings.sandbox is None:
                self._keep(command, [theirs.fileno(), pixels], settings.user)
            else:
                self._start_sandbox(command, [theirs.fileno(), pixels], settings.sandbox, settings.user)
            theirs.close()
            self._pid = _sender(ours)
            self._group.add(self._pid)
            ours.send(b"go")
            ready = json.loads(ours.recv(_LONGEST_ANSWER) or b'{"error": "it ended at once"}')
        except (OSError, ValueError) as error:
            ours.close()
            self.end()
            raise InteriorError(f"the session did not start: {error}") from error
        finally:
            theirs.close()
            os.close(pixels)
        if "error" in ready:
            ours.close()
            self.end()
            raise InteriorError(str(ready["error"]))
        self.environment = ready["environment"]
        ours.settimeout(None)
        self._socket = ours

    def _start_sandbox(self, command: list[str], fds: list[int], sandbox: list[str], user: int | None) -> None:
        info_read, info_write = os.pipe()
        rules = in_memory(_without_keys())
        options = ["--info-fd", str(info_write), "--seccomp", str(rules), *sandbox]
        given = in_memory(b"\0".join(word.encode() for word in options))  # the desktop can read the command line
        try:
            words = [*self.settings.bwrap, "--args", str(given), *command]
            self._keep(words, [*fds, info_write, rules, given], user)
        finally:
            for descriptor in (info_write, rules, given):
                os.close(descriptor)
        with os.fdopen(info_read) as file:
            printed = file.read()
        try:
            self._first = os.pidfd_open(int(json.loads(printed)["child-pid"]))
        except (ValueError, KeyError, ProcessLookupError):
            raise OSError("bwrap made no sandbox") from None

    def _keep(self, command: list[str], fds: list[int], user: int | None) -> None:
        """Start a process from a thread that lives as long: the kernel ends a sandbox with the thread that started it.

        It prints to a socket, which no program can open through ``/proc``, as it could a file of this machine.
        """
        started: Future[subprocess.Popen[bytes]] = Future()
        ours, theirs = socket.socketpair()
        options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": theirs, "stderr": theirs, "pass_fds": fds}
        options |= {} if user is None else {"user": user, "group": user, "extra_groups": []}

        def keep() -> None:
            with ours:
                try:
                    with theirs:
                        process = subprocess.Popen(command, start_new_session=True, **options)
                except BaseException as error:
                    started.set_exception(error)
                    return
                started.set_result(process)
                left = _PRINTED
                while piece := ours.recv(_LONGEST_ANSWER):
                    with contextlib.suppress(OSError):
                        left -= os.write(2, piece[:left])
            process.wait()

        self._keeper = threading.Thread(target=keep, name="inside", daemon=True)
        self._keeper.start()
        self._process = started.result()

    def end(self) -> None:
        """End every process inside; may be called twice."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._first >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._first, signal.SIGKILL)
            select.select([self._first], [], [], _END_SECONDS)
            os.close(self._first)
            self._first = -1
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            if self.settings.sandbox is None:
                _end_all(self.settings.user)
        if self._keeper is not None:
            self._keeper.join(_END_SECONDS)  # it passes on what they printed
        if self._group is not None:
            self._group.remove()
            self._group = None

    def state(self) -> dict[str, Any]:
        """State of the inside.

        Returns:
            ``broken``: why it can no longer be used, empty where it can; ``busy``: how many threads compute; ``held``:
            seconds for which they have been kept from the processors.
        """
        try:
            values = self.ask({"kind": "state"}, _STATE_SECONDS, watch=False).values
            return {name: values[name] for name in ("broken", "busy", "held")} | (
                {"broken": self._deaf} if self._deaf else {}
            )
        except KeyError:
            return {"broken": "the session has ended before it answered", "busy": 0, "held": 0.0}
        except (InteriorError, TimeoutError, OSError) as error:
            return {"broken": str(error), "busy": 0, "held": 0.0}

    def ask(
        self,
        request: dict[str, Any],
        seconds: float,
        given: bytes = b"",
        merge: bool = False,
        free: float = math.inf,
        watch: bool = True,
    ) -> Answer:
        """Send a request and wait for its answer.

        Args:
            request: see `guest.inside`.
            seconds: how long the inside may take.
            given: code or content that goes with it.
            merge: whether both streams come back as one.
            free: how long it may take without the time in which other work kept the desktop from the processors.
            watch: whether to look at the desktop meanwhile.

        Raises:
            OSError: a program is not there, cannot be started, or a file cannot be read.
            Refusal: the request makes no sense, or a file is none.
            TimeoutError: it takes too long.
            InteriorError: the inside has ended, or can no longer be used, see `state`.
        """
        message, source, out, err = (os.memfd_create(name) for name in ("request", "in", "out", "err"))
        read_end, write_end = os.pipe()
        try:
            _write_all(message, json.dumps({**request, "timeout": seconds}).encode())
            _write_all(source, given)
            streams = [message, source, out, out if merge else err, write_end]
            try:
                if self._socket is None:
                    raise OSError("it is not running")
                socket.send_fds(self._socket, [b"request"], streams)
            except OSError as error:
                raise InteriorError(f"the programs of the desktop have been ended: {error}") from error
            os.close(write_end)
            write_end = -1
            self._await(read_end, seconds + _SLACK_SECONDS, free, watch)
            values = _received(read_end)
            return Answer(values, _content(out), b"" if merge else _content(err))
        finally:
            for fd in (message, source, out, err, read_end, write_end):
                if fd >= 0:
                    os.close(fd)

    def _await(self, status: int, seconds: float, free: float, watch: bool) -> None:
        """Wait for an answer, as long as the desktop can give one."""
        begin, held, looks = time.monotonic(), math.inf, 0
        while not select.select([status], [], [], max(0.0, min(_WATCH_SECONDS, begin + seconds - time.monotonic())))[0]:
            passed = time.monotonic() - begin
            if passed >= seconds:
                raise TimeoutError(f"still running after {seconds:g} seconds")
            if _is_stopped(self._pid):
                raise InteriorError("the process that carries out the requests has been stopped")
            if not watch:
                continue
            state, looks = self.state(), looks + 1
            held = min(held, state["held"])
            if not state["broken"] and looks % _PROBE_EVERY == 0:
                self._listen()
            if broken := state["broken"] or self._deaf:
                raise InteriorError(broken)
            if passed - (state["held"] - held) >= free:
                raise TimeoutError(f"still running after {passed:.0f} seconds")

    def _listen(self) -> None:
        """Find out whether the X server answers."""
        try:
            self.ask({"kind": "run", "command": _PROBE, "cwd": "/"}, _PROBE_SECONDS, watch=False)
        except TimeoutError:
            self._deaf = "the X server does not answer"
        except OSError:  # the probe cannot be started, which says nothing
            pass


def _received(status: int) -> dict[str, Any]:
    message = os.read(status, _LONGEST_ANSWER)
    if not message:  # killed together with the process that carried it out
        return {"returncode": -signal.SIGKILL, "error": "killed", "kind": "Killed"}
    try:  # a program of the desktop may have written it
        values = json.loads(message)
        kind, reason = values.get("kind"), str(values.get("error", ""))
    except (ValueError, AttributeError, RecursionError):
        raise InteriorError("an answer that cannot be read") from None
    if kind == "TimeoutError":
        raise TimeoutError(reason)
    if kind == "OSError":
        raise OSError(reason)
    if kind is not None:
        raise Refusal(reason, endless=kind == "Endless")
    return dict(values)


def _content(fd: int) -> bytes:
    size = min(os.fstat(fd).st_size, LARGEST_FILE)
    pieces, place = [], 0
    while place < size and (piece := os.pread(fd, min(1 << 28, size - place), place)):
        pieces.append(piece)
        place += len(piece)
    return b"".join(pieces)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _sender(ours: socket.socket) -> int:
    """The process id, as this process sees it, of who is at the other end."""
    message, ancillary, *_ = ours.recvmsg(16, socket.CMSG_SPACE(12))
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            return int(struct.unpack("3i", data)[0])
    raise OSError(f"it ended at once{'' if not message else ' after ' + repr(message)}")


def _without_keys() -> bytes:
    """Instructions for the kernel (seccomp) that refuse all calls for keys, and calls of another kind of machine.

    Raises:
        OSError: not for this kind.
    """
    if (machine := os.uname().machine) not in _KEYS:
        raise OSError(f"no sandbox on {machine}: it runs on {' and '.join(_KEYS)}")
    mark, first = _KEYS[machine]
    steps = [(_LOAD, 0, 0, 4), (_EQUALS, 0, 4, mark), (_LOAD, 0, 0, 0), (_FROM, 2, 0, 1 << 30)]
    steps += [(_FROM, 2, 0, first + 3), (_FROM, 0, 1, first), (_ANSWER, 0, 0, _REFUSED), (_ANSWER, 0, 0, _ALLOWED)]
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def in_memory(content: bytes) -> int:
    """An open file with a content, for a program that is started; everybody may read it."""
    descriptor = os.memfd_create("arguments")
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.fchmod(descriptor, 0o644)
    return descriptor


def _end_all(user: int | None) -> None:
    """End every process of a user, or all of the namespace but this one and those above it."""
    kept = set(_ancestors(os.getpid()))
    end = time.monotonic() + _END_SECONDS
    while strangers := [pid for pid in _processes(user) if pid not in kept]:
        for pid in strangers:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > end:
            raise InteriorError(f"processes that cannot be ended: {strangers}")
        time.sleep(0.005)


def _processes(user: int | None) -> list[int]:
    """Processes that still run, of a user or of all; the dead that nobody has collected do not count."""
    running = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            if state not in "ZX" and (user is None or entry.stat().st_uid == user):
                running.append(int(entry.name))
    return running


def _ancestors(pid: int) -> list[int]:
    """A process and those above it, up to the first of the namespace."""
    line = [pid]
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        line.append(pid)
    return line
