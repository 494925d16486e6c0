"""The engine of this process on prompts with images: the probabilities of a forward pass, whatever stands beside."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from seeing import model_and_template, screen

from rlanything_agents.config import ConfigError
from rlanything_agents.config.engine import EngineConfig
from rlanything_agents.engines.open import open_engine
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models.image_reader import image_inputs
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams, SeenPrompt
from rlanything_envs.message import Part

MODEL, TEMPLATE = model_and_template()


def prompt(*parts: Part) -> list[int] | SeenPrompt:
    ids = TEMPLATE.prompt([{"role": "user", "content": parts}])
    return SeenPrompt.of(ids, [part for part in parts if not isinstance(part, str)])


PROMPTS: list[Prompt] = [
    prompt(screen(0, 200, 90), "what is this?", screen(1)),
    prompt("no picture, but a text that is longer than the others by a good deal"),
    prompt(screen(2, 40, 300), "x"),
    prompt(screen(3), "same ids"),
    prompt(screen(4), "same ids"),
]


def assert_true(prompts: Sequence[Prompt], answers: Sequence[Sequence[Completion]]) -> None:
    """The log-probabilities are those of one pass over prompt and answer."""
    for asked, completions in zip(prompts, answers, strict=True):
        images = asked.images if isinstance(asked, SeenPrompt) else ()
        for completion in completions:
            assert completion.token_ids
            assert completion.logprobs
            ids = torch.tensor([[*asked, *completion.token_ids]])
            with torch.no_grad():
                logits = MODEL(ids, **image_inputs(MODEL, ids, images), use_cache=False).logits[0, len(asked) - 1 : -1]
            own = logits.float().log_softmax(-1).gather(1, torch.tensor(completion.token_ids)[:, None])[:, 0]
            assert torch.allclose(own, torch.tensor(completion.logprobs), atol=1e-4)


@pytest.mark.parametrize("n", [1, 3])
def test_probabilities_are_those_of_a_forward_pass(n: int) -> None:
    answers = TransformersGenerator(MODEL, TEMPLATE.tokenizer).generate(PROMPTS, SamplingParams(12, seed=1, n=n))
    assert_true(PROMPTS, answers)


def test_conversations_with_images_are_read_anew_and_others_still_go_on() -> None:
    engine = TransformersGenerator(MODEL, TEMPLATE.tokenizer)
    for _ in range(2):
        for some in (PROMPTS, PROMPTS[1:2]):
            answers = engine.generate(some, SamplingParams(6, seed=2, keys=tuple(range(len(some)))))
            assert_true(some, answers)


def test_equal_ids_with_other_images_are_other_prompts() -> None:
    first, second = (
        TransformersGenerator(MODEL, TEMPLATE.tokenizer).generate([asked], SamplingParams(1, seed=3))[0][0]
        for asked in PROMPTS[3:]
    )
    assert list(PROMPTS[3]) == list(PROMPTS[4])
    assert first.logprobs != second.logprobs


def test_an_answer_has_no_placeholder_of_an_image() -> None:
    """Even where the model is sure of it: a trainer would look for an image there."""
    assert TEMPLATE.images is not None
    head = MODEL.get_output_embeddings()
    head.register_forward_hook(hook := lambda _module, _inputs, logits: logits + 50 * mark)
    mark = torch.zeros(head.weight.shape[0])
    mark[TEMPLATE.images.token_id] = 1.0
    try:
        answers = TransformersGenerator(MODEL, TEMPLATE.tokenizer).generate(PROMPTS, SamplingParams(12, seed=4))
    finally:
        head._forward_hooks.clear()
    assert hook
    assert all(TEMPLATE.images.token_id not in (one.token_ids or ()) for (one,) in answers)
    assert all(min(one.logprobs or [0.0]) < -40 for (one,) in answers), "its probability stays the model's own"


def test_a_server_gets_no_model_that_sees(tmp_path: Path) -> None:
    server = {"base_url": "http://localhost:9/v1", "model": "x"}
    config = EngineConfig.model_validate({"kind": "vllm_server", "policy": server})
    with pytest.raises(ConfigError, match=r"engine\.policy: a server gets no images"):
        open_engine(config, "policy", MODEL, TEMPLATE.tokenizer, tmp_path)
