"""Sampling at the Tinker service, on the stand-in for its SDK; keys, errors, and what a service may return."""

import copy
import math
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch")
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_models import WORDS, make_small, scored
from stand_in_tinker import APIConnectionError, AuthenticationError, BadRequestError, stand_in

from rlanything_agents.config import CheckpointConfig, RunConfig
from rlanything_agents.engines.tinker import Adapter, ServiceFailed, TinkerGenerator, TinkerService, numbers
from rlanything_agents.training.ranks.launch import Launch, obstacles
from rlanything_envs.errors import MissingExtra
from rlanything_envs.llm.errors import MissingKey, RunMustStop
from rlanything_envs.llm.generator import SamplingParams

torch.set_num_threads(1)
CONFIG = CheckpointConfig(checkpoint="a/base", lora={"rank": 4})
PROMPTS = [[5, 6, 7], [8, 9]]


def generator(**options):
    service, fake = stand_in(make_small(), **options)
    return TinkerGenerator(Adapter(service, CONFIG, make_small().config.vocab_size, 0), WORDS), fake


def test_samples_have_the_models_log_probabilities():
    engine, fake = generator()
    model = make_small()
    for prompt, samples in zip(PROMPTS, engine.generate(PROMPTS, SamplingParams(5, n=3, seed=1)), strict=True):
        assert len(samples) == 3
        for sample in samples:
            assert sample.logprobs == pytest.approx(scored(model, prompt, sample.token_ids), abs=1e-4)
            assert (sample.finish_reason == "stop") == (sample.token_ids[-1] == WORDS.eos_token_id)
    assert fake.requests == ["make a/base 4", "hand over"]
    counted = engine._service.counted()
    assert counted["prefill"] == 5
    assert 6 <= counted["sampled"] <= 30
    assert counted["trained"] == 0
    assert not any(engine._service.counted().values())


def test_a_seed_for_each_prompt():
    engine, _ = generator()
    one = engine.generate([PROMPTS[0]] * 2, SamplingParams(6, seeds=(3, 4)))
    two = engine.generate([PROMPTS[0]], SamplingParams(6, seeds=(4,)))
    assert one[1][0].token_ids == two[0][0].token_ids


def test_a_stop_text_cuts_its_tokens():
    engine, _ = generator()
    (whole,) = engine.generate([PROMPTS[0]], SamplingParams(8, seed=2))[0]
    text = WORDS.decode(whole.token_ids[2])
    (cut,) = engine.generate([PROMPTS[0]], SamplingParams(8, seed=2, stop=(text,)))[0]
    first = next(at for at in range(1, 9) if text in WORDS.decode(whole.token_ids[:at]))
    assert cut.token_ids == whole.token_ids[:first]
    assert cut.logprobs == whole.logprobs[:first]
    assert text not in cut.text
    assert cut.finish_reason == "stop"


def test_new_weights_are_handed_over_and_foreign_ones_are_refused():
    engine, fake = generator()
    engine.generate(PROMPTS, SamplingParams(2, seed=0))
    adapter = engine._adapter
    with pytest.raises(ValueError, match="not from those of a module"):
        engine.update_weights(make_small(), 1)
    with torch.no_grad():
        next(adapter.client.model.parameters()).mul_(3.0)
    engine.update_weights(adapter, 1)
    (sample,) = engine.generate([[5]], SamplingParams(1, seed=0))[0]
    assert fake.requests.count("hand over") == 2
    assert sample.weights_version == 1
    assert sample.logprobs != scored(make_small(), [5], sample.token_ids)
    engine.close()
    assert fake.closed


def broken_by(**changes):
    def broken(response):
        if hasattr(response, "sequences"):
            for sequence in response.sequences:
                for name, value in changes.items():
                    setattr(sequence, name, value)
        return response

    return broken


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"tokens": None}, "no token ids"),
        ({"tokens": [10**9]}, "an id beyond"),
        ({"tokens": [1.5]}, "no token ids"),
        ({"tokens": np.zeros((2, 2))}, "no token ids"),
        ({"tokens": [5] * 9}, "9 tokens, of at most 4"),
        ({"logprobs": None}, "no log-probability"),
        ({"logprobs": [-1.0] * 9}, "no log-probability"),
        ({"tokens": [5], "logprobs": [math.nan], "stop_reason": "length"}, "not a log-probability"),
        ({"tokens": [5], "logprobs": [math.inf], "stop_reason": "length"}, "not a log-probability"),
        ({"tokens": [5], "logprobs": [0.5], "stop_reason": "length"}, "not a log-probability"),
        ({"stop_reason": "<script>"}, "ended a completion"),
    ],
)
def test_impossible_samples_are_failures_of_the_infrastructure(changes, fault):
    engine, _ = generator(broken=broken_by(**changes))
    (sample,) = engine.generate([PROMPTS[0]], SamplingParams(4, seed=0))[0]
    assert sample.finish_reason == "error"
    assert sample.error.startswith("MalformedAnswer")
    assert fault in sample.error
    assert engine._service.counted()["sampled"] == 0


