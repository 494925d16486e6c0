"""A small shell over the virtual files, with the subset of bash that set-ups, agents and getters need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rlanything_envs.osworld.desktop.observation import GuestOutput
from rlanything_envs.osworld.desktop.simulator.commands import COMMANDS
from rlanything_envs.osworld.desktop.simulator.files import HOME, Disk, DiskError
from rlanything_envs.osworld.desktop.simulator.filters import FILTERS
from rlanything_envs.osworld.desktop.simulator.process import Process, Usage
from rlanything_envs.osworld.desktop.simulator.screen import ProgramError
from rlanything_envs.osworld.desktop.simulator.shell_words import (
    Command,
    Pipeline,
    ShellSyntaxError,
    expand,
    parse,
)

__all__ = ["Shell"]

_LONGEST_LINE = 20_000
_LONGEST_OUTPUT = 1 << 20
_MOST_COMMANDS = 500
_SERIOUS = ("grep", "ls", "sort")
"""Programs whose exit status is 2 where they do not understand their words."""
_MOST_VARIABLES = 100

Launch = Callable[[list[str], str], None]
"""Starts a program with a window: its words and the working directory."""


@dataclass(slots=True)
class Shell:
    """A shell with a working directory and variables.

    Args:
        disk: the files.
        launch: starts programs with windows; raises `ProgramError`.
        columns: width of the terminal; 0 without one.

    Attributes:
        folder: the working directory.
        ended: whether ``exit`` was called.
    """

    disk: Disk
    launch: Launch
    columns: int = 0
    folder: str = HOME
    ended: bool = False
    variables: dict[str, str] = field(default_factory=lambda: {"HOME": HOME, "USER": "user", "SHELL": "/bin/bash"})

    def run(self, line: str, merge: bool = False) -> GuestOutput:
        """Run a line, or several.

        Args:
            line: the text.
            merge: whether error messages are part of the output.

        Returns:
            What was printed. What goes wrong is worded as bash words it; the status is 127 for what this shell has not.
        """
        if len(line) > _LONGEST_LINE:
            return GuestOutput("", f"bash: a line of more than {_LONGEST_LINE} characters\n", 126)
        line = line.encode(errors="replace").decode()
        try:
            pipelines = parse(line)
        except ShellSyntaxError as error:
            return GuestOutput("", f"bash: {error}\n", error.status)
        if sum(len(pipeline.commands) for pipeline in pipelines) > _MOST_COMMANDS:
            return GuestOutput("", f"bash: more than {_MOST_COMMANDS} commands in a line\n", 126)
        out, err, status = "", "", 0
        for pipeline in pipelines:
            if (pipeline.connector == "&&" and status) or (pipeline.connector == "||" and not status):
                continue
            more, errors, status = self._pipeline(pipeline)
            more, errors = (more + errors, "") if merge else (more, errors)
            out, err = (out + more)[:_LONGEST_OUTPUT], (err + errors)[:_LONGEST_OUTPUT]
            self.variables["?"] = str(status)
            if self.ended:
                break
        return GuestOutput(_readable(out), _readable(err), status)

    def run_words(self, words: list[str]) -> GuestOutput:
        """Run one program with words that no shell has read."""
        process = self._process([word.encode(errors="replace").decode() for word in words], "")
        return GuestOutput(_readable(process.out), _readable(process.err), process.status)

    def knows(self, name: str) -> bool:
        """Whether there is a command of this name."""
        return name in COMMANDS or name in FILTERS or name in ("cd", "exit", "export")

    def _pipeline(self, pipeline: Pipeline) -> tuple[str, str, int]:
        text, errors, status = "", "", 0
        for i, command in enumerate(pipeline.commands):
            shown = i == len(pipeline.commands) - 1 and not command.redirections
            try:
                process = self._command(command, text, self.columns if shown else 0)
            except (ShellSyntaxError, DiskError) as error:
                reason = error.reason if isinstance(error, DiskError) else str(error)
                name = f"{error.args[0].rpartition(': ')[2].strip(chr(39))}: " if isinstance(error, DiskError) else ""
                text, errors, status = "", f"{errors}bash: {name}{reason}\n", 1
                continue
            text, errors, status = process.out, errors + process.err, process.status
        return text, errors, status

    def _command(self, command: Command, stdin: str, columns: int) -> Process:
        targets = []
        for stream, operator, word in command.redirections:
            names = expand([word], self._all_variables(), self.disk, self.folder)
            if len(names) != 1:
                raise ShellSyntaxError("ambiguous redirect", 1)
            path = names[0]
            if operator == "<":
                stdin = self.disk.read(self.disk.absolute(path, self.folder)).decode(errors="surrogateescape")
            else:
                targets.append((stream, operator, path))
        words = expand(command.words, self._all_variables(), self.disk, self.folder)
        for _, operator, path in targets:
            if operator != ">&":
                self._prepare(path, append=operator.endswith(">>"))
        process = self._process(words, stdin, columns)
        if len(process.out) > _LONGEST_OUTPUT:
            process.out, process.status = process.out[:_LONGEST_OUTPUT], 1
            process.err += "bash: the output is too long; the rest is dropped\n"
        self._redirect(process, targets)
        return process

    def _all_variables(self) -> dict[str, str]:
        return {"PWD": self.folder, "?": "0", **self.variables}

    def _prepare(self, path: str, append: bool) -> None:
        """Make the file of a redirection, as bash does before the program runs; it complains of it as it was typed."""
        full = self.disk.absolute(path, self.folder)
        if path.endswith("/"):
            raise DiskError("Is a directory", path)
        if path != "/dev/null" and not (append and self.disk.is_file(full)):
            try:
                self.disk.write(full, b"")
            except DiskError as error:
                raise DiskError(error.reason, path) from None

    def _redirect(self, process: Process, targets: list[tuple[int, str, str]]) -> None:
        """Send the streams where the redirections say, read from left to right."""
        ends = {1: "1", 2: "2"}
        for stream, operator, path in targets:
            if operator == ">&":
                ends[stream] = ends.get(int(path), path) if path in ("1", "2") else path
            elif operator.startswith("&"):
                ends = {1: f">{path}", 2: f">{path}"}
            else:
                ends[stream] = f">{path}"
        texts = {1: process.out, 2: process.err}
        process.out = "".join(texts[stream] for stream in (1, 2) if ends[stream] == "1")
        process.err = "".join(texts[stream] for stream in (1, 2) if ends[stream] == "2")
        for stream in (1, 2):
            path = ends[stream].removeprefix(">")
            if ends[stream].startswith(">") and path != "/dev/null" and texts[stream]:
                full = self.disk.absolute(path, self.folder)
                self.disk.write(full, self.disk.read(full) + texts[stream].encode(errors="surrogateescape"))

    def _process(self, words: list[str], stdin: str, columns: int = 0) -> Process:
        """Run one program."""
        process = Process(self.disk, self.folder, words[1:], stdin, columns=columns)
        while words and words[0] == "sudo":  # as on the real desktop: the user stays the user
            words = [word for i, word in enumerate(words) if i and not (i == 1 and word == "-S")]
            process.words = words[1:]
        if not words:
            return process
        name = words[0]
        assigned = name.partition("=")[0]
        try:
            if "=" in name and assigned.isidentifier():
                self._assign(process, [name])
            elif name == "cd":
                self._change_folder(process)
            elif name == "export":
                self._assign(process, process.words)
            elif name == "exit":
                self.ended = True
            elif command := COMMANDS.get(name) or FILTERS.get(name):
                command(process)
            else:
                self.launch(words, self.folder)
        except Usage as error:
            complaint = f"{name}: {error}\n" if str(error) else ""
            usage = "Usage: grep [OPTION]... PATTERNS [FILE]...\n" if name == "grep" else ""
            hint = f"{usage}Try '{name} --help' for more information.\n" if error.hint else ""
            process.fail((complaint + hint).removesuffix("\n"), 2 if error.hint and name in _SERIOUS else error.status)
        except DiskError as error:
            process.fail(f"{name}: {error}")
        except ProgramError as error:
            missing = "No such file or directory" if "/" in name else "command not found"
            message = f"bash: {name}: {missing}" if error.status == 127 else str(error)
            process.fail(message, error.status)
        return process

    def _assign(self, process: Process, words: list[str]) -> None:
        for word in words:
            name, _, value = word.partition("=")
            if not name.isidentifier():
                process.fail(f"bash: export: `{word}': not a valid identifier")
            elif len(self.variables) < _MOST_VARIABLES or name in self.variables:
                self.variables[name] = value[:_LONGEST_LINE]

    def _change_folder(self, process: Process) -> None:
        wanted = process.words[0] if process.words else HOME
        target = self.variables.get("OLDPWD", self.folder) if wanted == "-" else wanted
        path = self.disk.absolute(target, self.folder)
        if len(process.words) > 1:
            process.fail("bash: cd: too many arguments")
        elif self.disk.is_folder(path):
            self.variables["OLDPWD"], self.folder = self.folder, path
        else:
            reason = "Not a directory" if self.disk.find(path) else "No such file or directory"
            process.fail(f"bash: cd: {wanted}: {reason}")


def _readable(text: str) -> str:
    return text.encode(errors="surrogateescape").decode(errors="replace")
