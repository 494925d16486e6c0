"""The real vLLM in this process, on a processor, in an environment of its own (`test_vllm_real.py`)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from small_models import WORDS, scored, shake
from transformers import AutoModelForCausalLM, AutoTokenizer
from vllm_models import TOLERANCE, VLLM, make_adapted, make_model, smollm2

from rlanything_agents.config.engine import EngineConfig
from rlanything_agents.engines.handover import WeightsDiffer
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.engines.vllm import EngineFailed, VLLMGenerator
from rlanything_envs.llm import SamplingParams
from rlanything_envs.llm.choices import OneOf, Repeat, Then

PROMPTS = [[2, 6, 7, 3], [2, 8, 3]]
LONG = [2, *([5 + number % 12 for number in range(300)]), 3]
"""Prompt of more than two blocks of the prefix cache."""


def is_from(model: Any, generator: VLLMGenerator, params: SamplingParams, version: int) -> None:
    """Assert that samples have the ids, texts and log-probabilities that the model itself gives them."""
    answers = generator.generate([*PROMPTS, LONG], params)
    for prompt, samples in zip([*PROMPTS, LONG], answers, strict=True):
        assert len(samples) == params.n
        for sample in samples:
            assert not sample.error
            assert sample.prompt_ids == prompt
            assert sample.weights_version == version
            ids = sample.token_ids or []
            assert sample.logprobs == pytest.approx(scored(model, prompt, ids), abs=TOLERANCE)
            ended = ids[-1] == WORDS.eos_token_id
            assert (sample.finish_reason == "stop") == ended
            assert sample.text == WORDS.decode(ids[: len(ids) - ended])


@pytest.fixture(scope="module")
def trained() -> Any:
    return make_model()


@pytest.fixture(scope="module")
def generator(trained: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VLLMGenerator]:
    made = VLLMGenerator(trained, WORDS, VLLM, tmp_path_factory.mktemp("engine") / "policy", 512)
    yield made
    made.close()


def test_samples_are_those_of_the_model(generator: VLLMGenerator, trained: Any) -> None:
    is_from(trained, generator, SamplingParams(16, n=4, seed=5), 0)
    is_from(trained, generator, SamplingParams(16, temperature=0.7, top_p=0.9, n=2, seed=6), 0)
    (samples,) = generator.generate([PROMPTS[0]], SamplingParams(16, n=8, seed=5))
    assert len({tuple(sample.token_ids or ()) for sample in samples}) == 8
    apart = generator.generate([PROMPTS[0]] * 8, SamplingParams(16, seed=5))
    assert len({tuple(sample.token_ids or ()) for (sample,) in apart}) == 8


def test_stop_texts_end_a_completion(generator: VLLMGenerator, trained: Any) -> None:
    """The tokens of a stop text stay, with their log-probabilities over the whole vocabulary; none follows them."""
    stop = ("w3", "w5 w6")
    (samples,) = generator.generate(
        [PROMPTS[0]], SamplingParams(24, temperature=0.8, top_p=0.95, n=24, stop=stop, seed=4)
    )
    stopped = 0
    for sample in samples:
        ids = sample.token_ids or []
        assert sample.logprobs == pytest.approx(scored(trained, PROMPTS[0], ids), abs=TOLERANCE)
        assert not any(text in WORDS.decode(ids[:-1]) for text in stop)
        assert not any(text in sample.text for text in stop)
        if any(text in WORDS.decode(ids) for text in stop):
            assert sample.finish_reason == "stop"
            stopped += 1
    assert stopped


def test_sleep_is_off_with_a_note(generator: VLLMGenerator, tmp_path: Path) -> None:
    generator.wake()
    generator.sleep()
    assert generator.awake
    wanted = EngineConfig(kind="vllm", sleep=True)
    with pytest.raises(EngineFailed, match=r"engine\.sleep: vLLM cannot sleep on this machine"):
        VLLMGenerator(make_model(), WORDS, wanted, tmp_path / "p").wake()


def test_odds_of_few_choices_are_those_of_the_model(generator: VLLMGenerator, trained: Any) -> None:
    params = SamplingParams(8, odds=3, seed=3, choices=(OneOf(("w1", "w3", "w5")), Then(("w7 ", OneOf(("w8", "w9"))))))
    for (sample,), (own,) in zip(
        generator.generate(PROMPTS, params),
        TransformersGenerator(trained, WORDS).generate(PROMPTS, params),
        strict=True,
    ):
        (place,) = sample.odds or ()
        assert own.odds is not None
        assert (sample.allowed or [])[place] == (own.allowed or [])[place]
        assert sample.odds[place] == pytest.approx(own.odds[place], abs=TOLERANCE)


def test_answers_follow_choices_and_patterns(generator: VLLMGenerator, trained: Any) -> None:
    words = OneOf(("w1 w2", "w3", "w4 w5 w6"))
    sums = Then((Repeat(Then(("w1", " ")), 1, 3), OneOf(("w7", "w8"))))
    params = SamplingParams(16, n=6, seed=3, choices=(words, sums))
    first, second = generator.generate(PROMPTS, params)
    assert {sample.text for sample in first} <= set(words.options)
    assert len({sample.text for sample in first}) > 1
    for sample in first:  # normalised over the allowed ids
        assert sample.allowed is not None
        assert sample.logprobs == pytest.approx(
            constrained(trained, PROMPTS[0], sample.token_ids or [], sample.allowed), abs=TOLERANCE
        )
    for sample in second:
        *repeated, last = sample.text.split()
        assert set(repeated) == {"w1"}
        assert 1 <= len(repeated) <= 3
        assert last in ("w7", "w8")


def constrained(model: Any, prompt: list[int], ids: list[int], allowed: list[tuple[int, ...] | None]) -> list[float]:
    """Log-probabilities of ids, each over those allowed at its place."""
    with torch.inference_mode():
        logits = model(torch.tensor([prompt + ids])).logits[0, len(prompt) - 1 : -1].float()
    return [
        float(row[list(own or ())].log_softmax(0)[list(own or ()).index(token)])
        for row, token, own in zip(logits, ids, allowed, strict=True)
    ]


def test_the_prefix_cache_is_of_the_current_weights(generator: VLLMGenerator, trained: Any) -> None:
    is_from(trained, generator, SamplingParams(4, seed=1), generator.version)
    assert cached(generator) >= 256
    version = generator.version + 1
    shake(trained, version)
    generator.update_weights(trained, version)
    assert cached(generator) == 0
    is_from(trained, generator, SamplingParams(4, seed=1), version)


def cached(generator: VLLMGenerator) -> int:
    """Tokens of the long prompt that the engine finds in its prefix cache."""
    import vllm

    (output,) = generator._engine.generate(
        [{"prompt_token_ids": LONG}], [vllm.SamplingParams(max_tokens=1)], use_tqdm=False
    )
    return int(output.num_cached_tokens)


def test_each_update_arrives_whole(generator: VLLMGenerator, trained: Any) -> None:
    for on_disk in (False, False, True, False):
        generator._weights._same_machine = not on_disk
        version = generator.version + 1
        shake(trained, version)
        generator.update_weights(trained, version)
        assert generator._weights.path().is_relative_to("/dev/shm") != on_disk
        is_from(trained, generator, SamplingParams(16, n=2, seed=version), version)


def test_an_engine_killed_in_the_middle(generator: VLLMGenerator, trained: Any) -> None:
    generator.wake()
    processes = psutil.Process().children(recursive=True)
    killer = threading.Timer(0.5, lambda: [process.kill() for process in processes if process.is_running()])
    killer.start()
    with pytest.raises(EngineFailed, match="while it generated"):
        generator.generate([LONG] * 400, SamplingParams(200, seed=0))
    killer.join()
    is_from(trained, generator, SamplingParams(8, seed=1), generator.version)


def test_a_stale_output_head_stops_the_run(
    generator: VLLMGenerator, trained: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """vLLM's own way to load weights leaves the packed head as it was, where it is the embedding."""
    generator.wake()
    monkeypatch.setattr(generator, "_packs", False)
    shake(trained, 99)
    with pytest.raises(WeightsDiffer, match=r"has other weights than the trainer .* Engine and trainer after 8 probes"):
        generator.update_weights(trained, generator.version + 1)
    assert not generator.awake