def test_a_missing_sequence_is_one_too():
    engine, _ = generator(broken=lambda response: SimpleNamespace(sequences=response.sequences[1:]))
    samples = engine.generate([PROMPTS[0]], SamplingParams(4, n=2, seed=0))[0]
    assert [sample.finish_reason for sample in samples] == ["error"] * 2


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (AuthenticationError("key tml-secret-0123456789 is wrong"), "set $TINKER_API_KEY"),
        (APIConnectionError("Connection error."), "$TINKER_BASE_URL is up"),
        (TimeoutError(), "$TINKER_BASE_URL is up"),
        (AssertionError("asample promises always carry ids"), "the same command resumes"),
    ],
)
def test_an_outage_ends_the_run_and_hides_the_key(error, remedy, monkeypatch):
    monkeypatch.setenv("TINKER_API_KEY", "tml-secret-0123456789")

    def fail(response):
        raise error

    engine, _ = generator(broken=fail)
    with pytest.raises(ServiceFailed, match=r"^Tinker, sample from TinkerGenerator\('a/base'\)") as found:
        engine.generate(PROMPTS, SamplingParams(4, seed=0))
    assert isinstance(found.value, RunMustStop)
    assert remedy in str(found.value)
    assert "secret" not in str(found.value)
    assert found.value.__cause__ is None


def test_a_refused_prompt_fails_alone():
    def fail(response):
        raise BadRequestError("prompt too long")

    engine, _ = generator(broken=fail)
    (sample,) = engine.generate([PROMPTS[0]], SamplingParams(4, seed=0))[0]
    assert sample.error == "RequestRejected: BadRequestError: prompt too long"


def test_a_missing_key_is_named():
    service, fake = stand_in(make_small())

    def refuse():
        raise ValueError("The api_key client option must be set")

    fake.ServiceClient = refuse
    with pytest.raises(MissingKey, match=r"set \$TINKER_API_KEY"):
        service.connect()


def test_a_missing_sdk_is_named():
    with pytest.raises(MissingExtra, match="needs the package tinker: pip install"):
        TinkerService()


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(st.none() | st.floats() | st.text(max_size=3) | st.integers(), st.lists, max_leaves=8),
    st.integers(0, 4),
)
def test_any_tensor_is_finite_numbers_or_none(found, count):
    for wrapped in (found, {"data": found}, SimpleNamespace(data=found)):
        values = numbers(wrapped, count)
        assert values is None or (values.shape == (count,) and np.isfinite(values).all())


RUN = {"name": "a", "engine": {"kind": "tinker"}, "policy": {"checkpoint": "a/base"}}


def test_a_run_gets_adapters_and_free_answers():
    run = RunConfig.model_validate({**RUN, "reward_model": {"base": "policy"}})
    assert run.policy.lora.rank == 16
    assert run.models["reward_model"].lora.rank == 16
    assert not run.rollout.constrained
    assert not run.judge.constrained
    assert run.policy_trainer.learning_rate == 1e-5
    assert RunConfig.model_validate(run.model_dump(mode="json")) == run
    small = RunConfig.model_validate({**RUN, "environment": {"view": "short"}, "feedback": "masked"})
    assert small.judge.constrained
    assert not small.rollout.constrained


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"policy": {}}, r"name it in policy\.checkpoint"),
        ({"rollout": {"constrained": True}}, r"rollout\.constrained has no counterpart"),
        ({"policy_trainer": {"beta": 0.1}}, r"policy_trainer\.beta has no counterpart"),
        ({"policy_trainer": {"fresh_optimizer": True}}, r"fresh_optimizer has no counterpart"),
        ({"rollout": {"temperature": 0.8}}, r"set policy_trainer\.recompute to true"),
        ({"workers": {"number": 2}}, "workers with engine.kind tinker"),
        ({"engine": {"kind": "tinker", "sleep": True}}, "sleep has no effect"),
    ],
)
def test_settings_without_a_counterpart_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        RunConfig.model_validate({**copy.deepcopy(RUN), **changes})


def test_one_process_has_the_session():
    assert "without a launcher" in next(obstacles(RunConfig.model_validate(RUN), Launch(0, 2)))
