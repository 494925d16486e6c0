"""Refusals of a request whose chat is too long, as services word them.

Codes and types of an error are names that a service chose and no text of a chat can change. Where a service has none,
its message decides, and only from its beginning: a message may quote the chat further on.
"""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["is_about_length"]

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
    # LiteLLM puts a name of its own before the message of the service
    r"litellm\.ContextWindowExceededError: ",
)
"""Beginnings of messages."""

_WORDED = re.compile("|".join(f"(?:{wording})" for wording in WORDINGS), re.IGNORECASE)


def is_about_length(status: int, body: str) -> bool:
    """Whether a service refused a request because chat and answer together outgrow the model's context.

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
