"""What client and server say to each other, in OpenEnv's types."""

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
    """What an agent writes; the environment's first message says how."""

    text: str


class TextObservation(Observation):  # type: ignore[misc]
    """What the environment says; ``done`` and ``reward`` are OpenEnv's."""

    text: str
    task_id: str = ""
    terminated: bool = False
    """Whether the task itself ended the episode."""
    truncated: bool = False
    """Whether a limit cut it off."""
    outcome: Literal[1, -1] | None = None
    """Of a finished episode: 1 if the task was solved, else -1."""
    commands: list[str] | None = None
    """What can be done now, where the environment lists it."""


class TextState(State):  # type: ignore[misc]
    """Where a session stands; the number of steps is OpenEnv's."""

    env_id: str = Field(default="")
    task_id: str = Field(default="")
    done: bool = True
    """Whether no episode is running."""
