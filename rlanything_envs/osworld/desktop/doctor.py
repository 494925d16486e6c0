"""Check of a machine's requirements for a desktop, with the command that installs missing ones."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rlanything_envs.osworld.desktop import vm
from rlanything_envs.osworld.desktop.bwrap import BwrapDesktop, restrictions
from rlanything_envs.osworld.desktop.errors import DesktopError
from rlanything_envs.osworld.desktop.packages import NEEDED, OPTIONAL, install_command, missing
from rlanything_envs.osworld.setup import check_steps
from rlanything_envs.osworld.winnable import Provided
from rlanything_task_pools import TaskFormatError
from rlanything_task_pools.osworld import Assets, asset_urls, import_folder, read_payload, requirements_of

__all__ = ["Finding", "examine", "install", "judge_tasks"]

_INSTALL_SECONDS = 3600


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
    yield from _packages()
    yield from _tried(start and not missing(NEEDED))
    yield _docker()
    yield _vm()


def _packages() -> Iterator[Finding]:
    absent = missing()
    command = install_command(absent) if absent else ""
    needed = missing(NEEDED)
    if needed:
        yield Finding("packages", False, f"missing: {' '.join(needed)}", command)
    else:
        yield Finding("packages", True, "everything a desktop needs to start is installed")
    others = tuple(name for name in absent if name not in needed)
    if others:
        yield Finding("applications", False, f"missing: {' '.join(others)}", command)
    else:
        yield Finding("applications", True, "all applications and fonts are installed")


def _tried(start: bool) -> Iterator[Finding]:
    if not start:
        return
    begin = time.perf_counter()
    try:
        with BwrapDesktop() as desktop:
            shape = desktop.client.screenshot_array().shape
            first = time.perf_counter() - begin
            begin = time.perf_counter()
            desktop.reset()
            again = time.perf_counter() - begin
    except DesktopError as error:
        yield Finding("bwrap desktop", False, str(error), _sandbox_remedy())
        return
    said = f"first screenshot ({shape[1]}x{shape[0]}) after {first:.2f} s, reset in {again:.2f} s"
    yield Finding("bwrap desktop", True, said)


def _sandbox_remedy() -> str:
    """Reason why a user may not make a sandbox."""
    for switch, value, forbids in restrictions():
        if value == forbids and os.geteuid() != 0:
            return f"sudo sysctl -w {switch}={1 - int(forbids)}"
    if Path("/.dockerenv").exists():
        return (
            "start this container with --cap-add SYS_ADMIN --security-opt seccomp=unconfined, or use the http desktop"
        )
    return ""


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


def install(more: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Install everything that is missing; for root on a system with apt.

    Args:
        more: optional sections of the list of packages, too.

    Returns:
        The packages that were missing.

    Raises:
        DesktopError: not root, no apt, or apt failed; or no such section.
    """
    if unknown := set(more) - set(OPTIONAL):
        raise DesktopError(f"no optional packages are called {min(unknown)!r}; there are {', '.join(OPTIONAL)}")
    absent = (*missing(), *missing(more))
    if not absent:
        return ()
    command = install_command(absent)
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise DesktopError(f"only root can install packages, with apt: {command}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["apt-get", "update"], command.split()):
        try:
            done = subprocess.run(words, env=environment, timeout=_INSTALL_SECONDS, check=False)
        except subprocess.TimeoutExpired as error:
            raise DesktopError(f"still not done after {_INSTALL_SECONDS} seconds: {command}") from error
        if done.returncode:
            raise DesktopError(f"exit status {done.returncode}: {' '.join(words)}")
    return absent
