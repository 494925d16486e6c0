"""The OpenAI-compatible interface on the wire: request bodies out, checked answers in.

Answers are untrusted: encoding, shape and types are checked before any use.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from rlanything_envs.llm.budget import Usage
from rlanything_envs.llm.choices import pattern
from rlanything_envs.llm.endpoint import Endpoint
from rlanything_envs.llm.errors import GeneratorError, RequestFailed
from rlanything_envs.llm.generator import Messages, Prompt, SamplingParams, SeenPrompt
from rlanything_envs.llm.schema import pattern_of_schema
from rlanything_envs.message import Image, for_services, images_of, plain, text_of

__all__ = [
    "STRUCTURED",
    "Answer",
    "Choice",
    "check_prompt",
    "is_about_length",
    "parse_answer",
    "prompt_tokens",
    "request",
    "retry_after",
    "sample_seed",
    "text_tokens",
]

STRUCTURED = {
    "structured_outputs": ("structured_outputs", "structured outputs", "guided", "regex", "grammar"),
    "response_format": ("response_format", "response format", "json_schema", "json schema", "grammar"),
}
"""Fields of a request that constrain its answers, and what an error that refuses one of them names: the field itself (a
service that does not know it), or the part of it that the service cannot do."""

MAX_PATTERN = 32_000
"""Longest regular expression of a schema that is sent, in characters; a longer one is slow to compile."""

_BYTES_PER_TOKEN = 4
"""Bytes of English text per token in common vocabularies; used for estimates only."""

_IMAGE_GRID = 28
"""Side in pixels of the square that becomes a token, for estimates: that of Qwen2.5-VL, smaller than that of others."""

_TOKENS_PER_MESSAGE = 8
"""Estimated tokens of the role markers of a chat template, which use 3 to 6 a message."""

_MOST_TOKENS = 2**40
"""Greatest plausible usage of one request; a larger report is ignored."""


STATUSES = (400, 413, 422)
"""HTTP statuses of such refusals. A 413 or 422 alone says nothing: a proxy or a limit of tokens per minute sends it."""

CODES = frozenset(
    {
        "context_length_exceeded",  # OpenAI, Azure, Groq
        "exceed_context_size_error",  # llama.cpp
        "model_context_window_exceeded",  # Zhipu
        "model_max_prompt_tokens_exceeded",  # GitHub Models
    }
)
"""Values of ``code`` or ``type``."""

_N = r"\d[\d,]{0,15}"
WORDINGS = (
    # OpenAI and vLLM; vLLM 0.11 names the limit of the answer first.
    rf"('max_tokens'( or 'max_completion_tokens')? is too large: {_N}\. )?"
    rf"This model's maximum context length is {_N} tokens",
    rf"You passed {_N} input (tokens|characters) and requested {_N} output tokens\. "
    r"However, the model's context length is",
    rf"The (\w{{1,20}} )?prompt \((total )?length {_N}\) is (longer than the maximum model length of|too long to fit)",
    # SGLang, Together
    rf"Requested token count exceeds the model's maximum context length of {_N}",
    rf"The input \({_N} tokens\) is longer than the model's context length",
    # llama.cpp, whose earlier versions had no type for it; LM Studio; Ollama
    rf"(the )?request( \({_N} tokens\))? exceeds the available context size",
    rf"Trying to keep the first {_N} tokens when context the overflows",
    r"(the )?input length exceeds (the |maximum )?context length",
    # Text Generation Inference
    rf"Input validation error: `inputs` (tokens \+ `max_new_tokens` must be <= {_N}|must have less than {_N} tokens)",
    # Anthropic, Bedrock, xAI, Mistral, Gemini
    rf"prompt is too long: {_N} tokens > {_N} maximum",
    rf"input length and `?max_tokens`? exceed context limit: {_N} \+ {_N} > {_N}",
    r"Input is too long for requested model",
    rf"This model's maximum prompt length is {_N} but the request contains {_N} tokens",
    rf"Prompt contains {_N} tokens( and {_N} draft tokens)?, too large for model with {_N} maximum context length",
    rf"The input token count( \({_N}\))? exceeds the maximum number of tokens allowed",
    # LiteLLM puts its own name before the message of the service
    r"litellm\.ContextWindowExceededError: ",
)
"""Beginnings of messages."""

_WORDED = re.compile("|".join(f"(?:{wording})" for wording in WORDINGS), re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Choice:
    """One completion as the service sent it; ``error`` is the reason where ``finish_reason`` is ``error``.

    ``fields`` is the JSON object of the choice before that of the answer, unchecked, for fields of particular services.
    """

    text: str
    finish_reason: Literal["stop", "length", "error"]
    error: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """Choices in the service's order, at least one, and the usage where it was reported."""

    choices: tuple[Choice, ...]
    usage: Usage | None


