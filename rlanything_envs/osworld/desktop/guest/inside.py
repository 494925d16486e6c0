"""``python3 -m guest.inside``: the session and all programs of the desktop, as the desktop's own user.

The server (`guest.server`) runs outside: as another user, or out of sight of this process namespace. It sends requests
through a socket pair: a JSON object, and file descriptors for input, output, errors and the answer. A process forked
for each request carries it out, so that a program that hangs, dies or is killed takes nothing else with it. What an
agent's programs can reach is here and nowhere else.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import storage
from .session import Session
from .zygote import fork_program

__all__ = ["LONGEST_OUTPUT", "main"]

LONGEST_OUTPUT = 64 << 20
"""Bytes of a stream after which a program is ended; an agent can print without end at no cost."""
_TICK = 0.1
_PR_SET_DUMPABLE = 4
_STOPPED_SECONDS = 0.3
"""How long a program must stay stopped: a debugger stops one for an instant."""
_OWN_LOAD = 64
"""Threads that compute, beyond which the desktop itself keeps its programs from the processors."""
_LEAST_WORK_NS = 5_000_000
"""Nanoseconds of work below which a desktop counts as idle, not as kept from the processors."""
_LEAST_ROOM = 64 << 10
"""Bytes below which a disk counts as full: no program can store its settings any more."""
_DISKS = ("/home", "/tmp", "/run", "/dev/shm")


def main() -> int:
    """Start the session and carry out requests until the other end closes."""
    parser = argparse.ArgumentParser(prog="guest.inside", description=__doc__)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--screen", required=True, metavar="WIDTHxHEIGHT")
    parser.add_argument("--socket", type=int, required=True, help="the requests")
    parser.add_argument("--pixels", type=int, required=True, help="file in memory for the screen")
    parser.add_argument("--memory", type=int, default=0, help="bytes of a process; 0: no limit")
    parser.add_argument("--disk", type=int, default=0, help="bytes of a file; 0: no limit, and the disk is not ours")
    parser.add_argument("--processes", type=int, default=0, help="processes and threads; 0: no limit")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds for a part of the session to get ready")
    args = parser.parse_args()
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)  # no other program of the user can look into this one
    requests = socket.socket(fileno=args.socket)
    requests.send(b"here")  # now the other end puts this process under its limits
    requests.recv(16)
    _limit(args.memory, args.disk, args.processes)
    width, height = map(int, args.screen.split("x"))
    session = Session(args.home, args.pixels, (width, height), args.patience)
    try:
        session.start()
    except OSError as error:
        requests.send(json.dumps({"error": str(error)}).encode())
        return 1
    os.environ.clear()
    os.environ.update(session.environment)
    sys.path[:0] = session.environment["PYTHONPATH"].split(":")
    importlib.import_module("pyautogui")
    requests.send(json.dumps({"environment": session.environment}).encode())
    _serve(requests, session, bool(args.disk))
    return 0


def _limit(memory: int, disk: int, processes: int) -> None:
    """Limits of each program; those of all together are the business of the other end, where it can set them."""
    limits = {resource.RLIMIT_DATA: memory, resource.RLIMIT_FSIZE: disk, resource.RLIMIT_NPROC: processes}
    for kind, most in limits.items():
        if most:
            hard = resource.getrlimit(kind)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):  # where memory runs out, the desktop goes and not what looks after it
        Path("/proc/self/oom_score_adj").write_text("1000")


def _serve(requests: socket.socket, session: Session, limited: bool) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    threads = _Threads()
    while True:
        message, fds, _, _ = socket.recv_fds(requests, 16, 5)
        if not message:
            return
        request = json.loads(os.pread(fds[0], os.fstat(fds[0]).st_size, 0))
        try:
            _answer(request, fds[1:], requests, session, threads, limited)
        except OSError as error:  # no room for another process
            _reply(fds[-1], {"error": str(error), "kind": "OSError"})
        for fd in fds:
            os.close(fd)


def _answer(
    request: dict[str, Any], fds: list[int], requests: socket.socket, session: Session, threads: _Threads, limited: bool
) -> None:
    if request["kind"] == "state":
        busy = threads.look()
        broken = session.broken() or threads.standstill() or (_full() if limited else "")
        _reply(fds[3], {"broken": broken, "busy": busy, "held": threads.held})
        return
    if module := request.get("module"):
        with contextlib.suppress(ImportError):  # the program will meet the same error, and report it
            importlib.import_module(module)
    if os.fork() == 0:
        try:
            requests.close()
            _keep(request, *fds)
        finally:
            os._exit(1)


class _Threads:
    """The threads of the desktop: which of them compute, and for how long they have been kept from the processors.

    Attributes:
        held: seconds since the start, each counted by the share of the time in which the threads that had work waited
            for a processor. On a machine that does nothing else it hardly grows; it does not at all while the desktop
            itself has more than `_OWN_LOAD` threads that compute.
    """

    def __init__(self) -> None:
        self.held = 0.0
        self._last = time.monotonic()
        self._spent: dict[str, tuple[int, int]] = {}
        self._stopped: dict[str, str] = {}

    def standstill(self) -> str:
        """Which program has been stopped and not ended, so that whoever asks it waits for ever; empty where none has.

        What a shell stops in its terminal (Ctrl+Z) does not count, since it can be continued there.
        """
        before = self._stopped
        if before:
            time.sleep(_STOPPED_SECONDS)
            self.look()
        return next((f"{name} has been stopped" for pid, name in self._stopped.items() if pid in before), "")

    def look(self) -> int:
        """How many threads run, or wait for a processor or a disk, on however loaded a machine."""
        found, ran, waited, spent = 0, 0, 0, {}
        self._stopped = {}
        for process in Path("/proc").glob("[0-9]*"):
            if process.name == str(os.getpid()):
                continue
            for thread in _threads(process):
                with contextlib.suppress(OSError, IndexError, ValueError):
                    state, parent, _, _, terminal = (thread / "stat").read_text().rpartition(")")[2].split(None, 5)[:5]
                    found += state in "RD"
                    if state in "Tt" and (terminal == "0" or _serves(parent)):
                        self._stopped[process.name] = (process / "comm").read_text().strip()
                    on, off = map(int, (thread / "schedstat").read_text().split()[:2])
                    before = self._spent.get(thread.name, (0, 0))
                    spent[thread.name] = (on, off)
                    ran, waited = ran + max(0, on - before[0]), waited + max(0, off - before[1])
        now = time.monotonic()
        if ran + waited > _LEAST_WORK_NS and found <= _OWN_LOAD:
            self.held += (now - self._last) * waited / (ran + waited)
        self._last, self._spent = now, spent
        return found


def _threads(process: Path) -> list[Path]:
    """The folders of a process's threads; none where it has ended since it was found."""
    try:
        return list(process.glob("task/*"))
    except OSError:
        return []


