"""How far the simulated desktop agrees with a real one: verdicts, first screens, and the screens after each action.

``python -m benchmarks.agreement`` plays the same tasks by the same actions on both, tasks of every kind that the
simulator knows, in five ways: the keys of the oracle, these without the last line, six random gestures of the short
view, two of them before the keys, and ``DONE`` at once. A screen is the text of the short view, where a name that the
task does not give is ``?``. An episode that a failure of the infrastructure ended is counted apart and agrees with
nothing.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any
from zlib import crc32

import gymnasium as gym
import numpy as np
from rich.console import Console
from rich.table import Table

from rlanything_envs.osworld.accessibility import read_elements
from rlanything_envs.osworld.short.gestures import code_of
from rlanything_envs.osworld.short.screen import Screen
from rlanything_envs.osworld.short.slots import Slots
from rlanything_envs.osworld.short.words import COLUMNS, COUNTS, KEYS, LITERALS, SLOTS
from rlanything_envs.views import make_env
from rlanything_task_pools import Task
from rlanything_task_pools.osworld import DOMAIN, keys
from rlanything_task_pools.osworld.kinds import SIMULATOR_KINDS

__all__ = ["WAYS", "Agreement", "Played", "compare", "tasks_of"]

ENV_ID = "RLAnything/OSWorld-v0"
GESTURES = {"random gestures": 6, "random gestures, then oracle": 2}
WAYS = ("oracle", "truncated oracle", *GESTURES, "DONE at once")
TURNS = 40


@dataclass(frozen=True)
class Played:
    """One episode.

    Attributes:
        screens: text of the short view at the reset and after each action but the last.
        outcome: 1 or -1; "error" where the infrastructure failed.
        error: that failure.
    """

    screens: tuple[str, ...]
    outcome: Any
    error: str = ""


@dataclass(frozen=True)
class Agreement:
    """One task played in one way on both desktops."""

    kind: str
    way: str
    task_id: str
    actions: tuple[str, ...]
    simulated: Played
    real: Played

    @property
    def valid(self) -> bool:
        """Whether no infrastructure failed."""
        return not self.real.error and not self.simulated.error

    @property
    def verdict(self) -> bool:
        """Whether both evaluators say the same."""
        return self.valid and self.real.outcome == self.simulated.outcome

    @property
    def first(self) -> bool:
        """Whether the first screens are the same."""
        return self.valid and self.real.screens[:1] == self.simulated.screens[:1]

    @property
    def later(self) -> tuple[int, int]:
        """Screens after an action that are the same, and all of them."""
        pairs = list(zip(self.real.screens[1:], self.simulated.screens[1:], strict=False))
        return sum(one == other for one, other in pairs), len(pairs)


def tasks_of(number: int, kinds: Sequence[str] = SIMULATOR_KINDS) -> list[Task]:
    """Tasks of each kind, with all evaluator levels in turn."""
    return [
        DOMAIN.generate(7000 + seed, "valid_unseen", kinds=[kind], difficulty=seed % 4 / 3, hints=seed % 2)
        for kind in kinds
        for seed in range(number)
    ]


def compare(tasks: Sequence[Task], ways: Sequence[str] = WAYS, desktops: int = 4) -> list[Agreement]:
    """Play every task in every way on the simulator and on a ``bwrap`` desktop.

    Args:
        tasks: generated tasks with known keys.
        ways: names of `WAYS`.
        desktops: real desktops that play side by side.
    """
    jobs = []
    with closing(make_env(ENV_ID, "short", backend="simulator", max_turns=TURNS)) as env:
        for task in tasks:
            for way in ways:
                actions = _actions(env, task, way)
                jobs.append((task, way, actions, _play(env, task, actions)))
    free = SimpleQueue[gym.Env[Any, Any]]()
    envs = [make_env(ENV_ID, "short", backend="bwrap", max_turns=TURNS) for _ in range(desktops)]
    for env in envs:
        free.put(env)

    def play(job: tuple[Task, str, tuple[str, ...], Played]) -> Agreement:
        env = free.get()
        try:
            task, way, actions, simulated = job
            return Agreement(task.traits["kind"], way, task.id, actions, simulated, _play(env, task, actions))
        finally:
            free.put(env)

    try:
        with ThreadPoolExecutor(desktops) as pool:
            return list(pool.map(play, jobs))
    finally:
        for env in envs:
            env.close()


def _play(env: gym.Env[Any, Any], task: Task, actions: Sequence[str]) -> Played:
    observation, info = env.reset(options={"task": task})
    screens = [observation]
    for action in actions:
        observation, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            break
        screens.append(observation)
    return Played(tuple(screens), info["outcome"], info["error"])


def _actions(env: gym.Env[Any, Any], task: Task, way: str) -> tuple[str, ...]:
    """PyAutoGUI code and ``DONE``; random gestures are those that the simulator's screens offer."""
    lines = keys(task)
    if way == "oracle":
        return (*lines, "DONE")
    if way == "truncated oracle":
        return (*lines[:-1], "DONE")
    if way == "DONE at once":
        return ("DONE",)
    rng, codes = np.random.default_rng(crc32(task.id.encode())), list[str]()
    env.reset(options={"task": task})
    slots = Slots(task.goal)
    for _ in range(GESTURES[way]):
        seen = env.unwrapped.look()  # type: ignore[attr-defined]
        screen = Screen.of(read_elements(seen["accessibility_tree"]), slots)
        codes.append(code_of(_gesture(screen, slots, rng), screen, slots))
        env.step(codes[-1])
    return (*codes, *(lines if "oracle" in way else ()), "DONE")


