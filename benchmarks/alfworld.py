"""Speed and size of the ALFWorld engine, next to the real TextWorld in the same run.

``python -m benchmarks.alfworld --games 12 --textworld-steps 20`` prints a table. Times are CPU times of
this process; native and TextWorld measurements alternate, so both meet the same machine. Every native step
includes the sorted list of admissible commands and the win check.

``--gymnasium 1024`` adds the speed through Gymnasium, random play: `gymnasium.make` and a vector of 1,024, with a new
game at each reset, and with 1,024 games that are played again and again.
"""

import argparse
import os
import platform
import random
import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import gymnasium as gym

import rlanything_envs  # noqa: F401 (registers the environments)
from rlanything_task_pools import Task
from rlanything_task_pools.alfworld import DOMAIN
from rlanything_verifiers.alfworld import Game, Goal, Scene, World, dump_game, load_game, plan, prove, write_game

#: Targets of the engine, printed next to the measurements.
TARGETS = {
    "native steps/s": (100_000, "at least"),
    "native reset [us]": (20, "at most"),
    "parse a game [ms]": (2.0, "at most"),
    "proof from the start [ms]": (0.5, "at most"),
    "plan from a random state [ms]": (0.5, "at most"),
    "memory per world [KB]": (15, "at most"),
    "native / TextWorld steps": (3_000, "at least"),
    "vector, games again": (200_000, "at least"),
}
AGAIN = 1024
"""Games that are played again and again."""


def official_games(count: int) -> list[Game]:
    named = os.environ.get("RLANYTHING_TEST_DATA") or os.environ.get("ALFWORLD_DATA")
    root = Path(__file__).resolve().parent.parent
    places = [Path(named)] if named else [root / "shared" / "data", root.parent / "shared" / "data"]
    paths = sorted(path for place in places for path in place.rglob("game.tw-pddl"))
    return [load_game(path) for path in random.Random(0).sample(paths, min(count, len(paths)))]


def generated_games(count: int) -> list[Game]:
    tasks = [DOMAIN.generate(seed) for seed in range(count)]
    return [
        Game(Scene.from_dict(task.payload["scene"]), Goal.from_dict(task.payload["goal"]), task.goal) for task in tasks
    ]


def cpu(times: int, work: Callable[..., object], *args: Any) -> float:
    """CPU seconds of one call."""
    begin = process_time()
    for _ in range(times):
        work(*args)
    return (process_time() - begin) / times


def native_steps_per_second(world: World, steps: int, seed: int) -> float:
    """Random play: each command drawn from the admissible ones, list and verdict read after each step."""
    rng = random.Random(seed)
    draws = [rng.random() for _ in range(steps)]
    world.reset()
    commands = world.admissible_commands
    begin = process_time()
    for draw in draws:
        world.step(commands[int(draw * len(commands))])
        commands = world.admissible_commands
        _ = world.won
    return steps / (process_time() - begin)


def gymnasium_steps_per_second(envs: int, steps: int, tasks: list[Task]) -> dict[str, float]:
    """Random play through Gymnasium, by what is made: steps/s of one environment, and of a vector with its resets."""
    rng, found = random.Random(0), {}
    ways: dict[str, dict[str, Any]] = {
        "make, without resets": {"max_episode_steps": -1},
        "make, new games": {},
        "make, games again": {"tasks": tasks},
    }
    for name, arguments in ways.items():
        env = gym.make("RLAnything/AlfWorld-v0", **arguments)
        info = env.reset(seed=0)[1]
        begin = process_time()
        for _ in range(steps):
            commands = info["admissible_commands"]
            _, _, terminated, truncated, info = env.step(commands[int(rng.random() * len(commands))])
            if truncated or (terminated and name != "make, without resets"):
                info = env.reset()[1]
            elif terminated:
                info = env.reset(options={"task": info["task_id"]})[1]
        found[name] = steps / (process_time() - begin)
    for name, arguments in {"vector, new games": {}, "vector, games again": {"tasks": tasks}}.items():
        vector = gym.make_vec("RLAnything/AlfWorld-v0", envs, autoreset_mode="SameStep", **arguments)
        infos = vector.reset(seed=0)[1]
        for times in (50, 50):  # the first episodes warm the memos of the games
            begin = process_time()
            for _ in range(times):
                actions = [each[int(rng.random() * len(each))] for each in infos["admissible_commands"]]
                infos = vector.step(actions)[4]
        found[name] = envs * times / (process_time() - begin)
    return found