def _serves(parent: str) -> bool:
    """Whether children of a process are the session's, or carry out a request: these can have a terminal, too."""
    own = str(os.getpid())
    if parent == own:
        return True
    return Path("/proc", parent, "stat").read_text().rpartition(")")[2].split()[1] == own


def _full() -> str:
    for place in _DISKS:
        try:
            disk = os.statvfs(place)
        except OSError as error:
            return f"{place}: {error.strerror}"
        if disk.f_bavail * disk.f_frsize < _LEAST_ROOM or (disk.f_files and not disk.f_favail):
            return f"the disk is full: {place}"
    return ""


def _reply(status: int, value: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # nobody waits any more
        os.write(status, json.dumps(value).encode())


def _keep(request: dict[str, Any], given: int, out: int, err: int, status: int) -> None:
    """Carry out one request, in its own process."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        answer = _KINDS[request["kind"]](request, given, out, err)
    except storage.Refusal as error:
        answer = {"error": str(error), "kind": "Endless"}
    except TimeoutError as error:
        answer = {"error": str(error), "kind": "TimeoutError"}
    except OSError as error:
        answer = {"error": str(error), "kind": "OSError"}
    except (ValueError, RecursionError) as error:
        answer = {"error": str(error), "kind": "ValueError"}
    _reply(status, answer)
    os._exit(0)


def _python(request: dict[str, Any], given: int, out: int, err: int) -> dict[str, Any]:
    code = os.pread(given, os.fstat(given).st_size, 0)
    pid = fork_program(code, request["cwd"], out, err)
    how = _wait(os.pidfd_open(pid), pid, out, err, request["timeout"])
    return {"returncode": os.waitstatus_to_exitcode(how)}


def _wait(handle: int, pid: int, out: int, err: int, seconds: float) -> int:
    """The status of a child; ends it with its group where it runs too long or prints too much."""
    end = time.monotonic() + seconds
    while not select.select([handle], [], [], min(_TICK, max(0.0, end - time.monotonic())))[0]:
        long = max(os.fstat(out).st_size, os.fstat(err).st_size) > LONGEST_OUTPUT
        if long or time.monotonic() >= end:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            if long:
                raise storage.Refusal(f"a program that printed more than {LONGEST_OUTPUT} bytes", endless=True)
            raise TimeoutError(f"still running after {seconds:g} seconds")
    return os.waitpid(pid, 0)[1]


def _start(request: dict[str, Any], out: int, err: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # nosec B602 # inside the guest, whoever uses it may run anything
        request["command"],
        shell=isinstance(request["command"], str),
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        cwd=request["cwd"],
        start_new_session=True,
    )


def _run(request: dict[str, Any], _: int, out: int, err: int) -> dict[str, Any]:
    process = _start(request, out, err)
    how = _wait(os.pidfd_open(process.pid), process.pid, out, err, request["timeout"])
    return {"returncode": os.waitstatus_to_exitcode(how)}


def _launch(request: dict[str, Any], *_: int) -> dict[str, Any]:
    return {"pid": _start(request, subprocess.DEVNULL, subprocess.DEVNULL).pid}


def _read(request: dict[str, Any], _: int, out: int, __: int) -> dict[str, Any]:
    return {"size": storage.read(Path(request["path"]), out)}


def _store(request: dict[str, Any], given: int, *_: int) -> dict[str, Any]:
    return {"size": storage.store(Path(request["path"]), given)}


def _list(request: dict[str, Any], _: int, out: int, __: int) -> dict[str, Any]:
    return {"size": os.write(out, json.dumps(storage.tree(Path(request["path"]))).encode())}


_KINDS: dict[str, Callable[..., dict[str, Any]]] = {
    "python": _python,
    "run": _run,
    "launch": _launch,
    "read": _read,
    "store": _store,
    "list": _list,
}

if __name__ == "__main__":
    sys.exit(main())
