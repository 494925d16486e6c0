"""Cost of the curriculum: time per step and per reset with and without `AdaptiveDifficulty`.

The environments play random commands turn about in one run, so that a busy machine disturbs all alike:

    without   the environment alone, drawing from the same tasks
    with      the wrapper: a random agent fails, so about every group of 8 episodes asks for a rewrite

    python -m benchmarks.curriculum [--blocks 400]

The agent takes a fifth of a millisecond for a command (a language model takes some hundred times as long); in that time
the threads of the rewriter have the interpreter.
"""

import argparse
import time
from collections import defaultdict
from typing import Any

import gymnasium as gym
import numpy as np

from rlanything_envs import AdaptiveDifficulty

ENV_ID = "RLAnything/AlfWorld-v0"
STEPS, THINK_S = 50, 2e-4
"""Most steps of an episode, and what the agent takes for a command."""


def episode(env: gym.Env[Any, Any], rng: np.random.Generator) -> tuple[float, list[float]]:
    """Seconds of the reset and of each step of one episode by a random agent."""
    start = time.perf_counter()
    _, info = env.reset()
    reset = time.perf_counter() - start
    spent = []
    for _ in range(STEPS):
        commands = info["admissible_commands"]
        action = commands[int(rng.integers(len(commands)))]
        time.sleep(THINK_S)
        start = time.perf_counter()
        _, _, terminated, truncated, info = env.step(action)
        spent.append(time.perf_counter() - start)
        if terminated or truncated:
            break
    return reset, spent


def figures(seconds: list[float]) -> dict[str, float]:
    """In microseconds."""
    values = np.sort(seconds) * 1e6
    return {"median": float(np.median(values)), "mean": float(values.mean()), "max": float(values[-1])}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=400, help="episodes of each kind")
    args = parser.parse_args()

    adaptive = AdaptiveDifficulty(gym.make(ENV_ID, max_episode_steps=STEPS), pool_size=16)
    tasks = [adaptive.pool.active(slot) for slot in adaptive.pool.slots]
    plain = gym.make(ENV_ID, tasks=tasks, max_episode_steps=STEPS)
    kinds: dict[str, gym.Env[Any, Any]] = {"without": plain, "with": adaptive}
    resets: dict[str, list[float]] = defaultdict(list)
    steps: dict[str, list[float]] = defaultdict(list)
    for number in range(args.blocks):
        for kind in sorted(kinds, reverse=bool(number % 2)):
            reset, spent = episode(kinds[kind], np.random.default_rng(number))
            resets[kind].append(reset)
            steps[kind] += spent

    table = {kind: {"step": figures(steps[kind]), "reset": figures(resets[kind])} for kind in kinds}
    over = {what: table["with"][what]["mean"] - table["without"][what]["mean"] for what in ("step", "reset")}
    counts = adaptive.pool.counts()
    print(f"{ENV_ID}, {args.blocks} episodes of at most {STEPS} steps each; microseconds")
    print(
        f"{'':9}"
        + "".join(f"{what + ' ' + how:>14}" for what in ("step", "reset") for how in ("median", "mean", "max"))
    )
    for kind, row in table.items():
        print(f"{kind:9}" + "".join(f"{row[what][how]:14.1f}" for what in row for how in row[what]))
    print(
        f"with: {over['step']:+.1f} us a step, {over['reset']:+.1f} us a reset; "
        f"{counts['proposed']} rewrites proposed, {counts['rejected']} rejected, {counts['accepted']} accepted"
    )
    adaptive.close()


if __name__ == "__main__":
    main()
