"""How far the log-probabilities of a sampler are from the trainer's: an engine and a trainer with the same weights.

``python -m benchmarks.mismatch vllm`` has an engine sample 32 answers of SmolLM2-135M at temperature 1, and gives them
to one update, which computes their log-probabilities itself before its first step. The table shows what every update of
a run records: the divergences of the trainer's policy from the sampler's and the largest ratio of a token, then the
share of tokens whose ratio is outside of 0.9 to 1.1. Engine and trainer have the precision of the row, as in a run.
"""

import argparse
import os
import tempfile
from contextlib import closing
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from transformers import AutoModelForCausalLM, AutoTokenizer

from rlanything_agents.config.engine import EngineConfig
from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.engines.open import open_engine
from rlanything_agents.models.checkpoint import checkpoint_source
from rlanything_agents.training.samples import answer_sample
from rlanything_agents.training.trainer import make_trainer
from rlanything_agents.training.update import UpdateStats
from rlanything_envs.llm.generator import SamplingParams

ROOMS = ("kitchen", "bathroom", "bedroom", "garage", "office", "cellar", "attic", "garden")
ANSWERS = 4
TOKENS = 64
BOUNDS = TrainerConfig(
    learning_rate=1e-9,
    optimizer_steps=1,
    importance_sampling_mode="token_mask",
    importance_sampling_clip_min=0.9,
    importance_sampling_clip_max=1.1,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=("transformers", "vllm"))
    args = parser.parse_args()
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
    os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    table = Table("engine", "precision", "tokens", "KL, nats", "chi-square", "largest ratio", "outside of 0.9 to 1.1")
    for dtype in ("float32", "bfloat16"):
        tokens, stats = measured(args.engine, dtype)
        table.add_row(
            *(args.engine, dtype, str(tokens), f"{stats.sampler_kl:.2g}", f"{stats.sampler_chi2:.2g}"),
            *(f"{stats.sampler_ratio:.4g}", f"{100 * stats.corrected:.1f} %"),
        )
    Console(width=120).print(table)


def measured(kind: str, dtype: str) -> tuple[int, UpdateStats]:
    """Tokens that an engine sampled, and statistics of an update on them with the same weights."""
    folder, _ = checkpoint_source("smollm2-135m", dtype)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype=getattr(torch, dtype)).eval()
    prompts = [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": f"You are in the {room}. Find a pan. What do you do first?"}],
            add_generation_prompt=True,
            return_dict=True,
        )["input_ids"]
        for room in ROOMS
    ]
    own = {"gpu_memory_utilization": 0.2, "max_model_len": 512, "enforce_eager": True} if kind == "vllm" else {}
    config = EngineConfig(kind=kind, **own)
    with (
        tempfile.TemporaryDirectory(prefix="mismatch-") as scratch,
        closing(open_engine(config, "policy", model, tokenizer, Path(scratch))) as engine,
    ):
        if hasattr(engine, "wake"):
            engine.wake()
        answers = engine.generate(prompts, SamplingParams(TOKENS, temperature=1.0, n=ANSWERS, seed=0))
    samples = [
        answer_sample(answer.prompt_ids, answer.token_ids, answer.logprobs, None, 1.0 if number % 2 else -1.0)
        for group in answers
        for number, answer in enumerate(group)
    ]
    tokens = sum(len(sample.completion_ids) for sample in samples)
    return tokens, make_trainer(model, tokenizer, BOUNDS).update(samples)


if __name__ == "__main__":
    main()
