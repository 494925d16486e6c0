"""A desktop in namespaces of its own, made by bubblewrap: no image, no daemon, nothing that outlives it.

The desktop sees the programs of the host (``/usr``, and the parts of ``/etc`` that they need) and none of its other
files: home, ``/tmp`` and ``/run`` are in memory. It has its own process ids, so that ending its first process ends all,
and, unless the network is enabled, its own loopback interface: ports and displays of parallel desktops do not collide,
and an agent's programs reach nothing outside.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import threading
import weakref
from concurrent.futures import Future
from pathlib import Path
from typing import Self

from rlanything_envs.osworld.desktop.client import GuestClient
from rlanything_envs.osworld.desktop.errors import DesktopError, DesktopSettingError
from rlanything_envs.osworld.desktop.packages import require
from rlanything_envs.osworld.desktop.scratch import Scratch

__all__ = ["BwrapDesktop", "check_screen"]

_GUEST = Path(__file__).resolve().parent / "guest"
_USER = 1000
_GUEST_COMMAND = ("/usr/bin/python3", "-B", "-m", "guest", "--sole-tenant", "--framebuffer", "/run/screen")
_START_SECONDS = 60.0
_END_SECONDS = 10.0
_ROOM = 128 << 20
"""Bytes that must be free in ``/dev/shm`` before a screen of some 8 MB is put there; in containers it is small."""
_ASK_THE_DOCTOR = "`rlanything desktop doctor` looks for the cause"
_IN_MEMORY = (("/tmp", "1777"), ("/var/tmp", "1777"), ("/run", "0755"), ("/home", "0755"), ("/dev/shm", "1777"))

_ETC = [
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "chromium",
    "chromium.d",
    "dbus-1",
    "fonts",
    "gimp",
    "gtk-2.0",
    "gtk-3.0",
    "host.conf",
    "inputrc",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "libreoffice",
    "localtime",
    "magic",
    "mailcap",
    "mime.types",
    "openal",
    "papersize",
    "profile",
    "protocols",
    "python3",
    "python3.11",
    "services",
    "ssl",
    "terminfo",
    "timezone",
    "X11",
    "xdg",
]
"""Files of ``/etc`` that the programs need; no passwords, keys or settings of the host."""

_ETC_NETWORK = ("hosts", "nsswitch.conf", "resolv.conf")

_ETC_OWN = {
    "passwd": f"root:x:0:0:root:/root:/bin/bash\nuser:x:{_USER}:{_USER}:User:/home/user:/bin/bash\n",
    "group": f"root:x:0:\nuser:x:{_USER}:\n",
    "hostname": "desktop\n",
    "machine-id": "0123456789abcdef0123456789abcdef\n",
}
"""Files that would reveal the host, and their contents on the desktop."""


class BwrapDesktop:
    """A desktop that starts in less than a second; Linux only.

    Args:
        screen: width and height in pixels.
        network: share the host's network; programs in the desktop then reach whatever this process reaches.

    Raises:
        DesktopSettingError: no possible size of a screen.
    """

    name = "bwrap"

    def __init__(self, screen: tuple[int, int] = (1920, 1080), network: bool = False) -> None:
        self.screen = check_screen(screen)
        self.network = network
        self._running: _Running | None = None

    @property
    def client(self) -> GuestClient:
        """The way to the running guest.

        Raises:
            DesktopError: the desktop is not running.
        """
        if self._running is None:
            raise DesktopError("the desktop is not running: call start() first")
        return self._running.client

    def start(self) -> None:
        """Start the desktop, unless it runs; returns when the first screenshot can be taken.

        Raises:
            MissingPackages: something is not installed.
            DesktopError: the desktop does not start; the message has its output.
        """
        if self._running is None:
            require()
            self._running = _Running(self.screen, self.network)

    def reset(self) -> None:
        """A new home and no application. A desktop that no longer answers is replaced.

        Raises:
            DesktopError: it cannot be started again.
        """
        if self._running is None:
            self.start()
            return
        try:
            self._running.client.reset()
        except DesktopError:
            self.close()
            self.start()

    def close(self) -> None:
        """End every process of the desktop and forget its files."""
        if self._running is not None:
            self._running.end()
            self._running = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_screen(screen: tuple[int, int]) -> tuple[int, int]:
    """A size of a screen.

    Raises:
        DesktopSettingError: not two numbers from 320 to 8192.
    """
    if len(screen) != 2 or not all(isinstance(side, int) and 320 <= side <= 8192 for side in screen):
        raise DesktopSettingError(f"a screen has a width and a height of 320 to 8192 pixels, not {screen!r}")
    return screen[0], screen[1]


class _Running:
    """The processes of one desktop."""

    def __init__(self, screen: tuple[int, int], network: bool) -> None:
        self._folder, self._pixels = Scratch(), Scratch(_memory())
        folder, pixels, token = self._folder.path, self._pixels.path, secrets.token_urlsafe(32)
        for name, text in _ETC_OWN.items():
            (folder / name).write_text(text)
        # The socket is made here and handed over, so that nothing in the desktop can put another in its place.
        address = folder / "guest.sock"
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(address))
        self._listener.listen(64)
        self._log = (folder / "log").open("w+")
        self._process, self._init = self._launch(_arguments(folder, pixels, screen, network), token)
        self._finalizer = weakref.finalize(self, _kill, self._process, self._init)
        self.client = GuestClient(f"unix:{address}", token, framebuffer=pixels / "Xvfb_screen0")
        try:
            self._wait_until_ready()
        except BaseException:
            self.end()
            raise

    def _launch(self, arguments: list[str], token: str) -> tuple[subprocess.Popen[bytes], int]:
        """Start bwrap; returns it and a handle of the namespace's first process."""
        info_read, info_write = os.pipe()
        options = os.memfd_create("arguments")  # not on the command line, which the desktop can read
        listener = self._listener.fileno()
        os.write(options, b"\0".join(word.encode() for word in ["--info-fd", str(info_write), *arguments]))
        os.lseek(options, 0, os.SEEK_SET)
        guest = [*_GUEST_COMMAND, "--listener", str(listener)]
        started: Future[subprocess.Popen[bytes]] = Future()

        def keep() -> None:
            # The kernel ends a desktop with the *thread* that started it, so this one lives as long as the desktop.
            try:
                process = subprocess.Popen(
                    [shutil.which("bwrap") or "bwrap", "--args", str(options), *guest],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=self._log,
                    env={**_inherited(), "RLANYTHING_TOKEN": token},
                    pass_fds=(info_write, options, listener),
                )
            except BaseException as error:
                started.set_exception(error)
                return
            started.set_result(process)
            process.wait()

        threading.Thread(target=keep, name="rlanything-desktop", daemon=True).start()
        try:
            process = started.result()
        except OSError as error:
            os.close(info_read)
            raise DesktopError(f"cannot start bwrap: {error}") from error
        finally:
            os.close(info_write)
            os.close(options)
        with os.fdopen(info_read) as file:
            said = file.read()
        try:
            return process, os.pidfd_open(int(json.loads(said)["child-pid"]))
        except (ValueError, KeyError, ProcessLookupError):
            _kill(process, None)
            raise DesktopError(f"bwrap made no sandbox: {self._printed()}. {_ASK_THE_DOCTOR}") from None

    def _printed(self) -> str:
        self._log.seek(0)
        return self._log.read().strip()[-2000:] or "it printed nothing"

    def _wait_until_ready(self) -> None:
        stdout = self._process.stdout
        if stdout is None or not select.select([stdout], [], [], _START_SECONDS)[0] or stdout.readline() != b"ready\n":
            raise DesktopError(f"the desktop did not start: {self._printed()}. {_ASK_THE_DOCTOR}")
        self._listener.close()

    def end(self) -> None:
        """End the first process of the namespace and with it all others."""
        self._finalizer()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._listener.close()
        self._log.close()
        self._folder.remove()
        self._pixels.remove()


