"""Installation of the root folder: fetched, checked, unpacked, finished, and there only when it is whole."""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rlanything_envs.osworld.desktop.errors import DesktopError, NotPrepared
from rlanything_envs.osworld.desktop.namespaces import why_forbidden
from rlanything_envs.osworld.desktop.packages import OPTIONAL
from rlanything_envs.osworld.desktop.root.deb import unpack
from rlanything_envs.osworld.desktop.root.finish import finish
from rlanything_envs.osworld.desktop.root.folder import VARIABLE, Root, home, installed, mark, shipped
from rlanything_envs.osworld.desktop.root.mirror import Gone, Mirror, find_mirror
from rlanything_envs.osworld.desktop.root.pins import Pin, Pins
from rlanything_envs.osworld.desktop.root.signature import KEYS, verified
from rlanything_envs.osworld.desktop.scratch import Scratch

__all__ = ["Report", "install", "remove"]

_CONNECTIONS = 16
_ROOM = 3 << 30
"""Bytes that packages and folder take together at most, with room to spare."""
_CHECKING = ("debian-archive-keyring", "gpgv", "libbz2-1.0", "libc6", "libgcrypt20", "libgpg-error0", "zlib1g")
"""Packages with which an index is checked where the machine has no gpgv, or not the keys of Debian."""

Report = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


def install(optional: Iterable[str] = (), mirrors: Iterable[str] = (), report: Report = lambda *_: None) -> Root:
    """Install the root folder of the desktops, or replace it where the pinned packages are others.

    What an interrupted installation downloaded is not downloaded again. Optional packages that are installed stay.

    Args:
        optional: further sections of the list of packages.
        mirrors: addresses of Debian's archive; else those of the machine.
        report: hears of the progress.

    Raises:
        DesktopError: another kind of processor, no user namespaces, no mirror, a file that is not the pinned one, no
            room, or another installation under way.
    """
    if unknown := set(optional) - set(OPTIONAL):
        raise NotPrepared(f"no optional packages are called {min(unknown)!r}; there are {', '.join(OPTIONAL)}")
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise NotPrepared(
            f"packages are pinned for Linux on amd64 alone, and this is {platform.system()} on {platform.machine()}: "
            'use backend="docker" or "http"'
        )
    if reason := why_forbidden():
        raise NotPrepared(reason)
    place = home()
    with _alone(place):
        there = installed()
        pins = shipped().only([*optional, *(there.pins.sections if there is not None else ())])
        if there is not None and there.hash == pins.hash:
            return there
        return _install(pins, place, find_mirror(mirrors), report)


def remove() -> bool:
    """Delete the root folder, with what was downloaded for it; returns whether there was any.

    Raises:
        DesktopError: an installation is under way, or it cannot be deleted.
    """
    place = home()
    if not place.is_dir():
        return False
    with _alone(place):
        found = False
        for name in ("root", "packages"):
            if (place / name).is_dir():
                found = True
                gone = place / f"{name}.old"
                shutil.rmtree(gone, ignore_errors=True)
                (place / name).rename(gone)
                shutil.rmtree(gone)
    return found


@contextlib.contextmanager
def _alone(place: Path) -> Iterator[None]:
    try:
        place.mkdir(parents=True, exist_ok=True)
        lock = os.open(place / "lock", os.O_CREAT | os.O_RDWR, 0o644)
    except OSError as error:
        raise DesktopError(f"nothing can be installed in {place}: {error}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise DesktopError(f"another installation in {place} is under way") from None
    finally:
        os.close(lock)


def _install(pins: Pins, place: Path, mirror: Mirror, report: Report) -> Root:
    if (free := shutil.disk_usage(place).free) < _ROOM:
        raise DesktopError(
            f"{place} has {free / 1e9:.1f} GB free, and {_ROOM / 1e9:.1f} are needed: ${VARIABLE} names another folder"
        )
    packages = place / "packages"
    packages.mkdir(exist_ok=True)
    scratch = Scratch(str(place))
    try:
        scratch.path.chmod(0o755)
        made = scratch.path / "root"
        try:
            _unpack(pins, packages, mirror, made, report)
        except Gone:
            shutil.rmtree(made)
            pins = _of_today(pins, packages, mirror, scratch.path)
            there = installed()
            if there is not None and there.hash == pins.hash:
                shutil.rmtree(packages)
                return there
            _unpack(pins, packages, mirror, made, report)
        size = sum(pin.size for pin in pins.all)
        report("finishing", size, size)
        finish(made)
        mark(made, pins)
        root, old = place / "root", scratch.path / "old"
        if root.exists():
            root.rename(old)
        made.rename(root)
    except OSError as error:
        raise DesktopError(f"installing in {place}: {error}") from error
    finally:
        scratch.remove()
    shutil.rmtree(packages)
    return Root(root, pins.hash)


def _unpack(pins: Pins, packages: Path, mirror: Mirror, made: Path, report: Report) -> None:
    """Download what is missing, and unpack each package as soon as it is there."""
    made.mkdir()
    made.chmod(0o755)
    wanted = pins.all
    total, done = sum(pin.size for pin in wanted), 0
    with ThreadPoolExecutor(_CONNECTIONS) as pool:
        coming = [pool.submit(_fetch, pin, mirror, packages) for pin in wanted]
        try:
            for pin, one in zip(wanted, coming, strict=True):
                unpack(one.result(), made)
                done += pin.size
                report("installing", done, total)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _fetch(pin: Pin, mirror: Mirror, packages: Path) -> Path:
    path = packages / f"{pin.name}_{pin.sha256[:16]}.deb"
    mirror.download(pin.file, pin.size, pin.sha256, path)
    return path


def _of_today(pins: Pins, packages: Path, mirror: Mirror, scratch: Path) -> Pins:
    """The same list from the archive's signed indexes, where the mirror no longer has a pinned version."""

    def tool() -> tuple[list[str], Path]:
        checking = scratch / "checking"
        if not checking.exists():
            checking.mkdir()
            try:
                for pin in pins.all:
                    if pin.name in _CHECKING:
                        unpack(_fetch(pin, mirror, packages), checking)
            except Gone as error:
                shutil.rmtree(checking)
                raise DesktopError(
                    f"{error}, and today's version cannot be checked: install gpgv and debian-archive-keyring, or "
                    "name a mirror that has the pinned versions (--mirror)"
                ) from error
        return Root(checking, "").program("gpgv"), checking / KEYS.lstrip("/")

    index, day = mirror.index(lambda text: verified(text, scratch, tool=tool))
    return Pins.resolved(index, day, [section for section in pins.sections if section != "desktop"])
