"""State of a desktop as far as the short view reveals it: the task, the content of the window, the typed commands."""

from __future__ import annotations

from collections.abc import Sequence

from rlanything_envs.osworld.short.words import BREAK, COUNTS

__all__ = ["KEPT", "Belief"]

KEPT = "*"
"""Stands for the content of a file before the first write to it."""

Path = tuple[str, ...]


class Belief:
    """Belief about the state of one episode.

    Attributes:
        words: Words of the task.
        app: Program of the front window (``files``, ``editor``, ``sheet``, ``terminal``); a dialog does not change it.
        rows: Number -> words of the numbered items: files, lines of a text, rows of a sheet.
        dialog: Words of the open dialog; None where there is none.
        unsaved: Whether something was typed since the last save.
        chosen: Place of the last click or move, until another action: ``("2",)``, ``("b", "3")``, ``("bottom",)``.
        files: Path -> lines written from the terminal; the path of a made folder ends in ``"/"``.
        moved: (file, folder) pairs of the files moved from the terminal.
        ran: Commands run in the terminal, without the final ``enter``.
        met: Words that were on the screen or were typed.
        begun: Whether the prompt holds typed text that was not sent.
    """

    def __init__(self, opening: str) -> None:
        lines = opening.splitlines()
        self.words = lines[1].split() if len(lines) > 1 else []
        self.app = ""
        self.rows: dict[int, tuple[str, ...]] = {}
        self.dialog: tuple[str, ...] | None = None
        self.unsaved = False
        self.chosen: tuple[str, ...] | None = None
        self.files: dict[Path, list[str]] = {}
        self.moved: set[tuple[Path, Path]] = set()
        self.ran: list[tuple[str, ...]] = []
        self.begun = False
        self.met: set[str] = set()
        self._see(lines[2].split() if len(lines) > 2 else [])

    def update(self, action: str, observation: str) -> None:
        """Update the belief with a command and the message that followed."""
        verb, *rest = action.split() or [""]
        self.chosen = tuple(rest) if verb in ("click", "line", "cell") or rest == ["bottom"] else None
        if verb == "type":
            self.unsaved = True
            self.met.update(rest)
            self._typed(rest)
        elif verb == "press" and rest:
            if rest[0] == "save":
                self.unsaved = False
            self.begun = self.begun and rest[0] != "return"
        self._see(observation.split())

    def row(self, *content: str) -> int | None:
        """Number of the first row with exactly this content; None without one."""
        return next((number for number, words in sorted(self.rows.items()) if words == content), None)

    def row_of(self, first: str) -> int | None:
        """Number of the first row that begins with a word; None without one."""
        return next((number for number, words in sorted(self.rows.items()) if words[:1] == (first,)), None)

    def _see(self, words: Sequence[str]) -> None:
        self.met.update(words)
        self.dialog = None if words and words != ["same"] else self.dialog
        for line in " ".join(words).split(f" {BREAK} "):
            first, *rest = line.split() or [""]
            if first == "dialog":
                self.dialog = tuple(rest)
            elif first in COUNTS:
                self.rows[int(first)] = tuple(rest)
            elif first in ("files", "editor", "sheet", "terminal"):
                self.app = first
                if first == "editor":
                    self.unsaved = "changed" in rest

    def _typed(self, pieces: Sequence[str]) -> None:
        if self.app != "terminal":
            return
        command, sent = (tuple(pieces[:-1]), True) if pieces[-1] == "enter" else (tuple(pieces), False)
        if self.begun or not sent:
            self.begun = not sent
            return
        self.ran.append(command)
        match command:
            case ("echo", text, (">" | ">>") as how, "desktop/", *path):
                where = tuple(path)
                old = self.files.get(where, [KEPT]) if how == ">>" else []
                self.files[where] = [*old, text]
            case ("mkdir", "desktop/", *path):
                self.files[*path, "/"] = []
            case ("mv", "desktop/", *path) if "desktop/" in path[1:-1]:
                at = path.index("desktop/")
                self.moved.add((tuple(path[: at - 1]), tuple(path[at + 1 :])))
            case _:
                pass