def _kill(process: subprocess.Popen[bytes], first: int | None) -> None:
    """Kill the first process of a namespace, wait until it and so all others are gone, then collect bwrap."""
    if first is not None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(first, signal.SIGKILL)
        select.select([first], [], [], _END_SECONDS)
        os.close(first)
    process.kill()
    process.wait()


def _memory() -> str | None:
    """A directory in memory with room for the pixels, else None: then they are with the other temporary files."""
    try:
        room = os.statvfs("/dev/shm")
    except OSError:
        return None
    enough = room.f_bavail * room.f_frsize > _ROOM and os.access("/dev/shm", os.W_OK)
    return "/dev/shm" if enough else None


def _inherited() -> dict[str, str]:
    kept = ("LANG", "TZ", "http_proxy", "https_proxy", "no_proxy")
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", **{name: os.environ[name] for name in kept if name in os.environ}}


def _arguments(folder: Path, pixels: Path, screen: tuple[int, int], network: bool) -> list[str]:
    """Arguments of bwrap."""
    words = ["--die-with-parent", "--new-session", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    words += ["--unshare-cgroup-try", *([] if network else ["--unshare-net"])]
    words += ["--uid", str(_USER), "--gid", str(_USER), "--hostname", "desktop"]
    words += ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        host = Path("/", name)
        if host.is_symlink():
            words += ["--symlink", str(host.readlink()), str(host)]
        elif host.is_dir():
            words += ["--ro-bind", str(host), str(host)]
    for name in (*_ETC, *(_ETC_NETWORK if network else ())):
        words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    for name in _ETC_OWN:
        words += ["--ro-bind", str(folder / name), f"/etc/{name}"]
    words += ["--ro-bind-try", "/var/cache/fontconfig", "/var/cache/fontconfig"]
    words += ["--proc", "/proc", "--dev", "/dev"]
    for place, mode in _IN_MEMORY:
        words += ["--perms", mode, "--tmpfs", place]
    words += ["--bind", str(pixels), "/run/screen", "--ro-bind", str(_GUEST), "/opt/rlanything/guest"]
    words += ["--dir", "/home/user", "--chdir", "/home/user", "--setenv", "PYTHONPATH", "/opt/rlanything"]
    words += ["--setenv", "RLANYTHING_SCREEN", f"{screen[0]}x{screen[1]}"]
    return [*words, "--remount-ro", "/"]
