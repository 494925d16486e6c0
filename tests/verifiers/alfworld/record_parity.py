"""Records what TextWorld says in games of our own making; the recording stands in for it where it is not installed.

``python tests/verifiers/alfworld/record_parity.py`` writes `FILE` anew (some minutes; needs the extra alfworld).
No game of the official data is in it: scenes written by hand, small random ones with and without the quirks of the
official games, and games of our generator.
"""

import gzip
import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from alfworld_quirks import QUIRKS, quirk_kitchen, quirky_game
from alfworld_scenes import bedroom, kitchen, random_game
from reference import NativePlayer, Seen, TextWorldPlayer, next_command

from rlanything_verifiers.alfworld import GOAL_KINDS, Game, Goal, Scene, World, dump_game, prove

FILE = Path(__file__).with_name("parity.json.gz")
STEPS = 40


def games() -> Iterator[tuple[str, Game]]:
    """The games, each with a name."""
    goals = [("cool", "Apple", "Drawer"), ("clean", "Pan", "StoveBurner"), ("two", "Apple", "SinkBasin")]
    for kind, thing, place in [*goals, ("heat", "Mug", "CounterTop"), ("simple", "Spoon", "Fridge")]:
        yield f"kitchen, {kind}", Game(kitchen(), Goal(kind, thing, place))
        yield f"kitchen with quirks, {kind}", Game(quirk_kitchen(), Goal(kind, thing, place))
    for kind, thing, place in [("look", "Pen", "DeskLamp"), ("two", "Pen", "Desk"), ("simple", "Book", "Safe")]:
        yield f"bedroom, {kind}", Game(bedroom(), Goal(kind, thing, place), "mind the pens, and the books.")
    yield from itertools.islice(_solvable("random", lambda seed: random_game(random.Random(seed), 4, 4)), 6)
    for name in QUIRKS:
        yield from itertools.islice(_solvable(name, lambda seed, name=name: quirky_game(seed, [name])), 3)
    yield from itertools.islice(_solvable("all quirks", lambda seed: quirky_game(seed, list(QUIRKS))), 4)
    yield from _generated()


def _solvable(name: str, make: Any) -> Iterator[tuple[str, Game]]:
    for seed in itertools.count():
        game = make(seed)
        if prove(game):
            yield f"{name} {seed}", game


def _generated() -> Iterator[tuple[str, Game]]:
    from rlanything_task_pools import Task
    from rlanything_task_pools.alfworld import DOMAIN

    def game_of(task: Task) -> Game:
        return Game(Scene.from_dict(task.payload["scene"]), Goal.from_dict(task.payload["goal"]), task.goal)

    for number, kind in enumerate(GOAL_KINDS):
        task = DOMAIN.generate(number, kinds=[kind])
        yield f"generated {number}, {kind}", game_of(task)
        for start in ("in_hand", "at_station"):
            new = DOMAIN.with_operators(["start"]).validate(
                task, {"start": start}, direction="easier", author="recorder"
            )
            if isinstance(new, Task):
                yield f"generated {number}, {kind}, {start}", game_of(new)
                break


def record(name: str, game: Game, seed: int) -> dict[str, Any]:
    """Play a game in TextWorld, and write down what was done and seen."""
    rng, original, world = random.Random(seed), TextWorldPlayer(dump_game(game)), World(game)
    seen = original.reset()
    start, steps = asdict(seen), []
    for _ in range(STEPS):
        command = next_command(rng, seen.commands, world)
        world.step(command)
        seen = original.step(command)
        steps.append({"command": command, **asdict(seen)})
    scene, goal = game.scene.to_dict(), game.goal.to_dict()
    return {"name": name, "scene": scene, "goal": goal, "sentence": game.sentence, "start": start, "steps": steps}


def recordings() -> dict[str, dict[str, Any]]:
    """What was recorded, by name."""
    return {item["name"]: item for item in json.loads(gzip.decompress(FILE.read_bytes()))}


def replay(recording: dict[str, Any], player: NativePlayer | TextWorldPlayer) -> int:
    """Play a recording again: every text, list of commands and verdict must be the same; the number of steps."""
    assert player.reset() == Seen(**recording["start"])
    for step in recording["steps"]:
        command = step["command"]
        assert player.step(command) == Seen(**{key: step[key] for key in ("feedback", "commands", "won")}), command
    return len(recording["steps"])


def game_of(recording: dict[str, Any]) -> Game:
    """The game of a recording."""
    return Game(Scene.from_dict(recording["scene"]), Goal.from_dict(recording["goal"]), recording["sentence"])


def main() -> None:
    """Record all games."""
    found = []
    for seed, (name, game) in enumerate(games()):
        found.append(record(name, game, seed))
        print(f"{name}: {sum(step['won'] for step in found[-1]['steps'])} of {STEPS} steps won", flush=True)
    FILE.write_bytes(gzip.compress(json.dumps(found, separators=(",", ":")).encode(), 9, mtime=0))
    print(f"{FILE}: {len(found)} games, {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
