"""The check of a hand-over of weights, refusals to reset a prefix cache, and the death of an engine's process."""

from __future__ import annotations

import queue
import sys
import threading
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from small_models import WORDS, adapted, make_small, shake
from stand_in_server import StandInServer, base_settings
from stand_in_vllm import LLM

from rlanything_agents.config.engine import EngineConfig, ServerConfig
from rlanything_agents.engines import vllm_watch
from rlanything_agents.engines.completions import CompletionReader
from rlanything_agents.engines.handover import BOUNDS, PROBE_PARAMS, Reference, WeightsDiffer, reset_with_retries
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.engines.vllm import EngineFailed, VLLMGenerator
from rlanything_agents.engines.vllm_server import VLLMServerGenerator
from rlanything_agents.engines.vllm_watch import noticing_death
from rlanything_agents.engines.vllm_worker import PackingWorker
from rlanything_envs.llm import SamplingParams
from rlanything_envs.llm.choices import OneOf, Repeat, Then

VLLM = EngineConfig(kind="vllm")


@pytest.mark.parametrize("adapters", [False, True])
def test_an_engine_with_the_same_weights_passes_and_one_with_others_does_not(tmp_path: Path, adapters: bool) -> None:
    model = adapted(tmp_path / "base") if adapters else make_small()
    model.train()
    reference = Reference(model)
    assert model.training
    assert all(module.training for module in model.modules())
    model.eval()
    engine = TransformersGenerator(model, WORDS)
    reference.check(engine.generate(reference.prompts, PROBE_PARAMS), "the engine", 0)
    shake(model, 5)
    with pytest.raises(WeightsDiffer) as caught:
        reference.check(engine.generate(reference.prompts, PROBE_PARAMS), "the engine", 3)
    message = str(caught.value)
    assert "the engine has other weights than the trainer after the hand-over of version 3" in message
    assert message.count(" and ") > len(reference.prompts)  # both log-probabilities of each probe
    assert f"at most {BOUNDS['float32']:g}" in message


def test_dropout_is_off_in_the_reference() -> None:
    model = make_small()
    model.model.layers[0].mlp.down_proj = torch.nn.Sequential(model.model.layers[0].mlp.down_proj, torch.nn.Dropout())
    model.train()
    assert torch.equal(Reference(model)._logprobs, Reference(model)._logprobs)


