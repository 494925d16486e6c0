"""From an agent's action to a command of the game."""

import re

MAX_ACTION_LENGTH = 512
"""Longest action that is looked at, in code points; the longest real command has about 60."""

# ALFWorld before 0.4 said "put X in/on Y", prompts and papers still do; the game says "move X to Y".
_PUT = re.compile(r"put (\S.*?) (?:in/on|in|on) (\S.*)\Z")


def to_command(action: str) -> str | None:
    """The command an action means, or None where it can be none: nothing happens then.

    Surrounding white space is dropped, and ``put X in Y``, ``put X on Y`` and ``put X in/on Y`` are read as
    ``move X to Y``. Case matters, as in the game.
    """
    if len(action) > MAX_ACTION_LENGTH:
        return None
    command = action.strip()
    if not command.isprintable():
        return None
    if match := _PUT.match(command):
        return f"move {match[1]} to {match[2]}"
    return command
