"""The table of registered environments."""

from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym


@dataclass(frozen=True)
class Registration:
    """One row: the arguments of `gymnasium.register`; entry points are strings, so that specs are JSON."""

    id: str
    entry_point: str
    vector_entry_point: str
    max_episode_steps: int | None
    text: dict[str, Any] = field(default_factory=dict)
    """Arguments with which the environment's observations are texts."""
    tools: dict[str, Any] = field(default_factory=dict)
    """Further arguments with which its actions are tool calls."""
    short: str | None = None
    """Place of its short view, a `rlanything_envs.views.View`, as ``package.module:NAME``; None if it has none."""


REGISTRATIONS: tuple[Registration, ...] = (
    Registration(
        id="RLAnything/AlfWorld-v0",
        entry_point="rlanything_envs.alfworld.env:AlfWorldEnv",
        vector_entry_point="rlanything_envs.alfworld.vector:AlfWorldVectorEnv",
        max_episode_steps=50,  # the limit of ALFWorld's own evaluation
        short="rlanything_envs.alfworld.short:VIEW",
    ),
    Registration(
        id="RLAnything/Coding-v0",
        entry_point="rlanything_envs.coding.env:CodingEnv",
        vector_entry_point="rlanything_envs.vector:coding",
        max_episode_steps=None,  # the number of turns is an argument of the environment
        tools={"instructions": False},
        short="rlanything_envs.coding.short:VIEW",
    ),
    Registration(
        id="RLAnything/OSWorld-v0",
        entry_point="rlanything_envs.osworld.env:OSWorldEnv",
        vector_entry_point="rlanything_envs.vector:osworld",
        max_episode_steps=None,
        text={"observation": "text"},
        tools={"instructions": False, "action_space": "computer_13"},
    ),
)


def register_all() -> None:
    """Register every environment of the table that is not registered yet."""
    for row in REGISTRATIONS:
        if row.id not in gym.registry:
            gym.register(
                row.id,
                entry_point=row.entry_point,
                vector_entry_point=row.vector_entry_point,
                max_episode_steps=row.max_episode_steps,
                disable_env_checker=True,  # the passive checker breaks every step after a first reset that failed
            )


def text_arguments(env_id: str) -> dict[str, Any]:
    """Arguments that give an environment text observations; empty for one that is not in the table."""
    row = _row(env_id)
    return {} if row is None else dict(row.text)


def tool_arguments(env_id: str) -> dict[str, Any]:
    """Arguments that give an environment text observations and tools; empty for one that is not in the table."""
    row = _row(env_id)
    return {} if row is None else {**row.text, **row.tools}


def _row(env_id: str) -> Registration | None:
    return next((row for row in REGISTRATIONS if row.id == env_id.rpartition(":")[2]), None)
