"""The desktop of the next episode, put into the state of its task in the background while this episode is played.

It is a second desktop with a session, a home and programs of its own, and the same steps put it into its state, so that
nothing of one episode can reach another. A reset then takes as long as a look.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from rlanything_envs.osworld.desktop.observation import Observation
from rlanything_envs.osworld.machine import Machine

__all__ = ["Ahead"]

_EVERY = 0.05


class Ahead:
    """A spare desktop.

    Args:
        machine: the desktop, not yet started.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._task = ""
        self._thread: threading.Thread | None = None
        self._seen: Observation | None = None

    def prepare(self, task: str, set_up: Callable[[Machine], Observation]) -> None:
        """Begin to put the desktop into the state of a task, unless it is in it; what fails shows in `take`.

        Args:
            task: id of the task.
            set_up: puts a desktop into its state and looks at it.
        """
        if task == self._task:
            return
        self.wait()

        def work() -> None:
            try:
                self._seen = set_up(self._machine)
            except Exception:  # the reset meets it again, and reports it
                self._task = ""
                self._machine.replace()

        self._task = task
        self._thread = threading.Thread(target=work, name="rlanything-ahead", daemon=True)
        self._thread.start()

    def take(self, task: str, used: Machine) -> tuple[Machine, Observation] | None:
        """Exchange the desktop for one that has been used, and end the programs of that in the background.

        Args:
            task: id of the task that is played now.
            used: the desktop of the last episode.

        Returns:
            The desktop in the state of the task, waited for where need be, and what it looked like; None where it is in
            another.
        """
        if task != self._task:
            return None
        self.wait()
        if task != self._task or self._seen is None:
            return None
        seen, self._seen = self._seen, None
        ready, self._machine, self._task = self._machine, used, ""
        self._thread = threading.Thread(target=used.replace, name="rlanything-ahead", daemon=True)
        self._thread.start()
        return ready, seen

    def close(self) -> None:
        """End the desktop; may be called twice."""
        while self._thread is not None and self._thread.is_alive():
            if self._machine.running:  # its steps then find no desktop
                self._machine.replace()
            self._thread.join(_EVERY)
        self._task = ""
        self._machine.replace()

    def wait(self) -> None:
        """Wait until what was begun in the background is done."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()

    def __getstate__(self) -> dict[str, Any]:
        """State without the desktop: a copy in another process prepares its own."""
        return {**self.__dict__, "_thread": None, "_task": "", "_seen": None}
