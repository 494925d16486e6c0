"""The real ALFWorld and our engine behind one face, to play the same commands in both."""

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from rlanything_verifiers.alfworld import Game, World, plan


@dataclass(frozen=True)
class Seen:
    """What a player sees after a move."""

    feedback: str
    commands: list[str]
    won: bool


@cache
def _stack() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """How to make an environment as ALFWorld does, and the translator of games.

    TextWorld does the same work again and again: it parses each sentence of its grammar whenever it says it, and
    translates a game when it is loaded and on each reset, once to play it and once more to plan. Here it keeps what it
    parsed, and the last translations; both depend on nothing but their texts.
    """
    import fast_downward
    import textworld
    from alfworld.agents.environment.alfred_tw_env import AlfredDemangler, AlfredInfos
    from textworld.envs.pddl import PddlEnv, textgen
    from textworld.logic import Rule

    parse, query = cache(textgen._parse_and_convert), cache(Rule.parse_conjunctive_query)
    textgen._parse_and_convert = lambda *args, **kwargs: deepcopy(parse(*args, **kwargs))  # they are written on
    Rule.parse_conjunctive_query = query

    def make(plans: bool) -> Any:
        infos = textworld.EnvInfos(won=True, admissible_commands=True, policy_commands=plans)
        return AlfredInfos(AlfredDemangler(PddlEnv(infos)))

    return make, lru_cache(maxsize=2)(fast_downward.pddl2sas)


@contextmanager
def _translated(plans: bool) -> Iterator[None]:
    """Inside, a game is translated once, and for plans only where they are wanted.

    The translator overwrites ``sys.argv``, which comes back.
    """
    import fast_downward

    argv, translate, kept = sys.argv, fast_downward.pddl2sas, _stack()[1]
    fast_downward.pddl2sas = lambda domain, problem, verbose=False, optimize=False: kept(
        domain, problem, optimize=optimize and plans
    )
    try:
        yield
    finally:
        sys.argv, fast_downward.pddl2sas = argv, translate


class TextWorldPlayer:
    """One game in TextWorld, wrapped as ALFWorld does. One at a time, in one thread."""

    def __init__(self, source: Path | dict[str, Any], *, plans: bool = False) -> None:
        self._env, self._plans = _stack()[0](plans), plans
        with _translated(plans):
            self._env.load(source if isinstance(source, dict) else str(source))

    def reset(self) -> Seen:
        with _translated(self._plans):
            self.state = self._env.reset()
        return self._seen()

    def step(self, command: str) -> Seen:
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
