"""The real ALFWorld: plays games in TextWorld, to compare with."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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
