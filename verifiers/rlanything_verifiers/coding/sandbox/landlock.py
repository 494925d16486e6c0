"""Landlock: the files a worker and everything under it may still open."""

# ruff: noqa: PTH112

import ctypes
import os
import struct
from collections.abc import Iterable
from contextlib import suppress

from . import libc
from .syscalls import machine

# linux/landlock.h
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_FILE, _MAKE_FILE, _TRUNCATE = 1 << 5, 1 << 8, 1 << 14
#: Kinds of file access known to each ABI version: 13, then REFER, TRUNCATE and IOCTL_DEV.
_FS_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_NEWEST_FS_RIGHTS = 16
_NET = 3  # bind and connect, since ABI 4
_SCOPES = 3  # abstract sockets and signals, since ABI 6
_RULE_PATH_BENEATH = 1
_VERSION = 1


def abi() -> int:
    """Version of Landlock in this kernel.

    Raises:
        OSError: There is none, or it is switched off.
    """
    return libc.syscall("landlock_create_ruleset", machine().number["landlock_create_ruleset"], None, 0, _VERSION)


def restrict(
    readable: Iterable[str],
    listable: Iterable[str],
    writable: Iterable[str] = (),
    executable: Iterable[str] = (),
    scratch: Iterable[str] = (),
) -> int:
    """Allow this process and its children no more than the named files. Needs no_new_privs.

    Args:
        readable: Files, and directories with all beneath, that may be read.
        listable: Directories that may be listed, with all directories beneath.
        writable: Files that may also be written.
        executable: Files, and directories with all beneath, that may be read and started.
        scratch: Directories in which files may be made, written and removed.

    Returns:
        The Landlock ABI version in force.

    Raises:
        OSError: The kernel has no Landlock or refused.
    """
    version = abi()
    rights = (1 << _FS_RIGHTS.get(version, _NEWEST_FS_RIGHTS)) - 1
    files = _READ_FILE | _READ_DIR
    attributes = struct.pack("QQQ", rights, _NET if version >= 4 else 0, _SCOPES if version >= 6 else 0)[
        : 8 if version < 4 else 16 if version < 6 else 24
    ]
    number = machine().number
    rules = libc.syscall(
        "landlock_create_ruleset", number["landlock_create_ruleset"], ctypes.c_char_p(attributes), len(attributes), 0
    )
    try:
        for access, paths in (
            (files, readable),
            (_READ_DIR, listable),
            (_READ_FILE | _WRITE_FILE, writable),
            (files | _EXECUTE, executable),
            (files | _WRITE_FILE | _REMOVE_FILE | _MAKE_FILE | _TRUNCATE & rights, scratch),
        ):
            for path in paths:
                with suppress(FileNotFoundError):
                    _add(rules, path, access)
        libc.syscall("landlock_restrict_self", number["landlock_restrict_self"], rules, 0)
    finally:
        os.close(rules)
    return version


def _add(rules: int, path: str, access: int) -> None:
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not os.path.isdir(path):
            access &= ~_READ_DIR
        beneath = ctypes.c_char_p(struct.pack("=Qi", access, fd))
        number = machine().number["landlock_add_rule"]
        libc.syscall("landlock_add_rule", number, rules, _RULE_PATH_BENEATH, beneath, 0)
    finally:
        os.close(fd)
