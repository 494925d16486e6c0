"""Access control of a server: bearer token, size of messages, and idle time of sessions."""

from __future__ import annotations

import asyncio
import json
from contextvars import ContextVar
from dataclasses import dataclass

from rlanything_envs.adapters.serving import App, BoundedBodies, Message, Receive, Scope, Send, answer, refusal

__all__ = ["IN_SOCKET", "Guard"]

IN_SOCKET: ContextVar[bool] = ContextVar("IN_SOCKET", default=False)
"""Whether what runs belongs to a WebSocket, whose silence is timed here: a step may take any time."""

_PAGES = ("/health", "/metadata", "/schema")
_EPISODES = ("/reset", "/step", "/state")
_EPISODES_ELSEWHERE = "over HTTP each request would get a new environment; play episodes over the WebSocket at /ws"


@dataclass(frozen=True)
class Guard:
    """ASGI middleware that admits three pages over HTTP, sessions over ``/ws``, and with tools requests to ``/mcp``.

    Attributes:
        app: The OpenEnv server.
        token: Bearer token required for everything but ``/health``; None for open access.
        idle_seconds: Idle time after which a session is ended.
        max_message_bytes: Longest message of a client in bytes.
        tools: Whether actions are tool calls, which ``/mcp`` takes, too.
    """

    app: App
    token: str | None
    idle_seconds: float
    max_message_bytes: int
    tools: bool = False

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
        if path != "/health" and (refused := refusal(scope, self.token)):
            await answer(send, *refused)
        elif self.tools and path == "/mcp" and scope["method"] == "POST":
            await BoundedBodies(self.app, self.max_message_bytes)(scope, receive, send)
        elif path in _EPISODES:
            await answer(send, 501, _EPISODES_ELSEWHERE)
        elif path not in _PAGES or scope["method"] not in ("GET", "HEAD"):
            await answer(send, 404, f"there is GET {', '.join(_PAGES)}, and a WebSocket at /ws")
        else:
            await self.app(scope, receive, send)

    async def _session(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (refused := refusal(scope, self.token)) is None and scope["path"] != "/ws":
            refused = 404, "the WebSocket is at /ws"
        if refused is not None:
            await receive()  # the request to connect
            await send({"type": "websocket.close", "code": 1008, "reason": refused[1]})  # becomes HTTP 403
            return

        async def next_message() -> Message:
            try:
                message = await asyncio.wait_for(receive(), self.idle_seconds)
            except TimeoutError:
                return await _end(send, 1001, f"the session was silent for {self.idle_seconds:g} s and is over")
            if (size := _size(message)) > self.max_message_bytes:
                return await _end(send, 1009, f"a message of {size} bytes: at most {self.max_message_bytes} are read")
            return message

        IN_SOCKET.set(True)
        # The query attaches a WebSocket to a session of /mcp, whose id is secret; without tools there are none.
        await self.app(scope if self.tools else {**scope, "query_string": b""}, next_message, send)


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
