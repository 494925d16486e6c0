"""Refusals for the length of a chat, in the words of the services; and refusals that only look like one."""

import json

import pytest
from scripted_service import Service, chat

from rlanything_envs.llm import OpenAIGenerator, Retries, SamplingParams
from rlanything_envs.llm.errors import RequestFailed, is_failure, is_outage
from rlanything_envs.llm.wire import is_about_length, parse_answer

OPENAI = "This model's maximum context length is 4097 tokens. However, your messages resulted in 4100 tokens."


def worded(text: str, **more: object) -> dict[str, object]:
    return {"error": {"message": text, "type": "invalid_request_error", "param": "messages", "code": None, **more}}


TOO_LONG = {
    "OpenAI": (400, worded(OPENAI, code="context_length_exceeded")),
    "OpenAI, another sentence": (
        400,
        worded("Your input is too long, please shorten.", code="context_length_exceeded"),
    ),
    "Groq": (400, worded("Please reduce the length of the messages or completion.", code="context_length_exceeded")),
    "vLLM 0.6": (
        400,
        {
            "object": "error",
            "message": "This model's maximum context length is 2048 tokens. However, you requested 2060 tokens (2050 "
            "in the messages, 10 in the completion). Please reduce the length of the messages or completion.",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
    ),
    "vLLM 0.11": (
        400,
        worded(
            "'max_tokens' or 'max_completion_tokens' is too large: 1024. This model's maximum context length is 2048 "
            "tokens and your request has 1500 input tokens (1024 > 2048 - 1500).",
            type="BadRequestError",
            code=400,
        ),
    ),
    "vLLM, its renderer": (
        400,
        worded(
            "This model's maximum context length is 128,000 tokens. However, you requested 65535 output tokens and "
            "your prompt contains at least 62466 input tokens, for a total of at least 128001 tokens."
        ),
    ),
    "vLLM, between": (
        400,
        worded(
            "You passed 3000 input tokens and requested 1024 output tokens. However, the model's context length is "
            "only 2048 tokens, resulting in a maximum input length of 1024 tokens."
        ),
    ),
    "vLLM, the engine": (
        400,
        worded("The decoder prompt (length 5951) is longer than the maximum model length of 4096. Make sure that ..."),
    ),
    "SGLang": (
        400,
        {
            "object": "error",
            "message": "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
            "type": "BadRequestError",
            "code": 400,
        },
    ),
    "SGLang, both": (
        400,
        {
            "object": "error",
            "message": "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested "
            "a total of 9100 tokens: 8076 tokens from the input messages and 1024 tokens for the completion.",
        },
    ),
    "llama.cpp": (
        400,
        {
            "error": {
                "code": 400,
                "message": "request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 9412,
                "n_ctx": 8192,
            }
        },
    ),
    "llama.cpp, earlier": (400, worded("the request exceeds the available context size. try increasing it")),
    "TGI": (
        422,
        {
            "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3500 `inputs` "
            "tokens and 1024 `max_new_tokens`",
            "error_type": "validation",
        },
    ),
    "Anthropic": (
        400,
        {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": "prompt is too long: 215000 tokens > 200000 maximum"},
        },
    ),
    "Anthropic, both": (
        400,
        worded("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length"),
    ),
    "Gemini": (
        400,
        [worded("The input token count (1100000) exceeds the maximum number of tokens allowed (1048575).", code=400)],
    ),
    "LiteLLM": (400, worded(f"litellm.ContextWindowExceededError: litellm.BadRequestError: {OPENAI}", code="400")),
}
OTHER = {
    "a field": (400, worded("Unknown field 'top_k'")),
    "an answer's limit": (
        400,
        worded("max_tokens is too large: 100000. This model supports at most 4096 completion tokens."),
    ),
    "the content": (400, worded("The response was filtered due to the prompt.", code="content_filter")),
    "a rate": (413, worded("Request too large for model: tokens per minute (TPM)", code="rate_limit_exceeded")),
    "a proxy": (413, "<html><title>413 Request Entity Too Large</title></html>"),
    "a busy service that quotes it": (429, worded(OPENAI, code="context_length_exceeded")),
    "a broken service that quotes it": (500, worded(OPENAI)),
    "the chat is quoted": (400, worded(f"Invalid message: {OPENAI!r}")),
    "the chat is quoted as it came": (422, {"detail": [{"msg": "bad", "input": OPENAI}], "message": "bad input"}),
    "the chat is quoted with a code": (
        400,
        worded("bad", param='{"code": "context_length_exceeded"}', input={"code": "context_length_exceeded"}),
    ),
    "numbers are missing": (400, worded("This model's maximum context length is unknown")),
    "no text": (400, {"error": {"message": ["prompt is too long: 2 tokens > 1 maximum"], "code": ["x"]}}),
    "nothing": (400, ""),
    "nesting": (400, "[" * 100_000),
}


def body(content: object) -> str:
    return content if isinstance(content, str) else json.dumps(content)


@pytest.mark.parametrize("name", TOO_LONG)
def test_a_refusal_for_length_is_known(name: str) -> None:
    status, content = TOO_LONG[name]
    assert is_about_length(status, body(content))


@pytest.mark.parametrize("name", OTHER)
def test_every_other_refusal_is_none(name: str) -> None:
    status, content = OTHER[name]
    assert not is_about_length(status, body(content))


@pytest.mark.parametrize("name", ["OpenAI", "vLLM 0.11", "llama.cpp", "TGI", "a field", "a proxy"])
def test_the_client_tells_it_apart_and_asks_once(service: Service, name: str) -> None:
    status, content = {**TOO_LONG, **OTHER}[name]
    service.default = lambda handler, asked: handler.reply(body(content).encode(), status)
    with OpenAIGenerator(service.endpoint(), retries=Retries(attempts=3, first_wait_s=0.01)) as generator:
        ((refused,),) = generator.generate([chat("hi")], SamplingParams(max_tokens=4))
    assert is_failure(refused.error, "PromptTooLong") is (name in TOO_LONG)
    assert str(refused.error).startswith("PromptTooLong: HTTP" if name in TOO_LONG else "RequestRejected: HTTP")
    assert not is_outage(refused.error)
    assert not is_failure(refused.error, "TimedOut")
    assert len(service.asked) == 1


def test_a_refusal_inside_a_good_answer() -> None:
    with pytest.raises(RequestFailed, match="status 200") as too_long:
        parse_answer(json.dumps(worded(OPENAI, code=400)).encode())
    assert too_long.value.kind == "PromptTooLong"
    with pytest.raises(RequestFailed) as other:
        parse_answer(json.dumps(worded(f"no: {OPENAI}", code=400)).encode())
    assert other.value.kind == "RequestRejected"
