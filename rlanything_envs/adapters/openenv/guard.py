"""Access control of a server: bearer token, size of messages, and idle time of sessions."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Guard"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_PAGES = ("/health", "/metadata", "/schema")
_EPISODES = ("/reset", "/step", "/state")
_EPISODES_ELSEWHERE = (
    "over HTTP each request would get an environment of its own; play episodes over the WebSocket at /ws"
)


@dataclass(frozen=True)
class Guard:
    """ASGI middleware that admits only three pages over HTTP, and sessions over ``/ws``.

    Attributes:
        app: The OpenEnv server.
        token: Bearer token required for everything but ``/health``; None for open access.
        idle_seconds: Idle time after which a session is ended.
        max_message_bytes: Longest message of a client in bytes.
    """

    app: App
    token: str | None
    idle_seconds: float
    max_message_bytes: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        if scope["type"] == "websocket":
            await self._session(scope, receive, send)
        elif scope["type"] == "http":
            await self._page(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _page(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path != "/health" and (refusal := self._refusal(scope)):
            await _answer(send, *refusal)
        elif path in _EPISODES:
            await _answer(send, 501, _EPISODES_ELSEWHERE)
        elif path not in _PAGES or scope["method"] not in ("GET", "HEAD"):
            await _answer(send, 404, f"there is GET {', '.join(_PAGES)}, and a WebSocket at /ws")
        else:
            await self.app(scope, receive, send)

    async def _session(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope)
        if refusal is None and scope["path"] != "/ws":
            refusal = 404, "the WebSocket is at /ws"
        if refusal is not None:
            await receive()  # the request to connect
            await send({"type": "websocket.close", "code": 1008, "reason": refusal[1]})  # becomes HTTP 403
            return

        async def next_message() -> Message:
            try:
                message = await asyncio.wait_for(receive(), self.idle_seconds)
            except TimeoutError:
                return await _end(send, 1001, f"the session was silent for {self.idle_seconds:g} s and is over")
            if (size := _size(message)) > self.max_message_bytes:
                return await _end(send, 1009, f"a message of {size} bytes: at most {self.max_message_bytes} are read")
            return message

        # The query could attach a client to the session of another one.
        await self.app({**scope, "query_string": b""}, next_message, send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Status and reason of a refused connection; None where it is admitted."""
        headers = {name: value for name, value in scope["headers"] if name in (b"authorization", b"origin")}
        if self.token is None:
            # A page in a browser on this machine can reach loopback, and always sends its origin.
            return (403, "web pages need a server with a token") if b"origin" in headers else None
        given = headers.get(b"authorization", b"")
        if hmac.compare_digest(given, f"Bearer {self.token}".encode()):
            return None
        return 401, "give this server's token: Authorization: Bearer TOKEN"


async def _answer(send: Send, status: int, reason: str) -> None:
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps({"detail": reason}).encode()})


async def _end(send: Send, code: int, reason: str) -> Message:
    """Send the client OpenEnv's message for an ended session, and report a disconnect to the server."""
    error = {"type": "error", "data": {"message": f"SessionError: {reason}", "code": "SESSION_ERROR"}}
    await send({"type": "websocket.send", "text": json.dumps(error)})
    await send({"type": "websocket.close", "code": code, "reason": reason})
    return {"type": "websocket.disconnect", "code": code}


def _size(message: Message) -> int:
    """Upper bound on the bytes of a client's message, four for each character."""
    text, data = message.get("text"), message.get("bytes")
    return len(data or b"") + (len(text.encode(errors="surrogatepass")) if text else 0)
