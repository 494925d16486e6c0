"""The engine of this process on prompts with images: the probabilities of a forward pass, whatever stands beside."""

import base64
import json
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from seeing import model_and_template, screen
from stand_in_vllm import RECORD

from rlanything_agents.config.engine import ServerConfig
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.engines.vllm_client import ServedGenerator, ServedWeights
from rlanything_agents.models.image_reader import image_inputs
from rlanything_envs.llm.choices import OneOf
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams, SeenPrompt
from rlanything_envs.llm.wire import parse_answer
from rlanything_envs.message import Image, Part

MODEL, TEMPLATE = model_and_template()
READER = TEMPLATE.images
assert READER is not None


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


def test_what_a_server_gets_for_a_prompt_with_images() -> None:
    """Fields that vLLM has, one placeholder for each image, and the image in the size in which the model reads it."""
    server = ServedGenerator(ServerConfig(base_url="http://localhost:9/v1", model="x"), TEMPLATE.tokenizer, READER)
    server.take(ServedWeights("mark", False, 3, MODEL.get_input_embeddings().weight.shape[0]))
    seen = PROMPTS[0]
    assert isinstance(seen, SeenPrompt)
    params = SamplingParams(6, choices=(OneOf(("left", "right")),))
    path, body = server._request(seen, params, 2, 7)
    assert path == "http://localhost:9/inference/v1/generate"
    assert set(body) <= set(RECORD["fields"]["GenerateRequest"])
    settings = body["sampling_params"]
    assert set(settings) <= set(RECORD["fields"]["SamplingParams"])
    assert settings["structured_outputs"] == {"regex": "(?:left|right)"}
    assert settings["logit_bias"] == {str(READER.token_id): -100.0}
    assert (settings["n"], settings["seed"], settings["logprobs"], settings["max_tokens"]) == (2, 7, 0, 6)
    assert READER.expanded(body["token_ids"], seen.images) == seen.ids
    urls = [part["url"] for part in body["content_parts"]]
    sent = [Image(base64.b64decode(url.removeprefix("data:image/png;base64,"))) for url in urls]
    assert [image.size for image in sent] == [(192, 96), (96, 64)]
    for image, own in zip(seen.images, sent, strict=True):
        ids = torch.tensor([[READER.token_id]])
        assert torch.equal(READER.inputs(ids, [image])["pixel_values"], READER.inputs(ids, [own])["pixel_values"])
    _, text = server._request(list(PROMPTS[1]), SamplingParams(6), 1, 7)
    assert text["logit_bias"] == {str(READER.token_id): -100.0}
    assert {*text, "prompt"} <= set(RECORD["fields"]["CompletionRequest"])


def test_answers_to_prompts_with_images_are_checked() -> None:
    server = ServedGenerator(ServerConfig(base_url="http://localhost:9/v1", model="x"), TEMPLATE.tokenizer, READER)
    server.take(ServedWeights("mark", False, 3, MODEL.get_input_embeddings().weight.shape[0]))
    seen = PROMPTS[3]
    assert isinstance(seen, SeenPrompt)
    choice = {
        "text": "ab",
        "finish_reason": "length",
        "token_ids": [97, 98],
        "logprobs": {"content": [{"logprob": -1.0}, {"logprob": -2.5}]},
    }

    def read(**changes: Any) -> Completion:
        answer = {"prompt_token_ids": seen.ids, "choices": [{**choice, **changes}]}
        return server._completion(seen, parse_answer(json.dumps(answer).encode()).choices[0], SamplingParams(2))

    found = read()
    assert (found.token_ids, found.logprobs, found.prompt_ids) == ([97, 98], [-1.0, -2.5], seen.ids)
    assert "another prompt" in (read(prompt_token_ids=seen.ids[1:]).error or "")
    for other in (None, {"content": [{}, {}]}, {"content": [[], 1]}, {"content": []}, [], {"content": 3}):
        assert "log-probability" in (read(logprobs=other).error or "")
