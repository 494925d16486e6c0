"""The steps that put a desktop into a task's initial state, and those before its evaluation, in OSWorld's form.

Each step is ``{"type": ..., "parameters": {...}}``. `check_steps` validates a list of them at load time; `run_steps`
carries them out. Steps run in the guest; files come from the task itself or the asset directory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from rlanything_envs.osworld import browser, parameters
from rlanything_envs.osworld.desktop.errors import GuestRefusal
from rlanything_envs.osworld.desktop.observation import GuestOutput
from rlanything_envs.osworld.desktop.protocol import Client
from rlanything_envs.osworld.ready import Applications, program_of
from rlanything_envs.osworld.settle import Limit
from rlanything_task_pools import TaskFormatError
from rlanything_task_pools.osworld import file_of

__all__ = ["Files", "Stage", "check_steps", "run_steps", "stage_names", "substitute"]

_LONGEST_SLEEP = 60.0
_REST_SECONDS, _REST_EVERY, _QUIET_LOOKS = 5.0, 0.05, 3
"""Limit until programs rest after a step, seconds between two looks, and looks in a row that must find none busy."""
_ACTIVE_SECONDS = 5.0
"""Limit until a window that is to be activated is there and has the keyboard; the agent may have closed it."""
_UNTIL_SECONDS = 60.0


class Files(Protocol):
    """Source of the files of tasks."""

    def read(self, url: str) -> bytes:
        """The content of a file."""
        ...


@dataclass(frozen=True, slots=True)
class Stage:
    """Context in which steps run.

    Attributes:
        client: the desktop.
        files: source of the files that a step names by URL.
        screen: width and height in pixels.
        password: password of the guest's user.
        applications: those that its steps have started.
    """

    client: Client
    files: Files
    screen: tuple[int, int]
    password: str = "password"
    applications: Applications = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "applications", Applications(self.client))

    def rest(self) -> None:
        """Wait until the programs have done what they were told, on however loaded a machine."""
        limit, quiet = self.limit(_REST_SECONDS), 0
        while quiet < _QUIET_LOOKS and not limit.over:
            quiet = 0 if self.client.health().busy else quiet + 1
            time.sleep(_REST_EVERY)

    def limit(self, seconds: float) -> Limit:
        """A limit that does not count the seconds in which the programs were kept from the processors."""
        return Limit(seconds, lambda: self.client.health().held)

    @property
    def names(self) -> dict[str, str]:
        """Names that texts of a step may hold in braces, and their values."""
        return stage_names(self.screen, self.password)


def stage_names(screen: tuple[int, int], password: str) -> dict[str, str]:
    """See `Stage.names`."""
    width, height = screen
    return {
        "{CLIENT_PASSWORD}": password,
        "{SCREEN_WIDTH}": str(width),
        "{SCREEN_HEIGHT}": str(height),
        "{SCREEN_WIDTH_HALF}": str(width // 2),
        "{SCREEN_HEIGHT_HALF}": str(height // 2),
    }


def substitute(value: Any, names: Mapping[str, str]) -> Any:
    """A JSON value with names in braces replaced in all its texts; lists and mappings are new and plain."""
    if isinstance(value, str):
        for name, text in names.items():
            value = value.replace(name, text)
        return value
    if isinstance(value, Mapping):
        return {key: substitute(item, names) for key, item in value.items()}
    return [substitute(item, names) for item in value] if isinstance(value, list | tuple) else value


# --- what the steps do ---


def _download(stage: Stage, files: list[tuple[str, str]]) -> None:
    for url, path in files:
        stage.client.upload(path, stage.files.read(url))


def _launch(stage: Stage, command: list[str] | str, shell: bool = False) -> None:
    if (program := program_of(command, shell)) is None:
        stage.client.launch(command, shell)
        return
    before = len(stage.applications.windows())
    stage.client.launch(command, shell)
    stage.applications.wait(program, before)


def _open(stage: Stage, path: str) -> None:
    stage.client.open_file(path)  # it waits for the window
    if stage.applications.windows():
        stage.applications.wait(path, 0)


def _activate(stage: Stage, window_name: str, **how: bool) -> None:
    stage.client.activate_window(window_name, **how)
    limit = stage.limit(_ACTIVE_SECONDS)
    while not limit.over and not _is_active(stage.client, window_name, **how):
        time.sleep(0.1)
        stage.client.activate_window(window_name, **how)


def _is_active(client: Client, name: str, strict: bool = False, by_class: bool = False) -> bool:
    """Whether a window has the keyboard, so that what is typed next goes to it."""
    what = "getwindowclassname" if by_class else "getwindowname"
    found = client.execute(["xdotool", "getactivewindow", what])
    title = found.output.strip()
    return found.returncode == 0 and (title == name if strict else name.lower() in title.lower())


def _execute(
    stage: Stage,
    command: list[str] | str,
    shell: bool = False,
    stdout: str = "",
    stderr: str = "",
    until: Mapping[str, Any] | None = None,
) -> None:
    end = time.monotonic() + _UNTIL_SECONDS
    while True:
        done = stage.client.execute(command, shell=shell)
        if not until or _reached(until, done) or time.monotonic() > end:
            return
        time.sleep(0.3)


def _reached(until: Mapping[str, Any], done: GuestOutput) -> bool:
    said = {"returncode": done.returncode, "stdout": done.output, "stderr": done.error}
    return any(said[name] == wanted for name, wanted in until.items())


def _sleep(stage: Stage, seconds: float) -> None:
    time.sleep(min(seconds, _LONGEST_SLEEP))


def _write_file(stage: Stage, path: str, **content: str) -> None:
    stage.client.upload(*file_of({"path": path, **content}))


@dataclass(frozen=True, slots=True)
class _Step:
    """A type of step: its function and its parameters."""

    run: Callable[..., None]
    required: Mapping[str, Callable[[Any], Any]]
    optional: Mapping[str, Callable[[Any], Any]]


_SHELL = {"shell": parameters.truth}
_EXECUTE = _Step(
    _execute,
    {"command": parameters.command},
    {**_SHELL, "stdout": parameters.any_text, "stderr": parameters.any_text, "until": parameters.until},
)
_WINDOW = {"strict": parameters.truth, "by_class": parameters.truth}

_STEPS: Mapping[str, _Step] = {
    "activate_window": _Step(_activate, {"window_name": parameters.text}, _WINDOW),
    "change_wallpaper": _Step(lambda stage, path: stage.client.change_wallpaper(path), {"path": parameters.text}, {}),
    "chrome_close_tabs": _Step(
        lambda stage, urls_to_close: browser.close_tabs(stage.client, urls_to_close),
        {"urls_to_close": parameters.texts},
        {},
    ),
    "chrome_open_tabs": _Step(
        lambda stage, urls_to_open: browser.open_tabs(stage.client, urls_to_open),
        {"urls_to_open": parameters.texts},
        {},
    ),
    "close_window": _Step(
        lambda stage, window_name, **how: stage.client.close_window(window_name, **how),
        {"window_name": parameters.text},
        _WINDOW,
    ),
    "command": _EXECUTE,
    "download": _Step(_download, {"files": parameters.downloads}, {}),
    "execute": _EXECUTE,
    "launch": _Step(_launch, {"command": parameters.command}, _SHELL),
    "open": _Step(_open, {"path": parameters.text}, {}),
    "sleep": _Step(_sleep, {"seconds": parameters.seconds}, {}),
    "update_browse_history": _Step(
        lambda stage, history: browser.add_history(stage.client, history), {"history": parameters.visits}, {}
    ),
    "upload_file": _Step(_download, {"files": parameters.uploads}, {}),
    "write_file": _Step(
        _write_file, {"path": parameters.text}, {"text": parameters.any_text, "base64": parameters.any_text}
    ),
}

_ACTING = frozenset({"activate_window", "close_window", "command", "execute"})
"""Steps after which programs are at work; those that open a window wait for it."""

_ACCOUNTS = {"googledrive": "a Google Drive account", "login": "an account on a web site"}
"""Unsupported steps of 16 published tasks, and what they would need."""


def check_steps(steps: Iterable[Mapping[str, Any]], place: str) -> None:
    """Validate steps before their task is played.

    Args:
        steps: ``{"type": ..., "parameters": {...}}`` each.
        place: where they are in the task, for messages.

    Raises:
        TaskFormatError: a step needs an unsupported feature; the message names it.
        TaskFormatError: a step is unknown, or its parameters are.
    """
    for number, step in enumerate(steps):
        _read(step, f"{place}[{number}]", {})


def run_steps(steps: Iterable[Mapping[str, Any]], stage: Stage, place: str, *, lenient: bool = False) -> None:
    """Carry out steps in their order.

    Args:
        steps: as `check_steps` accepts them.
        stage: the desktop and its files.
        place: where they are in the task, for messages.
        lenient: go on after a step that the guest refuses, as before an evaluation, where the agent may have deleted
            the file that a step opens.

    Raises:
        TaskFormatError: as `check_steps`.
        DesktopError: the desktop is broken, or, unless `lenient`, refuses a step.
        Exception: any error of reading a file.
    """
    for number, step in enumerate(steps):
        where = f"{place}[{number}]"
        kind, values = _read(step, where, stage.names)
        try:
            kind.run(stage, **values)
            if step["type"] in _ACTING:
                stage.rest()
        except GuestRefusal as refusal:
            if not lenient:
                raise GuestRefusal(f"{where} ({step['type']}): {refusal}") from refusal


def _read(step: Mapping[str, Any], place: str, names: Mapping[str, str]) -> tuple[_Step, dict[str, Any]]:
    if not isinstance(step, Mapping) or not isinstance(step.get("parameters", {}), Mapping):
        raise TaskFormatError(f'{place}: a step is {{"type": ..., "parameters": {{...}}}}, not {step!r:.80}')
    if isinstance(name := step.get("type"), str) and name in _ACCOUNTS:
        raise TaskFormatError(f"{place}: the step {name!r} needs {_ACCOUNTS[name]}; leave this task out")
    if not isinstance(name, str) or name not in _STEPS:
        raise TaskFormatError(f"{place}: the step {name!r:.80} is unknown; there are {', '.join(_STEPS)}")
    own = name == "write_file"  # its content is taken literally
    try:
        kind, given = _STEPS[name], substitute(step.get("parameters", {}), {} if own else names)
    except RecursionError:
        raise TaskFormatError(f"{place}: {name}: the parameters are nested too deeply") from None
    known = {**kind.required, **kind.optional}
    if missing := [key for key in kind.required if key not in given]:
        raise TaskFormatError(f"{place}: {name} needs the parameter {missing[0]!r}")
    if unknown := [key for key in given if key not in known]:
        raise TaskFormatError(f"{place}: {name} has no parameter {unknown[0]!r:.80}; it has {', '.join(known)}")
    values = {}
    for key, value in given.items():
        try:
            values[key] = known[key](value)
        except ValueError as error:
            raise TaskFormatError(f"{place}: {name}: {key} {error}, not {value!r:.80}") from None
    if own:
        try:
            file_of(values)
        except TaskFormatError as error:
            raise TaskFormatError(f"{place}: {error}") from None
    return kind, values
