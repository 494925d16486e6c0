"""Connections of a server: those that ask for nothing are bounded in number, time and size.

A client without the token needs no more than half a header to hold a connection. The oldest of these is closed for each
one too many, so that whoever asks at once is always heard.
"""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["WAITING", "WAITING_SECONDS", "connection_class"]

WAITING = 64
"""Maximum connections without a complete request, half of them from one address."""
WAITING_SECONDS = 10.0
"""How long a connection waits for a request, at most twice as long."""
_HEAD_BYTES = 64 * 2**10
_BODY_LOOKS = 6
"""After how many times `WAITING_SECONDS` a request must have arrived with its body."""


def connection_class(most: int) -> type[asyncio.Protocol]:
    """The class of a server's connections, for uvicorn's ``http``.

    Args:
        most: Maximum connections at a time that are answered, or are WebSockets.
    """
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    base: Any = AutoHTTPProtocol
    opened: dict[Any, None] = {}

    class Connection(base):  # type: ignore[misc]
        seen: Any = None
        looks = head = 0

        @property
        def gone(self) -> bool:
            """Whether it is closed, or has become a WebSocket, which is bounded by its session."""
            return self.transport.is_closing() or self.transport.get_protocol() is not self

        @property
        def waits(self) -> bool:
            return self.cycle is None or self.cycle.response_complete

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            for each in [each for each in opened if each.gone]:
                del opened[each]
            waiting = [each for each in opened if each.waits]
            near = [each for each in waiting if each.client and self.client and each.client[0] == self.client[0]]
            if len(near) >= WAITING // 2 or len(waiting) >= WAITING:
                (near if len(near) >= WAITING // 2 else waiting)[0].transport.abort()
            elif len(self.connections) - len(waiting) > most:
                transport.abort()
            opened[self] = None
            self.loop.call_later(WAITING_SECONDS, self.look)

        def connection_lost(self, error: Exception | None) -> None:
            opened.pop(self, None)
            super().connection_lost(error)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self.head = self.head + len(data) if self.waits else 0
            if self.head > _HEAD_BYTES and not self.gone:
                self.transport.abort()

        def look(self) -> None:
            """Close the connection where nothing has been asked since the last time, or a body does not end."""
            if self.gone:
                return
            self.looks = self.looks + 1 if self.cycle is self.seen else 0
            late = self.waits or (self.cycle.more_body and self.looks >= _BODY_LOOKS)
            if self.looks and late:
                self.transport.abort()
                return
            self.seen = self.cycle
            self.loop.call_later(WAITING_SECONDS, self.look)

    return Connection
