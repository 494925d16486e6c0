"""prime-rl on ALFWorld tasks that adapt to the model: Qwen3-0.6B, a GPU for the trainer and one for its vLLM.

    pip install . 'verifiers>=0.4'               # in the environment of a checkout of prime-rl
    PYTHONPATH=examples python examples/recipe_prime_rl.py
    pip install '.[train]' 'verifiers>=0.4'
    python examples/recipe_prime_rl.py --small   # on a processor: all but prime-rl's orchestrator, vLLM and update

This module is also the environment that verifiers finds by its name: see `__all__`. `--small` plays its endless taskset
through verifiers; a small model answers, behind an address as vLLM does.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import verifiers.v1 as vf

from rlanything_envs.adapters.verifiers import ChatHarness, LiveTaskset, TextEnv
from rlanything_task_pools import TaskPool, get_domain

__all__ = ["ChatHarness", "LiveTaskset", "TextEnv"]

ROLLOUTS = 8
"""Episodes in a group."""
LARGE: dict[str, Any] = {"tasks": 256, "turns": 30, "knobs": {}}
SMALL: dict[str, Any] = {
    **{"tasks": 16, "turns": 12},
    "knobs": {"kinds": ["simple"], "rooms": ["Bathroom"], "max_plan": 4},
}
CONFIG = """\
max_steps = 200
seq_len = 10240

[deployment]
num_train_gpus = 1
num_infer_gpus = 1

[model]
name = "Qwen/Qwen3-0.6B"

[orchestrator]
batch_size = 64
group_size = {rollouts}

[[orchestrator.train.source]]
name = "alfworld"

[orchestrator.train.source.env.taskset]
id = "recipe_prime_rl"
pool = "{pool}"
rollouts = {rollouts}
arguments = {{max_episode_steps = {turns}}}

[orchestrator.train.sampling]
max_completion_tokens = 256

[trainer.optim]
lr = 1e-6
"""


def prepare(out: Path, sizes: dict[str, Any]) -> Path:
    """Write pool and configuration; returns the path of the latter."""
    out.mkdir(parents=True, exist_ok=True)
    pool, config = (out / "pool.sqlite").resolve(), out / "rl.toml"
    if not pool.exists():
        domain = get_domain("alfworld")
        TaskPool.create(pool, [domain.generate(seed, **sizes["knobs"]) for seed in range(sizes["tasks"])]).close()
    config.write_text(CONFIG.format(pool=pool, rollouts=ROLLOUTS, turns=sizes["turns"]), encoding="utf-8")
    return config


def play(pool: Path, turns: int, folder: Path, groups: int) -> dict[str, float]:
    """Groups of the endless taskset; returns the numbers of its curriculum."""
    from prime_verifiers import served
    from small_player import Player

    player = Player(folder)

    def answer(messages: list[dict[str, Any]]) -> str:
        ids = player.tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        return str(player.tokenizer.decode(player.sample(ids)[0], skip_special_tokens=True))

    taskset = {"id": "recipe_prime_rl", "pool": str(pool), "rollouts": ROLLOUTS}
    taskset["arguments"] = {"max_episode_steps": turns}
    env = vf.load_environment(vf.resolve_env_config({"taskset": taskset}))

    async def group(task: Any, url: str) -> list[float]:
        client = vf.EvalClientConfig(base_url=url, api_key_var="NO_KEY")
        context = vf.ModelContext(model="player", client=client, sampling=vf.SamplingConfig())
        async with env.serving():
            episodes = await asyncio.gather(*(env.run_slot(slot, context) for slot in env.slots(task, ROLLOUTS)))
        return [trace.reward for episode in episodes for trace in episode.traces]

    with served(answer) as url:
        for task in itertools.islice(env.taskset, groups):
            rewards = asyncio.run(group(task, url))
            numbers: dict[str, float] = env.taskset.source.metrics()
            print(task.data.id, rewards, {key: round(number, 2) for key, number in numbers.items()}, flush=True)
    env.taskset.source.close()
    return numbers


def main(arguments: list[str] | None = None) -> None:
    """Prepare, and start prime-rl; or play here."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--small", action="store_true", help="a small model on a processor")
    options.add_argument("--out", type=Path, default=Path("runs/prime-rl"))
    options.add_argument("--groups", type=int, default=6, help="with --small")
    chosen = options.parse_args(arguments)
    sizes = SMALL if chosen.small else LARGE
    config = prepare(chosen.out, sizes)
    if not chosen.small:
        sys.exit(subprocess.run(["uv", "run", "rl", "@", str(config)], check=False).returncode)
    from small_player import make_player

    with TaskPool.open(chosen.out / "pool.sqlite") as pool:
        make_player(Path("my-model"), [pool.active(slot) for slot in pool.slots], sizes["turns"])
    play(chosen.out / "pool.sqlite", sizes["turns"], Path("my-model"), chosen.groups)


if __name__ == "__main__":
    main()
