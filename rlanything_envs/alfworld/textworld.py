"""The original ALFWorld/TextWorld stack behind the same interface as the native engine.

Good for checking the native engine, and slow: some 15 steps a second, seconds for each new game. The stack
keeps module-global parsers, so one lock serialises it in a process; it also overwrites `sys.argv`, swaps
`sys.stdout` and sets ``$ALFWORLD_DATA`` for its own ends, all of which is put back.
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

_LOCK = threading.RLock()


def require_textworld() -> None:
    """Check that the stack is installed.

    Raises:
        MissingExtra: it is not; the message names the extra.
    """
    for module in ("textworld", "alfworld", "fast_downward"):
        if find_spec(module) is None:
            raise MissingExtra(
                f"engine='textworld' needs the package {module!r}: pip install 'rlanything-envs[alfworld]', "
                "or use engine='native'"
            )


@contextlib.contextmanager
def _contained() -> Iterator[None]:
    """Run the stack alone, and undo what it does to the process."""
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
        """Begin a game."""
        if self._loaded is not game:
            self._loaded = None
            with _contained():
                self._stack.load(dump_game(game))
            self._loaded = game
        return TextWorldGame(self._stack, game)


class TextWorldGame:
    """One live game on the stack; the interface is that of the native `World`.

    What TextWorld has no word for, the share of goal conditions and the thing in hand, comes from a native
    world that is played along.
    """

    def __init__(self, stack: Any, game: Game) -> None:
        self._stack = stack
        self._state: Any = None
        self._shadow = World(game)

    def reset(self) -> str:
        """Begin anew; the first message."""
        self._shadow.reset()
        with _contained():
            self._state = self._stack.reset()
        return str(self._state.feedback)

    def step(self, command: str) -> str:
        """Play one command; the answer."""
        self._shadow.step(command)
        with _contained():
            self._state, _, _ = self._stack.step(command)
        return str(self._state.feedback)

    @property
    def admissible_commands(self) -> list[str]:
        """What can be done now, sorted."""
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
        """The thing in hand."""
        return self._shadow.inventory
