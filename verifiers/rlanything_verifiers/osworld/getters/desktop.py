"""Getters of the desktop: its screen, and the output of a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.registry import Context, getter


@dataclass(frozen=True, kw_only=True)
class Rule:
    """The expected value, written in the evaluator."""

    rules: Any


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command to run in the guest."""

    command: str | list[str]
    shell: bool = False


@dataclass(frozen=True, kw_only=True)
class Nothing:
    """No settings."""


@dataclass(frozen=True, kw_only=True)
class Path:
    """A path in the guest."""

    path: str


@dataclass(frozen=True, kw_only=True)
class Destination:
    """The name a file goes by."""

    dest: str


@dataclass(frozen=True, kw_only=True)
class WindowClass:
    """The class of a window."""

    app_class_name: str


@getter
def rule(context: Context, config: Rule) -> Any:
    """The expected value as written."""
    return config.rules


@getter
def vm_command_line(context: Context, config: Command) -> str:
    """Standard output of a command."""
    return context.guest.execute(config.command, shell=config.shell).output


@getter
def vm_command_error(context: Context, config: Command) -> str:
    """Standard error of a command."""
    return context.guest.execute(config.command, shell=config.shell).error


@getter
def vm_terminal_output(context: Context, config: Nothing) -> str | None:
    """The text of the active terminal."""
    return context.guest.terminal_output()


@getter
def accessibility_tree(context: Context, config: Nothing) -> str:
    """The accessibility tree as XML."""
    return context.guest.accessibility_tree()


@getter
def list_directory(context: Context, config: Path) -> dict[str, Any] | None:
    """A directory and everything below it."""
    return context.guest.list_directory(config.path)


@getter
def vm_wallpaper(context: Context, config: Destination) -> File | None:
    """The picture behind the windows."""
    return File(config.dest, data) if (data := context.guest.wallpaper()) else None


@getter
def vm_screen_size(context: Context, config: Nothing) -> dict[str, int]:
    """The size of the screen."""
    width, height = context.guest.screen_size()
    return {"width": width, "height": height}


@getter
def vm_window_size(context: Context, config: WindowClass) -> dict[str, int] | None:
    """The size of the first window of a class."""
    size = context.guest.window_size(config.app_class_name)
    return None if size is None else {"width": size[0], "height": size[1]}
