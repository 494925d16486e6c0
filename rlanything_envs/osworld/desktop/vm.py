"""OSWorld's own virtual machine, run by its published container image.

What the container is started with is the command line of upstream's docker provider: resources through the
environment, the disk image read-only at ``/System.qcow2``, and ``KVM=N`` where the host has no ``/dev/kvm``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rlanything_envs.osworld.desktop.container import ContainerDesktop
from rlanything_envs.osworld.desktop.errors import DesktopSettingError

__all__ = ["DISK_IMAGE", "VmDesktop", "vm_options"]

DISK_IMAGE = "https://huggingface.co/datasets/xlangai/ubuntu_osworld/resolve/main/Ubuntu.qcow2.zip"
"""Where the disk image is published; it has some 10 GB packed."""

_IMAGE = "happysixd/osworld-docker"
_START_SECONDS = 300.0
"""Upstream's limit until the first screenshot."""


def vm_options(qcow2: Path, kvm: bool) -> Mapping[str, Any]:
    """Arguments of the container.

    Args:
        qcow2: the disk image; it is not written to.
        kvm: whether the host has hardware virtualisation to lend.
    """
    environment = {"DISK_SIZE": "32G", "RAM_SIZE": "4G", "CPU_CORES": "4"}
    return {
        "environment": environment if kvm else {**environment, "KVM": "N"},
        "cap_add": ["NET_ADMIN"],
        "devices": ["/dev/kvm"] if kvm else [],
        "volumes": {str(qcow2): {"bind": "/System.qcow2", "mode": "ro"}},
    }


def _is_qcow2(file: Path) -> bool:
    try:
        with file.open("rb") as content:
            return content.read(4) == b"QFI\xfb"  # the format's magic number
    except OSError:
        return False


class VmDesktop(ContainerDesktop):
    """The desktop on which OSWorld's tasks were made; a reset is a new machine.

    Args:
        qcow2: the unpacked disk image, see `DISK_IMAGE`.
        image: the container image that runs it.

    Raises:
        DesktopSettingError: there is no such disk image.
    """

    name = "vm"
    _remedy = f"get it with: docker pull {_IMAGE}"

    def __init__(self, qcow2: str | Path, image: str = _IMAGE) -> None:
        disk = Path(qcow2).expanduser().resolve()
        if not _is_qcow2(disk):
            raise DesktopSettingError(f"{disk} is no qcow2 disk image; unpack the one at {DISK_IMAGE}")
        super().__init__(image, vm_options(disk, os.access("/dev/kvm", os.R_OK | os.W_OK)), None, _START_SECONDS)
