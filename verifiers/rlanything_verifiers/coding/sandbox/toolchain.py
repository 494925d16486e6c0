"""The C++ compiler of this machine: what a compile worker must see of it, and how it is called."""

# ruff: noqa: PTH110, PTH118, PTH119, PTH120, PTH207

import glob
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache

from .errors import MissingLanguage
from .runtime import links_to

#: Compile and link, each a call of the compiler. Static, so that a program needs no file of the machine to run;
#: optimised and with GNU's extensions, as contests have it. Warnings would only hide the errors.
COMPILE = ("-c", "-O2", "-std=gnu++20", "-pipe", "-w", "-fmax-errors=10", "-fdiagnostics-color=never", "main.cpp")
LINK = ("-static", "-s", "-pthread", "-o", "main", "main.o")
ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/bin:/bin", "TMPDIR": "."}

#: The directories of a path; each name ends at its slash, so that the search is linear.
_FOLDERS = re.compile(r"/(?:[\w.+-]+/)+")
_PROGRAMS = ("cc1plus", "as", "ld", "collect2", "lto-wrapper")
_LIBRARY_FILES = ("crt1.o", "libc.a", "libm.a", "libpthread.a", "libstdc++.a", "liblto_plugin.so")
_MISSING = "no C++ compiler: {0}; install g++ (Debian and Ubuntu: apt install g++)"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler and what belongs to it.

    Attributes:
        program: Path of the compiler.
        readable: Files and directories it needs.
        links: Symbolic links on the way to them: path to target.
        includes: Directories of headers.
    """

    program: str
    readable: list[str]
    links: dict[str, str]
    includes: list[str]

    def tidy(self, message: str) -> str:
        """A compiler's message without the places of its files on this machine."""
        for tool in (self.program, "/usr/bin/ld"):
            message = message.replace(tool + ":", os.path.basename(tool) + ":")
        for place in sorted(self.includes, key=len, reverse=True):
            message = message.replace(place + "/", "")
        tops = tuple({"/" + path.split("/")[1] + "/" for path in self.readable})
        return _FOLDERS.sub(lambda found: "" if found[0].startswith(tops) else found[0], message)


@cache
def toolchain() -> Toolchain:
    """The C++ compiler on the path.

    Raises:
        MissingLanguage: There is none, or it is not complete; the message names the package.
    """
    found = shutil.which("g++")
    if found is None:
        raise MissingLanguage(_MISSING.format("there is no program g++"))
    program = os.path.realpath(found)
    own = os.path.dirname(os.path.realpath(_ask(program, "-print-libgcc-file-name")))
    programs = [program]
    for name in _PROGRAMS:
        place = _ask(program, f"-print-prog-name={name}")
        where = place if place.startswith("/") else shutil.which(place)
        if where is None:
            raise MissingLanguage(_MISSING.format(f"its {name} is missing"))
        programs.append(where)
    libraries = []
    for name in _LIBRARY_FILES:
        place = _ask(program, f"-print-file-name={name}")
        if place.startswith("/"):
            libraries.append(place)
        elif name in ("libc.a", "libstdc++.a"):
            raise MissingLanguage(_MISSING.format(f"its static library {name} is missing"))
    archives = {path for d in {os.path.dirname(os.path.realpath(p)) for p in libraries} for path in _archives(d)}
    includes = _includes(program)
    wanted = [*programs, *_loaded(programs), *libraries, *archives]
    readable = sorted({os.path.realpath(path) for path in [*wanted, own, *includes] if os.path.exists(path)})
    links = links_to({os.path.realpath(path) for path in wanted}, [os.path.dirname(path) for path in wanted])
    return Toolchain(program, readable, links, [d for d in includes if d.startswith("/")])


def _ask(program: str, *arguments: str) -> str:
    try:
        done = subprocess.run(
            [program, *arguments], capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise MissingLanguage(_MISSING.format(f"{program} does not work ({error})")) from error
    return (done.stdout or done.stderr).decode(errors="replace").strip()


def _run(command: list[str], *, check: bool, **environment: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        command, env=ENVIRONMENT | environment, capture_output=True, stdin=subprocess.DEVNULL, check=check, timeout=60
    )


def _archives(directory: str) -> list[str]:
    return [*glob.glob(os.path.join(directory, "*.a")), *glob.glob(os.path.join(directory, "*.o"))]


def _includes(program: str) -> list[str]:
    """Directories of headers, as the compiler lists them."""
    listed = _ask(program, "-E", "-v", "-x", "c++", "/dev/null", "-o", "/dev/null")
    between = listed.rpartition("#include <...>")[2].partition("\nEnd")[0]
    return [entry.strip() for entry in between.splitlines()[1:]]


def _loaded(programs: list[str]) -> list[str]:
    """Shared libraries that programs load, as the dynamic linker lists them."""
    found = set()
    for program in programs:
        trace = {"LD_TRACE_LOADED_OBJECTS": "1"}
        done = subprocess.run(
            [program], env=trace, capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=60
        )
        words = done.stdout.decode(errors="replace").split()
        found |= {word for word in words if word.startswith("/")}
    return sorted(found)
