"""The tools of ALFWorld: each makes one command of the game."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from rlanything_envs.alfworld.commands import MAX_ACTION_LENGTH
from rlanything_envs.tools import Toolset

__all__ = ["TOOLS"]

Receptacle = Annotated[
    str, Field(description="A place or an appliance by its name and number, such as fridge 1.", min_length=1)
]
Thing = Annotated[str, Field(description="A thing by its name and number, such as apple 1.", min_length=1)]


def go_to(receptacle: Receptacle) -> str:
    """Go to a receptacle and see what is on or in it."""
    return f"go to {receptacle}"


def open_receptacle(receptacle: Receptacle) -> str:
    """Open a closed receptacle that you stand at."""
    return f"open {receptacle}"


def close_receptacle(receptacle: Receptacle) -> str:
    """Close an open receptacle that you stand at."""
    return f"close {receptacle}"


def take(thing: Thing, receptacle: Receptacle) -> str:
    """Take a thing from the receptacle that you stand at; you can hold one thing."""
    return f"take {thing} from {receptacle}"


def move(thing: Thing, receptacle: Receptacle) -> str:
    """Put the thing that you hold into or onto the receptacle that you stand at."""
    return f"move {thing} to {receptacle}"


def clean(thing: Thing, receptacle: Receptacle) -> str:
    """Clean the thing that you hold with the sinkbasin or bathtubbasin that you stand at."""
    return f"clean {thing} with {receptacle}"


def heat(thing: Thing, receptacle: Receptacle) -> str:
    """Heat the thing that you hold with the microwave that you stand at."""
    return f"heat {thing} with {receptacle}"


def cool(thing: Thing, receptacle: Receptacle) -> str:
    """Cool the thing that you hold with the fridge that you stand at."""
    return f"cool {thing} with {receptacle}"


def slice_(
    thing: Thing, knife: Annotated[str, Field(description="The knife that you hold, such as knife 1.", min_length=1)]
) -> str:
    """Slice a thing where you stand with the knife that you hold."""
    return f"slice {thing} with {knife}"


def use(thing: Thing) -> str:
    """Switch on or use a thing where you stand, such as a lamp."""
    return f"use {thing}"


def examine(name: Annotated[str, Field(description="A thing or a receptacle, such as desk 1.", min_length=1)]) -> str:
    """Look closely at a thing that you hold or see, or at a receptacle that you stand at."""
    return f"examine {name}"


def look() -> str:
    """Look around where you stand."""
    return "look"


def inventory() -> str:
    """See what you hold."""
    return "inventory"


def help_() -> str:
    """List the commands of the game."""
    return "help"


TOOLS = Toolset(
    go_to,
    open_receptacle,
    close_receptacle,
    take,
    move,
    clean,
    heat,
    cool,
    slice_,
    use,
    examine,
    look,
    inventory,
    help_,
    max_length=MAX_ACTION_LENGTH,
)
"""All commands of the game."""
