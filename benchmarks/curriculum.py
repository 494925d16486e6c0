"""What the curriculum costs: time per step with and without `AdaptiveDifficulty`, and time per reset.

Both environments play random commands turn about in one run, so that a busy machine disturbs both alike; the
table gives medians over episodes.

    python benchmarks/curriculum.py [--blocks 200] [--steps 50]
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from rlanything_envs import AdaptiveDifficulty

ENV_ID = "RLAnything/AlfWorld-v0"


def block(env: gym.Env[Any, Any], steps: int, rng: np.random.Generator) -> tuple[float, float]:
    """Seconds for one reset, and mean seconds for a step of one episode by a random agent."""
    start = time.perf_counter()
    _, info = env.reset()
    reset = time.perf_counter() - start
    spent, played = 0.0, 0
    for _ in range(steps):
        commands = info["admissible_commands"]
        action = commands[int(rng.integers(len(commands)))]
        start = time.perf_counter()
        _, _, terminated, truncated, info = env.step(action)
        spent += time.perf_counter() - start
        played += 1
        if terminated or truncated:
            break
    return reset, spent / played


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=200, help="episodes of each kind")
    parser.add_argument("--steps", type=int, default=50, help="steps in an episode")
    args = parser.parse_args()

    adaptive = AdaptiveDifficulty(gym.make(ENV_ID), pool_size=16)
    tasks = [adaptive.pool.active(slot) for slot in adaptive.pool.slots]
    plain = gym.make(ENV_ID, tasks=tasks)
    kinds: dict[str, gym.Env[Any, Any]] = {"without": plain, "with": adaptive}
    resets: dict[str, list[float]] = {kind: [] for kind in kinds}
    steps: dict[str, list[float]] = {kind: [] for kind in kinds}
    for number in range(args.blocks):
        for kind in sorted(kinds, reverse=bool(number % 2)):
            reset, step = block(kinds[kind], args.steps, np.random.default_rng(number))
            resets[kind].append(reset)
            steps[kind].append(step)

    scale: Callable[[float], float] = lambda seconds: seconds * 1e6  # noqa: E731
    print(f"{ENV_ID}, {args.blocks} episodes of at most {args.steps} steps each; microseconds")
    print(f"{'':10}{'step, median':>14}{'reset, median':>15}{'reset, mean':>13}{'reset, max':>12}")
    for kind in kinds:
        print(
            f"{kind:10}{scale(statistics.median(steps[kind])):14.1f}{scale(statistics.median(resets[kind])):15.1f}"
            f"{scale(statistics.mean(resets[kind])):13.1f}{scale(max(resets[kind])):12.1f}"
        )
    overhead = scale(statistics.median(steps["with"]) - statistics.median(steps["without"]))
    counts = adaptive.pool.counts()
    print(f"overhead per step: {overhead:.1f} us")
    print(f"in that time: {counts['proposed']} rewrites proposed, {counts['accepted']} accepted")


if __name__ == "__main__":
    main()
