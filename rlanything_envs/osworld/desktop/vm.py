"""A virtual machine under QEMU: OSWorld's own disk image, or one that ``rlanything desktop build --vm FILE`` makes.

The image is not written to. A machine boots once, from an overlay that is its own, and its memory is saved when the
guest answers; a reset goes back to that. KVM is used where this process may, and emulation elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import subprocess
import time
import weakref
from pathlib import Path

from rlanything_envs.errors import SettingError
from rlanything_envs.osworld.desktop.client import GuestClient
from rlanything_envs.osworld.desktop.errors import DesktopError
from rlanything_envs.osworld.desktop.local import (
    LocalDesktop,
    Running,
    check_memory,
    check_screen,
    end_process,
    start_process,
)
from rlanything_envs.osworld.desktop.monitor import Monitor
from rlanything_envs.osworld.desktop.packages import install_command
from rlanything_envs.osworld.desktop.scratch import Scratch

__all__ = ["DISK_IMAGE", "VmDesktop", "hardware", "missing"]

DISK_IMAGE = "https://huggingface.co/datasets/xlangai/ubuntu_osworld/resolve/main/Ubuntu.qcow2.zip"
"""Where OSWorld publishes its disk image; it has some 10 GB packed."""

_FIRMWARE = Path("/usr/share/ovmf/OVMF.fd")
_NEEDED = {"qemu-system-x86_64": "qemu-system-x86", "qemu-img": "qemu-utils", str(_FIRMWARE): "ovmf"}
"""What runs a machine, and its Debian packages."""
_START_SECONDS, _EMULATED_SECONDS = 300.0, 1800.0
"""Until the first screenshot: upstream's limit, on hardware virtualisation; and on an emulated processor."""
_MONITOR_SECONDS = 30.0
_LOOK_SECONDS = 5.0
_END_SECONDS = 5.0
_CORES = 4
"""As upstream's machine has."""
_PRINTED = 1 << 16
"""Bytes of the serial port that are kept."""
_PROCESSOR = "max,-arch-capabilities"
"""All that the host or the emulation has, but for a register that a host which is a machine itself may not have."""
_PRISTINE = "pristine"


class VmDesktop(LocalDesktop):
    """A virtual machine with a guest on its port 5000; a reset goes back to files, memory and programs after the start.

    Args:
        qcow2: the disk image; OSWorld's, unpacked, is at `DISK_IMAGE`.
        screen: width and height in pixels; a request that another system than ours may ignore.
        memory: of the machine, such as ``"4g"``.
        network: whether its programs reach what this process reaches.

    Raises:
        SettingError: there is no such disk image; no possible size of a screen or of a memory.
    """

    name = "vm"

    def __init__(
        self, qcow2: str | Path, screen: tuple[int, int] = (1920, 1080), memory: str = "4g", network: bool = False
    ) -> None:
        super().__init__()
        self.disk = Path(qcow2).expanduser().resolve()
        if not _is_qcow2(self.disk):
            raise SettingError(
                f"{self.disk} is not a qcow2 disk image; build one with: rlanything desktop build --vm FILE, "
                f"or unpack OSWorld's, {DISK_IMAGE}"
            )
        self.screen = check_screen(screen)
        self.memory = check_memory(memory)
        self.network = network

    def _start(self) -> Running:
        if absent := missing():
            raise DesktopError(f"the vm desktop needs packages that are not installed: {install_command(absent)}")
        return _Running(self.disk, self.screen, self.memory, self.network)


def _is_qcow2(file: Path) -> bool:
    try:
        with file.open("rb") as content:
            return content.read(4) == b"QFI\xfb"  # the format's magic number
    except OSError:
        return False


def missing() -> tuple[str, ...]:
    """Names of the Debian packages that run a virtual machine and are not installed."""
    return tuple(package for file, package in _NEEDED.items() if not (shutil.which(file) or Path(file).is_file()))


def hardware() -> bool:
    """Whether this process can use hardware virtualisation: the kernel's device, and a processor that has it.

    Where the processor hides it (a machine inside a machine), the device may be there, and no firmware runs on it.
    """
    try:
        flags = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags"))
    except (OSError, StopIteration):
        return False
    return bool({"vmx", "svm"} & set(flags.split())) and os.access("/dev/kvm", os.R_OK | os.W_OK)


