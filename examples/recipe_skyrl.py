"""SkyRL on ALFWorld tasks that adapt to the model: GRPO of Qwen3-0.6B with vLLM on one GPU.

    uv pip install PATH_OF_THIS_CHECKOUT         # in the environment of a checkout of SkyRL: uv sync --extra fsdp
    python examples/recipe_skyrl.py              # one GPU of 24 GB
    python examples/recipe_skyrl.py --small      # on a processor: all but Ray, vLLM and the update

`--small` checks SkyRL's configuration, reads its data set and plays with its trainer and its generator, up to the
advantages; a small model answers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import datasets
import ray
from skyrl.backends.skyrl_train.inference_servers.base import InferenceEngineInput, InferenceEngineOutput
from skyrl.train.config import SkyRLTrainConfig
from skyrl.train.dataset import PromptDataset
from skyrl.train.entrypoints.main_base import BasePPOExp, validate_cfg
from skyrl.train.generators.utils import prepare_generator_input
from skyrl.train.utils import initialize_ray

from rlanything_envs.adapters import skyrl
from rlanything_envs.curriculum import CurriculumSource
from rlanything_task_pools import TaskPool, get_domain

ROLLOUTS = 8
"""Episodes in a group."""
LARGE: dict[str, Any] = {
    **{"model": "Qwen/Qwen3-0.6B", "tasks": 256, "groups": 1600, "batch": 8, "turns": 30},
    **{"knobs": {}, "settings": {}},
}
SMALL: dict[str, Any] = {
    **{"model": "my-model", "tasks": 16, "groups": 6, "batch": 2, "turns": 12},
    "knobs": {"kinds": ["simple"], "rooms": ["Bathroom"], "max_plan": 4},
    "settings": {"data.dataloader.num_workers": 0, "generator.inference_engine.enable_ray_prometheus_stats": False},
}


def prepare(out: Path, sizes: dict[str, Any]) -> list[str]:
    """Write pool and data set; returns the settings of SkyRL."""
    out = out.resolve()  # Ray's processes may be in another folder
    out.mkdir(parents=True, exist_ok=True)
    pool, rows = out / "pool.sqlite", out / "train.parquet"
    if not pool.exists():
        domain = get_domain("alfworld")
        TaskPool.create(pool, [domain.generate(seed, **sizes["knobs"]) for seed in range(sizes["tasks"])]).close()
    datasets.Dataset.from_list(skyrl.group_rows(sizes["groups"], "alfworld")).to_parquet(str(rows))
    settings = {
        "data.train_data": [str(rows)],
        "environment.env_class": "alfworld",
        "generator.chat_template_kwargs": {"enable_thinking": False},
        "generator.inference_engine.gpu_memory_utilization": 0.4,
        "generator.inference_engine.num_engines": 1,
        "generator.max_input_length": 8192,  # of all turns of an episode together
        "generator.max_turns": sizes["turns"],
        "generator.n_samples_per_prompt": ROLLOUTS,
        "generator.sampling_params.max_generate_length": 256,  # of a turn
        "trainer.algorithm.advantage_estimator": "grpo",
        "trainer.algorithm.use_kl_loss": False,
        "trainer.ckpt_path": str(out / "checkpoints"),
        "trainer.eval_interval": -1,
        "trainer.export_path": str(out / "export"),
        "trainer.logger": "console",
        "trainer.max_prompt_length": 2048,
        "trainer.max_tokens_per_microbatch": 10_240,
        "trainer.placement.policy_num_gpus_per_node": 1,
        "trainer.policy.model.path": sizes["model"],
        "trainer.policy.optimizer_config.lr": 1e-6,
        "trainer.policy_mini_batch_size": sizes["batch"],
        "trainer.train_batch_size": sizes["batch"],  # groups of an update
        **sizes["settings"],
    }
    return [f"{key}={json.dumps(value)}" for key, value in settings.items()]


def register(pool: Path) -> CurriculumSource:
    """Make the environment known to this process."""
    source = CurriculumSource(pool, rollouts=ROLLOUTS)
    skyrl.register("alfworld", "RLAnything/AlfWorld-v0", source=source)
    return source


@ray.remote(num_cpus=1)
def train(config: SkyRLTrainConfig, pool: Path) -> None:
    """SkyRL's training, in a process of Ray; episodes are played in its threads."""
    with register(pool):
        BasePPOExp(config).run()


