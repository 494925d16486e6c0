"""The C++ compiler of this machine: what a compile worker must see of it, and how it is called."""

# ruff: noqa: PTH110, PTH118, PTH119, PTH120, PTH207

import glob
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache

from .compiler import INPUT, Step
from .errors import SandboxUnsupported
from .runtime import links_to

#: What g++ does, a program at a time: words, input and output. The worker starts each of them itself, so that
#: nothing is left when one is ended. Static, so that a program needs no file of the machine to run; optimised and with
#: GNU's extensions, as contests have it. Warnings would only hide the errors.
_STEPS = (
    (
        "-S -O2 -std=gnu++20 -w -fmax-errors=10 -fdiagnostics-color=never -o main.s "
        f"-fmacro-prefix-map={INPUT}=main.cpp main.cpp",
        "main.cpp",
        "main.s",
    ),
    ("-c -o main.o main.s", "main.s", "main.o"),
    ("-static -s -pthread -fno-use-linker-plugin -o main main.o", "main.o", "main"),
)
ENVIRONMENT = {"LC_ALL": "C"}

#: The directories of a path; each name ends at its slash, so that the search is linear.
_FOLDERS = re.compile(r"/(?:[\w.+-]+/)+")
_PROGRAMS = ("cc1plus", "as", "ld")
_LIBRARY_FILES = ("crt1.o", "libc.a", "libm.a", "libpthread.a", "libstdc++.a")
_MISSING = "no C++ compiler: {0}; install g++ (Debian and Ubuntu: apt install g++)"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler and what belongs to it.

    Attributes:
        steps: Its programs in their order: words, name of the input, name of the output.
        readable: Files and directories it needs.
        links: Symbolic links on the way to them: path to target.
        includes: Directories of headers.
    """

    steps: list[Step]
    readable: list[str]
    links: dict[str, str]
    includes: list[str]

    def tidy(self, step: int, message: str) -> str:
        """Message of a step without the places of its files on this machine."""
        (tool, *_), source, _ = self.steps[step]
        message = message.replace(f"{tool}:", f"{os.path.basename(tool)}:")
        message = message.replace(f"\n{os.path.basename(INPUT)}:(", "\nmain.cpp:(").replace(INPUT, source)
        for place in sorted(self.includes, key=len, reverse=True):
            message = message.replace(place + "/", "")
        tops = tuple({"/" + path.split("/")[1] + "/" for path in self.readable})
        return _FOLDERS.sub(lambda found: "" if found[0].startswith(tops) else found[0], message)


@cache
def toolchain() -> Toolchain:
    """The C++ compiler on the path.

    Raises:
        SandboxUnsupported: There is none, or it is not complete; the message names the package.
    """
    found = shutil.which("g++")
    if found is None:
        raise SandboxUnsupported(_MISSING.format("there is no program g++"))
    program = os.path.realpath(found)
    own = os.path.dirname(os.path.realpath(_ask(program, "-print-libgcc-file-name")))
    tools = {}
    for name in _PROGRAMS:
        place = _ask(program, f"-print-prog-name={name}")
        where = place if place.startswith("/") else shutil.which(place)
        if where is None:
            raise SandboxUnsupported(_MISSING.format(f"its {name} is missing"))
        tools[name] = where
    steps = [(_words(program, arguments, tools), source, result) for arguments, source, result in _STEPS]
    libraries = []
    for name in _LIBRARY_FILES:
        place = _ask(program, f"-print-file-name={name}")
        if place.startswith("/"):
            libraries.append(place)
        elif name in ("libc.a", "libstdc++.a"):
            raise SandboxUnsupported(_MISSING.format(f"its static library {name} is missing"))
    archives = {path for d in {os.path.dirname(os.path.realpath(p)) for p in libraries} for path in _archives(d)}
    includes = _includes(program)
    wanted = [*tools.values(), *_loaded(list(tools.values())), *libraries, *archives]
    readable = sorted({os.path.realpath(path) for path in [*wanted, own, *includes] if os.path.exists(path)})
    links = links_to({os.path.realpath(path) for path in wanted}, [os.path.dirname(path) for path in wanted])
    return Toolchain(steps, readable, links, [d for d in includes if d.startswith("/")])


def _ask(program: str, *arguments: str) -> str:
    try:
        done = subprocess.run(
            [program, *arguments],
            env=ENVIRONMENT | {"PATH": os.environ.get("PATH", os.defpath)},
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxUnsupported(_MISSING.format(f"{program} does not work ({error})")) from error
    return (done.stdout or done.stderr).decode(errors="replace").rstrip()


def _words(program: str, arguments: str, tools: dict[str, str]) -> list[str]:
    """The call that g++ would make itself, of a tool or of one that calls it; the last line that it prints of such."""
    lines = [line for line in _ask(program, "-###", *arguments.split()).splitlines() if line.startswith(" ")]
    first, *words = shlex.split(lines[-1]) if lines else [""]
    name = os.path.basename(first)
    tool = tools.get("ld" if name == "collect2" else name)
    if tool is None:
        raise SandboxUnsupported(_MISSING.format(f"{program} -### does not say what it calls"))
    return [tool, *words]


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
