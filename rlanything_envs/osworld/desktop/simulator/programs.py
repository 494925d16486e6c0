"""The programs that can be started: their names, and the program for each kind of file."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping

from rlanything_envs.osworld.desktop.simulator.editor import Editor
from rlanything_envs.osworld.desktop.simulator.file_manager import FileManager
from rlanything_envs.osworld.desktop.simulator.files import HOME
from rlanything_envs.osworld.desktop.simulator.screen import NotSimulated, ProgramError, Screen
from rlanything_envs.osworld.desktop.simulator.terminal import Terminal

__all__ = ["start"]

_TEXT = {"", ".cfg", ".conf", ".css", ".html", ".ini", ".js", ".json", ".log", ".md", ".py", ".sh", ".toml", ".txt"}
_TEXT |= {".xml", ".yaml", ".yml"}
_OFFICE = dict.fromkeys((".csv", ".ods", ".xlsx"), "LibreOffice Calc")
_OFFICE |= dict.fromkeys((".docx", ".odt"), "LibreOffice Writer")
_OFFICE |= dict.fromkeys((".odp", ".pptx"), "LibreOffice Impress")
"""Programs that open these files on a real desktop (``guest/home/.config/mimeapps.list``)."""


def start(screen: Screen, words: list[str], folder: str) -> None:
    """Start a program.

    Args:
        screen: where its window appears.
        words: its name and its arguments.
        folder: the working directory.

    Raises:
        NotSimulated: only a real desktop may have such a program.
        ProgramError: the program cannot open its argument.
    """
    name = posixpath.basename(words[0]) if words else ""
    program = _PROGRAMS.get(name)
    if program is None:
        raise NotSimulated(f"the simulated desktop has no program {name!r}", 127)
    paths = [screen.disk.absolute(word.removeprefix("file://"), folder) for word in words[1:] if word[:1] != "-"]
    flags = [word for word in words[1:] if word[:1] == "-"]
    program(screen, flags, paths, folder)


def _editor(screen: Screen, _: list[str], paths: list[str], __: str) -> None:
    window = Editor(screen)
    screen.add(window)
    for path in paths[:1]:
        window.load_or_tell(path)
    for path in paths[1:]:
        screen.start(["mousepad", path])


def _file_manager(screen: Screen, _: list[str], paths: list[str], __: str) -> None:
    path = paths[0] if paths else HOME
    if screen.disk.is_file(path):
        path = posixpath.dirname(path)
    if not screen.disk.is_folder(path):
        raise ProgramError(f'Failed to open "{path}". No such file or directory.')
    screen.add(FileManager(screen, path))


def _terminal(screen: Screen, flags: list[str], _: list[str], folder: str) -> None:
    for flag in flags:
        if flag.startswith("--working-directory="):
            folder = screen.disk.absolute(flag.partition("=")[2], folder)
    screen.add(Terminal(screen, folder if screen.disk.is_folder(folder) else HOME))


def _any(screen: Screen, _: list[str], paths: list[str], folder: str) -> None:
    """The program for a file."""
    for path in paths[:1]:
        suffix = posixpath.splitext(path)[1].lower()
        if screen.disk.is_folder(path):
            _file_manager(screen, [], [path], folder)
        elif not screen.disk.is_file(path):
            raise ProgramError(f"xdg-open: file '{path}' does not exist", 2)
        elif suffix in _TEXT:
            _editor(screen, [], [path], folder)
        else:
            program = _OFFICE.get(suffix, f"program for {suffix} files")
            raise NotSimulated(f"the simulated desktop has no {program}, which {posixpath.basename(path)!r} needs")


_PROGRAMS: Mapping[str, Callable[[Screen, list[str], list[str], str], None]] = {
    "gedit": _editor,
    "gnome-terminal": _terminal,
    "lxterminal": _terminal,
    "mousepad": _editor,
    "nautilus": _file_manager,
    "thunar": _file_manager,
    "x-terminal-emulator": _terminal,
    "xdg-open": _any,
}
"""Each program under its name; gets the screen, its options, the paths it was given and the working directory."""
