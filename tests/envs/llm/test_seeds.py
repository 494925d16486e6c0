"""Sampling parameters: their ranges, and a seed for each prompt, which then depends on no other prompt of its call."""

from __future__ import annotations

from typing import Any

import pytest
from scripted_service import Service, chat

from rlanything_envs.llm import OpenAIGenerator, SamplingParams
from rlanything_envs.llm.log import prompt_key


def test_each_prompt_takes_its_own_seed_along(service: Service) -> None:
    with OpenAIGenerator(service.endpoint()) as generator:
        both = generator.generate([chat("a"), chat("b")], SamplingParams(8, seeds=(3, 4)))
        (alone,) = generator.generate([chat("b")], SamplingParams(8, seed=4))
        (other,) = generator.generate([chat("b")], SamplingParams(8, seed=3))
    assert both[1] == alone
    assert alone != other


def test_a_seed_too_few_is_told_before_anything_is_sent(service: Service) -> None:
    with OpenAIGenerator(service.endpoint()) as generator, pytest.raises(ValueError, match="1 seeds for 2 prompts"):
        generator.generate([chat("a"), chat("b")], SamplingParams(8, seeds=(3,)))
    assert not service.asked


def test_parameters_of_each_prompt() -> None:
    assert SamplingParams(8, seed=1).each(2) == [SamplingParams(8, seed=1)] * 2
    first, second = SamplingParams(8, seeds=(3, 4)).each(2)
    assert (first, second) == (SamplingParams(8, seed=3), SamplingParams(8, seed=4))
    assert prompt_key(chat("a"), first) == prompt_key(chat("a"), SamplingParams(8, seed=3))


@pytest.mark.parametrize(
    ("name", "wrong", "told"),
    [
        ("max_tokens", {"max_tokens": 0}, "at least 1, not 0"),
        ("n", {"n": 0}, "1, or more"),
        ("n", {"n": 2, "temperature": 0}, "1, or more at a temperature above 0, not 2"),
        ("temperature", {"temperature": -0.1}, "at least 0, not -0.1"),
        ("temperature", {"temperature": float("nan")}, "at least 0, not nan"),
        ("top_p", {"top_p": 0}, "above 0 and at most 1, not 0"),
        ("stop", {"stop": ("end", "")}, "without an empty text"),
    ],
)
def test_a_parameter_out_of_range_is_named_with_its_rule(name: str, wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=rf"SamplingParams\.{name} must be .*{told}"):
        SamplingParams(**{"max_tokens": 8, **wrong})
