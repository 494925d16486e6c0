"""vLLM in this process, by a stand-in for vLLM on a GPU: sleep and wake, refusals, deaths, answers that cannot be true.

`vllm_engine_checks.py` has the real one, on a processor, where engines do not sleep.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from small_models import WORDS, adapted, make_small, scored, shake
from stand_in_vllm import LLM

from rlanything_agents.config.engine import EngineConfig
from rlanything_agents.engines.vllm import EngineFailed, VLLMGenerator
from rlanything_envs.errors import MissingExtra
from rlanything_envs.llm import SamplingParams

VLLM = EngineConfig(kind="vllm")
PROMPTS = [[1, 5, 6], [1, 7]]
PARAMS = SamplingParams(8, n=3, seed=5)


def test_ids_and_logprobs_are_those_of_the_model(engines: type[LLM], tmp_path: Path) -> None:
    model = make_small()
    generator = VLLMGenerator(model, WORDS, VLLM, tmp_path / "policy", 64)
    answers = generator.generate(PROMPTS, SamplingParams(8, temperature=0.7, top_p=0.9, n=3, seed=5))
    assert [len(samples) for samples in answers] == [3, 3]
    for prompt, samples in zip(PROMPTS, answers, strict=True):
        for sample in samples:
            assert sample.prompt_ids == prompt
            assert sample.token_ids
            assert sample.logprobs == pytest.approx(scored(model, prompt, sample.token_ids), abs=1e-4)
            ended = sample.token_ids[-1] == WORDS.eos_token_id
            assert (sample.finish_reason == "stop") == ended
            assert sample.text == WORDS.decode(sample.token_ids[: len(sample.token_ids) - ended])
            assert sample.weights_version == 0


def test_equal_prompts_differ_and_seeds_repeat(engines: type[LLM], tmp_path: Path) -> None:
    generator = VLLMGenerator(make_small(), WORDS, VLLM, tmp_path / "policy", 64)
    first = generator.generate([[1, 5]] * 6, SamplingParams(8, seed=5))
    assert len({tuple(samples[0].token_ids or ()) for samples in first}) > 1
    assert generator.generate([[1, 5]] * 6, SamplingParams(8, seed=5)) == first
    own = generator.generate([[1, 5], [1, 6]], SamplingParams(8, seeds=(3, 4)))
    assert generator.generate([[1, 6]], SamplingParams(8, seeds=(4,))) == own[1:]
    with pytest.raises(ValueError, match="2 seeds for 1 prompts"):
        generator.generate([[1, 6]], SamplingParams(8, seeds=(4, 5)))


def test_new_weights_are_sampled_from_awake_and_asleep(engines: type[LLM], tmp_path: Path) -> None:
    model = make_small()
    generator = VLLMGenerator(model, WORDS, VLLM, tmp_path / "policy", 64)
    for version, asleep in ((1, False), (2, True), (3, False)):
        generator.generate(PROMPTS, PARAMS)
        if asleep:
            generator.sleep()
            assert engines.gpu.used == 0
        shake(model, version)
        generator.update_weights(model, version)
        for prompt, (sample, *_) in zip(PROMPTS, generator.generate(PROMPTS, PARAMS), strict=True):
            assert sample.weights_version == version
            assert sample.logprobs == pytest.approx(scored(model, prompt, sample.token_ids or []), abs=1e-4)
    (engine,) = engines.alive
    assert engine.log == [
        "reload weights-000001",
        "reset",
        "sleep 2",
        "wake weights",
        "reload weights-000002",
        "wake kv_cache",
        "reload weights-000003",
        "reset",
    ]
    assert [path.name for path in tmp_path.rglob("weights-*")] == ["weights-000003"]


def test_an_engine_that_slept_without_an_update_has_its_weights_again(engines: type[LLM], tmp_path: Path) -> None:
    generator = VLLMGenerator(make_small(), WORDS, VLLM, tmp_path / "policy", 64)
    before = generator.generate(PROMPTS, PARAMS)
    generator.sleep()
    generator.sleep()
    generator.wake()
    generator.wake()
    assert generator.generate(PROMPTS, PARAMS) == before


def test_weights_from_a_folder(engines: type[LLM], tmp_path: Path) -> None:
    model, other = make_small(0), make_small(1)
    generator = VLLMGenerator(model, WORDS, VLLM, tmp_path / "policy", 64)
    other.save_pretrained(tmp_path / "stored")
    generator.update_weights(tmp_path / "stored", 4)
    (tmp_path / "stored" / "model.safetensors").unlink()  # the owner may delete it
    ((sample,),) = generator.generate([[1, 5]], SamplingParams(8, seed=0))
    assert sample.logprobs == pytest.approx(scored(other, [1, 5], sample.token_ids or []), abs=1e-4)
    with pytest.raises(ValueError, match="no weights in it"):
        generator.update_weights(tmp_path / "stored", 5)
    assert generator.version == 4


def test_adapters_are_handed_over_as_adapters(engines: type[LLM], tmp_path: Path) -> None:
    model = adapted(tmp_path / "base")
    generator = VLLMGenerator(model, WORDS, VLLM, tmp_path / "policy", 64)
    for version in (0, 1):
        if version:
            generator.sleep()
            shake(model, version)
            generator.update_weights(model, version)
        ((sample,),) = generator.generate([[1, 5]], SamplingParams(8, seed=0))
        assert sample.logprobs == pytest.approx(scored(model, [1, 5], sample.token_ids or []), abs=1e-4)
    (engine,) = engines.alive
    assert engine.settings["model"] == str(tmp_path / "base")
    assert engine.settings["max_lora_rank"] == 8
    assert engine.log == ["reset", "sleep 1", "wake weights", "wake kv_cache"]
    with pytest.raises(ValueError, match="expected adapters"):
        generator.update_weights(tmp_path / "base", 2)


def test_stop_texts_end_a_completion_and_stay_in_its_tokens(engines: type[LLM], tmp_path: Path) -> None:
    generator = VLLMGenerator(make_small(), WORDS, VLLM, tmp_path / "policy", 64)
    samples = generator.generate([[1, 5]] * 32, SamplingParams(12, stop=("w3",), seed=1))
    stopped = [
        sample for (sample,) in samples if sample.token_ids and WORDS.convert_tokens_to_ids("w3") in sample.token_ids
    ]
    assert stopped
    assert all(sample.finish_reason == "stop" and "w3" not in sample.text for sample in stopped)


def test_a_prompt_that_leaves_no_room_is_an_error_of_its_own(engines: type[LLM], tmp_path: Path) -> None:
    generator = VLLMGenerator(make_small(), WORDS, VLLM, tmp_path / "policy", 64)
    (full, short), (there, _) = generator.generate([[5] * 64, [1, 5]], SamplingParams(4, n=2, seed=0))
    assert (full.finish_reason, full.text, full.token_ids) == ("error", "", None)
    assert short.error
    assert "64 tokens leaves no room in a context of 64" in short.error
    assert there.token_ids
    ((cut,),) = generator.generate([[5] * 60], SamplingParams(40, seed=3))
    assert len(cut.token_ids or ()) <= 4


@pytest.mark.parametrize(
    ("prompt", "message"),
    [([], "at least one"), ([1, 999], "beyond the model's 17"), ([{"role": "user", "content": "x"}], "render chats")],
)
def test_prompts_that_are_none(engines: type[LLM], tmp_path: Path, prompt: Any, message: str) -> None:
    generator = VLLMGenerator(make_small(), WORDS, VLLM, tmp_path / "policy", 64)
    with pytest.raises(ValueError, match=message):
        generator.generate([[1], prompt], PARAMS)
    assert not engines.alive


def test_a_temperature_that_vllm_refuses(engines: type[LLM], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"temperature 2\.5"):
        VLLMGenerator(make_small(), WORDS, VLLM, tmp_path / "p", 64).generate([[1]], SamplingParams(4, temperature=2.5))


def _drop_output(output: Any) -> None:
    output.outputs.pop()


def _other_prompt(output: Any) -> None:
    output.prompt_token_ids = [1, 1]


LIES = {
    "wrong id": (lambda out: setattr(out.outputs[0], "token_ids", (99,)), "beyond the model's"),
    "no ids": (lambda out: setattr(out.outputs[0], "token_ids", ()), "no token ids"),
    "no logprobs": (lambda out: setattr(out.outputs[0], "logprobs", None), "no log-probability for each"),
    "of another token": (lambda out: setattr(out.outputs[0], "logprobs", [{}]), "no log-probability for each"),
    "nan": (
        lambda out: [setattr(lp, "logprob", math.nan) for lp in out.outputs[0].logprobs[0].values()],
        "not a log-probability",
    ),
    "aborted": (lambda out: setattr(out.outputs[0], "finish_reason", "abort"), "'abort'"),
    "no end": (lambda out: setattr(out.outputs[0], "finish_reason", None), "'None'"),
    "fewer": (_drop_output, "1 of 2 completions"),
    "another prompt": (_other_prompt, "another prompt"),
}


@pytest.mark.parametrize("name", LIES)
def test_what_an_engine_cannot_have_sampled_is_an_error(engines: type[LLM], tmp_path: Path, name: str) -> None:
    lie, message = LIES[name]
    generator = VLLMGenerator(make_small(), WORDS, VLLM, tmp_path / "policy", 64)
    generator.wake()
    engines.lie = staticmethod(lie)
    (samples,) = generator.generate([[1, 5]], SamplingParams(4, n=2, seed=0))
    assert len(samples) == 2
    wrong = [sample for sample in samples if sample.finish_reason == "error"]
    assert wrong
    assert all(message in (sample.error or "") and not sample.text and sample.token_ids is None for sample in wrong)


@pytest.mark.parametrize("method", ["LLM", "generate", "collective_rpc", "reset_prefix_cache", "sleep", "wake_up"])
def test_an_engine_that_dies_is_named_and_the_next_call_has_another(
    engines: type[LLM], tmp_path: Path, method: str
) -> None:
    model = make_small()
    generator = VLLMGenerator(model, WORDS, VLLM, tmp_path / "policy", 64)
    engines.faults[method] = RuntimeError("EngineCore encountered an issue")

    def iterate() -> None:
        generator.generate(PROMPTS, PARAMS)
        shake(model, 1)
        generator.update_weights(model, 1)
        generator.sleep()
        generator.wake()

    with pytest.raises(EngineFailed, match="EngineCore encountered an issue"):
        iterate()
    assert engines.gpu.used == 0
    assert not engines.alive
    ((sample, *_), _) = generator.generate(PROMPTS, PARAMS)
    assert sample.logprobs == pytest.approx(scored(model, PROMPTS[0], sample.token_ids or []), abs=1e-4)


def test_an_interruption_ends_the_engine_and_stays_an_interruption(engines: type[LLM], tmp_path: Path) -> None:
    generator = VLLMGenerator(make_small(), WORDS, VLLM, tmp_path / "policy", 64)
    engines.faults["generate"] = KeyboardInterrupt()  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        generator.generate(PROMPTS, PARAMS)
    assert not engines.alive


def test_closing_frees_memory_and_disk(engines: type[LLM], tmp_path: Path, memory: Path) -> None:
    generator = VLLMGenerator(make_small(), WORDS, VLLM, tmp_path / "policy", 64)
    generator.generate(PROMPTS, PARAMS)
    generator.close()
    generator.close()
    assert engines.gpu.used == 0
    assert not (tmp_path / "policy").exists()
    assert not list(memory.iterdir())


def test_a_half_written_folder_is_no_weights(
    engines: type[LLM], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_small()
    generator = VLLMGenerator(model, WORDS, VLLM, tmp_path / "policy", 64)
    before = generator.generate(PROMPTS, PARAMS)

    def full(folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(model, "save_pretrained", full)
    with pytest.raises(OSError, match="No space"):
        generator.update_weights(model, 1)
    assert generator.generate(PROMPTS, PARAMS) == before
    assert [path.name for path in tmp_path.rglob("weights-*")] == ["weights-000000"]


def test_without_vllm_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install -e '.*\[train,vllm\]"):
        VLLMGenerator(make_small(), WORDS, VLLM, tmp_path, 64)


def test_weights_in_bfloat16_ask_for_an_engine_in_bfloat16(engines: type[LLM], tmp_path: Path) -> None:
    generator = VLLMGenerator(make_small().to(torch.bfloat16), WORDS, VLLM, tmp_path / "policy", 64)
    generator.wake()
    assert engines.alive[0].settings["dtype"] == "bfloat16"