def _gesture(screen: Screen, slots: Slots, rng: np.random.Generator) -> str:
    """A random command: a verb that the screen admits, then its words."""
    known = SLOTS[: len(slots.texts)]
    offers = [[f"press {key}" for key in KEYS], [f"click {place}" for place in COUNTS[: len(screen.targets)]]]
    offers.append([" ".join(("type", *rng.choice((*LITERALS, *known), int(rng.integers(1, 5))), "enter"))])
    rows = COUNTS[: screen.rows]
    offers.append([f"line {row}" for row in rows] if screen.app == "editor" else [])
    offers.append([f"cell {column} {row}" for column in COLUMNS for row in rows] if screen.app == "sheet" else [])
    offers = [offer for offer in offers if offer]
    return str(rng.choice(offers[int(rng.integers(len(offers)))]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=4, help="tasks of each kind")
    parser.add_argument("--kinds", nargs="*", default=SIMULATOR_KINDS)
    parser.add_argument("--ways", nargs="*", default=WAYS, choices=WAYS)
    parser.add_argument("--desktops", type=int, default=4, help="real desktops side by side")
    args = parser.parse_args()
    begin = time.monotonic()
    found = compare(tasks_of(args.tasks, args.kinds), args.ways, args.desktops)
    console = Console(width=160)
    for one in found:
        pairs = zip(one.simulated.screens, one.real.screens, strict=False)
        differ = [(number, *pair) for number, pair in enumerate(pairs) if pair[0] != pair[1]][:1]
        if differ or not one.verdict:
            console.print(f"{one.kind}, {one.way}, {one.task_id}: {one.simulated.outcome} / {one.real.outcome}")
            console.print(f"  {one.real.error}" if one.real.error else "", *one.actions, sep="\n  ", markup=False)
            for number, simulated, real in differ:
                console.print(f"  screen {number}, simulator: {simulated!r}\n  screen {number}, desktop: {real!r}")
    table = Table("", "episodes", "failures of the machine", "verdicts", "first screens", "later screens")
    for attribute, names in (("way", args.ways), ("kind", args.kinds), ("", ("all",))):
        for name in names:
            some = [one for one in found if not attribute or getattr(one, attribute) == name]
            valid = [one for one in some if one.valid]
            same, later = map(sum, zip(*(one.later for one in valid), strict=True)) if valid else (0, 0)
            table.add_row(
                *(name, str(len(some)), str(len(some) - len(valid)), f"{sum(one.verdict for one in valid)}"),
                *(f"{sum(one.first for one in valid)}", f"{same} of {later}"),
            )
    console.print(table)
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    console.print(f"{time.monotonic() - begin:.0f} s, {args.desktops} desktops, load {load}")


if __name__ == "__main__":
    main()
