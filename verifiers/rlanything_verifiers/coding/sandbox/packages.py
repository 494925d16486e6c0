"""Third-party packages that programs may import, found in an environment with their dependencies."""

# ruff: noqa: PTH100, PTH101, PTH111, PTH112, PTH118, PTH119, PTH122, PTH123, PTH207, PTH211

import glob
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import weakref
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution

from .errors import SandboxUnsupported
from .runtime import ENVIRONMENT, links_to

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SITES = ("site-packages", "dist-packages")
#: Endings of what can be imported from a site directory, besides directories.
_MODULE_ENDINGS = (".py", ".so", ".pyd")
_SKIPPED = ("__pycache__", "..")


@dataclass(frozen=True, slots=True)
class Shown:
    """Packages as a worker needs them.

    Attributes:
        path: Directory for ``sys.path``, which holds links to them and nothing else.
        readable: Files and directories that a program may read: the packages, and shared libraries behind them.
        links: Symbolic links: path to target.
        modules: Names to import once for all programs.
    """

    path: str
    readable: list[str]
    links: dict[str, str]
    modules: list[str]


def show(names: Sequence[str], environment: str | None = None) -> Shown:
    """Find packages and their dependencies; a directory with links to them lives as long as the result.

    Args:
        names: Names of distributions, as an installer has them.
        environment: Path of a virtual environment or of a directory of packages; ``None``: those of this interpreter.

    Raises:
        SandboxUnsupported: A package, or one that it needs, is not installed there, or its files cannot be shown.
    """
    sites = _sites(environment)
    known = _installed(sites)
    wanted: dict[str, Distribution] = {}
    waiting = [(name, "") for name in names]
    while waiting:
        name, whose = waiting.pop()
        place = known.get(_plain(name))
        if place is None:
            needed = f", which {whose} needs," if whose else ""
            raise SandboxUnsupported(
                f"package {name!r:.80}{needed} is not installed in {', '.join(sites) or 'any directory'}"
            )
        if _plain(name) not in wanted:
            wanted[_plain(name)] = Distribution.at(place)
            waiting += [(need, name) for need in _needs(wanted[_plain(name)], known)]
    entries: dict[str, str] = {}
    modules: list[str] = []
    for name, found in wanted.items():
        tops = _tops(found)
        if not any(_importable(top) for top in tops):
            raise SandboxUnsupported(
                f"package {name!r} has no modules among its files in {sites[0]} (an editable installation?); "
                "install it as a whole"
            )
        for top in tops:
            others = [other for other, where in known.items() if other not in wanted and _owns(where, top)]
            if others:
                raise SandboxUnsupported(
                    f"package {name!r} shares its folder {top!r} with {others[0]!r}; name that as well"
                )
            entries[top] = os.path.realpath(str(found.locate_file(top)))
        if any(_plain(asked) == name for asked in names):
            modules += [top.partition(".")[0] for top in tops if _importable(top)]
    directory = tempfile.TemporaryDirectory(prefix="rlanything-packages-")
    os.chmod(directory.name, 0o755)  # nosec B103 # a worker with its own user reads the links in it
    path = os.path.realpath(directory.name)
    for entry, target in entries.items():
        os.symlink(target, os.path.join(path, entry))
    libraries = _libraries(entries.values())
    links = {os.path.join(path, entry): target for entry, target in entries.items()}
    shown = _Kept(path, sorted({*entries.values(), *libraries}), links | links_to(libraries), sorted(set(modules)))
    weakref.finalize(shown, directory.cleanup)
    return shown


class _Kept(Shown):
    """With room for a weak reference."""

    __slots__ = ("__weakref__",)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _sites(environment: str | None) -> list[str]:
    if environment is None:
        paths = [*sys.path, sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
        return [p for p in dict.fromkeys(paths) if os.path.basename(p) in _SITES and os.path.isdir(p)]
    root = os.path.abspath(os.path.expanduser(environment))
    if not os.path.isdir(root):
        raise SandboxUnsupported(f"environment {environment!r} is not a directory")
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    inside = [p for name in _SITES for p in glob.glob(os.path.join(root, "lib*", "python*", name))]
    ours = [p for p in inside if version in p]
    if inside and not ours:
        raise SandboxUnsupported(f"environment {environment!r} is of another Python than {version}")
    return ours or [root]


def _installed(sites: Sequence[str]) -> dict[str, str]:
    """Where the records of the installed packages are: name to directory; the first directory of packages counts."""
    records = [path for site in reversed(sites) for path in glob.glob(os.path.join(site, "*.dist-info"))]
    return {_plain(os.path.basename(path).partition("-")[0]): path for path in records}


def _needs(found: Distribution, known: Container[str]) -> list[str]:
    """The packages one needs. A condition need not be evaluated: what it lets be left out is not there."""
    needs = []
    for line in found.requires or ():
        match = _NAME.match(line)
        condition = line.partition(";")[2]
        if match is None or "extra" in condition:
            continue
        if not condition or _plain(match[0]) in known:
            needs.append(match[0])
    return needs


def _tops(found: Distribution) -> list[str]:
    """The entries of a distribution in its site directory."""
    tops = {file.parts[0] for file in found.files or ()}
    return sorted(top for top in tops if top not in _SKIPPED and not top.endswith(".pth"))


def _owns(record: str, top: str) -> bool:
    """Whether a package has files in an entry, or is it."""
    try:
        with open(os.path.join(record, "RECORD"), encoding="utf-8", errors="replace") as file:
            listed = "\n" + file.read()
    except OSError:
        return False
    return f"\n{top}/" in listed or f"\n{top}," in listed


def _importable(top: str) -> bool:
    stem, ending = os.path.splitext(top)
    return (not ending or ending in _MODULE_ENDINGS) and stem.partition(".")[0].isidentifier()


def _libraries(paths: Iterable[str]) -> list[str]:
    """Shared libraries elsewhere that extension modules load, as the dynamic linker lists them."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        mapped = [line.split(None, 5)[-1].strip() for line in file]
    linker = next((path for path in mapped if os.path.basename(path).startswith("ld-")), None)
    if linker is None:  # a system with another C library
        return []
    inside = list(paths)
    extensions = [p for top in inside for p in glob.glob(os.path.join(top, "**", "*.so*"), recursive=True)]
    extensions += [top for top in inside if top.endswith(".so")]
    found = set()
    for extension in extensions:
        command = [linker, "--list", extension]
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, check=False, timeout=60)
        found |= {word for word in done.stdout.decode(errors="replace").split() if word.startswith("/")}
    real = {os.path.realpath(path) for path in found}
    return sorted(p for p in real if not any(p == top or p.startswith(top + "/") for top in inside))