class _Running:
    """QEMU with a machine, its overlay and its snapshot."""

    def __init__(self, disk: Path, screen: tuple[int, int], memory: int, network: bool) -> None:
        self._scratch = Scratch()
        folder, token = self._scratch.path, secrets.token_urlsafe(32)
        overlay = ["qemu-img", "create", "-q", "-f", "qcow2", "-b", str(disk), "-F", "qcow2", str(folder / "disk")]
        made = subprocess.run(overlay, capture_output=True, text=True, check=False)
        if made.returncode:
            self._scratch.remove()
            raise DesktopError(f"qemu-img makes no overlay of {disk}: {made.stderr.strip()[-500:]}")
        (folder / "token").write_text(token)
        self._log = (folder / "log").open("w+")
        command = _command(folder, screen, memory, network)
        self._process = start_process(command, stdout=self._log, stderr=self._log)
        self._finalizer = weakref.finalize(self, end_process, self._process, _END_SECONDS)
        self._monitor: Monitor | None = None
        try:
            self._monitor = Monitor(folder / "monitor", self._alive, _MONITOR_SECONDS)
            self.client = GuestClient(f"http://127.0.0.1:{self._port()}", token)
            self._wait()
            if said := self._monitor.line(f"savevm {_PRISTINE}"):
                raise DesktopError(f"QEMU saves no snapshot: {said.strip()}")
        except BaseException as error:
            printed = self._printed()
            self.end()
            if isinstance(error, DesktopError):
                raise DesktopError(
                    f"the virtual machine of {disk} did not start: {error}; it printed: {printed}"
                ) from error
            raise

    def _port(self) -> int:
        """The port of this machine that leads to the guest's, chosen by the kernel."""
        assert self._monitor is not None  # nosec B101 # for the type checker
        printed = self._monitor.line("info usernet")
        found = re.search(r"TCP\[HOST_FORWARD\]\s+\d+\s+127\.0\.0\.1\s+(\d+)", printed)
        if found is None:
            raise DesktopError(f"QEMU forwards no port: {printed}")
        return int(found[1])

    def _wait(self) -> None:
        """Until there is a screenshot."""
        end = time.monotonic() + (_START_SECONDS if hardware() else _EMULATED_SECONDS)
        while True:
            try:
                self.client.transport.once("GET", "/screen_size", None, {}, _LOOK_SECONDS)
                self.client.screenshot()
                return
            except DesktopError as error:
                if not self._alive() or self._status() != "running" or time.monotonic() > end:
                    raise DesktopError(f"its guest does not answer: {error}") from error
            time.sleep(0.1)

    def _status(self) -> str:
        assert self._monitor is not None  # nosec B101 # for the type checker
        return str(self._monitor.ask("query-status")["status"])

    def _alive(self) -> bool:
        return self._process.poll() is None

    def _printed(self) -> str:
        """What QEMU and the machine's serial port printed last."""
        self._log.seek(0)
        printed = self._log.read()
        if self._monitor is not None:
            with contextlib.suppress(DesktopError):
                printed += self._monitor.ask("ringbuf-read", device="serial", size=_PRINTED)
        return printed.strip()[-2000:] or "nothing"

    def restore(self) -> None:
        """Go back to the snapshot.

        Raises:
            DesktopError: QEMU does not, or the guest does not answer then.
        """
        if self._monitor is None:
            raise DesktopError("the virtual machine is not running")
        if self._status() != "running":  # switched off, or its kernel has given up
            self._monitor.ask("system_reset")
        if said := self._monitor.line(f"loadvm {_PRISTINE}"):
            raise DesktopError(f"QEMU does not go back to the snapshot: {said.strip()}")
        self._monitor.ask("cont")
        self.client.screen_size()

    def runs(self) -> bool:
        """Whether QEMU runs and answers; nothing in the machine can end it, not even by switching it off."""
        with contextlib.suppress(DesktopError):
            return self._alive() and bool(self._status())
        return False

    def end(self) -> None:
        """End QEMU and delete its files; may be called twice."""
        if self._monitor is not None:
            self._monitor.close()
        self._finalizer()
        self._log.close()
        self._scratch.remove()


def _command(folder: Path, screen: tuple[int, int], memory: int, network: bool) -> list[str]:
    """QEMU's command line."""
    width, height = screen
    forward = "hostfwd=tcp:127.0.0.1:0-:5000"
    words = ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-nodefaults", "-no-user-config"]
    words += ["-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"]
    words += ["-machine", "q35", "-accel", "kvm" if hardware() else "tcg,thread=multi", "-cpu", _PROCESSOR]
    words += ["-smp", str(min(_CORES, os.cpu_count() or 1)), "-m", f"{memory >> 20}M", "-bios", str(_FIRMWARE)]
    words += ["-drive", f"file={folder / 'disk'},if=virtio,format=qcow2,cache=unsafe,discard=unmap"]
    words += ["-nic", f"user,model=virtio-net-pci,{forward}{'' if network else ',restrict=on'}"]
    words += ["-device", "virtio-rng-pci", "-device", f"VGA,xres={width},yres={height}", "-display", "none"]
    words += ["-fw_cfg", f"name=opt/rlanything/token,file={folder / 'token'}"]
    words += ["-fw_cfg", f"name=opt/rlanything/screen,string={width}x{height}"]
    words += ["-chardev", f"socket,id=monitor,path={folder / 'monitor'},server=on,wait=off"]
    words += ["-chardev", f"ringbuf,id=serial,size={_PRINTED}"]  # a program of the machine can print without end
    words += ["-mon", "chardev=monitor,mode=control", "-serial", "chardev:serial"]
    return [*words, "-action", "shutdown=pause"]
