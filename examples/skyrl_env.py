"""SkyRL-Gym plays a data set of AlfWorld tasks: the loop of SkyRL's generator, with an explorer in the model's place.

    pip install ".[train]" skyrl-gym
    python examples/skyrl_env.py

In a training run, `skyrl.register` is called before SkyRL starts, wherever environments are made, and the rows are its
data set: ``datasets.Dataset.from_list(rows).to_parquet("train.parquet")``.
"""

from __future__ import annotations

from typing import Any

import skyrl_gym

from rlanything_agents.domains.alfworld.expert import ExploringExpert
from rlanything_envs.adapters import skyrl
from rlanything_envs.alfworld.commands import MANUAL
from rlanything_task_pools import get_domain

MAX_TURNS = 40


def play(row: dict[str, Any], seed: int) -> dict[str, Any]:
    """One row, as the generator plays it; gives the metrics of the episode."""
    extras = {key: value for key, value in row.items() if key not in ("prompt", "env_class")}
    env = skyrl_gym.make(row["env_class"], env_config={}, extras={**extras, "max_turns": MAX_TURNS})
    model = ExploringExpert(seed)
    history, info = env.init(row["prompt"])
    message, done = history[-1]["content"].removeprefix(MANUAL).strip(), False
    while not done:
        move = model.act(message, info)
        answer = f"{move.thought}\nAction: {move.action}"
        step = env.step(answer)
        history += [{"role": "assistant", "content": answer}, *step["observations"]]
        message, info, done = step["metadata"]["text"], step["metadata"], step["done"]
    env.close()
    return {**env.get_metrics(), "reward": step["reward"]}


def main() -> None:
    """Register, make rows, play them, and average what SkyRL would log."""
    skyrl.register("alfworld", "RLAnything/AlfWorld-v0")
    tasks = [get_domain("alfworld").generate(seed) for seed in range(8)]
    metrics = []
    for seed, row in enumerate(skyrl.rows(tasks, "alfworld")):
        metrics.append(play(row, seed))
        print(f"{tasks[seed].goal} {metrics[-1]}")
    print(skyrl.SkyRLEnv.aggregate_metrics(metrics))


if __name__ == "__main__":
    main()
