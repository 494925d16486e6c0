"""Our requests in vLLM's own classes, without an engine, in an environment of their own (`test_vllm_real.py`).

The stand-in takes the name ``vllm`` within a test, so that all names of the real package are imported before.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from dataclasses import fields
from pathlib import Path
from typing import Any

import fastapi
import pytest
import stand_in_server
import uvicorn
import vllm
import vllm.inputs as inputs
import vllm.lora.request as lora
import vllm.sampling_params as sampling
import vllm_signatures
from small_models import WORDS, adapted, make_small
from stand_in_vllm import LLM, RECORD
from vllm.engine.arg_utils import EngineArgs
from vllm.entrypoints.openai.completion import protocol
from vllm.entrypoints.rl.online.api_router import router as weights_router
from vllm.entrypoints.serve.dev.cache.api_router import router as cache_router
from vllm.entrypoints.serve.dev.rpc.api_router import router as rpc_router
from vllm.entrypoints.serve.dev.sleep.api_router import router as sleep_router
from vllm.v1.core.sched.utils import check_stop
from vllm.v1.request import Request

from rlanything_agents.config.engine import EngineConfig, ServerConfig
from rlanything_agents.engines.vllm import LORA_RANKS, VLLMGenerator
from rlanything_agents.engines.vllm_server import VLLMServerGenerator
from rlanything_envs.llm import SamplingParams

INSTALLED = Path(vllm.__file__).parents[1]
GENERATION_CONFIG = {"eos_token_id": [6, 7], "temperature": 0.6, "top_k": 20, "top_p": 0.8, "repetition_penalty": 1.1}
PARAMS = SamplingParams(9, temperature=0.7, top_p=0.9, n=2, stop=("w3",), seed=11)


def _is_as_asked(params: Any, end: int) -> None:
    params.update_from_generation_config(GENERATION_CONFIG, 6)
    assert (params.n, params.max_tokens, params.seed, params.stop) == (2, 9, 11, ["w3"])
    assert (params.temperature, params.top_p, params.top_k) == (0.7, 0.9, 0)
    assert (params.min_p, params.repetition_penalty) == (0, 1)
    assert (params.presence_penalty, params.frequency_penalty) == (0, 0)
    assert params.logprobs == 0
    # Only the tokenizer's end of sequence ends a completion.
    assert params.eos_token_id is None
    assert params.stop_token_ids == [end]
    assert not params.skip_special_tokens


def test_the_record_holds_for_the_installed_version() -> None:
    assert vllm_signatures.record(INSTALLED) == RECORD


def test_no_warning_is_given_at_the_start() -> None:
    """TRL's own engines are tested with other versions of vLLM; ours are tested here."""
    code = "import rlanything_agents.training.trainer"
    command = [sys.executable, "-W", "error:TRL currently supports vLLM", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "TRL" in done.stderr) == (0, False), done.stderr[-2000:]


def test_sampling_parameters(engines: type[LLM], tmp_path: Path) -> None:
    generator = VLLMGenerator(make_small(), WORDS, EngineConfig(kind="vllm"), tmp_path / "policy")
    params = sampling.SamplingParams(**generator._settings(PARAMS))
    assert params.detokenize
    _is_as_asked(params, WORDS.eos_token_id)
    hottest = sampling.SamplingParams(**generator._settings(SamplingParams(1, temperature=2.0)))
    assert hottest.stop == []
    with pytest.raises(Exception, match="temperature must be in"):
        sampling.SamplingParams(**generator._settings(SamplingParams(1, temperature=2.01)))


def test_requests_to_the_server(tmp_path: Path) -> None:
    server = ServerConfig(base_url="http://gpu-1:8000/v1", model="policy")
    generator = VLLMServerGenerator(server, make_small(), WORDS, tmp_path / "policy")
    path, body = generator._request([1, 5], PARAMS, 2, 11)
    request = protocol.CompletionRequest.model_validate(json.loads(json.dumps(body)))
    assert path == "/completions"
    assert not request.model_extra, "vLLM would ignore these"
    assert (request.prompt, request.return_token_ids) == ([1, 5], True)
    _is_as_asked(request.to_sampling_params(request.max_tokens, GENERATION_CONFIG), WORDS.eos_token_id)


