"""A worker's own view of the machine: its processes, no network, an empty read-only root."""

# ruff: noqa: PTH103, PTH112, PTH120, PTH211

import ctypes
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress

from . import libc
from .syscalls import machine

#: The user a worker becomes, inside its namespaces and, where root starts it, outside as well: "nobody".
NOBODY = 65534

# linux/sched.h
_NEWNS, _NEWCGROUP, _NEWUTS, _NEWIPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
_NEWUSER, _NEWPID, _NEWNET = 0x10000000, 0x20000000, 0x40000000
# linux/mount.h
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _BIND, _REC, _PRIVATE = 1, 2, 4, 8, 0x1000, 0x4000, 0x40000
_DETACH = 2  # MNT_DETACH
_AT_RECURSIVE = 0x8000
_AT_FDCWD = -100
_PR_CAPBSET_DROP, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 24, 47, 4
_CAPABILITY_VERSION_3 = 0x20080522
_SCRATCH = 256 << 20
#: Where the new root is put together: any directory that no Python lives in.
_PLACES = ("/sys", "/mnt", "/media", "/tmp")


def enter() -> None:
    """Move this process into namespaces of its own; its next child is process 1 there.

    Raises:
        OSError: The kernel, a container's filter or a security module refused.
    """
    writer, ready = _map_writer(os.getpid(), os.geteuid(), os.getegid())
    try:
        libc.call("unshare", _NEWUSER | _NEWPID | _NEWNET | _NEWNS | _NEWIPC | _NEWUTS | _NEWCGROUP)
        os.write(ready, b"1")
    finally:
        os.close(ready)
        _, status = os.waitpid(writer, 0)
    if status:
        raise OSError(os.waitstatus_to_exitcode(status), "the user namespace's id map was refused")


def _map_writer(pid: int, uid: int, gid: int) -> tuple[int, int]:
    """A child outside the new user namespace, which writes its id maps once the pipe speaks."""
    read, write = os.pipe()
    writer = os.fork()
    if writer:
        os.close(read)
        return writer, write
    try:
        os.close(write)
        if os.read(read, 1):
            try:  # root can lend the worker another id, and needs its own until the new root stands
                _write(f"/proc/{pid}/uid_map", f"0 {uid} 1\n{NOBODY} {NOBODY} 1")
                _write(f"/proc/{pid}/gid_map", f"0 {gid} 1\n{NOBODY} {NOBODY} 1")
            except OSError:
                _write(f"/proc/{pid}/setgroups", "deny")
                _write(f"/proc/{pid}/uid_map", f"{NOBODY} {uid} 1")
                _write(f"/proc/{pid}/gid_map", f"{NOBODY} {gid} 1")
    except OSError as error:
        os._exit(error.errno or 1)
    finally:
        os._exit(0)


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def minimal_root(
    readable: Iterable[str], links: Mapping[str, str], hidden: Iterable[str], scratch: str | None = None
) -> None:
    """Replace the root by an empty one with the named files in it, all read-only.

    Args:
        readable: Files and directories to show.
        links: Symbolic links to make: path to target.
        hidden: Directories among them to cover with an empty one.
        scratch: A directory to make in which everybody may write, of `_SCRATCH` bytes in memory.

    Raises:
        OSError: A mount was refused.
    """
    # Parents first; what lies in a directory shown is shown with it.
    sources: list[str] = []
    for path in sorted(readable):
        if not any(path.startswith(parent + "/") for parent in sources):
            sources.append(path)
    base = next((p for p in _PLACES if os.path.isdir(p) and not any(s.startswith(p + "/") for s in sources)), None)
    if base is None:
        raise OSError(f"none of {', '.join(_PLACES)} can hold the new root")
    _mount(None, "/", None, _REC | _PRIVATE)
    _mount("tmpfs", base, "tmpfs", _NOSUID, "size=1m,mode=755")
    for source in sources:
        _show(source, base + source)
        _attributes(base + source, _RDONLY | _NOSUID)
    _show("/dev/null", base + "/dev/null")
    for directory in hidden:
        _mount("tmpfs", base + directory, "tmpfs", _NOSUID | _NODEV | _RDONLY, "size=4k,mode=555")
    if scratch is not None:
        os.makedirs(base + scratch, exist_ok=True)
        _mount("tmpfs", base + scratch, "tmpfs", _NOSUID | _NODEV | _NOEXEC, f"size={_SCRATCH},mode=1777")
    for path, target in links.items():
        os.makedirs(os.path.dirname(base + path), exist_ok=True)
        with suppress(FileExistsError):
            os.symlink(target, base + path)
    os.chdir(base)
    libc.syscall("pivot_root", machine().number["pivot_root"], ctypes.c_char_p(b"."), ctypes.c_char_p(b"."))
    libc.call("umount2", b".", _DETACH)
    os.chdir("/")
    _attributes("/", _RDONLY, recursive=False)


def _show(source: str, target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_CLOEXEC, 0o444))
    _mount(source, target, None, _BIND | _REC)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    words = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    try:
        libc.call("mount", *words[:3], ctypes.c_ulong(flags), words[3])
    except OSError as error:
        raise OSError(error.errno, f"mount on {target}: {os.strerror(error.errno or 0)}") from None


def _attributes(target: str, flags: int, *, recursive: bool = True) -> None:
    # mount_setattr only adds flags: a remount would have to repeat those which the source's mount has locked.
    request = (ctypes.c_uint64 * 4)(flags, 0, 0, 0)
    how = _AT_RECURSIVE if recursive else 0
    path = ctypes.c_char_p(os.fsencode(target))
    libc.syscall("mount_setattr", machine().number["mount_setattr"], _AT_FDCWD, path, how, ctypes.byref(request), 32)


def become(user: int) -> None:
    """Turn from root into another user, who cannot turn back.

    Raises:
        OSError: This process may not, or the user is not mapped into its namespace.
    """
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def drop_capabilities() -> None:
    """Give up all capabilities for good.

    Raises:
        OSError: The kernel refused.
    """
    number = 0
    while libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    none = (ctypes.c_uint32 * 6)()
    libc.syscall("capset", machine().number["capset"], ctypes.byref(header), ctypes.byref(none))
