"""The real SDK of Tinker against SkyRL's server, its JAX backend on a processor (see `test_tinker_real.py`)."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from chat_runs import Killed, SomeSolve, run, settings
from families import checkpoint
from small_models import scored
from transformers import AutoModelForCausalLM

from rlanything_agents.config import CheckpointConfig, SharedConfig
from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.engines.tinker import Adapter, ServiceFailed, TinkerGenerator, TinkerService
from rlanything_agents.models.pretrained import load_template, vocabulary_of
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.training.samples import Sample
from rlanything_agents.training.tinker import TinkerTrainer
from rlanything_envs.llm.generator import SamplingParams

PROMPTS = [[40, 41, 42, 43], [50, 51]]
KEY = "tml-a-key-that-is-written-nowhere"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> CheckpointConfig:
    folder = checkpoint("qwen3", tmp_path_factory.mktemp("models") / "policy-qwen3", seed=6)
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"dtype": "float32"}))
    return CheckpointConfig(checkpoint=str(folder), dtype="float32", lora={"rank": 4}, max_tokens=12, context=4096)


@pytest.fixture(scope="module")
def address(base: CheckpointConfig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("server")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [
        sys.executable,
        str(Path(__file__).with_name("skyrl_server.py")),
        base.checkpoint,
        str(port),
        str(folder),
    ]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/healthz", timeout=2).close()
                break
            except OSError:
                time.sleep(1)
        os.environ |= {"TINKER_BASE_URL": f"http://127.0.0.1:{port}", "TINKER_API_KEY": KEY}
        yield os.environ["TINKER_BASE_URL"]
    finally:
        server.terminate()
        server.wait(timeout=30)


@pytest.fixture
def adapter(base: CheckpointConfig, address: str) -> Iterator[Adapter]:
    service = TinkerService()
    yield Adapter(service, base, vocabulary_of(base), 5)
    service.close()


def test_samples_have_the_log_probabilities_of_the_base(adapter: Adapter, base: CheckpointConfig) -> None:
    model = AutoModelForCausalLM.from_pretrained(base.checkpoint)
    engine = TinkerGenerator(adapter, load_template(base).tokenizer)
    for prompt, found in zip(PROMPTS, engine.generate(PROMPTS, SamplingParams(8, n=2, seed=1)), strict=True):
        for sample in found:
            assert sample.error is None
            assert sample.logprobs == pytest.approx(scored(model, prompt, sample.token_ids), abs=1e-3)


def samples(engine: TinkerGenerator) -> list[Sample]:
    """Two rows of two answers each, of different lengths; the second answer reads the first."""
    rng, found = np.random.default_rng(0), []
    for prompt in PROMPTS:
        (one,) = engine.generate([prompt], SamplingParams(8, seed=1))[0]
        (two,) = engine.generate([[*prompt, *one.token_ids, 44]], SamplingParams(8, seed=2))[0]
        sizes = len(one.token_ids), len(two.token_ids)
        weights = [1 / sizes[0]] * sizes[0] + [0.0] + [1 / sizes[1]] * sizes[1]
        first, second = (float(value) for value in rng.normal(size=2))
        advantages = [first] * sizes[0] + [0.0] + [second] * sizes[1]
        ids, logprobs = [*one.token_ids, 44, *two.token_ids], [*one.logprobs, 0.0, *two.logprobs]
        steps = [0] * sizes[0] + [None] + [1] * sizes[1]
        found.append(Sample(prompt, ids, weights, advantages, [min(0.0, value) for value in logprobs], steps=steps))
    return found


def apart(sample: Sample) -> list[Sample]:
    """The answers of a row as a row each."""
    cut = sample.steps.index(None)
    parts = (slice(0, cut), slice(cut + 1, None))
    return [
        Sample(
            [*sample.prompt_ids, *sample.completion_ids[: part.start]],
            sample.completion_ids[part],
            sample.weights[part],
            sample.advantages[part],
            sample.logprobs[part],
        )
        for part in parts
    ]


def test_updates_checkpoints_and_the_gradient_in_two_layouts(
    adapter: Adapter, base: CheckpointConfig, tmp_path: Path
) -> None:
    engine = TinkerGenerator(adapter, load_template(base).tokenizer)
    rows = samples(engine)
    config = TrainerConfig(learning_rate=1e-2, optimizer_steps=1)
    trainer = TinkerTrainer(adapter, config)
    stats = trainer.update(rows)
    assert stats.sampler_ratio == pytest.approx(1, abs=1e-3)
    assert stats.grad_norm > 0
    # SkyRL averages over the tokens of a row; the gradient is that of the loss all the same.
    other = TinkerTrainer(Adapter(adapter.service, base, adapter.vocabulary, 5), config)
    assert other.update([part for row in rows for part in apart(row)]).grad_norm == pytest.approx(
        stats.grad_norm, rel=1e-3
    )
    trainer.save(tmp_path)
    moved = trainer.update(rows)
    assert moved.sampler_ratio > 1.001
    restored = TinkerTrainer(Adapter(adapter.service, base, adapter.vocabulary, 6), config)
    restored.load(tmp_path)
    again = restored.update(rows)
    assert (again.loss, again.grad_norm) == pytest.approx((moved.loss, moved.grad_norm), rel=1e-3)
    engine.update_weights(adapter, 1)
    (sample,) = engine.generate([PROMPTS[0]], SamplingParams(8, seed=1))[0]
    model = AutoModelForCausalLM.from_pretrained(base.checkpoint)
    assert sample.logprobs != pytest.approx(scored(model, PROMPTS[0], sample.token_ids), abs=1e-3)


def test_a_checkpoint_that_the_service_has_not_ends_a_run(adapter: Adapter) -> None:
    adapter.restore("tinker://nobody/weights/nothing")
    with pytest.raises(ServiceFailed, match=r"restore tinker://nobody/weights/nothing: .*NotFound"):
        _ = adapter.client


def test_a_run_is_interrupted_and_resumes(base: CheckpointConfig, address: str, tmp_path: Path) -> None:
    models = Path(base.checkpoint).parent
    shared = SharedConfig(base="policy", max_tokens=12, context=4096)
    config = settings(
        models,
        engine={"kind": "tinker"},
        environment={"view": "short"},
        policy={"lora": {"rank": 4}},
        reward_model=shared,
        rollout={"rollouts": 2},
        judge={"votes": 2, "scope": "all"},
        evaluation={"judge_episodes": 1},
    )
    with pytest.raises(Killed):
        run(config, tmp_path / "run", [SomeSolve(1)])
    folder = RunFolder(tmp_path / "run")
    assert len(folder.rows()) == 1
    summary = run(config, tmp_path / "run", [SomeSolve(2)])
    rows = folder.rows()
    assert [row["iteration"] for row in rows] == [1, 2]
    assert all(row["policy"]["optimizer_steps"] for row in rows)
    assert rows[0]["policy"]["sampler_ratio"] == pytest.approx(1, abs=1e-2)
    assert min(rows[1]["service"].values()) > 0
    assert summary["service"].startswith("At the service: ")
    assert json.loads((folder.path / "checkpoints/0002/judge/tinker.json").read_text())["path"].startswith("tinker://")
    for file in folder.path.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes()