def memory_per_world(game: Game, worlds: int = 1000, steps: int = 30) -> float:
    """KB for each of many worlds of a game, after some play."""
    rng = random.Random(0)
    World(game)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = [World(game) for _ in range(worlds)]
    for world in kept:
        for _ in range(steps):
            world.step(rng.choice(world.admissible_commands))
        _ = (world.admissible_commands, world.won)
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return used / len(kept) / 1024


def textworld_player(game: Game, folder: Path) -> Any:
    """The same game in the real stack, or None where it is not installed."""
    try:
        import textworld
        from alfworld.agents.environment.alfred_tw_env import AlfredDemangler, AlfredInfos
        from textworld.envs.pddl import PddlEnv
    except ImportError:
        return None
    env = AlfredInfos(AlfredDemangler(PddlEnv(textworld.EnvInfos(won=True, admissible_commands=True))))
    env.load(str(write_game(game, folder / "game.tw-pddl")))
    return env


def measure(games: list[Game], steps: int, textworld_steps: int, envs: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in TARGETS}
    found |= {"TextWorld steps/s": [], "TextWorld reset [ms]": []}
    with tempfile.TemporaryDirectory() as folder:
        for seed, game in enumerate(games):
            data, world, rng = dump_game(game), World(game), random.Random(seed)
            native_steps_per_second(world, 200, seed)
            native = [native_steps_per_second(world, steps, seed)]
            found["parse a game [ms]"].append(1e3 * min(cpu(1, load_game, data) for _ in range(5)))
            found["native reset [us]"].append(1e6 * cpu(2000, world.reset))
            found["proof from the start [ms]"].append(1e3 * cpu(100, prove, game))
            for _ in range(10):
                for _ in range(rng.randrange(30)):
                    world.step(rng.choice(world.admissible_commands))
                found["plan from a random state [ms]"].append(1e3 * cpu(20, plan, world))
            player = textworld_player(game, Path(folder) / str(seed)) if textworld_steps else None
            if player is not None:
                begin = process_time()
                state = player.reset()
                found["TextWorld reset [ms]"].append(1e3 * (process_time() - begin))
                begin = process_time()
                for _ in range(textworld_steps):
                    state, _, _ = player.step(rng.choice(state["admissible_commands"]))
                found["TextWorld steps/s"].append(textworld_steps / (process_time() - begin))
            native.append(native_steps_per_second(world, steps, seed))
            found["native steps/s"].append(median(native))
    found["memory per world [KB]"] = [memory_per_world(game) for game in games[:3]]
    pairs = zip(found["native steps/s"], found["TextWorld steps/s"], strict=False)
    found["native / TextWorld steps"] = [ours / theirs for ours, theirs in pairs]
    again = [DOMAIN.generate(seed) for seed in range(AGAIN if envs else 0)]
    for _ in range(2 if envs else 0):
        for name, speed in gymnasium_steps_per_second(envs, steps, again).items():
            found.setdefault(name, []).append(speed)
    return found


def report(found: dict[str, list[float]], title: str) -> None:
    print(title)
    print(f"{'':32}{'median':>12}{'worst':>12}{'best':>12}   target")
    for name, values in found.items():
        if not values:
            print(f"{name:32}{'not measured':>12}")
            continue
        more_is_better = name.endswith(("steps/s", "steps", "games", "again", "resets"))
        worst, best = (min, max) if more_is_better else (max, min)
        target = f"{TARGETS[name][1]} {TARGETS[name][0]:,}" if name in TARGETS else ""
        print(f"{name:32}{median(values):12,.3f}{worst(values):12,.3f}{best(values):12,.3f}   {target}")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=12, help="games of each source")
    parser.add_argument("--steps", type=int, default=5000, help="native steps measured a game, twice")
    parser.add_argument("--textworld-steps", type=int, default=15, help="TextWorld steps a game; 0 leaves it out")
    parser.add_argument("--gymnasium", type=int, default=0, help="games of a vector; 0 leaves Gymnasium out")
    parser.add_argument("--source", choices=["official", "generated", "both"], default="both")
    args = parser.parse_args()
    print(f"Python {platform.python_version()} on {platform.machine()}, one process, one thread\n")
    sources = {"official": official_games, "generated": generated_games}
    measured = False
    for name, make in sources.items():
        games = make(args.games) if args.source in (name, "both") else []
        envs = args.gymnasium if name == "generated" else 0
        if games:
            report(measure(games, args.steps, args.textworld_steps, envs), f"{len(games)} {name} games")
            measured = True
    if not measured:
        sys.exit("no games: set ALFWORLD_DATA to the official games, or install the task pools")


if __name__ == "__main__":
    main()
