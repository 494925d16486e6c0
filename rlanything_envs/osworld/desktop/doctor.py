"""Check of a machine's requirements for a desktop, with the command that installs missing ones."""

from __future__ import annotations

import platform
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rlanything_envs.osworld.desktop import vm
from rlanything_envs.osworld.desktop.bwrap import BwrapDesktop
from rlanything_envs.osworld.desktop.errors import DesktopError
from rlanything_envs.osworld.desktop.namespaces import why_forbidden
from rlanything_envs.osworld.desktop.packages import NEEDED, install_command, missing
from rlanything_envs.osworld.desktop.root import Root, installed, shipped
from rlanything_envs.osworld.setup import check_steps
from rlanything_envs.osworld.winnable import Provided
from rlanything_task_pools import TaskFormatError
from rlanything_task_pools.osworld import Assets, asset_urls, import_folder, read_payload, requirements_of

__all__ = ["Finding", "examine", "judge_tasks"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        topic: the requirement.
        good: whether it is as it should be; None where it only matters to some backends.
        said: the finding.
        remedy: a command or a piece of advice; empty where nothing is to be done.
    """

    topic: str
    good: bool | None
    said: str
    remedy: str = ""


def examine(start: bool = True) -> Iterator[Finding]:
    """Look at everything the desktops of this machine need, one finding after the other.

    Args:
        start: also start a `bwrap` desktop, look at it, put it back and end it.
    """
    if platform.system() != "Linux":
        yield Finding(
            "system", False, f"{platform.system()} has no bwrap desktop", "use the docker, vm or http desktop there"
        )
        return
    root = installed()
    yield from _packages() if root is None else (_root(root),)
    if reason := why_forbidden():
        yield Finding("user namespaces", False, reason)
    elif start and (root is not None or not missing(NEEDED)):
        yield _tried()
    yield _docker()
    yield _vm()


def _root(root: Root) -> Finding:
    """The root folder, and the packages in it that are not the pinned ones."""
    said, pinned = f"{root.path}, hash {root.hash}", {pin.name: pin.version for pin in shipped().all}
    others = [f"{pin.name} {pin.version}" for pin in root.pins.all if pinned.get(pin.name) != pin.version]
    if others:
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        return Finding("root folder", True, f"{said}; not the pinned versions: {', '.join(others[:3])}{more}")
    return Finding("root folder", True, f"{said}, the pinned packages")


def _packages() -> Iterator[Finding]:
    absent = missing()
    command = install_command(absent) if absent else ""
    needed = missing(NEEDED)
    if needed:
        said = f"no root folder is installed, and the system lacks {' '.join(needed)}"
        yield Finding("packages", False, said, "rlanything desktop install")
        return
    yield Finding("packages", True, "no root folder: the system's programs are used, everything needed is installed")
    others = tuple(name for name in absent if name not in needed)
    if others:
        yield Finding("applications", False, f"missing: {' '.join(others)}", command)
    else:
        yield Finding("applications", True, "all applications and fonts are installed")


def _tried() -> Finding:
    begin = time.perf_counter()
    try:
        with BwrapDesktop() as desktop:
            shape = desktop.client.screenshot_array().shape
            first = time.perf_counter() - begin
            begin = time.perf_counter()
            desktop.reset()
            again = time.perf_counter() - begin
    except DesktopError as error:
        return Finding("bwrap desktop", False, str(error))
    said = f"first screenshot ({shape[1]}x{shape[0]}) after {first:.2f} s, reset in {again:.2f} s"
    return Finding("bwrap desktop", True, said)


def _docker() -> Finding:
    program = shutil.which("docker")
    if program is None:
        return Finding("docker", True, "not installed; only the docker desktop needs it")
    try:
        done = subprocess.run([program, "info"], capture_output=True, timeout=20, check=False)
    except subprocess.TimeoutExpired:
        return Finding("docker", None, "the engine does not answer; only the docker desktop needs it")
    if done.returncode:
        return Finding("docker", True, "no engine is running; only the docker desktop needs it")
    return Finding("docker", True, "the engine answers")


def _vm() -> Finding:
    if absent := vm.missing():
        return Finding("virtual machines", True, f"not installed: {' '.join(absent)}; only the vm desktop needs them")
    if vm.hardware():
        return Finding("virtual machines", True, "QEMU is installed, and hardware virtualisation can be used")
    said = "QEMU is installed, and slow: no hardware virtualisation (/dev/kvm, and vmx or svm of the processor)"
    return Finding("virtual machines", True, said)


def judge_tasks(folder: Path) -> Iterator[Finding]:
    """Which tasks of a folder can be won on this machine's `bwrap` desktop, and what the others lack.

    Args:
        folder: task files, as OSWorld has them.

    Raises:
        DesktopError: the desktop does not start.
    """
    tasks, refused = import_folder(folder)
    for path, reason in refused.items():
        yield Finding(Path(path).stem, None, f"cannot be read: {reason}")
    assets, provided, winnable = Assets(), Provided(), 0
    with BwrapDesktop() as desktop:
        for task in tasks:
            payload = read_payload(task.payload)
            lacking = provided.lacking(requirements_of(payload), desktop.client)
            if absent := assets.missing(asset_urls(payload)):
                lacking.append(f"{len(absent)} files (rlanything desktop fetch-assets {folder})")
            try:
                check_steps([step.model_dump() for step in payload.config], "config")
            except TaskFormatError as error:
                lacking.append(str(error))
            winnable += not lacking
            name = str(payload.source.get("id", task.id))
            yield Finding(name, None if lacking else True, f"lacks {', '.join(lacking)}" if lacking else "winnable")
    yield Finding("tasks", True, f"{winnable} of {len(tasks) + len(refused)} can be won on the bwrap desktop")
