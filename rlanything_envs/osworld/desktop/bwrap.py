"""A desktop in namespaces of its own, made by bubblewrap: no image, no daemon, nothing that outlives it.

The desktop sees the programs of the installed root folder, or where there is none those of the host (``/usr``, and
the parts of ``/etc`` that they need), and no other files: home, ``/tmp`` and ``/run`` are in memory. It has its own
process ids, so that ending its first process ends all, and, unless the network is enabled, its own loopback
interface: ports and displays of parallel desktops do not collide, and an agent's programs reach nothing outside. The
guest's server stays outside: what an agent breaks is its desktop, and never the program that reports it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import shutil
import socket
import subprocess
import weakref
from pathlib import Path

from rlanything_envs.osworld.desktop.client import GuestClient
from rlanything_envs.osworld.desktop.errors import DesktopError
from rlanything_envs.osworld.desktop.guest.framebuffer import Framebuffer
from rlanything_envs.osworld.desktop.guest.interior import in_memory, pixels_file
from rlanything_envs.osworld.desktop.local import (
    LocalDesktop,
    Running,
    check_memory,
    check_screen,
    end_process,
    start_process,
)
from rlanything_envs.osworld.desktop.namespaces import restrictions, why_forbidden
from rlanything_envs.osworld.desktop.packages import require
from rlanything_envs.osworld.desktop.root.bubblewrap import bubblewrap, closes_namespaces
from rlanything_envs.osworld.desktop.root.folder import VARIABLE, Root, installed
from rlanything_envs.osworld.desktop.scratch import Scratch

__all__ = ["BwrapDesktop"]

_GUEST = Path(__file__).resolve().parent / "guest"
_USER = 1000
_START_SECONDS = 60.0
_END_SECONDS = 10.0
_STRANGERS = 1_900_000_000
"""First of 2**24 user ids that no account of a machine has."""
_LONGEST_ADDRESS = 107
"""Bytes of a Unix socket's path."""
_MEMORY = "4g"
_PROCESSES = 1024
"""With threads; all applications of the desktop at once have some 400."""
_ASK_THE_DOCTOR = "`rlanything doctor` looks for the cause"
_DISK = 1 << 30
_IN_MEMORY = (
    ("/home", "0755", _DISK),
    ("/tmp", "1777", _DISK),
    ("/var/tmp", "1777", _DISK // 8),
    ("/run", "0755", _DISK // 8),
    ("/dev/shm", "1777", _DISK // 2),
)
"""Files that can be written: place, permissions, most bytes."""

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


class BwrapDesktop(LocalDesktop):
    """A desktop that starts in less than a second; Linux only.

    Args:
        screen: width and height in pixels.
        network: share the host's network; programs in the desktop then reach whatever this process reaches.
        memory: most memory of a desktop, with its files, such as ``"4g"``: by a control group where this process may
            make one, else of each process alone.

    Raises:
        SettingError: no possible size of a screen or of a memory.
    """

    name = "bwrap"

    def __init__(self, screen: tuple[int, int] = (1920, 1080), network: bool = False, memory: str = _MEMORY) -> None:
        super().__init__()
        self.screen = check_screen(screen)
        self.network = network
        self.memory = check_memory(memory)

    def _start(self) -> Running:
        root = installed()
        if root is None:
            require()
        return _Running(self.screen, self.network, self.memory, root)


class _Running:
    """The guest's server, and through it the sandbox."""

    def __init__(self, screen: tuple[int, int], network: bool, memory: int, root: Root | None) -> None:
        self._root, self._bwrap = root, bubblewrap(root)
        if root is not None and _lent_user() is not None:
            _check_open_to_all(root.path)
        with contextlib.ExitStack() as opened:
            self._open(opened, screen, network, memory)
            self._opened = opened.pop_all()

    def _open(self, opened: contextlib.ExitStack, screen: tuple[int, int], network: bool, memory: int) -> None:
        self._folder = Scratch()
        opened.callback(self._folder.remove)
        self._pixels = pixels_file(screen)
        opened.callback(os.close, self._pixels)
        folder, token, user = self._folder.path, secrets.token_urlsafe(32), _lent_user()
        guest = _GUEST
        if user is not None:
            guest = folder / "guest"  # where that user may read it
            shutil.copytree(_GUEST, guest, ignore=shutil.ignore_patterns("__pycache__"))
            folder.chmod(0o711)
        for name, text in _ETC_OWN.items():
            (folder / name).write_text(text)
        address = folder / "guest.sock"
        self._listener = opened.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        if len(os.fsencode(address)) > _LONGEST_ADDRESS:
            raise DesktopError(f"{address} is too long a path for a socket: set TMPDIR to a folder with a shorter one")
        self._listener.bind(str(address))
        self._listener.listen(64)
        address.chmod(0o600)
        self._log = opened.enter_context((folder / "log").open("w+"))
        self._process = opened.enter_context(self._launch(guest, network, screen, memory, user, token))
        opened.callback(weakref.finalize(self, end_process, self._process, _END_SECONDS))
        self.client = GuestClient(f"unix:{address}", token, framebuffer=Framebuffer(self._pixels))
        self._wait_until_ready()

    def _launch(
        self, guest: Path, network: bool, screen: tuple[int, int], memory: int, user: int | None, token: str
    ) -> subprocess.Popen[bytes]:
        options = in_memory(b"\0".join(word.encode() for word in self._arguments(guest, network)))
        listener = self._listener.fileno()
        python = ["/usr/bin/python3"] if self._root is None else self._root.program("python3")
        command = [*python, "-BPs", "-m", "guest", *(f"--bwrap={word}" for word in self._bwrap)]
        command += ["--listener", str(listener), "--sandbox", str(options)]
        command += ["--pixels", str(self._pixels), "--screen", f"{screen[0]}x{screen[1]}", "--parent", str(os.getpid())]
        command += ["--memory", str(memory), "--disk", str(_DISK), "--processes", str(_PROCESSES)]
        command += [] if user is None else ["--user", str(user)]
        env = {**_inherited(network), "RLANYTHING_TOKEN": token, "PYTHONPATH": str(_GUEST.parent)}
        fds = (options, listener, self._pixels)
        try:
            return start_process(command, stdout=subprocess.PIPE, stderr=self._log, env=env, pass_fds=fds)
        finally:
            os.close(options)

    def _arguments(self, guest: Path, network: bool) -> list[str]:
        """Arguments of bwrap."""
        words = ["--die-with-parent", "--new-session", "--unshare-user", "--unshare-pid", "--unshare-ipc"]
        words += ["--unshare-uts", "--unshare-cgroup-try", *([] if network else ["--unshare-net"])]
        words += ["--disable-userns"] if closes_namespaces(self._bwrap) else []
        words += ["--uid", str(_USER), "--gid", str(_USER), "--hostname", "desktop", *_files(self._root, network)]
        for name in _ETC_OWN:
            words += ["--ro-bind", str(self._folder.path / name), f"/etc/{name}"]
        words += ["--proc", "/proc", "--dev", "/dev"]
        words += ["--ro-bind", "/dev/null", "/proc/keys"] if Path("/proc/keys").exists() else []
        for place, mode, size in _IN_MEMORY:
            words += ["--perms", mode, "--size", str(size), "--tmpfs", place]
        words += ["--remount-ro", "/dev"]
        words += ["--ro-bind", str(guest), "/opt/rlanything/guest"]
        words += ["--dir", "/home/user", "--chdir", "/home/user", "--setenv", "PYTHONPATH", "/opt/rlanything"]
        return [*words, "--remount-ro", "/"]

    def _printed(self) -> str:
        self._log.seek(0)
        return self._log.read().strip()[-2000:] or "it printed nothing"

    def _wait_until_ready(self) -> None:
        stdout = self._process.stdout
        if stdout is None or not select.select([stdout], [], [], _START_SECONDS)[0] or stdout.readline() != b"ready\n":
            raise DesktopError(f"the desktop did not start: {self._printed()}. {why_forbidden() or _ASK_THE_DOCTOR}")
        self._listener.close()

    def restore(self) -> None:
        """A new home and no application."""
        self.client.reset()

    def runs(self) -> bool:
        """Whether the guest's server still runs; no program of the desktop can end it."""
        return self._process.poll() is None

    def end(self) -> None:
        """End the guest's server and with it the sandbox and everything inside; may be called twice."""
        self._opened.close()


def _lent_user() -> int | None:
    """The user that a sandbox runs as where root starts it; None for the user of this process.

    It is a separate user, so that the kernel's limits on a user's processes hold (they do not for root), and no file
    that it could reach by mistake is its own. Where only root may make a sandbox, it stays root's.
    """
    if os.geteuid() != 0 or any(value == wanted for _, value, wanted in restrictions()):
        return None
    return _STRANGERS + int.from_bytes(os.urandom(3), "little")


def _inherited(network: bool) -> dict[str, str]:
    kept = ("http_proxy", "https_proxy", "no_proxy") if network else ()  # a proxy's address can hold a password
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", **{name: os.environ[name] for name in kept if name in os.environ}}


def _check_open_to_all(path: Path) -> None:
    """Check that another user can enter a folder.

    Raises:
        DesktopError: it cannot.
    """
    closed = [folder for folder in (path, *path.parents) if not folder.stat().st_mode & 0o001]
    if closed:
        raise DesktopError(
            f"a desktop that root starts runs as another user, who cannot enter {closed[-1]}: install it elsewhere "
            f"(${VARIABLE}=FOLDER rlanything desktop install)"
        )


def _files(root: Root | None, network: bool) -> list[str]:
    """Arguments of bwrap for the system's files: the root folder, or what is needed of the host's."""
    online = [word for name in _ETC_NETWORK if network for word in ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")]
    if root is not None:
        return ["--ro-bind", str(root.path), "/", *online]
    words = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        host = Path("/", name)
        if host.is_symlink():
            words += ["--symlink", str(host.readlink()), str(host)]
        elif host.is_dir():
            words += ["--ro-bind", str(host), str(host)]
    for name in _ETC:
        words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return [*words, *online, "--ro-bind-try", "/var/cache/fontconfig", "/var/cache/fontconfig"]
