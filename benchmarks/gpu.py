"""A real language model on one GPU, in one command: sampling and training against the card's limits, and a learning
curve.

``python -m benchmarks.gpu --out FOLDER [--config configs/gpu/qwen3-8b.yaml]`` writes ``FOLDER/gpu.json`` and ends
within ``--minutes``. The model is the policy of the configuration. Each part is stored as soon as it is done:

- *card*: what a large matrix product and a copy on the device reach here. All shares below are shares of these.
- *sampling*: tokens a second of the transformers engine and, where vLLM is installed, of vLLM, by the number of prompts
  of one call. The limit is the time to read the weights and the keys and values of all prompts once for each token.
- *training*: tokens a second of the trainer (forward, loss, backward, optimizer), by the tokens of a micro-batch. The
  limit is six operations a parameter and token at the speed of the matrix product; attention is not counted.
- *learning*: the configuration itself, in the minutes that are left: success on held-out games before and during the
  loop. The run is kept in ``FOLDER/runs``, and `rlanything train` resumes it.

It needs the packages of the extra ``train`` and the model, and no network. ``--small`` does all parts in small sizes,
to see on a processor that they work.
"""

import argparse
import importlib.util
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from rlanything_agents.config import CheckpointConfig, load_config
from rlanything_agents.config.engine import EngineConfig
from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.engines.vllm import VLLMGenerator
from rlanything_agents.models.pretrained import load_model, load_template
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.training.samples import Sample
from rlanything_agents.training.trainer import SampleTrainer
from rlanything_envs.llm.generator import Prompt, SamplingParams

CONFIG = Path(__file__).resolve().parent.parent / "configs" / "smollm2-quickstart.yaml"
PROMPT, ANSWER = 256, 64
"""Tokens of a prompt and most tokens of an answer in the measurements."""
SHORTEST = 2.0
"""Seconds that a measured call is repeated for."""


class Sizes:
    """What is measured."""

    def __init__(self, small: bool) -> None:
        self.matrix = 512 if small else 8192
        self.copied = 2**24 if small else 2**32
        self.prompts = (2,) if small else (1, 16, 64, 256, 1024)
        self.micro_batches = (512,) if small else (2048, 16384, 65536)
        self.rows = 2 if small else 256
        self.answer = 8 if small else ANSWER
        self.changes: dict[str, int | str] = {
            "threads": 1,
            "feedback": "{policy_band: null, judge_band: null}",  # groups that solve nothing teach too
            "warm_start.demonstrations": 4,
            "warm_start.judge_steps": 4,
            "warm_start.max_steps": 20,
            "rollout.tasks": 2,
            "rollout.rollouts": 2,
            "rollout.max_steps": 3,
            "judge.steps": 4,
            "judge.votes": 2,
            "curriculum.pool_size": 4,
            "iterations": 1,
            "policy_trainer.micro_batch_tokens": 512,
            "policy_trainer.optimizer_steps": 1,
            "judge_trainer.micro_batch_tokens": 512,
            "judge_trainer.optimizer_steps": 1,
            "evaluation.episodes": 2,
            "evaluation.max_steps": 3,
            "evaluation.judge_episodes": 1,
            "evaluation.every": 1,
            "evaluation.every_episodes": 2,
        }
        if not small:
            self.changes = {}


