"""The program in a worker: it drops its rights, then passes each submission to a fresh server process.

It imports little and no `typing`, `re`, `dataclasses` or `pathlib`: every module costs time at each fork.
"""

# ruff: noqa: PTH110, PTH112, PTH116, PTH120

from __future__ import annotations

import _thread
import gc
import marshal
import os
import resource
import signal
import sys
from contextlib import suppress

from . import compiler, executable, landlock, libc, messages, namespaces, seccomp, submission, syscalls, threads
from .messages import Socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ctypes
    from typing import NoReturn

#: Default stack of a thread in bytes, as Linux has it. Without it the main thread's limit would be taken.
_THREAD_STACK = 8 << 20
#: Room for the main thread's stack in bytes, as judges of contests give it.
_MAIN_STACK = 256 << 20
_ADDR_NO_RANDOMIZE = 0x0040000
#: Parts of packages that are loaded when they are first used, which would be in each test.
_PARTS = {"numpy": ("numpy.random", "numpy.linalg", "numpy.fft")}
_FILES = 64
#: Directory of the compiler, in its own root.
_SCRATCH = "/scratch"
#: First of the user ids that workers take when root starts them without namespaces.
_STRANGERS = 0x60000000


def main() -> None:
    """Start: ``argv`` is the package's directory, the control socket's number, and the stage."""
    if sys.argv[3] == "0":
        _start_again()
    control = Socket(fileno=int(sys.argv[2]))
    os.set_inheritable(control.fileno(), False)
    _, body, _ = messages.receive(control)
    start = marshal.loads(body)  # nosec B302 # from the judge, before any program
    tier, library, members, hidden, shared, links, tools, packages = start
    starts, steps, environment = tools or ([], [], {})
    scratch = _SCRATCH if tools and tier == "full" else None
    third, modules = packages or (None, [])
    sys.path[:] = library if third is None else [*library, third]
    _thread.stack_size(_THREAD_STACK)
    try:
        if tier == "full":
            namespaces.enter()
            _wait_for_inner(control)
            namespaces.minimal_root([*library, *shared, *starts], links, hidden, scratch)
        facts, alone = _lock(tier, sys.path, [*members, *shared], starts, scratch)
        _import(modules)
        if tier == "full":  # must be set last: a change of user resets it
            libc.call("prctl", libc.PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        elif tier != "none":  # nor may a program open the descriptors of its server, through /proc
            libc.call("prctl", libc.PR_SET_DUMPABLE, 0, 0, 0, 0)
        if tools and scratch is None and not os.path.exists(compiler.INPUT):
            raise OSError("without /proc a compiler has no files to work with at this tier")
    except OSError as error:
        messages.send(control, messages.FAILED, str(error.strerror or error).encode()[: messages.MAX_TEXT])
        os._exit(1)
    listener = threads.listener() if tier != "none" and tools is None and not alone else None
    if alone or listener is not None:
        facts.append(f"{threads.MOST} threads")
    messages.send(control, messages.HELLO, ", ".join(facts).encode())
    machine = syscalls.machine()
    allowed = seccomp.program(machine, own_root=tier == "full") if tools is None else seccomp.compiler(machine)
    filters = None if tier == "none" else seccomp.prepared(allowed)
    if tools is not None:
        compiler.serve(control, scratch, steps, environment, filters)
    _serve(control, filters, listener, own_processes=tier == "full")


def _import(modules: list[str]) -> None:
    """Import packages once for all programs; they find here what a program would find."""
    for name in modules:
        try:
            __import__(name)
        except Exception as error:
            raise OSError(
                f"package {name!r} cannot be imported in the sandbox: {error!r}"[: messages.MAX_TEXT]
            ) from None
        for part in _PARTS.get(name, ()):
            with suppress(ImportError):
                __import__(part)


def _start_again() -> NoReturn:
    """Start once more with a large main stack and, where allowed, addresses that repeat from run to run."""
    libc.prctl  # noqa: B018 - libc is loaded before the addresses are fixed
    with suppress(OSError):
        libc.call("personality", _ADDR_NO_RANDOMIZE)
    with suppress(ValueError, OSError):
        hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
        resource.setrlimit(resource.RLIMIT_STACK, (_MAIN_STACK, hard))
    os.execv(sys.executable, [*sys.orig_argv[:-1], "1"])  # nosec B606 # itself, with a smaller stack


def _wait_for_inner(control: Socket) -> None:
    """Fork process 1 of the namespaces; the caller goes on in it, the outer process waits for its end."""
    inner = os.fork()
    if inner == 0:
        return
    control.close()
    _, status = os.waitpid(inner, 0)
    os._exit(1 if status else 0)


def _lock(
    tier: str, library: list[str], readable: list[str], starts: list[str], scratch: str | None
) -> tuple[list[str], bool]:
    """Drop the rights that the tier removes. A compile worker keeps a scratch directory and the programs it starts.

    Returns:
        The protection in force, and whether the worker has its own user, which limits its processes and threads.
    """
    os.chdir("/")
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_NOFILE: _FILES, resource.RLIMIT_MEMLOCK: 0}
    alone = tier == "full"
    if tier != "none" and os.getuid() == 0 and (alone or _world_readable(library)):
        with suppress(OSError):
            # Outside of namespaces an unused id, so that workers have no rights on each other and on other processes.
            user = namespaces.NOBODY if alone else _STRANGERS + int.from_bytes(os.urandom(3), "little")
            namespaces.become(user)
            alone = True
    if alone:  # the limit counts all that a user runs
        limits[resource.RLIMIT_NPROC] = threads.MOST
    for limit, value in limits.items():
        resource.setrlimit(limit, (value, value))
    if tier == "none":
        return ["no protection"], alone
    namespaces.drop_capabilities()
    libc.call("prctl", libc.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    facts = [f"uid {os.getuid()}", "seccomp"]
    if tier in ("full", "landlock"):
        try:
            scratches = () if scratch is None else (scratch,)
            version = landlock.restrict(readable, library, ("/dev/null",), starts, scratches)
            facts.append(f"landlock ABI {version}")
        except OSError:
            if tier == "landlock":
                raise  # at "full" the empty root already hides every file
    if tier == "full":
        facts.append("namespaces")
    return facts, alone


def _world_readable(directories: list[str]) -> bool:
    """Whether a user without rights reaches the standard library, and packages that are linked into its directories."""
    links = [entry.path for directory in directories for entry in os.scandir(directory) if entry.is_symlink()]
    linked = [path for path in map(os.path.realpath, links) if os.path.isdir(path)]
    for directory in (*directories, *linked):
        path = directory
        while path != "/":
            if not os.stat(path).st_mode & 0o001:
                return False
            path = os.path.dirname(path)
    return True


def _serve(control: Socket, filters: ctypes.Structure | None, listener: int | None, *, own_processes: bool) -> NoReturn:
    gc.collect()
    gc.freeze()
    while True:
        try:
            kind, body, fds = messages.receive(control)
        except OSError:
            os._exit(0)
        if kind not in (messages.SUBMIT, messages.EXECUTE):
            os._exit(0 if not kind else 1)
        server = os.fork()
        if server == 0:
            memory, output = messages.SUBMISSION.unpack(body)
            if kind == messages.EXECUTE:
                executable.serve(control, fds[0], memory, output, listener, protected=filters is not None)
            submission.serve(control, fds[0], memory, output, listener, filters)
        for fd in fds:
            os.close(fd)
        _, status = os.waitpid(server, 0)
        if own_processes:
            _clean()
        if status:
            with suppress(OSError):
                messages.send(control, messages.DEAD, messages.STATUS.pack(status))


def _clean() -> None:
    """Kill and reap all remaining processes; as process 1 of its namespace the worker sees them all."""
    with suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
