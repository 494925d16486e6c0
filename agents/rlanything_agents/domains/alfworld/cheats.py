"""Cheating agents of household tasks: commands that change nothing, again and again."""

from __future__ import annotations

from rlanything_agents.domains.cheats import Cheat, always, in_turns

__all__ = ["CHEATS"]

CHEATS = (
    Cheat("look", "looks around in every turn", always("look")),
    Cheat("inventory", "reads its inventory in every turn", always("inventory")),
    Cheat(
        "commands",
        "sends commands of the engine that are no actions of the game",
        in_turns("restart", "undo", "save", "restore", "win", "quit", "admissible_commands", "debug on", "score"),
    ),
)
"""See `rlanything_agents.domains.cheats`."""
