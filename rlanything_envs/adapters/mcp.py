"""MCP: the tools of an environment for any client of the Model Context Protocol, over HTTP or a pair of pipes.

```python
from mcp import Client
from rlanything_envs.adapters.mcp import create_mcp_server

with create_mcp_server("RLAnything/AlfWorld-v0") as server:
    async with Client(f"{server.url}/mcp") as client:
        opening = await client.call_tool("reset", {"seed": 0})
        result = await client.call_tool("go_to", {"receptacle": "fridge 1"})
```

A session of the protocol has its own environment. Besides the environment's tools there is ``reset``, which
begins an episode; a client that measures an agent calls it itself and offers the agent the others.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

from pydantic import Field

from rlanything_envs.adapters import serving
from rlanything_envs.conversation import ToolConversation, Turn
from rlanything_envs.errors import MissingExtra
from rlanything_envs.tools import Tool, ToolCallError
from rlanything_verifiers.installed import install

try:
    import anyio
    from mcp import types  # Anthropic's SDK: imports are absolute, and this module is another
    from mcp.server.lowlevel import Server as Protocol
    from mcp.server.runner import serve_loop
    from mcp.server.stdio import stdio_server
    from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
    from starlette.applications import Starlette
    from starlette.routing import Route
except ImportError as error:
    raise MissingExtra(f"this needs the MCP SDK: {install('mcp')}") from error

__all__ = ["META", "OVER", "create_mcp_server", "serve_stdio"]

META = "rlanything/turn"
"""Key of a result's ``_meta`` with reward, end and outcome, which are for the client and not for its model."""

OVER = "The episode is over."
"""End of an episode's last message."""

_INSTRUCTIONS = (
    "Call reset to begin an episode. Its result says what to do; then call the other tools until it is over."
)
_SESSION = "environment"

_log = logging.getLogger(__name__)


def _reset(
    task: Annotated[
        str | dict[str, Any] | None, Field(description="Id of a task, or a task as a JSON object; null to draw one.")
    ] = None,
    seed: Annotated[int | None, Field(description="Seed of the draw; the same seed gives the same episode.")] = None,
) -> tuple[str | dict[str, Any] | None, int | None]:
    """Begin an episode and read its task. An episode that is running is given up."""
    return task, seed


_reset.__name__ = "reset"
_RESET = Tool(_reset)


def create_mcp_server(
    env_id: str,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    max_sessions: int = 8,
    idle_seconds: float = 600.0,
    max_message_bytes: int = 4_000_000,
    **arguments: Any,
) -> serving.Server:
    """A server of one environment over streamable HTTP, at ``/mcp``.

    Args:
        env_id: Id of a registered environment.
        host: Address to listen on; anything but loopback needs a token.
        port: Port to listen on; 0 for any free port.
        token: Bearer token that clients must send. The connection itself is not encrypted: beyond a trusted network,
            put a TLS proxy in front.
        max_sessions: Maximum concurrent sessions with an environment, which the first call of a session makes.
        idle_seconds: Idle time after which a session is closed.
        max_message_bytes: Longest message of a client in bytes.
        arguments: Arguments of `gymnasium.make`.

    Raises:
        SettingError: A setting is out of range, or the environment cannot be made.
    """
    serving.check_settings(host, token, max_sessions, idle_seconds, max_message_bytes)
    manager = StreamableHTTPSessionManager(
        _protocol(env_id, arguments, max_sessions),
        session_idle_timeout=idle_seconds,
        max_request_body_size=max_message_bytes,
    )
    app = Starlette(routes=[Route("/mcp", StreamableHTTPASGIApp(manager))], lifespan=lambda _: manager.run())
    return serving.Server(_Guard(app, token), host, port, max_message_bytes, max_sessions)


def serve_stdio(env_id: str, **arguments: Any) -> None:
    """Serve one environment to the process at the other end of standard input and output, until it closes them.

    Raises:
        SettingError: The environment cannot be made.
    """
    protocol = _protocol(env_id, arguments, max_sessions=1)

    async def serve() -> None:
        async with stdio_server() as (read, write):
            options = protocol.create_initialization_options()
            await serve_loop(protocol, read, write, lifespan_state={}, init_options=options)

    anyio.run(serve)