def test_adapters(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model = make_adapted(tmp_path / "base")
    with caplog.at_level(logging.WARNING):
        made = VLLMGenerator(model, WORDS, VLLM, tmp_path / "policy", 512)
        try:
            for version in range(3):
                if version:
                    shake(model, version)
                    made.update_weights(model, version)
                is_from(model, made, SamplingParams(16, n=2, seed=version), version)
        finally:
            made.close()
    assert "vLLM cannot sleep on this machine" in caplog.text


def test_smollm2(tmp_path: Path) -> None:
    """A real model: samples, choices, and a small step of all weights, as an update takes it."""
    folder = smollm2()
    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype="float32").eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    chat = [{"role": "user", "content": "You are in a kitchen. Find a pan. What do you do first?"}]
    prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True)["input_ids"]
    actions = OneOf(("go to cabinet 1", "go to cabinet 14", "open fridge 1", "look"))
    made = VLLMGenerator(model, tokenizer, VLLM, tmp_path / "policy", 512)
    try:
        for version in range(2):
            if version:
                shake(model, version, 0.003)
                made.update_weights(model, version)
            (free, chosen) = made.generate(
                [prompt, prompt], SamplingParams(24, n=3, seed=version, choices=(None, actions))
            )
            assert {sample.text for sample in chosen} <= set(actions.options)
            for sample in free:
                assert sample.weights_version == version
                ids = sample.token_ids or []
                assert sample.logprobs == pytest.approx(scored(model, prompt, ids), abs=TOLERANCE)
    finally:
        made.close()
