"""HTTP client of one endpoint: the ``openai`` package with a limit on the size of answers and typed failures.

This module needs the extra ``llm``; `rlanything_envs.llm.openai` imports it at the first request.
"""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

import openai

from rlanything_envs.llm import wire
from rlanything_envs.llm.endpoint import Endpoint
from rlanything_envs.llm.errors import EndpointRefused, GenerationStopped, MissingKey, RequestFailed
from rlanything_envs.llm.log import redact

__all__ = ["Client"]

# The package openai speaks HTTP with httpx2 from version 3 on, with httpx before: what is used here is alike in both.
if TYPE_CHECKING:
    import httpx2 as http
else:
    http = importlib.import_module("httpx" if openai.__version__.startswith("2.") else "httpx2")


_MAX_ERROR_BYTES = 64 * 2**10
"""Bytes of an error page that are read."""

_SHOWN = 500
"""Characters of an error page in an error message."""

_BUSY = (408, 425, 429)
_REFUSED = (401, 402, 404, 405)


class Client:
    """Sends requests to one endpoint; bound to the event loop of its first use.

    Args:
        endpoint: The service.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        timeout = http.Timeout(endpoint.read_timeout_s, connect=endpoint.connect_timeout_s)
        self._http = http.AsyncClient(
            timeout=timeout,
            limits=http.Limits(
                max_connections=endpoint.concurrency, max_keepalive_connections=endpoint.concurrency, keepalive_expiry=5
            ),
            event_hooks={"response": [self._guard]},
            # A few compressed kilobytes can hold gigabytes.
            headers={"Accept-Encoding": "identity"},
        )
        self._openai = openai.AsyncOpenAI(
            api_key=self._key, base_url=endpoint.base_url, timeout=timeout, max_retries=0, http_client=self._http
        )

    async def post(self, path: str, body: Mapping[str, Any]) -> wire.Answer:
        """Send one request and read its answer.

        Raises:
            RequestFailed: The request brought no usable answer.
            EndpointRefused: The service refuses every request.
        """
        content = await self.call(path, body)
        try:
            return wire.parse_answer(content)
        except RequestFailed as error:
            raise RequestFailed(error.kind, self._clean(str(error))) from None

    async def call(self, path: str, body: Mapping[str, Any] | None = None) -> bytes:
        """Send one request, a POST of ``body`` or a GET if None, and return the body of the answer unchecked.

        Raises:
            RequestFailed: The request failed.
            EndpointRefused: The service refuses every request.
        """
        try:
            if body is None:
                response = await self._openai.get(path, cast_to=http.Response)
            else:
                response = await self._openai.post(path, cast_to=http.Response, body=dict(body))
        except openai.APIStatusError as error:
            raise self._failure(error) from None
        except openai.APITimeoutError as error:
            sent = not isinstance(error.__cause__, (http.ConnectTimeout, http.PoolTimeout))
            during = "waiting for the answer" if sent else "connecting"
            raise RequestFailed("TimedOut", f"{type(error.__cause__).__name__} while {during}", charged=sent) from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            if isinstance(cause, RequestFailed):  # of `_guard` and `_Capped`, which version 2 wraps
                raise cause from None
            sent = not isinstance(cause, (http.ConnectError, http.ProxyError))
            raise RequestFailed(
                "ConnectionLost", self._clean(f"{type(cause).__name__}: {cause}"), charged=sent
            ) from None
        except openai.OpenAIError as error:
            raise RequestFailed("RequestRejected", self._clean(f"{type(error).__name__}: {error}")) from None
        except MissingKey as error:
            raise EndpointRefused(str(error)) from None
        return response.content

    async def aclose(self) -> None:
        """Close all connections."""
        await self._openai.close()

    async def _key(self) -> str:
        # The package requires a key; services without keys ignore it.
        return self._endpoint.key() or "none"

    async def _guard(self, response: http.Response) -> None:
        """Wrap a response so that its body cannot exceed the limit."""
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise RequestFailed(
                "MalformedAnswer", "the answer is compressed, although the request asked for plain bytes"
            )
        stream = response.stream
        if isinstance(stream, http.AsyncByteStream):
            failed = response.status_code >= 300
            limit = _MAX_ERROR_BYTES if failed else self._endpoint.max_response_bytes
            response.stream = _Capped(stream, limit, cut=failed)

    def _failure(self, error: openai.APIStatusError) -> RequestFailed | GenerationStopped:
        status = error.status_code
        message = self._clean(f"HTTP {status}: {error.response.text.strip()}")
        if status < 400:
            return EndpointRefused(f"{message} (moved: Endpoint.base_url needs the new address)")
        # An exhausted account answers 429 to every request.
        if status in _REFUSED or (status == 429 and error.code == "insufficient_quota"):
            return EndpointRefused(f"{self._endpoint.base_url} refuses model {self._endpoint.model!r}: {message}")
        if status in _BUSY or status >= 500:
            return RequestFailed("ServerBusy", message, wait_s=wire.retry_after(error.response.headers))
        return RequestFailed(
            "PromptTooLong" if wire.is_about_length(status, error.response.text) else "RequestRejected", message
        )

    def _clean(self, message: str) -> str:
        # Redacted before it is cut, or half a key could remain.
        message = redact(message, self._endpoint.secrets())
        return message if len(message) <= _SHOWN else message[:_SHOWN] + " [...]"


class _Capped(http.AsyncByteStream):
    """A body that stops at a limit in bytes, with an error or silently."""

    def __init__(self, stream: http.AsyncByteStream, limit: int, *, cut: bool) -> None:
        self._stream = stream
        self._limit = limit
        self._cut = cut

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > self._limit:
                if self._cut:
                    yield chunk[: len(chunk) - (size - self._limit)]
                    return
                raise RequestFailed(
                    "AnswerTooLarge", f"the answer has more than the {self._limit} bytes of Endpoint.max_response_bytes"
                )
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
