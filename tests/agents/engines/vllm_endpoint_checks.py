"""SmolLM2 behind a plain ``vllm serve``, as endpoint of rewriter, critiques and benchmark (see `test_vllm_real.py`)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from vllm_models import smollm2
from vllm_served import Served, serving

from rlanything_envs.curriculum import JudgedEpisode, JudgedStep, LLMRewriter, LLMSummariser, Request, task_critique
from rlanything_envs.curriculum.llm_rewriter import GENERATOR_ERROR
from rlanything_envs.curriculum.summary import SUMMARY
from rlanything_envs.llm import Endpoint, OpenAIGenerator, PromptLog, SamplingParams, read_log
from rlanything_envs.llm.schema import pattern_of_schema
from rlanything_task_pools.alfworld import DOMAIN

NAME = "smollm2-135m"
EPISODE = JudgedEpisode(
    "put a clean mug in coffeemachine.",
    (
        JudgedStep("go to drawer 1", "The drawer 1 is closed.", (-1, -1, -1)),
        JudgedStep("go to countertop 1", "On the countertop 1, you see a mug 1.", (1, 1, 1)),
        JudgedStep("go to drawer 1", "The drawer 1 is closed.", (-1, -1, -1)),
    ),
    False,
    "You are in the middle of a room. Looking quickly around you, you see a countertop 1, and a drawer 1.",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    made = Served(smollm2(), NAME, tmp_path_factory.mktemp("serve") / "log", ("--max-model-len", "4096"))
    with serving(made):
        yield made


def test_rewriter_and_critiques(server: Served, tmp_path: Path) -> None:
    log = tmp_path / "prompts.jsonl"
    endpoint = Endpoint(model=NAME, base_url=server.base_url)
    with OpenAIGenerator(endpoint, log=PromptLog(log)) as generator:
        summariser = LLMSummariser(generator, SamplingParams(320, temperature=0.7, seed=0), name=NAME)
        critique = task_critique([EPISODE], summariser)
        assert "1 of 1 failed attempts: " in critique.text
        assert sum(summariser.counts.values()) == 1
        (answer,) = read_log(log)
        assert re.fullmatch(pattern_of_schema(SUMMARY), answer.text), "no white space between the tokens of JSON"
        rewriter = LLMRewriter(generator, attempts=2, params=SamplingParams(200, temperature=0.7))
        task = DOMAIN.generate(3)
        request = Request(task, "easier", 0.0, frozenset(), critique.text)
        result = rewriter.rewrite(request, np.random.default_rng(0))
    assert GENERATOR_ERROR not in [rejection.reason for rejection in result.rejections]
    assert result.candidate is not None or len(result.rejections) == 2
    records = list(read_log(log))
    assert records
    assert all(record.text and record.error is None and not record.usage.estimated for record in records)


def test_benchmark(server: Served, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rlanything_agents", "benchmark", "--agent", f"openai:{NAME}"]
    command += [
        "--base-url",
        server.base_url,
        "--panel",
        "alfworld-easy",
        "--limit",
        "2",
        "--env",
        "max_episode_steps=3",
    ]
    command += ["--max-tokens", "24", "--out", str(tmp_path / "out"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    result = json.loads(done.stdout)
    assert result["episodes"] == 2
    assert result["total"]["errors"] == 0
    assert result["total"]["steps"] == 3
    assert not result["total"]["tokens_estimated"]
