"""The real ALFWorld and our engine behind one face, to play the same commands in both."""

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlanything_verifiers.alfworld import Game, World, plan


@dataclass(frozen=True)
class Seen:
    """What a player sees after a move."""

    feedback: str
    commands: list[str]
    won: bool


@contextmanager
def _kept_argv() -> Iterator[None]:
    """Fast Downward's translator overwrites ``sys.argv``."""
    argv = sys.argv
    try:
        yield
    finally:
        sys.argv = argv


class TextWorldPlayer:
    """One game in TextWorld, wrapped as ALFWorld does. One at a time, in one thread."""

    def __init__(self, source: Path | dict[str, Any], *, plans: bool = False) -> None:
        import textworld
        from alfworld.agents.environment.alfred_tw_env import AlfredDemangler, AlfredInfos
        from textworld.envs.pddl import PddlEnv

        infos = textworld.EnvInfos(won=True, admissible_commands=True, policy_commands=plans)
        with _kept_argv():
            self._env = AlfredInfos(AlfredDemangler(PddlEnv(infos)))
            self._env.load(source if isinstance(source, dict) else str(source))

    def reset(self) -> Seen:
        with _kept_argv():
            self.state = self._env.reset()
        return self._seen()

    def step(self, command: str) -> Seen:
        with _kept_argv():
            self.state, _, _ = self._env.step(command)
        return self._seen()

    def _seen(self) -> Seen:
        return Seen(self.state.feedback, list(self.state["admissible_commands"]), bool(self.state["won"]))


class NativePlayer:
    """One game in our engine."""

    def __init__(self, game: Game) -> None:
        self.world = World(game)

    def reset(self) -> Seen:
        return self._seen(self.world.reset())

    def step(self, command: str) -> Seen:
        return self._seen(self.world.step(command))

    def _seen(self, text: str) -> Seen:
        return Seen(text, self.world.admissible_commands, self.world.won)


def next_command(rng: random.Random, commands: list[str], world: World) -> str:
    """A command by chance: wandering, handling what is there, the next step of a plan, or nonsense."""
    handy = [command for command in commands if not command.startswith(("go to", "help"))]
    draw = rng.random()
    if draw < 0.05:
        return rng.choice(["go to fridge 1", "look ", "Look", "take mug 1", "open drawer 1", ""])
    if draw < 0.35 and (remaining := plan(world)):
        return remaining[0]
    return rng.choice(handy if draw < 0.8 else commands)


def compare(game: Game, path: Path, steps: int, seed: int) -> None:
    """Play the same commands in both; each text, each list of commands and each verdict must be the same."""
    rng = random.Random(seed)
    original, ours = TextWorldPlayer(path), NativePlayer(game)
    theirs = original.reset()
    assert ours.reset() == theirs
    for _ in range(steps):
        command = next_command(rng, theirs.commands, ours.world)
        theirs = original.step(command)
        assert ours.step(command) == theirs, command