def test_prompts_and_adapters(engines: type[LLM], tmp_path: Path) -> None:
    assert inputs.TokensPrompt(prompt_token_ids=[1, 5]) == {"prompt_token_ids": [1, 5]}
    generator = VLLMGenerator(adapted(tmp_path / "base"), WORDS, EngineConfig(kind="vllm"), tmp_path / "policy")
    ours = generator._adapter()
    theirs = lora.LoRARequest(ours.lora_name, ours.lora_int_id, ours.lora_path)
    assert (theirs.name, theirs.adapter_id, theirs.path) == ("weights-000000", 1, str(generator._weights.path()))


def test_answers_of_the_stand_in_are_answers_of_the_server(engines: type[LLM], tmp_path: Path) -> None:
    settings = stand_in_server.base_settings(tmp_path / "served", make_small(), WORDS)
    server = stand_in_server.StandInServer(engines, settings, name="policy")
    client = VLLMServerGenerator(
        ServerConfig(base_url=server.base_url, model="policy"), make_small(), WORDS, tmp_path / "p"
    )
    handler = object.__new__(stand_in_server.Handler)
    handler.server = server
    answer = handler._completions(client._request([1, 5], PARAMS, 2, 11)[1])
    server.server_close()
    response = protocol.CompletionResponse.model_validate(json.loads(json.dumps(answer)))
    assert all(not choice.model_extra and choice.token_ids for choice in response.choices)


def test_engine_arguments(engines: type[LLM], tmp_path: Path) -> None:
    config = EngineConfig(kind="vllm")
    for model in (make_small(), adapted(tmp_path / "base")):
        generator = VLLMGenerator(model, WORDS, config, tmp_path / "policy", 64)
        generator.wake()
        settings = engines.alive[-1].settings
        made = EngineArgs(**settings)
        assert set(settings) <= {field.name for field in fields(EngineArgs)}
        assert made.max_lora_rank in LORA_RANKS


def test_where_a_completion_ends(engines: type[LLM], tmp_path: Path) -> None:
    """vLLM's own rule: the end of sequence is among the ids, and no other end of the checkpoint's counts."""
    generator = VLLMGenerator(make_small(), WORDS, EngineConfig(kind="vllm"), tmp_path / "policy")

    def ends_after(*ids: int) -> str | None:
        params = sampling.SamplingParams(**generator._settings(SamplingParams(3)))
        params.update_from_generation_config(GENERATION_CONFIG, 6)
        request = Request("0", [1, 5], params, None)
        for token in ids:
            request.append_output_token_ids(token)
            if check_stop(request, 64):
                return str(request.get_finished_reason())
        return None

    assert ends_after(WORDS.eos_token_id) == "stop"
    assert ends_after(6, 7) is None
    assert ends_after(6, 7, 8) == "length"


class Engine:
    """What vLLM's routes call, as an engine client has it."""

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.version = "default"

    async def get_weight_version(self) -> str:
        return self.version

    async def update_weight_version(self, version: str) -> None:
        self.version = version

    async def collective_rpc(self, *, method: str, timeout: Any, args: Any, kwargs: Any) -> list[None]:
        self.log.append((method, args, kwargs))
        return [None]

    async def reset_prefix_cache(self, running: bool, external: bool) -> bool:
        self.log.append(("reset", running, external))
        return True

    async def sleep(self, level: int, mode: str) -> None:
        self.log.append(("sleep", level, mode))

    async def wake_up(self, tags: Any) -> None:
        self.log.append(("wake", tags))


def test_the_server_takes_what_it_is_told(tmp_path: Path) -> None:
    """vLLM's own routes, over real HTTP, in front of an engine that writes down what reaches it."""
    app = fastapi.FastAPI()
    for router in (cache_router, weights_router, rpc_router, sleep_router):
        app.include_router(router)
    app.state.engine_client = engine = Engine()
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    config = ServerConfig(base_url=address, model="policy")
    try:
        with VLLMServerGenerator(config, make_small(), WORDS, tmp_path / "policy", sleeps=True) as generator:
            generator._probed, generator._packs = True, False
            generator._check = lambda: None  # type: ignore[method-assign] # there is no model
            generator.wake()
            assert generator._has_weights()
            generator.sleep()
            generator.wake()
            path = str(generator._weights.path())
    finally:
        server.should_exit = True
        thread.join()
    weights = ("reload_weights", (), {"weights_path": path})
    reset = ("reset", False, False)
    asleep = [("sleep", 2, "abort"), ("wake", ["weights"]), weights, reset, ("wake", ["kv_cache"])]
    assert engine.log == [weights, reset, *asleep]
    assert "-weights-000000-" in engine.version
