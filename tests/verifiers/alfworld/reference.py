"""The real ALFWorld: plays games in TextWorld, to compare with."""

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


def compare(game: Game, path: Path, steps: int, seed: int) -> None:
    """Play the same commands in both, mixing wandering, planned steps and nonsense."""
    rng = random.Random(seed)
    player, world = TextWorldPlayer(path), World(game)
    theirs, said = player.reset(), world.reset()
    for i in range(steps + 1):
        assert said == theirs.feedback
        assert world.admissible_commands == theirs.commands
        assert world.won == theirs.won
        if i == steps:
            return
        commands = theirs.commands
        handy = [command for command in commands if not command.startswith(("go to", "help"))]
        draw = rng.random()
        if draw < 0.05:
            command = rng.choice(["go to fridge 1", "look ", "Look", "take mug 1", "open drawer 1", ""])
        elif draw < 0.35 and (remaining := plan(world)):
            command = remaining[0]
        else:
            command = rng.choice(handy if draw < 0.8 else commands)
        theirs, said = player.step(command), world.step(command)
