"""The client against the server that comes with transformers and a tiny model of random weights."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from preloaded import Preloaded, Process
from scripted_service import chat

from rlanything_envs.llm import (
    Endpoint,
    OpenAIGenerator,
    PromptLog,
    RecordedAnswers,
    ReplayGenerator,
    Retries,
    SamplingParams,
    read_log,
)

START_S = 120
"""Most seconds until the server listens; 7 on an idle core."""


def make_model(folder: Path) -> None:
    """A Llama of 60,000 parameters over single bytes, so that all of Unicode may come out."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: at for at, token in enumerate(["<pad>", "<s>", "</s>", *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<s>", eos_token="</s>")
    fast.chat_template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant: "
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=512,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = LlamaForCausalLM(config)
    model.generation_config.do_sample = True
    model.generation_config.top_k = 0
    model.save_pretrained(folder)
    fast.save_pretrained(folder)


@pytest.fixture(scope="module")
def endpoint(preloaded: Preloaded, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    for package in ("torch", "transformers", "fastapi", "uvicorn"):
        pytest.importorskip(package, reason="`transformers serve` needs the extras train and dev")
    folder = tmp_path_factory.mktemp("serve")
    make_model(folder / "tiny")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(folder / "tiny")]
    command += ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    quiet = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder), "OMP_NUM_THREADS": "1"}
    server = preloaded.start(*command, env={**os.environ, **quiet})
    try:
        _wait_until_up(server, f"http://127.0.0.1:{port}/health")
        # One request at a time: this server's seeds are global, so concurrent requests would disturb each other's.
        yield Endpoint(model=str(folder / "tiny"), base_url=f"http://127.0.0.1:{port}/v1", concurrency=1)
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait_until_up(server: Process, url: str) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    server.kill()
    pytest.fail(f"transformers serve did not come up:\n{server.communicate()[1][-3000:]}")


def test_seeded_samples_in_order_and_played_again(endpoint: Endpoint, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    prompts = [chat("one"), chat("two é✓"), chat("one")]
    params = SamplingParams(max_tokens=12, n=2, seed=5)
    with OpenAIGenerator(endpoint, log=PromptLog(path)) as generator:
        first = generator.generate(prompts, params)
        usage = generator.budget.spent
        again = generator.generate(prompts, params)
        other = generator.generate(prompts, SamplingParams(max_tokens=12, n=2, seed=6))
    samples = [sample for samples in first for sample in samples]
    assert [len(samples) for samples in first] == [2, 2, 2]
    assert all(sample.finish_reason in ("stop", "length") for sample in samples)
    assert len({sample.text for sample in samples}) == 6
    assert again == first != other
    # "user: one\n" and "assistant: ", a byte a token; three characters of the middle prompt take 1, 2 and 3 bytes.
    assert usage.prompt_tokens == 2 * (21 + 27 + 21)
    assert not usage.estimated
    assert 6 <= usage.completion_tokens <= 72
    assert ReplayGenerator(path).generate(prompts, params) == first
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]))
    with OpenAIGenerator(endpoint, log=PromptLog(path), recorded=RecordedAnswers(path)) as generator:
        assert generator.generate(prompts, params) == first
    assert len(list(read_log(path))) == 6


def test_length_and_stop(endpoint: Endpoint) -> None:
    with OpenAIGenerator(endpoint) as generator:
        ((cut,),) = generator.generate([chat("x")], SamplingParams(max_tokens=3, seed=2))
        letters = tuple("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
        ((stopped,),) = generator.generate([chat("x")], SamplingParams(max_tokens=200, seed=2, stop=letters))
    assert cut.finish_reason == "length"
    assert stopped.finish_reason == "stop"
    assert not any(letter in stopped.text for letter in letters)


def test_what_it_does_not_understand_is_an_error_of_its_own(endpoint: Endpoint) -> None:
    with OpenAIGenerator(replace(endpoint, extra={"top_k": 5}), retries=Retries(attempts=1)) as generator:
        ((unknown,),) = generator.generate([chat("x")], SamplingParams(max_tokens=3))
    with OpenAIGenerator(endpoint, retries=Retries(attempts=1)) as generator:
        ((ids,),) = generator.generate([[5, 6]], SamplingParams(max_tokens=3))
        ((fine,),) = generator.generate([chat("x")], SamplingParams(max_tokens=3))
    assert "top_k" in str(unknown.error)
    assert "prompt must be a string" in str(ids.error)
    assert fine.finish_reason != "error"
