"""MaskablePPO of sb3-contrib learns four small AlfWorld games, from commands that random play has come across.

    pip install ".[train]" sb3-contrib
    python examples/sb3_ppo.py --seed 0

The games are the same before and after; their order and the players' chance are not. 400 episodes each, 95 % Wilson
intervals, one thread:

| | random play | after 16,384 steps | CPU time |
|---|---|---|---|
| ``--seed 0`` | 0.0 % [0.0, 1.0] | 33.0 % [28.6, 37.8] | 32 s |
| ``--seed 1`` | 1.0 % [0.4, 2.5] | 24.8 % [20.8, 29.2] | 35 s |
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

import rlanything_envs  # noqa: F401 (registers the environments)
from rlanything_agents.feedback.metrics import SuccessRate, success_rate
from rlanything_envs.adapters.sb3 import AdmissibleActions, HashedText
from rlanything_task_pools import get_domain

TASKS = [get_domain("alfworld").generate(seed, rooms=["Bathroom"], kinds=["simple"], max_plan=4) for seed in range(4)]
HORIZON = 30
PLAYED_TO_EXPLORE = 300
EPISODES = 400


def game() -> gym.Env[Any, Any]:
    """One of the four games, at random."""
    return gym.make("RLAnything/AlfWorld-v0", tasks=TASKS, max_episode_steps=HORIZON)


def play(env: gym.Env[Any, Any], choose: Callable[[Any, Any], Any], episodes: int, first_seed: int) -> SuccessRate:
    """How often a way to choose wins, with its 95 % Wilson interval."""
    outcomes = []
    for seed in range(first_seed, first_seed + episodes):
        observation, info = env.reset(seed=seed)
        over = False
        while not over:
            observation, _, terminated, truncated, info = env.step(choose(observation, info))
            over = terminated or truncated
        outcomes.append(1 if info["is_success"] else -1)
    return success_rate(outcomes)


def main() -> None:
    """Explore, train, and compare with random play on the same games."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=16_384)
    parser.add_argument("--episodes", type=int, default=EPISODES)
    options = parser.parse_args()
    torch.set_num_threads(1)
    started = time.perf_counter()

    rng, seen = np.random.default_rng(options.seed), set()
    listed = AdmissibleActions(game())

    def at_random(_: Any, info: dict[str, Any]) -> int:
        seen.update(info["admissible_commands"])
        return int(rng.choice(np.flatnonzero(info["action_mask"])))

    play(listed, at_random, PLAYED_TO_EXPLORE, first_seed=1_000_000)
    commands = sorted(seen)
    before = play(listed, at_random, options.episodes, first_seed=2_000_000)
    print(f"{len(commands)} commands seen; random play wins {before}", flush=True)

    def numbered() -> gym.Env[Any, Any]:
        return HashedText(AdmissibleActions(game(), commands), command_features=0)

    model = MaskablePPO(
        "MultiInputPolicy",
        make_vec_env(numbered, n_envs=8, seed=options.seed),
        n_steps=128,
        batch_size=256,
        learning_rate=1e-3,
        ent_coef=0.01,
        gamma=0.95,
        seed=options.seed,
        policy_kwargs={"net_arch": [128]},
        device="cpu",
    )
    model.learn(options.steps)

    def learned(observation: Any, info: dict[str, Any]) -> Any:
        return model.predict(observation, action_masks=info["action_mask"])[0]

    after = play(numbered(), learned, options.episodes, first_seed=2_000_000)
    seconds = time.perf_counter() - started
    print(
        f"after {model.num_timesteps} steps MaskablePPO wins {after}; better: {after.above(before)} ({seconds:.0f} s)"
    )


if __name__ == "__main__":
    main()
