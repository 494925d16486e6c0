"""Address and limits of a service, and its retries: plain data, safe to print, pickle and store."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from rlanything_envs.errors import SettingError
from rlanything_envs.llm.errors import MissingKey

__all__ = ["Endpoint", "Retries"]

_OWN_FIELDS = frozenset({"model", "messages", "prompt", "n", "seed", "stream"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A model behind an OpenAI-compatible interface.

    Attributes:
        model: Name of the model as the service knows it.
        base_url: Address that ``/chat/completions`` is appended to; it usually ends in ``/v1``.
        key_env: Name of the environment variable that holds the key, read at each request and kept nowhere else;
            None for services without a key.
        concurrency: Maximum concurrent requests, over all threads that share a generator.
        connect_timeout_s: Maximum seconds for opening a connection.
        read_timeout_s: Maximum seconds without data. Answers are not streamed, so a whole generation must fit into it.
        max_response_bytes: Bytes of one answer after which reading stops. 4 MiB hold some 130,000 tokens even where
            every character is a six-byte JSON escape.
        samples_per_request: Maximum completions of one request (field ``n``). With 1, each completion is
            its own request, which every service understands and seeds one by one; a hosted service charges
            the prompt once per request. The rest is requested again from a service that returns fewer.
        extra: Further fields of the request body; a value of None removes a field, such as ``temperature`` for
            models that accept none.

    Raises:
        SettingError: A value is out of range, or the address is no plain http(s) address.
    """

    model: str
    base_url: str
    key_env: str | None = None
    concurrency: int = 16
    connect_timeout_s: float = 10.0
    read_timeout_s: float = 300.0
    max_response_bytes: int = 4 * 2**20
    samples_per_request: int = 1
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.model:
            raise SettingError("Endpoint.model is empty: give the name that the service lists under /models")
        try:
            url = urlsplit(self.base_url)
            good = url.scheme in ("http", "https") and bool(url.hostname) and (url.port is None or url.port > 0)
        except ValueError:
            good = False
        if not good:
            raise SettingError(
                f"Endpoint.base_url {self.base_url!r:.200} is not an http(s) address such as http://localhost:8000/v1"
            )
        if url.username is not None or url.query or url.fragment:
            raise SettingError("Endpoint.base_url holds a user, a query or a fragment; keys belong in key_env")
        for name in ("concurrency", "max_response_bytes", "samples_per_request"):
            if getattr(self, name) < 1:
                raise SettingError(f"Endpoint.{name} is out of range: {getattr(self, name)}; at least 1")
        for name in ("connect_timeout_s", "read_timeout_s"):
            if not (value := getattr(self, name)) > 0 or not math.isfinite(value):
                raise SettingError(f"Endpoint.{name} is out of range: {value}; positive and finite")
        if own := sorted(_OWN_FIELDS & set(self.extra)):
            raise SettingError(f"Endpoint.extra sets {own}, which the generator fills itself")
        try:
            json.dumps(dict(self.extra), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise SettingError(f"Endpoint.extra is not JSON: {error}") from None

    def key(self) -> str | None:
        """The key, from the environment at this moment, or None where the service needs none.

        Raises:
            MissingKey: The variable is unset, or its value cannot be a key. The value is never shown.
        """
        if self.key_env is None:
            return None
        key = os.environ.get(self.key_env, "").strip()
        if not key:
            raise MissingKey(f"environment variable {self.key_env} is unset or empty; it must hold the service's key")
        if not all("!" <= character <= "~" for character in key):
            raise MissingKey(f"environment variable {self.key_env} holds blanks or characters that no key has")
        return key

    def secrets(self) -> list[str]:
        """What must not be shown: the key, where there is one."""
        try:
            key = self.key()
        except MissingKey:
            return []
        return [key] if key else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """Number and waits of retries after 408, 425, 429, 5xx, timeouts, broken connections and malformed answers.

    The wait before try ``i + 1`` is ``first_wait_s * 2**(i - 1)``, at most ``longest_wait_s``, times a random factor
    from [0.5, 1] so that many requests do not return at the same moment. A ``Retry-After`` of the service is a lower
    bound; one that exceeds ``total_s`` ends the tries at once.

    Attributes:
        attempts: Maximum tries, the first included.
        total_s: Maximum seconds for one request from its first try on, waits included.
        first_wait_s: Wait after the first failure, in seconds.
        longest_wait_s: Maximum seconds of one wait without a ``Retry-After``.

    Raises:
        SettingError: A value is out of range.
    """

    attempts: int = 6
    total_s: float = 900.0
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0

    def __post_init__(self) -> None:
        good = {
            "attempts": self.attempts >= 1,
            "total_s": self.total_s > 0 and math.isfinite(self.total_s),
            "first_wait_s": self.first_wait_s >= 0 and math.isfinite(self.first_wait_s),
            "longest_wait_s": self.longest_wait_s >= self.first_wait_s and math.isfinite(self.longest_wait_s),
        }
        for name, fits in good.items():
            if not fits:
                raise SettingError(f"Retries.{name} is out of range: {getattr(self, name)}")

    def wait_s(self, attempt: int, asked_s: float | None, luck: float) -> float:
        """Seconds to wait after try number ``attempt`` (from 1).

        Args:
            attempt: Tries so far.
            asked_s: ``Retry-After`` of the service, in seconds.
            luck: Random number from [0, 1).
        """
        # 2**30 exceeds every sensible ratio of the two waits, and a float holds it.
        wait = min(self.longest_wait_s, self.first_wait_s * 2.0 ** min(attempt - 1, 30)) * (0.5 + luck / 2)
        return wait if asked_s is None else max(wait, asked_s + luck * self.first_wait_s)
