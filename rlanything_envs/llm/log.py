"""A log of prompts and answers: JSON lines, one per completion, written by any number of threads and processes.

A line is in the file as a whole or not at all when a process dies; a line that a power failure or a full disk cut short
affects neither other lines nor later appends. Keys are redacted before anything is written.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from rlanything_envs.llm.budget import Usage
from rlanything_envs.llm.errors import GeneratorError
from rlanything_envs.llm.generator import Prompt, SamplingParams
from rlanything_envs.message import plain as plain_content

__all__ = ["REDACTED", "PromptLog", "Record", "prompt_key", "read_log", "redact", "usage_of"]

logger = logging.getLogger(__name__)

_VERSION = 1

REDACTED = "[redacted]"

_HEADER = re.compile(
    r"""(?ix) ( ["']? (?: proxy-)? (?: authorization | x-api-key | api[-_]?key | access[-_]?token | cookie ) ["']?
    \s* [:=] \s* ["']? ) (?: (?: bearer | basic ) \s+ )? [^\s"',;}]{6,} """
)
_BEARER = re.compile(r"(?i)(\bbearer\s+)[a-z0-9._~+/=-]{8,}")
# Prefixes of keys; a length of sixteen characters distinguishes them from ordinary hyphenated words.
_PREFIXED = re.compile(
    r"\b(?:sk|pk|rk|hf|gsk|gh[pos]|xai|nvapi|AKIA|AIza)[-_]?(?=[A-Za-z_-]{0,200}\d)[A-Za-z0-9_-]{16,}"
)

_NAMES = re.compile(r"(?i)\A(?:proxy-)?(?:authorization|x-api-key|api[-_]?key|access[-_]?token|cookie)\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One completion and its prompt.

    Attributes:
        key: `prompt_key` of the prompt and its sampling parameters.
        model: Name of the model.
        prompt: The chat or the token ids, without secrets; images are there by their digests.
        text: The completion's text, without secrets.
        sample: Index of the sample among those of one call with that key.
        params: Sampling parameters without ``n``.
        finish_reason: As in `Completion`.
        error: As in `Completion`.
        usage: Tokens read and written, failed attempts included; where one request brought several completions, all
            of its tokens are on the first of them.
        attempts: Number of requests, retries included.
        seconds: Time from the first request to the answer.
        time: Time of writing, UTC, ISO 8601.
    """

    key: str
    model: str
    prompt: Sequence[Any]
    text: str
    sample: int = 0
    params: Mapping[str, Any] = field(default_factory=dict)
    finish_reason: Literal["stop", "length", "error"] = "stop"
    error: str | None = None
    usage: Usage = field(default_factory=Usage)
    attempts: int = 1
    seconds: float = 0.0
    time: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready mapping."""
        usage = {item.name: getattr(self.usage, item.name) for item in fields(self.usage)}
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        return {"v": _VERSION, **plain, "prompt": _plain(self.prompt), "params": dict(self.params), "usage": usage}

    @classmethod
    def from_dict(cls, data: Any) -> Record:
        """Read and check the mapping that `to_dict` returns.

        Raises:
            GeneratorError: The value is not such a mapping.
        """
        if not isinstance(data, dict) or data.get("v") != _VERSION:
            raise GeneratorError(f"not a record of version {_VERSION}")
        types: dict[str, type | tuple[type, ...]] = {
            "key": str,
            "sample": int,
            "model": str,
            "prompt": list,
            "params": dict,
            "text": str,
            "finish_reason": str,
            "error": (str, type(None)),
            "usage": dict,
            "attempts": int,
            "seconds": (int, float),
            "time": str,
        }
        for name, kind in types.items():
            if name not in data or not isinstance(data[name], kind):
                raise GeneratorError(f"field {name!r} is missing or of the wrong type")
        if data["finish_reason"] not in ("stop", "length", "error"):
            raise GeneratorError(f"unknown finish_reason {data['finish_reason']!r}")
        usage = data["usage"]
        counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
        good = [count for count in counts if type(count) is int and count >= 0]
        if len(good) != 2:
            raise GeneratorError("field 'usage' needs 'prompt_tokens' and 'completion_tokens', at least 0")
        values = {name: data[name] for name in types if name != "usage"}
        return cls(**values, usage=Usage(good[0], good[1], bool(usage.get("estimated"))))


class PromptLog:
    """Appends records to a file, without secrets.

    Args:
        path: The file; it and its folder are made when needed, readable by their owner only, for prompts may be
            private.
        secrets: Texts to redact, in addition to the key of the generator that logs here and to anything that looks like
            a key.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "prompts.jsonl"
        >>> hi = [{"role": "user", "content": "hi"}]
        >>> record = Record(key=prompt_key(hi, SamplingParams(max_tokens=8)), model="m", prompt=hi, text="hunter2!")
        >>> PromptLog(path, secrets=["hunter2"]).write(record)
        >>> [record.text for record in read_log(path)]
        ['[redacted]!']
    """

    def __init__(self, path: str | os.PathLike[str], secrets: Iterable[str] = ()) -> None:
        self.path = Path(path)
        self._secrets = tuple(secrets)

    def __repr__(self) -> str:
        return f"PromptLog({str(self.path)!r})"

    def write(self, record: Record, secrets: Iterable[str] = ()) -> None:
        """Append one record.

        Args:
            record: The record.
            secrets: Further texts to redact in it.

        Raises:
            OSError: The file cannot be written.
        """
        data = redact(record.to_dict(), (*self._secrets, *secrets))
        line = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Opened for each record: a lock belongs to an open file, so threads and forked processes exclude each other.
        file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            end = os.lseek(file, 0, os.SEEK_END)
            if end:
                os.lseek(file, end - 1, os.SEEK_SET)
                if os.read(file, 1) != b"\n":
                    line = b"\n" + line
            while line:
                line = line[os.write(file, line) :]
        finally:
            os.close(file)


def prompt_key(prompt: Prompt, params: SamplingParams) -> str:
    """Key of a prompt with its `SamplingParams.settings`: 32 hex digits, the same on every machine.

    Args:
        prompt: The prompt.
        params: Parameters of this prompt alone, see `SamplingParams.each`.
    """
    text = json.dumps([_plain(prompt), params.settings], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _plain(prompt: Sequence[Any]) -> list[Any]:
    """A prompt as JSON."""
    return [
        {name: value if isinstance(value, str) else plain_content(value) for name, value in item.items()}
        if isinstance(item, Mapping)
        else item
        for item in prompt
    ]


def read_log(path: str | os.PathLike[str]) -> Iterator[Record]:
    """The records of a log, in the order of their writing; lines cut short by a crash are skipped with a warning.

    Raises:
        FileNotFoundError: There is no such file.
        GeneratorError: A line is JSON but not a record; the message names file and line.
    """
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                data = json.loads(line.decode("utf-8"))
            except (ValueError, RecursionError):
                logger.warning("%s, line %d: cut short, skipped", path, number)
                continue
            try:
                record = Record.from_dict(data)
            except GeneratorError as error:
                raise GeneratorError(f"{path}, line {number}: {error}") from None
            yield record


def usage_of(path: str | os.PathLike[str]) -> Usage:
    """Sum of the usage in a log, for the `Budget` of a resumed run; 0 where there is no file."""
    return sum((record.usage for record in read_log(path)), Usage()) if Path(path).exists() else Usage()


def redact(value: Any, secrets: Iterable[str] = ()) -> Any:
    """Replace keys in ``value``: the given ones, and all that look like a key or an Authorization header.

    Args:
        value: A text, or JSON-like data whose texts are searched.
        secrets: Exact texts to hide.

    Examples:
        >>> redact({"Authorization": "Bearer abc", "say": "my key is k-12345"}, ["k-12345"])
        {'Authorization': '[redacted]', 'say': 'my key is [redacted]'}
    """
    known = sorted({secret for secret in secrets if secret}, key=len, reverse=True)
    return _redact(value, known)


def _redact(value: Any, known: list[str]) -> Any:
    if isinstance(value, str):
        for secret in known:
            value = value.replace(secret, REDACTED)
        value = _HEADER.sub(rf"\1{REDACTED}", value)
        value = _BEARER.sub(rf"\1{REDACTED}", value)
        return _PREFIXED.sub(REDACTED, value)
    if isinstance(value, dict):
        return {
            _redact(name, known): REDACTED
            if isinstance(name, str) and _NAMES.match(name) and isinstance(item, str)
            else _redact(item, known)
            for name, item in value.items()
        }
    return [_redact(item, known) for item in value] if isinstance(value, (list, tuple)) else value
