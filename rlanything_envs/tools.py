"""Typed tools: the actions of an environment as functions that a model calls with named, typed arguments.

An environment declares its tools once, as functions from arguments to its own action:

```python
def go_to(receptacle: Annotated[str, Field(description="Name and number, such as fridge 1.")]) -> str:
    \"\"\"Go to a receptacle.\"\"\"
    return f"go to {receptacle}"


TOOLS = Toolset(go_to)
```

Name, description, JSON schema, validation of calls, TRL's methods and MCP's tools all come from that function. The
environment names its toolset ``tools``; `ToolConversation` plays with it.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, cast, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError, validate_call

from rlanything_envs.errors import SettingError

__all__ = ["RESERVED", "Tool", "ToolCallError", "Toolset"]

MAX_CALL_LENGTH = 262_144
"""Longest arguments that are read, in code points of their JSON; the longest action has half as many."""

RESERVED = frozenset({"close", "get_reward", "reset", "state", "step"})
"""Names by which OpenEnv, TRL and MCP clients control episodes, out of the agent's reach."""

_SHOWN = 80
"""Maximum characters of a model's own words that a message repeats."""
_FAULTS = 3
"""Maximum faults of one call that a message names."""


class ToolCallError(ValueError):
    """A malformed tool call; the message tells the model what to call instead."""


class Tool:
    """One action with typed parameters.

    Args:
        function: Makes the environment's action of the arguments. Its docstring is the tool's description, and each
            parameter is annotated with its type and a pydantic ``Field`` with a description. The tool has the
            function's name, without an underscore at the end.

    Attributes:
        name: Name of the tool.
        description: What it does, in a sentence or two.
        parameters: JSON schema of its arguments, an object without further properties.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        # Resolved here, since pydantic looks names up in the module alone, and a function may have come from elsewhere.
        function.__annotations__ = get_type_hints(function, include_extras=True)
        self.function = function
        self.name = function.__name__.rstrip("_")
        self.description = inspect.getdoc(function) or ""
        self.parameters = _plain(TypeAdapter[Any](cast(Any, function)).json_schema())
        self._validated = validate_call(config=ConfigDict(strict=True))(function)

    @cached_property
    def signature(self) -> inspect.Signature:
        """The function's parameters with their plain types, without constraints and descriptions."""
        hints = get_type_hints(self.function)
        parameters = inspect.signature(self.function).parameters.values()
        return inspect.Signature([parameter.replace(annotation=hints[parameter.name]) for parameter in parameters])

    @property
    def docstring(self) -> str:
        """The description and, Google style, those of the parameters."""
        properties = self.parameters["properties"]
        lines = [f"    {name}: {schema['description']}" for name, schema in properties.items()]
        return "\n".join([self.description, *(["", "Args:", *lines] if lines else [])])

    def schema(self) -> dict[str, Any]:
        """The tool as the chat completions of OpenAI's API take it."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}

    def action(self, arguments: Mapping[str, Any]) -> Any:
        """The environment's action for a call.

        Raises:
            ToolCallError: The arguments do not fit the parameters.
        """
        try:
            return self._validated(**arguments)
        except ValidationError as error:
            faults = error.errors(include_url=False, include_context=False, include_input=False)
            named = "; ".join(_fault(fault["type"], fault["loc"], fault["msg"]) for fault in faults[:_FAULTS])
            raise ToolCallError(f"{named}. Call {self.usage}") from None

    @property
    def usage(self) -> str:
        """The call in one line: ``go_to(receptacle: string)``."""
        properties, required = self.parameters["properties"], self.parameters.get("required", ())
        shown = [f"{name}{'' if name in required else '?'}: {_kind(schema)}" for name, schema in properties.items()]
        return f"{self.name}({', '.join(shown)})"


class Toolset(Mapping[str, Tool]):
    """The tools of an environment, by name.

    Args:
        functions: One for each tool, see `Tool`.
        max_length: Longest action that the environment reads, in code points.

    Raises:
        SettingError: A tool has a name of `RESERVED`.
    """

    def __init__(self, *functions: Callable[..., Any], max_length: int = MAX_CALL_LENGTH) -> None:
        self._tools = {tool.name: tool for tool in map(Tool, functions)}
        self._max_length = max_length
        if taken := self._tools.keys() & RESERVED:
            raise SettingError(
                f"no tool may be called {', '.join(sorted(taken))}: episodes are controlled by this name"
            )

    __eq__, __hash__ = object.__eq__, object.__hash__  # a toolset is itself; a mapping could not be a key

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def schemas(self) -> list[dict[str, Any]]:
        """The tools as the chat completions of OpenAI's API take them."""
        return [tool.schema() for tool in self.values()]

    def action(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> Any:
        """The environment's action for a call.

        Args:
            name: Name of the tool.
            arguments: A mapping, or a JSON object as text, as models write it; None and an empty text for none.

        Raises:
            ToolCallError: There is no such tool, the arguments do not fit or are not a JSON object, or the call is
                longer than what the environment reads.
        """
        if (tool := self._tools.get(name) if isinstance(name, str) else None) is None:
            raise ToolCallError(f"there is no tool {_shortened(name)}; call one of {', '.join(self)}")
        action = tool.action(_read(tool, arguments))
        if isinstance(action, str) and len(action) > self._max_length:
            raise ToolCallError(
                f"the call of {tool.name} comes to {len(action)} characters; at most {self._max_length} are read"
            )
        return action


def _read(tool: Tool, arguments: Any) -> Mapping[str, Any]:
    if arguments is None:
        return {}
    if isinstance(arguments, str):
        if len(arguments) > MAX_CALL_LENGTH:
            raise ToolCallError(f"the arguments have {len(arguments)} characters; at most {MAX_CALL_LENGTH} are read")
        try:
            arguments = json.loads(arguments or "{}", strict=False)  # models write line ends into their strings
        except (ValueError, RecursionError):
            raise ToolCallError(f"the arguments are not valid JSON. Call {tool.usage}") from None
    if not isinstance(arguments, Mapping) or not all(isinstance(key, str) for key in arguments):
        raise ToolCallError(f"the arguments are not a JSON object. Call {tool.usage}")
    return arguments


def _fault(kind: str, where: tuple[int | str, ...], message: str) -> str:
    name = _shortened(".".join(map(str, where)))
    if kind == "missing_argument":
        return f"the argument {name} is missing"
    if kind == "unexpected_keyword_argument":
        return f"there is no parameter {name}"
    return f"{name}: {message[0].lower()}{message[1:]}"


def _shortened(value: object) -> str:
    text = value if isinstance(value, str) else type(value).__name__
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _kind(schema: Mapping[str, Any]) -> str:
    """A type in a few words: ``string``, ``number``, ``"left" | "right"``, ``list of string``."""
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    return f"list of {_kind(schema['items'])}" if schema.get("type") == "array" else str(schema.get("type", "any"))


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without the titles that pydantic makes of the names."""
    properties = {
        name: {key: value for key, value in found.items() if key != "title"}
        for name, found in schema.get("properties", {}).items()
    }
    return {**schema, "properties": properties}
