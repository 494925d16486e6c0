"""Files of this machine that a program needs: the standard library, its shared libraries, and a little data."""

# ruff: noqa: PTH100, PTH110, PTH112, PTH113, PTH114, PTH115, PTH118, PTH119, PTH120, PTH123, PTH207, PTH208

import glob
import marshal
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from .errors import SandboxError

#: Flags of a worker's interpreter. Not ``-I``: it would ignore PYTHONHASHSEED.
FLAGS = ("-s", "-P", "-S", "-B", "-W", "ignore")
#: All of a worker's environment: nothing of ours reaches a program, and hashes are the same in every worker.
ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "MALLOC_ARENA_MAX": "1",  # an arena a thread would take 64 MiB each of the address space
    "PYTHONHASHSEED": "0",
    "PYTHONINTMAXSTRDIGITS": "0",
    "PYTHONUTF8": "1",
    "TZ": "UTC",
}
#: The same of numerical packages: a program has one core, and each thread would take memory.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
#: Runs a function of this package in an interpreter without site-packages: the package under another name, so that
#: relative imports work and no ``__init__`` above is executed.
BOOT = (
    "import sys, types; box = types.ModuleType('box'); box.__path__ = [sys.argv[1]]; sys.modules['box'] = box; "
    "from box.{module} import main; main()"
)

#: Third-party packages may hold data of ours (reference solutions among them); the others are weight.
_HIDDEN = ("site-packages", "dist-packages", "test", "tests", "idlelib", "ensurepip", "turtledemo", "lib2to3")
#: Extension modules that drag in graphics, terminals and databases.
_UNUSED = ("_tkinter", "readline", "_curses", "_curses_panel", "_dbm", "_gdbm", "_test", "_xx", "xx", "_ctypes_test")
_DATA = ("/usr/share/zoneinfo", "/etc/ld.so.cache", "/dev/urandom")
_ROOT_LINKS = ("/lib", "/lib32", "/lib64", "/libx32", "/usr/lib64")


@dataclass(frozen=True, slots=True)
class Runtime:
    """Paths of a Python installation as a worker needs them.

    Attributes:
        library: Directories of the standard library, as on ``sys.path``.
        members: Files and directories in them that a program may read.
        hidden: Directories in them that it may not.
        shared: Files and directories elsewhere that it may read.
        links: Symbolic links on the way to ``shared``: path to target.
    """

    library: list[str]
    members: list[str]
    hidden: list[str]
    shared: list[str]
    links: dict[str, str]


def interpreter() -> str:
    """The interpreter behind a virtual environment's.

    Raises:
        SandboxError: This process was not started by one.
    """
    path: str = getattr(sys, "_base_executable", "") or sys.executable
    if not path:
        raise SandboxError("sys.executable is empty: the sandbox needs the Python interpreter it runs in as a program")
    return os.path.realpath(path)


def package() -> str:
    """Directory of this package, for `BOOT`."""
    return os.path.dirname(os.path.abspath(__file__))


@cache
def runtime() -> Runtime:
    """Paths that the standard library loads, found by a fresh interpreter.

    Raises:
        SandboxError: The interpreter does not start.
    """
    command = [interpreter(), *FLAGS, "-c", BOOT.format(module="runtime"), package()]
    try:
        done = subprocess.run(command, env=ENVIRONMENT, cwd="/", capture_output=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", b"") or b"")[-500:].decode(errors="replace")
        raise SandboxError(f"the interpreter {command[0]} does not start: {error}; {said}") from error
    return Runtime(*marshal.loads(done.stdout))  # nosec B302 # output of this package's own process


def main() -> None:
    """Write the paths to standard output: the body of `runtime` in the fresh interpreter."""
    library = [p for p in dict.fromkeys(map(os.path.realpath, sys.path)) if os.path.isdir(p)]
    extensions = [name for d in library for name in glob.glob(os.path.join(d, "*.so"))]
    for path in extensions:
        name = os.path.basename(path).split(".")[0]
        if not name.startswith(_UNUSED):
            try:
                __import__(name)
            except ImportError:
                continue
    with open("/proc/self/maps", "rb") as file:
        fields = [line.rstrip(b"\n").split(None, 5) for line in file]
    mapped = {os.fsdecode(f[5]) for f in fields if len(f) == 6 and f[5].startswith(b"/")}
    shared = sorted(p for p in mapped if ".so" in p and os.path.isfile(p) and not _below(p, library))
    links = links_to(shared)
    shared += [p for p in _DATA if os.path.exists(p)]
    inside = [os.path.join(d, name) for d in library if not _below(d, library) for name in sorted(os.listdir(d))]
    hidden = [p for p in inside if os.path.basename(p) in _HIDDEN and os.path.isdir(p)]
    members = [p for p in inside if p not in hidden]
    sys.stdout.buffer.write(marshal.dumps((library, members, hidden, shared, links)))


def links_to(paths: Iterable[str], directories: Iterable[str] = ()) -> dict[str, str]:
    """Symbolic links that lead to files, found in their directories and in further ones: path to target."""
    wanted = set(paths)
    links = {path: os.readlink(path) for path in _ROOT_LINKS if os.path.islink(path)}
    for directory in sorted({os.path.realpath(d) for d in (*map(os.path.dirname, wanted), *directories)}):
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.is_symlink() and os.path.realpath(entry.path) in wanted:
                    links[entry.path] = os.readlink(entry.path)
    return links


def _below(path: str, directories: list[str]) -> bool:
    return any(path.startswith(d + "/") for d in directories)