def play(config: SkyRLTrainConfig, pool: Path, folder: Path) -> dict[str, float]:
    """An epoch of SkyRL's trainer without its updates; returns the last numbers of its log."""
    from small_player import Player

    player = Player(folder)

    class PlayerClient:
        """The methods of SkyRL's `InferenceEngineInterface` that its generator calls."""

        async def generate(self, batch: InferenceEngineInput, model: str | None = None) -> InferenceEngineOutput:
            answers = [player.sample(ids) for ids in batch["prompt_token_ids"]]
            return InferenceEngineOutput(
                responses=[player.tokenizer.decode(ids, skip_special_tokens=True) for ids, _ in answers],
                response_ids=[ids for ids, _ in answers],
                response_logprobs=[logprobs for _, logprobs in answers],
                stop_reasons=["stop"] * len(answers),
            )

        async def finish_session(self, session_id: str) -> None:
            pass

    class Experiment(BasePPOExp):  # type: ignore[misc]
        """SkyRL's, where there are no GPUs to place models on."""

        def get_colocate_pg(self, timeout: int = 0) -> None:
            return None

        def get_train_dataset(self) -> PromptDataset:
            longest = config.trainer.max_prompt_length
            return PromptDataset(config.data.train_data, self.tokenizer, longest, num_workers=1)

    experiment, client = Experiment(config), PlayerClient()
    trainer = experiment.get_trainer(
        cfg=config,
        tracker=None,
        tokenizer=experiment.tokenizer,
        train_dataset=experiment.train_dataset,
        eval_dataset=None,
        inference_engine_client=client,
        generator=experiment.get_generator(config, experiment.tokenizer, client),
        colocate_pg=None,
    )
    trainer.dispatch = SimpleNamespace(get_lcm_dp_size=lambda: 1)  # one process of training
    with register(pool):
        for step, prompts in enumerate(trainer.train_dataloader, 1):
            asked, groups = prepare_generator_input(prompts, ROLLOUTS, {"logprobs": 1}, "alfworld", "train", step)
            played = asyncio.run(trainer.generate(asked))
            played, groups = trainer.postprocess_generator_output(played, groups)
            batch = trainer.convert_to_training_input(played, groups)
            batch["values"] = None  # those of a critic; GRPO has none
            trainer.compute_advantages_and_returns(batch)
            numbers: dict[str, float] = {key: round(number, 3) for key, number in trainer.all_metrics.items()}
            shown = {key: number for key, number in numbers.items() if key.startswith("environment/")}
            print(step, [sum(rewards) for rewards in played["rewards"]], shown, flush=True)
    return numbers


def main(arguments: list[str] | None = None) -> None:
    """Prepare, and start SkyRL; or play here."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--small", action="store_true", help="a small model on a processor")
    options.add_argument("--out", type=Path, default=Path("runs/skyrl"))
    chosen, more = options.parse_known_args(arguments)
    sizes = SMALL if chosen.small else LARGE
    config = SkyRLTrainConfig.from_cli_overrides([*prepare(chosen.out, sizes), *more])
    validate_cfg(config)
    pool = chosen.out.resolve() / "pool.sqlite"
    if chosen.small:
        from small_player import make_player

        with TaskPool.open(pool) as tasks:
            make_player(Path(sizes["model"]), [tasks.active(slot) for slot in tasks.slots], sizes["turns"])
        play(config, pool, Path(sizes["model"]))
    else:
        initialize_ray(config)
        ray.get(train.remote(config, pool))


if __name__ == "__main__":
    main()
