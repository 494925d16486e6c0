"""Control requests to a vLLM server, over the HTTP client of this project."""

from __future__ import annotations

import asyncio
import json
import random
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from rlanything_envs.llm.background import BackgroundLoop
from rlanything_envs.llm.endpoint import Endpoint, Retries
from rlanything_envs.llm.errors import RequestFailed

__all__ = ["Controls", "read_object"]


class Controls:
    """Control requests to a vLLM server, with the retries of any other request; safe to share between threads.

    Args:
        endpoint: Endpoint of the server; control paths are relative to the parent of its ``/v1``.
        retries: Attempts, pauses and time limit of a request.

    Attributes:
        root: Address that the paths follow.
    """

    def __init__(self, endpoint: Endpoint, retries: Retries) -> None:
        self.endpoint, self.retries = endpoint, retries
        url = urlsplit(endpoint.base_url)
        self.root = f"{url.scheme}://{url.netloc}{url.path.rstrip('/').removesuffix('/v1')}"
        self._loop: BackgroundLoop | None = None
        self._client: Any = None
        self._lock = threading.Lock()

    def request(self, path: str, body: Mapping[str, Any] | None) -> bytes:
        """POST ``body``, or GET where it is None, and return the body of the answer.

        Raises:
            RequestFailed: All attempts failed.
            EndpointRefused: There is no such endpoint, or it refuses the key.
        """
        with self._lock:
            if self._loop is None or not self._loop.alive:
                from rlanything_envs.llm.client import Client

                self._loop, self._client = BackgroundLoop("vllm controls"), Client(self.endpoint)
            answer = self._loop.submit(self._with_retries(self.root + path, body))
        return answer.result()

    def close(self) -> None:
        """Close the connection; a later request opens another."""
        loop, self._loop = self._loop, None
        if loop is not None:
            if loop.alive:
                loop.submit(self._client.aclose()).result(timeout=5)
            loop.close()

    async def _with_retries(self, url: str, body: Mapping[str, Any] | None) -> bytes:
        attempts = self.retries.attempts
        try:
            async with asyncio.timeout(self.retries.total_s):
                for attempt in range(1, attempts + 1):
                    try:
                        content: bytes = await self._client.call(url, body)
                        return content
                    except RequestFailed as error:
                        if not error.retry or attempt == attempts:
                            raise
                        await asyncio.sleep(self.retries.wait_s(attempt, error.wait_s, random.random()))
        except TimeoutError:
            pass
        raise RequestFailed("TimedOut", f"no answer within {self.retries.total_s:g} s")


def read_object(content: bytes) -> dict[str, Any]:
    """Parse an answer as a JSON object.

    Raises:
        RequestFailed: The answer is not a JSON object.
    """
    try:
        value = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RequestFailed(
            "MalformedAnswer", f"the answer of {len(content)} bytes is not JSON: {str(error)[:200]}"
        ) from None
    if not isinstance(value, dict):
        raise RequestFailed("MalformedAnswer", f"the answer is a JSON {type(value).__name__}, expected an object")
    return value
