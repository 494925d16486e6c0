"""Messages between client and server, as OpenEnv's types."""

from __future__ import annotations

from importlib.metadata import version
from typing import Literal

from pydantic import Field

from rlanything_task_pools import MissingExtra

try:
    version("openenv")  # its forerunner openenv-core brings a module of the same name
    from openenv.core.env_server.types import Action, Observation, State
except ImportError as error:
    raise MissingExtra(
        "this needs OpenEnv 0.10 (openenv, not openenv-core): pip install 'openenv>=0.10,<0.11'"
    ) from error

__all__ = ["TextAction", "TextObservation", "TextState"]


class TextAction(Action):  # type: ignore[misc]
    """An agent's answer; the environment's first message explains its form."""

    text: str


class TextObservation(Observation):  # type: ignore[misc]
    """A message of the environment; ``done`` and ``reward`` are OpenEnv's."""

    text: str
    screen: str | None = None
    """The screen as the data URL of a PNG file; None where observations have no screenshot."""
    task_id: str = ""
    terminated: bool = False
    """Whether the task itself ended the episode."""
    truncated: bool = False
    """Whether a limit cut it off."""
    outcome: Literal[1, -1] | None = None
    """1 or -1 for a finished episode, whose task was solved or not; else None."""
    commands: list[str] | None = None
    """Commands that are possible now; None where the environment does not list them."""


class TextState(State):  # type: ignore[misc]
    """State of a session; the number of steps is OpenEnv's."""

    env_id: str = Field(default="")
    task_id: str = Field(default="")
    done: bool = True
    """Whether no episode is running."""