class _Guard:
    """ASGI middleware: the token, and the one way to a session."""

    def __init__(self, app: Any, token: str | None) -> None:
        self._app: serving.App = app
        self._token = token

    async def __call__(self, scope: serving.Scope, receive: serving.Receive, send: serving.Send) -> None:
        """An ASGI application."""
        if scope["type"] == "http":
            version = dict(scope["headers"]).get(b"mcp-protocol-version", b"").decode("latin-1")
            refused = serving.refusal(scope, self._token)
            if refused is None and version and version not in HANDSHAKE_PROTOCOL_VERSIONS:
                # Later versions know no sessions; clients that speak both go on with `initialize`.
                refused = 400, f"an episode needs a session: use one of the versions {HANDSHAKE_PROTOCOL_VERSIONS}"
            if refused is None and scope["method"] == "GET":
                refused = 405, "the server sends nothing unasked"  # and an open stream would keep a session forever
            if refused is not None:
                await serving.answer(send, *refused)
                return
        await self._app(scope, receive, send)


def _protocol(env_id: str, arguments: dict[str, Any], max_sessions: int) -> Protocol[Any]:
    """The SDK's server of one environment; each of its connections has its own environment."""
    with serving.make(ToolConversation, env_id, arguments) as conversation:  # fail now and not at the first reset
        offered = [_RESET, *conversation.tools.values()]
    played: set[_Episodes] = set()

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in offered])

    async def call_tool(context: Any, call: types.CallToolRequestParams) -> types.CallToolResult:
        # The SDK has no public name for the connection, which has the state and outlives a request.
        connection = context.session._connection
        if (episodes := connection.state.get(_SESSION)) is None:
            if len(played) >= max_sessions:
                return _failure(f"there are {max_sessions} sessions already, the most of this server; try again later")
            episodes = connection.state[_SESSION] = _Episodes(lambda: ToolConversation(env_id, **arguments))
            played.add(episodes)
            connection.exit_stack.callback(played.discard, episodes)
            connection.exit_stack.push_async_callback(episodes.close)
        return await episodes.call(call.name, call.arguments or {})

    return Protocol(
        "rlanything", title=env_id, instructions=_INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )


def _described(tool: Tool) -> types.Tool:
    return types.Tool(name=tool.name, description=tool.description, input_schema=tool.parameters)


class _Episodes:
    """The environment of one connection; everything in it runs in one thread."""

    def __init__(self, make_it: Callable[[], ToolConversation]) -> None:
        self._make = make_it
        self._conversation: ToolConversation | None = None
        self._thread = ThreadPoolExecutor(1, "rlanything-mcp")

    async def call(self, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._call, name, arguments)

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    def _call(self, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        try:
            if self._conversation is None:
                self._conversation = self._make()
            if name != _RESET.name:
                return _result(self._conversation.call(name, arguments))
            task, seed = _RESET.action(arguments)
            serving.check_request(self._conversation, task, seed)
            return _result(self._conversation.start(task, seed=seed))
        except Exception as error:  # no result without a turn: such an episode has no reward
            if (reason := serving.client_error(error)) is None:
                _log.exception("a session failed")
                reason = serving.UNEXPECTED
            return _failure(reason)

    def _close(self) -> None:
        if self._conversation is not None:
            self._conversation.close()


def _failure(reason: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=reason)], is_error=True)


def _result(turn: Turn) -> types.CallToolResult:
    text = f"{turn.text}\n\n{OVER}" if turn.done else turn.text
    content: list[types.ContentBlock] = [types.TextContent(text=text)]
    if turn.screen is not None:
        picture = base64.b64encode(turn.screen.png).decode()
        content.append(types.ImageContent(data=picture, mime_type="image/png"))
    fault = turn.info.get("call_error")
    return types.CallToolResult(
        content=content,
        is_error=isinstance(fault, ToolCallError),
        _meta={
            META: {
                "reward": turn.reward,
                "done": turn.done,
                "terminated": turn.terminated,
                "truncated": turn.truncated,
                "outcome": serving.outcome_of(turn),
                "task_id": str(turn.info.get("task_id", "")),
            }
        },
    )