def check_prompt(prompt: Prompt, at: int) -> Prompt:
    """A copy of a prompt in plain lists and dicts.

    Args:
        prompt: A chat or token ids.
        at: Index in the batch, for the error message.

    Raises:
        ValueError: The prompt is empty, neither chat nor token ids, has images, or holds text that UTF-8 cannot encode.
    """
    items: Any = prompt  # untrusted, whatever its annotation
    if isinstance(items, SeenPrompt):
        raise ValueError(f"prompt {at}: a service takes no token ids with images")
    if isinstance(items, (str, bytes)) or not isinstance(items, Sequence) or not items:
        raise ValueError(f"prompt {at}: a prompt is a list of at least one message or token id")
    if all(type(token) is int and token >= 0 for token in items):
        return list(items)
    messages: list[dict[str, Any]] = []
    for message in items:
        good = isinstance(message, Mapping) and {"role", "content"} <= message.keys()
        if not good or not all(isinstance(name, str) and _is_content(value, name) for name, value in message.items()):
            raise ValueError(
                f"prompt {at}: each message is a mapping of texts with 'role' and 'content', which may be a tuple of "
                "texts and images"
            )
        messages.append(dict(message))
    try:
        json.dumps([[plain(value) for value in message.values()] for message in messages], ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError(f"prompt {at}: its text holds half of a surrogate pair, which UTF-8 cannot encode") from None
    return messages


def _is_content(value: Any, name: str) -> bool:
    if isinstance(value, tuple) and name == "content" and value:
        return all(isinstance(part, str | Image) for part in value)
    return isinstance(value, str)


def prompt_tokens(prompt: Prompt) -> int:
    """Number of tokens of a prompt: exact for ids, an estimate for a chat."""
    if isinstance(prompt[0], int):
        return len(prompt)
    messages: Messages = prompt  # type: ignore[assignment]
    contents = [value for message in messages for value in message.values()]
    size = sum(len(text_of(content).encode()) for content in contents)
    images = sum(image.tokens(_IMAGE_GRID) for content in contents for image in images_of(content))
    return math.ceil(size / _BYTES_PER_TOKEN) + images + _TOKENS_PER_MESSAGE * len(messages)


def text_tokens(text: str) -> int:
    """Estimated number of tokens of a text."""
    return math.ceil(len(text.encode()) / _BYTES_PER_TOKEN)


def sample_seed(key: str, sample: int) -> int:
    """The seed of one sample of a prompt, in the 31 bits that every service takes.

    Args:
        key: `rlanything_envs.llm.log.prompt_key`, which depends on prompt, sampling parameters and their seed: two
            prompts of a batch have different seeds.
        sample: Index of the sample.
    """
    return int.from_bytes(hashlib.sha256(f"{key} {sample}".encode()).digest()[:4]) >> 1


def request(
    endpoint: Endpoint, prompt: Prompt, params: SamplingParams, n: int, seed: int | None, lacking: Collection[str] = ()
) -> tuple[str, dict[str, Any]]:
    """Path and body of the request for ``n`` samples.

    Chats go to ``/chat/completions``, token ids to ``/completions``. Temperature and ``top_p`` are always sent, since
    services have their own defaults. The form of the answers is sent as vLLM's ``structured_outputs``. So is a
    schema, as a regular expression without white space between the tokens of JSON; a service without that field, and
    one too long for it, gets ``response_format``.

    Args:
        endpoint: The service and its model.
        prompt: A chat or token ids.
        params: Parameters of this prompt alone.
        n: Number of samples.
        seed: Seed of the first sample.
        lacking: Fields of structured output that the service does not have.
    """
    body: dict[str, Any] = {
        "model": endpoint.model,
        "max_tokens": params.max_tokens,
        "temperature": params.temperature,
        "top_p": params.top_p,
    }
    if isinstance(prompt[0], int):
        path, body["prompt"] = "/completions", prompt
    else:
        path = "/chat/completions"
        messages: Messages = prompt  # type: ignore[assignment]
        body["messages"] = [{name: for_services(value) for name, value in message.items()} for message in messages]
    if params.stop:
        body["stop"] = list(params.stop)
    if seed is not None:
        body["seed"] = seed
    if n > 1:
        body["n"] = n
    constrained = None if "structured_outputs" in lacking else _regex(params)
    if constrained is not None:
        body["structured_outputs"] = {"regex": constrained}
    elif params.schema is not None and params.own_form is None and "response_format" not in lacking:
        schema = {"name": "answer", "schema": dict(params.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    body.update(endpoint.extra)
    return path, {name: value for name, value in body.items() if value is not None}


def _regex(params: SamplingParams) -> str | None:
    """The answers of one prompt as a regular expression; None where they are free or have none."""
    if (form := params.own_form) is not None:
        return pattern(form)
    if params.schema is None:
        return None
    try:
        found = pattern_of_schema(params.schema)
    except GeneratorError:
        return None
    return found if len(found) <= MAX_PATTERN else None


def parse_answer(body: bytes) -> Answer:
    """Check and read the body of a response of status 200.

    Raises:
        RequestFailed: The body is not UTF-8, not JSON, or not of the expected shape; or it reports an error in spite of
            its status, as some gateways do.
    """
    try:
        # Deep nesting ends in RecursionError, a number of thousands of digits in ValueError.
        content = json.loads(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RequestFailed(
            "MalformedAnswer", f"the answer is not UTF-8 at byte {error.start} of {len(body)}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise RequestFailed("MalformedAnswer", f"the answer of {len(body)} bytes is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise RequestFailed("MalformedAnswer", f"the answer is a JSON {type(content).__name__}, expected an object")
    if content.get("error") and not content.get("choices"):
        raise _reported(content["error"])
    choices = content.get("choices")
    if not isinstance(choices, list) or not choices:
        raise RequestFailed("MalformedAnswer", "the answer's 'choices' is not a list of at least one")
    return Answer(
        tuple(_choice(choice, at, content) for at, choice in enumerate(choices)), _usage(content.get("usage"))
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Wait in seconds that a response requests (``retry-after-ms``, else ``Retry-After``: seconds or an HTTP date).

    None without such a header, and for a malformed one.
    """
    for name, scale in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            seconds = float(text) * scale
        except ValueError:
            try:
                seconds = parsedate_to_datetime(text).timestamp() - time.time()
            except (ValueError, TypeError, OverflowError):
                continue
        if not math.isnan(seconds):
            return max(0.0, seconds)
    return None


def _choice(choice: Any, at: int, answer: Mapping[str, Any]) -> Choice:
    if not isinstance(choice, dict):
        raise RequestFailed("MalformedAnswer", f"choice {at} is not an object")
    if "text" in choice:
        text = choice["text"]
    elif isinstance(message := choice.get("message"), dict):
        # A model that spent its tokens on reasoning has no content, and some services leave the field out.
        text = message.get("content")
    else:
        raise RequestFailed("MalformedAnswer", f"choice {at} has neither 'message' nor 'text'")
    if text is None:
        text = ""
    if not isinstance(text, str):
        raise RequestFailed("MalformedAnswer", f"choice {at}: its text is a JSON {type(text).__name__}")
    text = text.encode(errors="replace").decode()  # half of a surrogate pair is the model's word, not a broken answer
    reason, fields = choice.get("finish_reason"), {**answer, **choice}
    if reason == "length":
        return Choice(text, "length", fields=fields)
    if reason in ("content_filter", "error", "abort"):
        return Choice(text, "error", f"the service ended the completion with finish_reason {reason!r}")
    return Choice(text, "stop", fields=fields)


def _usage(usage: Any) -> Usage | None:
    """Reported usage; None where it is missing or implausible."""
    if not isinstance(usage, dict):
        return None
    counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    good = [count for count in counts if type(count) is int and 0 <= count <= _MOST_TOKENS]
    return Usage(good[0], good[1]) if len(good) == 2 else None


def _reported(error: Any) -> RequestFailed:
    code = error.get("code") if isinstance(error, dict) else None
    text = error.get("message") if isinstance(error, dict) else error
    message = f"the service reports an error with status 200: {str(text)[:500]}"
    if type(code) is int and 400 <= code < 500 and code not in (408, 425, 429):
        too_long = is_about_length(code, json.dumps({"error": error}))
        return RequestFailed("PromptTooLong" if too_long else "RequestRejected", message)
    return RequestFailed("ServerBusy", message)


def is_about_length(status: int, body: str) -> bool:
    """Whether a service refused a request because chat and answer together outgrow the model's context.

    Codes and types of an error are names that a service chose and no text of a chat can change. Where a service has
    none, its message decides, and only from its beginning: a message may quote the chat further on.

    Args:
        status: HTTP status of the answer.
        body: Its body, of unknown origin and form.

    >>> is_about_length(400, '{"error": {"code": "context_length_exceeded", "message": "Too long."}}')
    True
    >>> is_about_length(400, '{"error": {"message": "Unknown field, in: maximum context length is 9 tokens"}}')
    False
    """
    if status not in STATUSES:
        return False
    try:
        content: Any = json.loads(body)
    except (ValueError, RecursionError):
        return False
    if isinstance(content, list) and content:  # Gemini
        content = content[0]
    error = content.get("error", content) if isinstance(content, dict) else None
    if isinstance(error, str):  # Text Generation Inference
        error = {"message": error}
    if not isinstance(error, dict):
        return False
    if any(isinstance(error.get(name), str) and error[name] in CODES for name in ("code", "type")):
        return True
    message = error.get("message")
    return isinstance(message, str) and _WORDED.match(message.lstrip()[:1000]) is not None
