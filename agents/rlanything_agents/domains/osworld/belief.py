"""What a player can know from the messages alone: the task, what the window shows, what has been typed."""

from __future__ import annotations

from collections.abc import Sequence

from rlanything_envs.osworld.short.words import BREAK, COUNTS

__all__ = ["KEPT", "Belief"]

KEPT = "*"
"""Stands for what a file held before anything was written to it."""

Path = tuple[str, ...]


class Belief:
    """The memory of one episode.

    Attributes:
        words: The task in words.
        app: What the window in front is; a dialog leaves it as it was.
        rows: Number -> words of what is numbered: files, lines of a text, rows of a sheet.
        dialog: Words of the open dialog; None where there is none.
        unsaved: Whether something was typed since the last save.
        chosen: The last place that was gone to, until something else is done: ``("2",)``, ``("b", "3")``,
            ``("bottom",)``.
        files: Folder and name -> lines written from the terminal; an empty name for a folder that was made.
        moved: (file, folder) of what was moved.
        ran: Commands that were run, without their last piece.
        met: Words that were on the screen or were typed.
        begun: Whether something stands on the prompt that was not sent.
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
        """Take in a command and the message that followed."""
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
        """The first row with just this content."""
        return next((number for number, words in sorted(self.rows.items()) if words == content), None)

    def row_of(self, first: str) -> int | None:
        """The first row that begins with a word."""
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
