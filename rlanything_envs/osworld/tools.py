"""The tools of the desktop: the actions of ``computer_13``, each with its parameters."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import Field

from rlanything_envs.osworld.actions import MAX_ACTION_LENGTH
from rlanything_envs.tools import Toolset

__all__ = ["TOOLS"]

Number = Annotated[float, Field(allow_inf_nan=False)]
X = Annotated[Number, Field(description="Distance from the left edge of the screen, in the units of the task.")]
Y = Annotated[Number, Field(description="Distance from the upper edge of the screen, in the units of the task.")]
Button = Annotated[Literal["left", "right", "middle"], Field(description="Button of the mouse.")]
Key = Annotated[str, Field(description="Name of a key, such as enter, f2, ctrl or a.", min_length=1)]


def move_to(x: X, y: Y) -> str:
    """Move the pointer."""
    return _action("MOVE_TO", x=x, y=y)


def click(
    x: X, y: Y, button: Button = "left", clicks: Annotated[Literal[1, 2, 3], Field(description="How many clicks.")] = 1
) -> str:
    """Click at a place."""
    return _action("CLICK", x=x, y=y, button=button, num_clicks=clicks)


def double_click(x: X, y: Y) -> str:
    """Click twice with the left button at a place."""
    return _action("DOUBLE_CLICK", x=x, y=y)


def right_click(x: X, y: Y) -> str:
    """Click with the right button at a place."""
    return _action("RIGHT_CLICK", x=x, y=y)


def drag_to(x: X, y: Y) -> str:
    """Drag from the pointer to a place with the left button; move the pointer to the beginning first."""
    return _action("DRAG_TO", x=x, y=y)


def mouse_down(button: Button = "left") -> str:
    """Press a button of the mouse and hold it."""
    return _action("MOUSE_DOWN", button=button)


def mouse_up(button: Button = "left") -> str:
    """Release a button of the mouse."""
    return _action("MOUSE_UP", button=button)


def scroll(
    dy: Annotated[Number, Field(description="Steps of the wheel, up where positive and down where negative.")],
    dx: Annotated[Number, Field(description="Steps sideways, to the right where positive.")] = 0.0,
) -> str:
    """Scroll where the pointer is."""
    return _action("SCROLL", dx=dx, dy=dy)


def type_text(text: Annotated[str, Field(description="The text; a line end presses enter.")]) -> str:
    """Type a text where the keyboard's focus is."""
    return _action("TYPING", text=text)


def press(key: Key) -> str:
    """Press a key and release it."""
    return _action("PRESS", key=key)


def hotkey(
    keys: Annotated[
        list[str], Field(description='Names of keys in order, such as ["ctrl", "s"].', min_length=1, max_length=8)
    ],
) -> str:
    """Press keys together."""
    return _action("HOTKEY", keys=keys)


def key_down(key: Key) -> str:
    """Press a key and hold it."""
    return _action("KEY_DOWN", key=key)


def key_up(key: Key) -> str:
    """Release a key."""
    return _action("KEY_UP", key=key)


def wait() -> str:
    """Let two seconds pass."""
    return _action("WAIT")


def done() -> str:
    """Say that the task is done. This ends the task."""
    return _action("DONE")


def fail() -> str:
    """Say that the task cannot be done. This ends the task."""
    return _action("FAIL")


def _action(kind: str, **parameters: Any) -> str:
    """The action as JSON in a line; marks that are looked for in any text are escaped where they stand in it."""
    text = json.dumps({"action_type": kind, "parameters": parameters}, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("`", "\\u0060")


TOOLS = Toolset(
    click,
    double_click,
    right_click,
    move_to,
    drag_to,
    mouse_down,
    mouse_up,
    scroll,
    type_text,
    press,
    hotkey,
    key_down,
    key_up,
    wait,
    done,
    fail,
    max_length=MAX_ACTION_LENGTH,
)
"""All actions of ``computer_13``."""
