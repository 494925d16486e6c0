"""A stock PPO learns to drive on hills whose physics are fixed, random, or adapted to it; tested on held-out physics.

    pip install ./examples/physics_domain[train]
    python examples/physics_domain/train.py

Three arms, three seeds each; all arms have the same learner, environment and number of steps:

- ``fixed``: 16 generated tasks, always the same;
- ``random``: another generated task for each episode;
- ``adaptive``: the 16 tasks of ``fixed`` in `AdaptiveDifficulty`, which rewrites those that are always or never solved.

What was expected before the first run: at the last step ``adaptive`` solves more held-out tasks than ``fixed`` at each
seed, with Wilson intervals apart. One seed where they are not apart refutes it. Between ``adaptive`` and ``random``
nothing was expected. README.md says what came of it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import torch
from hill_car import DOMAIN, ENV_ID
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from rlanything_agents.feedback.metrics import SuccessRate, success_rate
from rlanything_envs import AdaptiveDifficulty
from rlanything_task_pools import Task, TaskPool

ARMS = ("fixed", "random", "adaptive")
TASKS, ENVS, ROLLOUTS = 16, 8, 4
SPLITS = ("valid_seen", "valid_unseen")  # held-out physics like those of training; with stronger gravity


def solved(act: Callable[[np.ndarray], np.ndarray], tasks: Sequence[Task]) -> SuccessRate:
    """How many tasks an agent solves, with the 95 % Wilson interval; all are played side by side."""
    envs = [gym.make(ENV_ID, tasks=[task], disable_env_checker=True) for task in tasks]
    observations = [env.reset()[0] for env in envs]
    outcomes, running = [-1] * len(envs), list(range(len(envs)))
    while running:
        actions = act(np.stack([observations[i] for i in running]))
        for i, action in zip(tuple(running), actions, strict=True):
            observations[i], _, terminated, truncated, _ = envs[i].step(action)
            if terminated or truncated:
                outcomes[i] = 1 if terminated else -1
                running.remove(i)
    return success_rate(outcomes)


def train(arm: str, seed: int, steps: int, points: int, held_out: Mapping[str, Sequence[Task]],
          acceptance: str = "paper") -> dict[str, Any]:  # fmt: skip
    """One run: the curve, the success on each held-out split at its end, and what became of the pool."""
    # CPU time, as others may use the processor.
    started, roots = time.process_time(), [DOMAIN.generate(1000 * seed + i) for i in range(TASKS)]
    with tempfile.TemporaryDirectory() as folder:
        pool = Path(folder) / "pool.sqlite"
        TaskPool.create(pool, roots).close()
        dealt = iter(range(ENVS))

        def env() -> gym.Env[Any, Any]:
            if arm == "adaptive":
                return AdaptiveDifficulty(
                    gym.make(ENV_ID, disable_env_checker=True),
                    pool,
                    acceptance=acceptance,
                    rollouts=ROLLOUTS,
                    rewriting="inline",
                    seed=ENVS * seed + next(dealt),
                )
            return gym.make(ENV_ID, tasks=roots if arm == "fixed" else None, disable_env_checker=True)

        vector = make_vec_env(env, n_envs=ENVS, seed=seed)
        model = PPO("MlpPolicy", vector, n_steps=256, batch_size=256, gamma=0.98, ent_coef=0.003, seed=seed,
                    device="cpu")  # fmt: skip

        def act(observations: np.ndarray) -> np.ndarray:
            return model.predict(observations, deterministic=True)[0]

        curve = [(0, solved(act, held_out["valid_seen"]).rate)]
        for _ in range(points):
            model.learn(steps // points, reset_num_timesteps=False)
            curve.append((model.num_timesteps, solved(act, held_out["valid_seen"]).rate))
            print(
                f"{arm} seed {seed}: {curve[-1][0]} steps, {100 * curve[-1][1]:.0f} % of held-out physics", flush=True
            )
        vector.close()
        with TaskPool.open(pool) as tasks:
            counts = tasks.counts()
            pushes = [int(tasks.active(slot).traits["pushes"]) for slot in tasks.slots]
    ends = {split: solved(act, tasks) for split, tasks in held_out.items()}
    return {
        "arm": arm if acceptance == "paper" else f"{arm}, {acceptance}",
        "seed": seed,
        "curve": curve,
        "ends": {split: (end.rate, end.low, end.high) for split, end in ends.items()},
        "pool": {name: counts[name] for name in ("proposed", "accepted", "rejected")},
        "pushes": (sum(int(root.traits["pushes"]) for root in roots) / TASKS, sum(pushes) / TASKS),
        "seconds": round(time.process_time() - started),
    }


def table(runs: Sequence[dict[str, Any]]) -> str:
    """The runs as Markdown."""
    lines = [
        "| arm, seed | held-out physics | stronger gravity | accepted, rejected | CPU time |",
        "|---|---|---|---|---|",
    ]
    for run in runs:
        ends = [f"{100 * rate:.1f} % [{100 * low:.1f}, {100 * high:.1f}]" for rate, low, high in run["ends"].values()]
        pool = f"{run['pool']['accepted']}, {run['pool']['rejected']}" if run["arm"].startswith("adaptive") else ""
        lines.append(f"| {run['arm']}, {run['seed']} | {' | '.join(ends)} | {pool} | {run['seconds']} s |")
    return "\n".join(lines)


def draw(runs: Sequence[dict[str, Any]], path: Path) -> None:
    """Curves of all runs, and the mean of each arm."""
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    for number, arm in enumerate(dict.fromkeys(run["arm"] for run in runs)):
        curves = np.array([run["curve"] for run in runs if run["arm"] == arm])
        axes.plot(curves[0, :, 0], 100 * curves[:, :, 1].T, color=f"C{number}", alpha=0.3, linewidth=1)
        axes.plot(curves[0, :, 0], 100 * curves[:, :, 1].mean(0), color=f"C{number}", label=arm, linewidth=2)
    axes.set(xlabel="environment steps", ylabel="held-out physics solved, %", ylim=(0, 100))
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Train, print the table, draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=40_960)
    parser.add_argument("--points", type=int, default=10, help="points of a curve")
    parser.add_argument("--out", type=Path, default=Path("physics"), help="folder of runs.json and curves.png")
    parser.add_argument("--tasks", type=int, default=200, help="held-out tasks of each kind")
    parser.add_argument("--acceptance", default="paper", help="rule of the arm adaptive for rewrites")
    options = parser.parse_args()
    torch.set_num_threads(1)
    held_out = {split: [DOMAIN.generate(i, split) for i in range(options.tasks)] for split in SPLITS}
    full = solved(lambda seen: np.ones((len(seen), 1), np.float32), held_out["valid_seen"])
    print(f"full throttle solves {full} of held-out physics", flush=True)
    runs = [
        train(arm, seed, options.steps, options.points, held_out, options.acceptance)
        for seed in options.seeds
        for arm in options.arms
    ]
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "runs.json").write_text(json.dumps(runs, indent=1))
    draw(runs, options.out / "curves.png")
    print(table(runs))


if __name__ == "__main__":
    main()
