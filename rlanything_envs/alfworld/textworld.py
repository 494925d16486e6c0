"""The original ALFWorld/TextWorld stack behind the same interface as the native engine.

It serves to check the native engine, and is slow: some 15 steps a second, and seconds for each new game. The stack
keeps module-global parsers, so one lock serialises it in a process; it also overwrites `sys.argv`, swaps
`sys.stdout` and sets ``$ALFWORLD_DATA``, all of which is restored.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from rlanything_envs.errors import MissingExtra
from rlanything_verifiers.alfworld import Game, World, dump_game
from rlanything_verifiers.installed import install

_LOCK = threading.RLock()


def require_textworld() -> None:
    """Check that the stack is installed.

    Raises:
        MissingExtra: the stack is not installed; the message names the extra.
    """
    for module in ("textworld", "alfworld", "fast_downward"):
        if find_spec(module) is None:
            raise MissingExtra(
                f"engine='textworld' needs the package {module!r}: {install('alfworld')}, or use engine='native'"
            )


@contextlib.contextmanager
def _contained() -> Iterator[None]:
    """Run the stack under the lock, and restore the process state that it changes."""
    with _LOCK:
        argv, stdout, data = sys.argv, sys.stdout, os.environ.get("ALFWORLD_DATA")
        sys.argv = list(argv)  # the planner's translator assigns into it
        try:
            yield
        finally:
            sys.argv, sys.stdout = argv, stdout
            if data is None:
                os.environ.pop("ALFWORLD_DATA", None)
            else:
                os.environ["ALFWORLD_DATA"] = data


class TextWorldEngine:
    """One instance of the stack: makes worlds, of which only the latest may be played.

    An instance is kept and reused, since each one loads a private copy of the planner's library that is never
    unloaded (about 1 MB).

    Raises:
        MissingExtra: the stack is not installed.
    """

    def __init__(self) -> None:
        require_textworld()
        with _contained():
            import textworld
            from alfworld.agents.environment.alfred_tw_env import AlfredDemangler, AlfredInfos
            from textworld.envs.pddl import PddlEnv

            infos = textworld.EnvInfos(won=True, admissible_commands=True)
            self._stack: Any = AlfredInfos(AlfredDemangler(PddlEnv(infos), shuffle=False))
        self._loaded: Game | None = None

    def __call__(self, game: Game) -> "TextWorldGame":
        """Start a game."""
        if self._loaded is not game:
            self._loaded = None
            with _contained():
                self._stack.load(dump_game(game))
            self._loaded = game
        return TextWorldGame(self._stack, game)


class TextWorldGame:
    """One live game on the stack; the interface is that of the native `World`.

    The share of goal conditions and the thing in hand, which TextWorld does not report, come from a native world that
    plays the same commands.
    """

    def __init__(self, stack: Any, game: Game) -> None:
        self._stack = stack
        self._state: Any = None
        self._shadow = World(game)

    def reset(self) -> str:
        """Restart the game and return the first message."""
        self._shadow.reset()
        with _contained():
            self._state = self._stack.reset()
        return str(self._state.feedback)

    def step(self, command: str) -> str:
        """Play one command and return the answer."""
        self._shadow.step(command)
        with _contained():
            self._state, _, _ = self._stack.step(command)
        return str(self._state.feedback)

    @property
    def admissible_commands(self) -> list[str]:
        """The admissible commands, sorted."""
        return sorted(self._state["admissible_commands"])

    @property
    def won(self) -> bool:
        """Whether the goal holds, by TextWorld's own check."""
        return bool(self._state["won"])

    @property
    def goal_condition_rate(self) -> float:
        """Share of the goal's conditions that hold."""
        return self._shadow.goal_condition_rate

    @property
    def inventory(self) -> str | None:
        """Name of the thing in hand; None if the hand is empty."""
        return self._shadow.inventory
