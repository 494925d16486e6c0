"""A window with a file in it: opening, saving, saving under another name, and asking before changes are lost."""

from __future__ import annotations

import posixpath
from abc import abstractmethod
from functools import partial

from rlanything_envs.osworld.desktop.simulator.dialogs import Answer, FileDialog, Question
from rlanything_envs.osworld.desktop.simulator.files import HOME
from rlanything_envs.osworld.desktop.simulator.screen import Screen
from rlanything_envs.osworld.desktop.simulator.window import Window

__all__ = ["Document"]


class Document(Window):
    """What the editor and the spreadsheet have in common.

    Args:
        screen: where it is.

    Attributes:
        path: the file's absolute path; None for what was never stored.
    """

    new_name = ""
    """What the dialog proposes for a document without a name."""
    closing = ("Save Changes", "Do you want to save the changes before closing?", "All the changes will be lost.")
    """The question before changes are lost: title and lines."""

    def __init__(self, screen: Screen) -> None:
        super().__init__(screen)
        self.path: str | None = None

    @property
    @abstractmethod
    def changed(self) -> bool:
        """Whether there is something to lose."""

    @abstractmethod
    def store(self, path: str) -> str | None:
        """Write the document; what went wrong, or None."""

    @abstractmethod
    def show(self, path: str) -> str | None:
        """Show a file that exists, here or in another window; what went wrong, or None."""

    def save(self) -> None:
        """Save; a document without a name asks for one."""
        if self.path is None:
            self.ask_save()
        elif problem := self.store(self.path):
            self.tell(problem)

    def ask_save(self) -> None:
        """Ask for a name and save."""
        name = posixpath.basename(self.path) if self.path else self.new_name
        self.ask(FileDialog("Save As", self.screen.disk, self._folder, name, self._save_as, "Save"))

    def ask_open(self) -> None:
        """Ask for a file and show it."""
        self.ask(FileDialog("Open File", self.screen.disk, self._folder, "", self._opened, "Open"))

    def ask_close(self) -> None:
        """Close; where there are changes, ask whether to save them."""
        if not self.changed:
            self.screen.remove(self)
            return
        title, *lines = self.closing
        answers: list[tuple[str, Answer]] = [
            ("Cancel", lambda: None),
            ("Don't Save", self._leave),
            ("Save", self._save_and_leave),
        ]
        self.ask(Question(lines, answers, title))

    @property
    def _folder(self) -> str:
        return posixpath.dirname(self.path) if self.path else HOME

    def _opened(self, path: str) -> str | None:
        return self.show(path) if self.screen.disk.is_file(path) else "There is no such file."

    def named(self, path: str) -> str:
        """The path that a typed one stands for."""
        return path

    def _save_as(self, path: str) -> str | None:
        path = self.named(path)
        if path != self.path and self.screen.disk.is_file(path):
            lines = [f'A file named "{posixpath.basename(path)}" already exists.', "Do you want to replace it?"]
            self.ask(Question(lines, [("Cancel", lambda: None), ("Replace", partial(self.store, path))]))
            return None
        return self.store(path)

    def _leave(self) -> None:
        self.screen.remove(self)

    def _save_and_leave(self) -> str | None:
        if self.path is None:
            self.ask_save()
            return None
        problem = self.store(self.path)
        if problem is None:
            self.screen.remove(self)
        return problem
