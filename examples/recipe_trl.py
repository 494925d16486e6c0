"""TRL's stock `GRPOTrainer` on ALFWorld tasks that adapt to the model: Qwen3-0.6B with vLLM on one GPU.

    pip install '.[train]' 'trl[vllm]'
    python examples/recipe_trl.py                # one GPU of 24 GB
    pip install '.[train]'
    python examples/recipe_trl.py --small        # the same script on a processor, some minutes

Before and after, the model plays the tasks that the pool began with. `--report wandb` (or tensorboard, trackio) shows
TRL's numbers and beside them the curriculum's: accepted and rejected rewrites, share of groups in the band, pool size.
`rlanything pool lineage runs/trl/pool.sqlite` tells how the tasks changed.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

from datasets import Dataset, IterableDataset
from trl import GRPOConfig, GRPOTrainer

from rlanything_envs import CurriculumSource
from rlanything_envs.adapters.rows import group_rows, task_rows
from rlanything_envs.adapters.trl import log_curriculum, text_environment
from rlanything_task_pools import TaskPool, get_domain

ROLLOUTS = 8
"""Episodes in a group."""
LARGE: dict[str, Any] = {
    "model": "Qwen/Qwen3-0.6B",
    "tasks": 256,
    "knobs": {},  # of the generator: tasks of all kinds
    "turns": 30,
    "episodes": 512,  # of an evaluation
    "trainer": {
        "use_vllm": True,
        "vllm_mode": "colocate",
        "vllm_gpu_memory_utilization": 0.3,
        "vllm_max_model_length": 10_240,
        "bf16": True,
        "gradient_checkpointing": True,
        "chat_template_kwargs": {"enable_thinking": False},
        "learning_rate": 1e-6,
        "max_steps": 200,
        "per_device_train_batch_size": 2,  # in a forward pass; 32 of them are an update, of 8 groups
        "gradient_accumulation_steps": 32,
        "per_device_eval_batch_size": 64,
        "max_completion_length": 8192,  # of all turns of an episode together
    },
}
SMALL: dict[str, Any] = {
    "model": "my-model",  # made by `small_player` where it is missing
    "tasks": 16,
    "knobs": {"kinds": ["simple"], "rooms": ["Bathroom"], "max_plan": 4},
    "turns": 12,
    "episodes": 256,
    "trainer": {
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "learning_rate": 1e-3,
        "max_steps": 16,
        "per_device_train_batch_size": 64,
        "per_device_eval_batch_size": 128,
        "max_completion_length": 384,
    },
}


def main(arguments: list[str] | None = None) -> GRPOTrainer:
    """Make a pool, or open it; evaluate, train on it while it changes, evaluate."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--small", action="store_true", help="a small model on a processor")
    options.add_argument("--model", help="another model whose chat template has tools: a folder, a name on the hub")
    options.add_argument("--updates", type=int)
    options.add_argument("--episodes", type=int, help="of an evaluation")
    options.add_argument("--out", type=Path, default=Path("runs/trl"), help="folder of the pool and the checkpoints")
    options.add_argument("--report", default="none", help="wandb, tensorboard, trackio, ...")
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args(arguments)
    sizes = SMALL if chosen.small else LARGE
    model, episodes = chosen.model or sizes["model"], chosen.episodes or sizes["episodes"]

    chosen.out.mkdir(parents=True, exist_ok=True)
    domain, path = get_domain("alfworld"), chosen.out / "pool.sqlite"
    tasks = [domain.generate(seed, **sizes["knobs"]) for seed in range(sizes["tasks"])]
    pool = TaskPool.open(path) if path.exists() else TaskPool.create(path, tasks)
    if chosen.small and not chosen.model:
        from small_player import make_player

        make_player(Path(model), tasks, sizes["turns"], chosen.seed)

    with (
        CurriculumSource(pool, rollouts=ROLLOUTS, seed=chosen.seed) as source,
        text_environment("RLAnything/AlfWorld-v0", source=source, max_episode_steps=sizes["turns"]) as factory,
    ):
        settings = {
            "output_dir": str(chosen.out),
            "seed": chosen.seed,
            "report_to": chosen.report,
            "logging_steps": 1,
            "lr_scheduler_type": "constant_with_warmup",
            "warmup_steps": 5,
            "num_generations": ROLLOUTS,
            "num_generations_eval": 1,
            "max_tool_calling_iterations": sizes["turns"],
            **sizes["trainer"],
        }
        trainer = GRPOTrainer(
            model=str(model),
            args=GRPOConfig(**settings | ({"max_steps": chosen.updates} if chosen.updates else {})),
            train_dataset=IterableDataset.from_generator(group_rows),
            eval_dataset=Dataset.from_list((task_rows(tasks) * episodes)[:episodes]),
            environment_factory=factory,
        )
        log_curriculum(trainer, source)
        before = trainer.evaluate()["eval_reward"]
        trainer.train()
        after = trainer.evaluate()["eval_reward"]
        print(f"success on the tasks it began with, {episodes} episodes: {before:.1%} before, {after:.1%} after")
        print({name: round(number, 2) for name, number in source.metrics().items()})
    return trainer


if __name__ == "__main__":
    main()