def test_an_engine_that_keeps_old_weights_stops_the_run(
    engines: type[LLM], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_small()
    generator = VLLMGenerator(model, WORDS, VLLM, tmp_path / "policy", 64)
    generator.generate([[1, 5]], SamplingParams(4, seed=0))
    monkeypatch.setattr(engines, "_load", lambda self, path: None)
    shake(model, 1)
    with pytest.raises(WeightsDiffer, match=r"the vLLM engine has other weights .* hand-over of version 1"):
        generator.update_weights(model, 1)
    assert not engines.alive
    monkeypatch.undo()


def test_weights_are_checked_after_sleep_too(
    engines: type[LLM], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_small()
    generator = VLLMGenerator(model, WORDS, VLLM, tmp_path / "policy", 64)
    generator.wake()
    generator.sleep()
    monkeypatch.setattr(engines, "_load", lambda self, path: shake(self.model.float(), 3))
    with pytest.raises((WeightsDiffer, EngineFailed)):
        generator.wake()
    assert not engines.alive


@pytest.mark.slow
def test_a_server_that_keeps_old_weights_stops_the_run(
    engines: type[LLM], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = StandInServer(engines, base_settings(tmp_path / "served", make_small(9), WORDS))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    monkeypatch.setattr(engines, "_load", lambda self, path: None)
    config = ServerConfig(base_url=server.base_url, model="small")
    try:
        with VLLMServerGenerator(config, make_small(), WORDS, tmp_path / "policy") as generator:
            for _ in range(2):  # a second use does not go on with them either
                with pytest.raises(WeightsDiffer, match=r"--worker-extension-cls .*PackingWorker.* other weights"):
                    generator.generate([[1, 5]], SamplingParams(4, seed=0))
    finally:
        server.shutdown()
        server.server_close()


def test_refusals_to_reset_the_prefix_cache_are_tried_again(
    engines: type[LLM], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusals = [False, False]
    reset = engines.reset_prefix_cache

    def refusing(self: Any) -> bool:
        return refusals.pop() if refusals else reset(self)

    monkeypatch.setattr(engines, "reset_prefix_cache", refusing)
    model = make_small()
    generator = VLLMGenerator(model, WORDS, VLLM, tmp_path / "policy", 64)
    generator.wake()
    generator.update_weights(model, 1)
    assert not refusals
    assert engines.alive
    calls: list[int] = []
    assert not reset_with_retries(lambda: bool(calls.append(0)), patience_s=0.3)
    assert 2 <= len(calls) <= 5


def test_where_vllm_cannot_sleep_engines_stay_awake(
    engines: type[LLM], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    platform = sys.modules["vllm.platforms"].current_platform
    monkeypatch.setattr(platform, "is_sleep_mode_available", lambda: False)
    generator = VLLMGenerator(make_small(), WORDS, VLLM, tmp_path / "policy", 64)
    generator.wake()
    generator.sleep()
    assert generator.awake
    assert engines.alive[0].settings["enable_sleep_mode"] is False
    assert "engine.sleep is off" in caplog.text
    wanted = VLLMGenerator(make_small(), WORDS, VLLM.model_copy(update={"sleep": True}), tmp_path / "other", 64)
    with pytest.raises(EngineFailed, match=r"engine\.sleep: vLLM cannot sleep on this machine"):
        wanted.wake()


def test_an_engine_holds_a_context_and_compiles_nothing_on_processors(
    engines: type[LLM], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = sys.modules["vllm.platforms"].current_platform
    for eager in (False, True):
        monkeypatch.setattr(platform, "is_cpu", lambda eager=eager: eager)
        VLLMGenerator(make_small(), WORDS, VLLM, tmp_path / f"{eager}", 64).wake()
        settings = engines.alive.pop().settings
        assert (settings["enforce_eager"], settings["max_model_len"]) == (eager, 64)
        engines.gpu.held.clear()


def test_calls_under_way_end_when_the_process_of_an_engine_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm_watch, "_WATCH_S", 0.01)
    waiting: Future[None] = Future()
    core = SimpleNamespace(
        resources=SimpleNamespace(engine_dead=False), outputs_queue=queue.Queue(), utility_results={1: waiting}
    )
    with noticing_death(SimpleNamespace(llm_engine=SimpleNamespace(engine_core=core))):
        with pytest.raises(queue.Empty):
            core.outputs_queue.get(timeout=0.05)
        core.resources.engine_dead = True
        assert "was killed" in str(core.outputs_queue.get(timeout=20))
        with pytest.raises(RuntimeError, match="was killed"):
            waiting.result(timeout=20)


def test_shared_matrices_are_packed_again_after_a_reload() -> None:
    packed: list[str] = []

    def module(name: str, weight: object) -> SimpleNamespace:
        method = SimpleNamespace(process_weights_after_loading=lambda layer: packed.append(layer.name))
        return SimpleNamespace(name=name, weight=weight, quant_method=method)

    shared = object()
    modules = [module("embedding", shared), module("layer", object()), module("head", shared), SimpleNamespace()]
    model = SimpleNamespace(modules=lambda: modules)
    loaded: list[str] = []

    class Worker(PackingWorker):
        def reload_weights(self, weights_path: str) -> None:
            loaded.append(weights_path)

        def get_model(self) -> Any:
            return model

    Worker().reload_and_pack("weights-1")
    assert (loaded, packed) == (["weights-1"], ["embedding", "head"])


def test_expressions_are_in_the_texts_of_a_tokenizers_tokens() -> None:
    reader = CompletionReader(WORDS, len(WORDS))
    form = Then((OneOf(("w2 w3", "w4")), Repeat(" w5", 0, 2)))
    assert reader.expression(SamplingParams(4, choices=(form,))) == "(?:(?:w2w3|w4)(?:w5){0,2})"
    # vLLM might write w1 and then find no word 0.
    assert reader.expression(SamplingParams(4, choices=(OneOf(("w4", "w10")),))) is None
    assert reader.expression(SamplingParams(4)) is None
