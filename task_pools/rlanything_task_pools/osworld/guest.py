"""A desktop of files alone, on which the gate scores evaluators, in memory and in microseconds."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rlanything_task_pools.osworld.assets import inline
from rlanything_task_pools.osworld.payload import Payload, file_of

__all__ = ["HOME", "FileGuest", "InlineFiles", "Printed", "absolute", "write_file"]

HOME = "/home/user"


@dataclass(frozen=True, slots=True)
class Printed:
    """Output of a program."""

    output: str
    error: str = ""
    returncode: int = 0


class InlineFiles:
    """The files that a task carries itself, as ``data:`` URLs."""

    def read(self, url: str) -> bytes:
        """The content of a ``data:`` URL.

        Raises:
            AssetError: It is not such a URL.
        """
        return inline(url)


class FileGuest:
    """Files by their absolute paths.

    Args:
        files: Content by path; a path that ends with ``/`` is a folder, which is needed for empty ones only.
        modes: Permissions in octal by path, where they are not ``644``.
    """

    def __init__(self, files: Mapping[str, bytes], modes: Mapping[str, str] | None = None) -> None:
        self.files = {absolute(path): data for path, data in files.items()}
        self.modes = {absolute(path): mode for path, mode in (modes or {}).items()}

    @classmethod
    def of(cls, payload: Payload) -> "FileGuest":
        """The state that the ``write_file`` steps of a task set up."""
        return cls(dict(file_of(step.parameters) for step in payload.config if step.type == "write_file"))

    def after(self, files: Mapping[str, bytes | None], modes: Mapping[str, str] | None = None) -> "FileGuest":
        """The state with some files changed; None where there is none any more."""
        changed = {absolute(path): data for path, data in files.items()}
        kept = {path: data for path, data in self.files.items() if path not in changed}
        kept |= {path: data for path, data in changed.items() if data is not None}
        return FileGuest(kept, {**self.modes, **(modes or {})})

    def read_file(self, path: str) -> bytes | None:
        """The content of a file; None where there is none."""
        path = absolute(path)
        return None if path.endswith("/") else self.files.get(path)

    def list_directory(self, path: str) -> dict[str, Any] | None:
        """A folder and everything below it; None where there is none."""
        top = absolute(path).rstrip("/")
        inside = sorted(name[len(top) + 1 :] for name in self.files if name.startswith(top + "/"))
        return _tree(top.rpartition("/")[2], inside) if inside or top == HOME else None

    def execute(self, command: Sequence[str] | str, *, shell: bool = False) -> Printed:
        """The permissions of a file, by ``stat -c %a PATH``; no other program is here.

        Raises:
            NotImplementedError: It is another command.
        """
        if isinstance(command, str) or shell or len(command) != 4 or tuple(command[:3]) != ("stat", "-c", "%a"):
            raise NotImplementedError(f"{command!r:.200}: here are files, and no programs but 'stat -c %a'")
        path = absolute(command[3])
        if path not in self.files:
            return Printed("", f"stat: cannot statx '{path}': No such file or directory\n", 1)
        return Printed(self.modes.get(path, "644") + "\n")

    def accessibility_tree(self) -> str:
        """Nothing is shown.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError("here are files, and nothing is shown")

    def terminal_output(self) -> str | None:
        """There is no terminal."""
        return None

    def wallpaper(self) -> bytes | None:
        """There is none."""
        return None

    def screen_size(self) -> tuple[int, int]:
        """There is no screen."""
        return 0, 0

    def window_size(self, app_class_name: str) -> tuple[int, int] | None:
        """There is no window."""
        return None

    def desktop_path(self) -> str:
        """The user's desktop folder."""
        return f"{HOME}/Desktop"


def absolute(path: str) -> str:
    """A path with the home directory in place of ``~`` and ``$HOME``."""
    for short in ("~", "$HOME"):
        if path == short or path.startswith(short + "/"):
            return HOME + path[len(short) :]
    return path


def write_file(path: str, data: bytes) -> dict[str, Any]:
    """The set-up step that stores a file: as text if it is one."""
    try:
        return {"type": "write_file", "parameters": {"path": path, "text": data.decode()}}
    except UnicodeDecodeError:
        return {"type": "write_file", "parameters": {"path": path, "base64": base64.b64encode(data).decode()}}


def _tree(name: str, inside: Sequence[str]) -> dict[str, Any]:
    below: dict[str, list[str] | None] = {}
    for path in inside:
        first, slash, rest = path.partition("/")
        if not first:
            continue
        if not slash:
            below[first] = None
        else:
            rows = below.setdefault(first, [])
            if rows is not None and rest:
                rows.append(rest)
    children = [
        {"type": "file", "name": child} if rows is None else _tree(child, rows) for child, rows in below.items()
    ]
    return {"type": "directory", "name": name, "children": children}
