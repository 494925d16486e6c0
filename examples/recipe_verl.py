"""verl on ALFWorld tasks that adapt to the model: GRPO of Qwen3-0.6B with vLLM on one GPU.

    pip install . 'verl[vllm]'
    python examples/recipe_verl.py               # one GPU of 24 GB
    pip install '.[train]' verl
    python examples/recipe_verl.py --small       # on a processor: all but vLLM and the update

`--small` composes verl's configuration, reads its data set and plays with its agent loop; a small model answers.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import yaml

from rlanything_envs.adapters import verl
from rlanything_task_pools import TaskPool, get_domain

ROLLOUTS = 8
"""Episodes in a group."""
LARGE = {"model": "Qwen/Qwen3-0.6B", "tasks": 256, "groups": 1600, "turns": 30, "knobs": {}}
SMALL = {
    **{"model": "my-model", "tasks": 16, "groups": 6, "turns": 12},
    "knobs": {"kinds": ["simple"], "rooms": ["Bathroom"], "max_plan": 4},
}


def prepare(out: Path, sizes: dict[str, Any]) -> list[str]:
    """Write pool, data set and agent loop; returns the settings of verl."""
    out.mkdir(parents=True, exist_ok=True)
    pool, rows, loops = out / "pool.sqlite", out / "train.parquet", out / "agent_loops.yaml"
    if not pool.exists():
        domain = get_domain("alfworld")
        TaskPool.create(pool, [domain.generate(seed, **sizes["knobs"]) for seed in range(sizes["tasks"])]).close()
    datasets.Dataset.from_list(verl.group_rows(sizes["groups"], "alfworld")).to_parquet(str(rows))
    loop = {
        "name": "alfworld",
        "_target_": "rlanything_envs.adapters.verl.EnvAgentLoop",
        "env_id": "RLAnything/AlfWorld-v0",
        "arguments": {"max_episode_steps": sizes["turns"]},
        "pool": str(pool.resolve()),
        "rollouts": ROLLOUTS,
    }
    loops.write_text(yaml.safe_dump([loop]), encoding="utf-8")
    settings: dict[str, Any] = {
        "algorithm.adv_estimator": "grpo",
        "data.train_files": rows,
        "data.val_files": rows,
        "data.train_batch_size": 8,  # groups of an update
        "data.max_prompt_length": 2048,
        "data.max_response_length": 8192,  # of all turns of an episode together
        "+data.apply_chat_template_kwargs.enable_thinking": False,
        "actor_rollout_ref.model.path": sizes["model"],
        "actor_rollout_ref.model.enable_gradient_checkpointing": True,
        "actor_rollout_ref.actor.optim.lr": 1e-6,
        "actor_rollout_ref.actor.ppo_mini_batch_size": 8,
        "actor_rollout_ref.actor.use_dynamic_bsz": True,
        "actor_rollout_ref.actor.ppo_max_token_len_per_gpu": 10_240,
        "actor_rollout_ref.rollout.name": "vllm",
        "actor_rollout_ref.rollout.mode": "async",
        "actor_rollout_ref.rollout.n": ROLLOUTS,
        "actor_rollout_ref.rollout.gpu_memory_utilization": 0.4,
        "actor_rollout_ref.rollout.log_prob_use_dynamic_bsz": True,
        "actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu": 20_480,
        "actor_rollout_ref.rollout.agent.agent_loop_config_path": loops,
        "trainer.n_gpus_per_node": 1,
        "trainer.val_before_train": False,
        "trainer.test_freq": -1,
        "trainer.total_epochs": 1,
        "trainer.default_local_dir": out,
        "trainer.v1.sampler.custom_sampler.path": "pkg://rlanything_envs.adapters.verl_sampler",
        "trainer.v1.sampler.custom_sampler.name": "CurriculumReplayBuffer",
        "trainer.v1.sampler.sync_refill_failed_groups": True,
        "+trainer.v1.sampler.sampler_kwargs.pool": pool.resolve(),
    }
    return [f"{key}={value}" for key, value in settings.items()]


def play(settings: list[str], folder: Path) -> dict[str, float]:
    """All rows of the data set, each `ROLLOUTS` times at once as verl's worker plays them; returns the last numbers."""
    import hydra
    from small_player import Player
    from verl.experimental.agent_loop.agent_loop import DictConfigWrap, ToolListWrap
    from verl.utils.dataset.rl_dataset import RLHFDataset
    from verl.workers.rollout.replica import TokenOutput

    player = Player(folder)

    class Server:
        """The method of verl's `LLMServerClient`."""

        async def generate(self, *, prompt_ids: list[int], **_: Any) -> TokenOutput:
            ids, logprobs = player.sample(prompt_ids)
            return TokenOutput(token_ids=ids, log_probs=logprobs, stop_reason="completed")

    with hydra.initialize_config_module("verl.trainer.config", version_base=None):
        config = hydra.compose("ppo_trainer", settings)
    data = RLHFDataset(data_files=config.data.train_files, tokenizer=player.tokenizer, config=config.data)
    (section,) = yaml.safe_load(
        Path(config.actor_rollout_ref.rollout.agent.agent_loop_config_path).read_text(encoding="utf-8")
    )
    name = section.pop("name")

    async def episode(row: dict[str, Any]) -> float:
        loop = hydra.utils.instantiate(
            section,
            trainer_config=DictConfigWrap(config=config),
            server_manager=Server(),
            tokenizer=player.tokenizer,
            processor=None,
            hf_model_type="llama",  # the general one: of Qwen it expects a token for the end of a line
            dataset_cls=RLHFDataset,
            data_config=DictConfigWrap(config.data),
            tools=ToolListWrap([]),
        )
        return float((await loop.run({}, **row)).reward_score)

    async def group(row: dict[str, Any]) -> list[float]:
        return await asyncio.gather(*(episode(row) for _ in range(config.actor_rollout_ref.rollout.n)))

    source = verl.source(section["pool"], section["rollouts"])
    for place in range(len(data)):
        row = dict(data[place])
        assert row["agent_name"] == name
        rewards = asyncio.run(group(row))
        print(row["group"], rewards, {key: round(number, 2) for key, number in source.metrics().items()}, flush=True)
    return source.metrics()


def main(arguments: list[str] | None = None) -> None:
    """Prepare, and start verl; or play here."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--small", action="store_true", help="a small model on a processor")
    options.add_argument("--out", type=Path, default=Path("runs/verl"))
    chosen, more = options.parse_known_args(arguments)
    sizes = SMALL if chosen.small else LARGE
    settings = [*prepare(chosen.out, sizes), *more]
    if not chosen.small:
        sys.exit(subprocess.run([sys.executable, "-m", "verl.trainer.main_ppo", *settings], check=False).returncode)
    from small_player import make_player

    with TaskPool.open(chosen.out / "pool.sqlite") as pool:
        make_player(Path(sizes["model"]), [pool.active(slot) for slot in pool.slots], sizes["turns"])
    play(settings, Path(sizes["model"]))


if __name__ == "__main__":
    main()