def wait(device: torch.device) -> None:
    """Wait until the device has done all work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


Result = TypeVar("Result")


def seconds_of(work: Callable[[], Result], device: torch.device, longest: float) -> tuple[float, Result]:
    """Mean seconds of all calls that fit into `SHORTEST`, after one that is not counted, and what a call returns.

    A first call that takes longer than ``longest`` is the only one.
    """
    start = time.perf_counter()
    result = work()
    wait(device)
    taken = time.perf_counter() - start
    if taken > longest:
        return taken, result
    calls, start = 0, time.perf_counter()
    while (taken := time.perf_counter() - start) < SHORTEST:
        work()
        wait(device)
        calls += 1
    return taken / calls, result


def card(device: torch.device, dtype: torch.dtype, sizes: Sizes) -> dict[str, Any]:
    """Name, memory, and measured limits of the device."""
    a, b = (torch.randn(sizes.matrix, sizes.matrix, device=device, dtype=dtype) for _ in range(2))
    operations = 2 * sizes.matrix**3 / seconds_of(lambda: a @ b, device, 10)[0]
    source = torch.zeros(sizes.copied // 4, device=device, dtype=torch.float32)
    target = torch.empty_like(source)
    copied = 2 * sizes.copied / seconds_of(lambda: target.copy_(source), device, 10)[0]  # read and written
    gpu = torch.cuda.get_device_properties(device) if device.type == "cuda" else None
    return {
        "name": gpu.name if gpu else f"{platform.machine()}, {torch.get_num_threads()} thread(s)",
        "memory_bytes": gpu.total_memory if gpu else None,
        "dtype": str(dtype).removeprefix("torch."),
        "flops_per_second": operations,
        "bytes_per_second": copied,
        "torch": torch.__version__,
    }


@contextmanager
def engine(
    kind: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
) -> Iterator[TransformersGenerator | VLLMGenerator]:
    """An engine of the model."""
    if kind == "transformers":
        yield TransformersGenerator(model, tokenizer)
        return
    settings = EngineConfig(kind="vllm", gpu_memory_utilization=0.4)
    with tempfile.TemporaryDirectory() as folder:
        made = VLLMGenerator(model, tokenizer, settings, Path(folder), 2 * (PROMPT + ANSWER))
        try:
            made.wake()
            yield made
        finally:
            made.close()


def sampling(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, limits: dict[str, Any], sizes: Sizes, seconds: float
) -> list[dict[str, Any]]:
    """Tokens a second by engine and number of prompts."""
    weights = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    config = model.config
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    kept = 2 * config.num_hidden_layers * config.num_key_value_heads * width * next(model.parameters()).element_size()
    rng, found = np.random.default_rng(0), []
    for kind in ("transformers", "vllm"):
        if kind == "vllm" and importlib.util.find_spec("vllm") is None:
            continue
        end = time.perf_counter() + seconds
        with engine(kind, model, tokenizer) as generator, suppress(torch.OutOfMemoryError):
            for count in sizes.prompts:
                if time.perf_counter() > end:
                    break
                prompts: list[Prompt] = [rng.integers(100, len(tokenizer), PROMPT).tolist() for _ in range(count)]
                params = SamplingParams(sizes.answer, seed=count)
                taken, calls = seconds_of(partial(generator.generate, prompts, params), model.device, seconds / 4)
                written = sum(len(answer.token_ids or ()) for group in calls for answer in group)
                reading = weights + count * (PROMPT + sizes.answer / 2) * kept
                limit = count * limits["bytes_per_second"] / reading
                speed = written / taken
                found.append(
                    {"engine": kind, "prompts": count, "tokens_per_second": speed, "share_of_limit": speed / limit}
                )
                print(f"sampling, {kind}, {count} prompts: {speed:,.0f} tokens/s, {speed / limit:.1%} of the limit")
    return found


def training(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    config: TrainerConfig,
    limits: dict[str, Any],
    sizes: Sizes,
    seconds: float,
) -> list[dict[str, Any]]:
    """Tokens a second of updates by the tokens of a micro-batch, until one does not fit the card."""
    rng, found, end = np.random.default_rng(0), [], time.perf_counter() + seconds
    operations = 6 * sum(parameter.numel() for parameter in model.parameters())
    samples = [_sample(model, rng.integers(100, len(tokenizer), 2 * PROMPT), rng.normal()) for _ in range(sizes.rows)]
    for size in sizes.micro_batches:
        if time.perf_counter() > end:
            break
        settings = config.model_copy(update={"learning_rate": 1e-7, "optimizer_steps": 4, "micro_batch_tokens": size})
        trainer = SampleTrainer(model, tokenizer, settings)
        try:
            taken, _ = seconds_of(partial(trainer.update, samples), model.device, seconds / 4)
        except torch.OutOfMemoryError:
            print(f"training, micro-batches of {size} tokens: out of memory")
            break
        speed = sum(map(len, samples)) / taken
        share = speed * operations / limits["flops_per_second"]
        found.append({"micro_batch_tokens": size, "tokens_per_second": speed, "share_of_limit": share})
        print(f"training, micro-batches of {size} tokens: {speed:,.0f} tokens/s, {share:.1%} of the limit")
    return found


@torch.inference_mode()
def _sample(model: PreTrainedModel, ids: np.ndarray, advantage: float) -> Sample:
    """Row of one prompt and one answer with the log-probabilities that the first update checks."""
    answer = torch.tensor(ids[PROMPT:, None], device=model.device)
    scores = model(torch.tensor(ids[None], device=model.device)).logits[0, PROMPT - 1 : -1].float().log_softmax(-1)
    return Sample(
        prompt_ids=ids[:PROMPT].tolist(),
        completion_ids=ids[PROMPT:].tolist(),
        weights=[1 / PROMPT] * PROMPT,
        advantages=[float(advantage)] * PROMPT,
        logprobs=scores.gather(1, answer)[:, 0].tolist(),
    )


def learning(config: Path, changes: list[str], out: Path, seconds: float) -> dict[str, Any]:
    """The loop in the time that is left, in its own process that is interrupted at the end of it."""
    runs = out / "runs" / config.stem
    command = [sys.executable, "-m", "rlanything_agents", "train", str(config), "--out", str(runs)]
    command += [word for change in changes for word in ("--set", change)]
    process = subprocess.Popen(command)
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        try:
            code = process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
    folder = RunFolder(runs)
    rows = folder.rows()
    names = ["before", *(f"iteration-{row['iteration']:04d}" for row in rows), "after"]
    curve = [
        {"iteration": len(rows) if name == "after" else number, **_success(stage)}
        for number, name in enumerate(names)
        if (stage := folder.stage(name)) is not None
    ]
    iterations = [
        {
            "iteration": row["iteration"],
            "success": row["success"]["active"],
            "seconds": row["seconds"],
            "tokens": {role: row[role].get("tokens", 0) for role in ("policy", "judge")},
        }
        for row in rows
    ]
    return {"command": command[1:], "exit_code": code, "iterations": iterations, "curve": curve}


def _success(stage: dict[str, Any]) -> dict[str, Any]:
    panel = next(iter(stage["panels"].values()))
    return {key: panel[key] for key in ("rate", "low", "high", "episodes")}


def main() -> None:
    """Writes one JSON file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--config", type=Path, default=CONFIG, help="configuration of a run")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a key of it")
    parser.add_argument("--minutes", type=float, default=8.5, help="time for all of it")
    parser.add_argument("--small", action="store_true", help="small sizes, for a processor")
    given = parser.parse_args()
    start, sizes = time.monotonic(), Sizes(given.small)
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")  # the engine frees its memory when it is closed
    given.out.mkdir(parents=True, exist_ok=True)
    changes = [f"{key}={value}" for key, value in sizes.changes.items()] + given.set
    settings = load_config(given.config, changes)
    config = CheckpointConfig.model_validate(settings.policy)
    template = load_template(config)
    model, tokenizer = load_model(config, template.tokenizer, seed=0), template.tokenizer
    result: dict[str, Any] = {"model": config.checkpoint, "parameters": model.num_parameters(), "small": given.small}

    def store(part: str, value: Any) -> None:
        result[part] = value
        (given.out / "gpu.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")

    share = given.minutes * 60 / 8  # seconds of a part; the loop gets what is left
    limits = card(model.device, model.dtype, sizes)
    store("card", limits)
    print(f"{limits['name']}: {limits['flops_per_second'] / 1e12:.2f} TFLOP/s in {limits['dtype']}", end=", ")
    print(f"{limits['bytes_per_second'] / 1e9:.0f} GB/s copied")
    store("sampling", sampling(model, tokenizer, limits, sizes, share))
    store("training", training(model, tokenizer, settings.policy_trainer, limits, sizes, share))
    del model
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    left = given.minutes * 60 - (time.monotonic() - start) - 20
    store("learning", learning(given.config, changes, given.out, max(60.0, left)))
    for point in result["learning"]["curve"]:
        print(f"iteration {point['iteration']}: {point['rate']:.1%} [{point['low']:.1%}, {point['high']:.1%}]")
    print(f"{time.monotonic() - start:.0f} s; {given.out / 'gpu.json'}")


if __name__ == "__main__":
    main()
