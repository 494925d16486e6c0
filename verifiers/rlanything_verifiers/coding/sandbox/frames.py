"""Messages through a container's standard streams: a length, a JSON object, and bytes."""

import json
import struct
from collections.abc import Callable
from typing import Any

_LENGTHS = struct.Struct("<II")
#: Largest message in bytes: a run's output at the largest limit, and the error stream.
MAX_FRAME = (1 << 30) + (1 << 20)


def pack(head: dict[str, Any], body: bytes = b"") -> bytes:
    """One message as bytes."""
    text = json.dumps(head).encode()
    return _LENGTHS.pack(len(text), len(body)) + text + body


def unpack(read: Callable[[int], bytes]) -> tuple[dict[str, Any], bytes] | None:
    """The next message.

    Args:
        read: Returns exactly the requested number of bytes, fewer only at the end.

    Returns:
        Head and body, or ``None`` at the end.

    Raises:
        ValueError: This is not a message.
    """
    lengths = read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    text, body = _LENGTHS.unpack(lengths)
    if max(text, body) > MAX_FRAME:
        raise ValueError(f"a message of {max(text, body)} bytes")
    head = json.loads(read(text))
    if not isinstance(head, dict):
        raise ValueError("the head of a message is not a JSON object")
    return head, read(body)
