"""The disk of a virtual machine: the docker image's Debian with a kernel, in a file that QEMU boots.

No loop device and no boot loader's installer is needed: the file systems are made from a folder, and firmware (UEFI)
starts systemd-boot, which finds kernel and initial file system beside it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rlanything_envs.osworld.desktop.errors import DesktopError, NotPrepared
from rlanything_envs.osworld.desktop.image import GUEST, debootstrap, desktop_packages, provision

__all__ = ["build_disk"]

_MACHINE = ("linux-image-cloud-amd64", "initramfs-tools", "zstd", "systemd-boot-efi", "iproute2", "kmod", "hostname")
"""What a machine has and a container lacks."""
_TOOLS = {
    "debootstrap": "debootstrap",
    "chroot": "coreutils",
    "sfdisk": "fdisk",
    "mformat": "mtools",
    "mcopy": "mtools",
    "mke2fs": "e2fsprogs",
    "qemu-img": "qemu-utils",
}
"""Programs that build it, and their Debian packages."""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_MIB = 1 << 20
_BOOT = 128
"""MiB of the boot partition; kernel and initial file system have some 50."""
_ROOM = 4096
"""MiB of the disk beyond what is on it."""
_LABEL = "rlanything"
_LOADER = f"""\
title Debian
linux /vmlinuz
initrd /initrd.img
options root=LABEL={_LABEL} rw quiet net.ifnames=0 console=ttyS0
"""


def build_disk(file: Path, names: Sequence[str] | None = None) -> Iterator[str]:
    """Build the disk image of the ``vm`` desktop; yields its progress line by line.

    Args:
        file: the qcow2 image; one that is there is replaced at the end. What it is made from lies in its folder until
            then, and is three times as large.
        names: Debian packages of the desktop; without, those of the docker image.

    Raises:
        DesktopError: not root, a program is missing, or a step failed.
    """
    absent = sorted({package for program, package in _TOOLS.items() if shutil.which(program, path=_PATH) is None})
    if absent:
        raise NotPrepared(f"programs are missing: apt-get install -y --no-install-recommends {' '.join(absent)}")
    if os.geteuid() != 0:
        raise NotPrepared("only root can build the disk of a virtual machine, since its files are root's")
    with tempfile.TemporaryDirectory(prefix=".rlanything-disk-", dir=file.absolute().parent) as folder:
        root, raw, image = (Path(folder, name) for name in ("root", "raw", "image"))
        yield from debootstrap(root)
        names = desktop_packages() if names is None else names
        yield f"installing {len(names) + len(_MACHINE)} packages"
        with _mounted(root):
            _run("chroot", str(root), "/bin/sh", "-c", provision((*_MACHINE, *names)))
        shutil.copytree(
            GUEST, root / "opt/rlanything/guest", symlinks=True, ignore=shutil.ignore_patterns("__pycache__")
        )
        first = root / "sbin/init"
        first.unlink(missing_ok=True)
        first.symlink_to("/opt/rlanything/guest/init.sh")
        yield "making the disk"
        _partition(raw, root)
        _run("qemu-img", "convert", "-O", "qcow2", "-c", "-o", "compression_type=zstd", str(raw), str(image))
        image.replace(file)
    yield f"built {file} ({file.stat().st_size / _MIB:,.0f} MiB)"


def _partition(raw: Path, root: Path) -> None:
    """A disk with a boot partition and a root partition, from the files of a folder."""
    used = int(_run("du", "-sm", "--apparent-size", str(root)).split()[0])
    size = used + used // 4 + _ROOM
    with raw.open("wb") as file:
        file.truncate((1 + _BOOT + size + 1) * _MIB)
    table = f"label: gpt\nstart=1MiB, size={_BOOT}MiB, type=uefi\nstart={1 + _BOOT}MiB, size={size}MiB, type=linux\n"
    _run("sfdisk", "--quiet", str(raw), given=table)
    boot = f"{raw}@@1M"
    _run("mformat", "-i", boot, "-T", str(_BOOT * _MIB // 512), "-F", "::")
    _run("mmd", "-i", boot, "::/EFI", "::/EFI/BOOT", "::/loader", "::/loader/entries")
    entry = raw.with_name("debian.conf")
    entry.write_text(_LOADER)
    for source, target in (
        (root / "usr/lib/systemd/boot/efi/systemd-bootx64.efi", "EFI/BOOT/BOOTX64.EFI"),
        (entry, "loader/entries/debian.conf"),
        ((root / "vmlinuz").resolve(), "vmlinuz"),
        ((root / "initrd.img").resolve(), "initrd.img"),
    ):
        _run("mcopy", "-i", boot, str(source), f"::/{target}")
    offset = (1 + _BOOT) * _MIB
    features = f"offset={offset},root_owner=0:0"
    _run("mke2fs", "-q", "-t", "ext4", "-L", _LABEL, "-E", features, "-d", str(root), str(raw), f"{size}m")


@contextmanager
def _mounted(root: Path) -> Iterator[None]:
    """What packages ask for as they are installed: file systems of the kernel, and whether to start services."""
    places = []
    policy = root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")  # packages start no services
    policy.chmod(0o755)
    try:
        for kind, place in (("proc", root / "proc"), ("sysfs", root / "sys")):
            _run("mount", "-t", kind, kind, str(place))
            places.append(place)
        yield
    finally:
        for place in reversed(places):
            _run("umount", "--lazy", str(place))
        policy.unlink()


def _run(*words: str, given: str = "") -> str:
    """Run a program to its end.

    Raises:
        DesktopError: it fails.
    """
    environment = {**os.environ, "PATH": _PATH, "LANG": "C.UTF-8"}
    done = subprocess.run(words, input=given, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-1000:]
        raise DesktopError(f"{words[0]} failed with status {done.returncode}: {said}")
    return done.stdout
