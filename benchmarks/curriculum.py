"""Cost of the curriculum: time per step and per reset with and without `AdaptiveDifficulty`.

The environments play random commands turn about in one run, so that a busy machine disturbs all alike:

    without   the environment alone, drawing from the same tasks
    with      the wrapper: a random agent fails, so about every group of 8 episodes asks for a rewrite
    slow      the same with a rewriter that takes a second: no reset may wait for it

    python benchmarks/curriculum.py [--blocks 400] [--steps 50] [--think 0.2]

The agent takes --think milliseconds for a command (a language model takes some hundred times as long); in that time
the threads of the rewriter have the interpreter. With --think 0 the scripted rewriter competes with the agent for it.

Exit status 1 if a limit is missed: 50 us more a step, 1 ms more a reset (means over all), and no reset of "slow" as
long as half a second.
"""

import argparse
import sys
import time
from collections import defaultdict
from typing import Any

import gymnasium as gym
import numpy as np

from rlanything_envs import AdaptiveDifficulty
from rlanything_envs.curriculum import Request, Rewriting, ScriptedRewriter

ENV_ID = "RLAnything/AlfWorld-v0"
STEP_LIMIT_US, RESET_LIMIT_US, WAIT_LIMIT_S = 50, 1000, 0.5


class SlowRewriter(ScriptedRewriter):
    """Takes as long as a text generator does."""

    def rewrite(self, request: Request, rng: np.random.Generator) -> Rewriting:
        time.sleep(1)
        return super().rewrite(request, rng)


def episode(env: gym.Env[Any, Any], steps: int, think: float, rng: np.random.Generator) -> tuple[float, list[float]]:
    """Seconds of the reset and of each step of one episode by a random agent."""
    start = time.perf_counter()
    _, info = env.reset()
    reset = time.perf_counter() - start
    spent = []
    for _ in range(steps):
        commands = info["admissible_commands"]
        action = commands[int(rng.integers(len(commands)))]
        if think:
            time.sleep(think)
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
    parser.add_argument("--steps", type=int, default=50, help="steps in an episode")
    parser.add_argument("--think", type=float, default=0.2, help="milliseconds that the agent takes for a command")
    args = parser.parse_args()

    adaptive = AdaptiveDifficulty(gym.make(ENV_ID, max_episode_steps=args.steps), pool_size=16)
    slow = AdaptiveDifficulty(gym.make(ENV_ID, max_episode_steps=args.steps), pool_size=16, rewriter=SlowRewriter())
    tasks = [adaptive.pool.active(slot) for slot in adaptive.pool.slots]
    plain = gym.make(ENV_ID, tasks=tasks, max_episode_steps=args.steps)
    kinds: dict[str, gym.Env[Any, Any]] = {"without": plain, "with": adaptive, "slow": slow}
    resets: dict[str, list[float]] = defaultdict(list)
    steps: dict[str, list[float]] = defaultdict(list)
    for number in range(args.blocks):
        for kind in sorted(kinds, reverse=bool(number % 2)):
            reset, spent = episode(kinds[kind], args.steps, args.think / 1e3, np.random.default_rng(number))
            resets[kind].append(reset)
            steps[kind] += spent

    table = {kind: {"step": figures(steps[kind]), "reset": figures(resets[kind])} for kind in kinds}
    over = {
        kind: {what: table[kind][what]["mean"] - table["without"][what]["mean"] for what in ("step", "reset")}
        for kind in ("with", "slow")
    }
    missed = [
        f"{kind}: a step costs {cost['step']:.0f} us more"
        for kind, cost in over.items()
        if cost["step"] > STEP_LIMIT_US
    ]
    missed += [
        f"{kind}: a reset costs {cost['reset']:.0f} us more"
        for kind, cost in over.items()
        if cost["reset"] > RESET_LIMIT_US
    ]
    if table["slow"]["reset"]["max"] > WAIT_LIMIT_S * 1e6:
        missed.append("slow: a reset waited for the rewriter")
    counts = {kind: kinds[kind].get_wrapper_attr("pool").counts() for kind in ("with", "slow")}
    print(f"{ENV_ID}, {args.blocks} episodes of at most {args.steps} steps each; microseconds")
    print(
        f"{'':9}"
        + "".join(f"{what + ' ' + how:>14}" for what in ("step", "reset") for how in ("median", "mean", "max"))
    )
    for kind, row in table.items():
        print(f"{kind:9}" + "".join(f"{row[what][how]:14.1f}" for what in row for how in row[what]))
    for kind, cost in over.items():
        print(
            f"{kind}: {cost['step']:+.1f} us a step, {cost['reset']:+.1f} us a reset; "
            f"{counts[kind]['proposed']} rewrites proposed, {counts[kind]['rejected']} rejected, "
            f"{counts[kind]['accepted']} accepted"
        )
    for line in missed:
        print(f"MISSED {line}")
    slow.close()
    adaptive.close()
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
