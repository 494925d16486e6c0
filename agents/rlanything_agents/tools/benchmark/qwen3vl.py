"""``qwen3vl:MODEL``: a served Qwen3-VL, prompted as the published agents for OSWorld prompt it.

The system message declares the tool ``computer_use``. A turn is a screen, of which the chat has the last ``images``
with the answers to them; the earliest of them has the instruction and a line for each earlier answer. Screens are
resized to multiples of 32, and coordinates run from 0 to 1000. The published agent of OSWorld shows five screens and
samples at temperature 0; that of the paper shows three and repeats the instruction in the last message instead.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rlanything_agents.tools.benchmark.player import History, numbered

if TYPE_CHECKING:
    from rlanything_agents.tools.benchmark.settings import ChatSettings
    from rlanything_envs.conversation import Turn
    from rlanything_envs.message import Part

__all__ = ["ENVIRONMENT", "Qwen3VLHistory"]

ENVIRONMENT = {"observation": ["screenshot", "instruction", "message"], "action_space": "computer_use"}
"""Arguments of the environment; those of the command line take precedence."""

GRID = 32
"""Side in pixels of the square of a screen that Qwen3-VL reads as a token."""

_ACTIONS = {
    "key": "Press the keys in their order, then release them in the reverse order.",
    "type": "Type a text on the keyboard.",
    "mouse_move": "Move the pointer to a place.",
    "left_click": "Click at a place with the left button.",
    "left_click_drag": "Drag from the pointer to a place with the left button.",
    "right_click": "Click at a place with the right button.",
    "middle_click": "Click at a place with the middle button.",
    "double_click": "Click twice at a place with the left button.",
    "triple_click": "Click three times at a place with the left button.",
    "scroll": "Turn the wheel of the mouse.",
    "hscroll": "Turn the wheel of the mouse sideways.",
    "wait": "Wait for the screen to change.",
    "terminate": "End the task and report its status.",
}

_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "computer_use",
        "description": (
            "Use a mouse and keyboard to interact with a computer, and see its screen.\n"
            "* This is a desktop; programs may take time to start or to react, so that waiting and looking again may "
            "be needed.\n"
            "* The screen's resolution is 1000x1000.\n"
            "* Find the place of an element on the screen before you move the pointer to it, and click at its centre."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "action": {
                    "type": "string",
                    "description": "\n".join(f"* `{name}`: {text}" for name, text in _ACTIONS.items()),
                    "enum": list(_ACTIONS),
                },
                "keys": {"type": "array", "description": "Names of keys, for `key`."},
                "text": {"type": "string", "description": "The text, for `type`."},
                "coordinate": {"type": "array", "description": "The place [x, y], for actions of the mouse."},
                "pixels": {"type": "number", "description": "How far to scroll; up or right where positive."},
                "time": {"type": "number", "description": "Seconds to wait."},
                "status": {"type": "string", "description": "For `terminate`.", "enum": ["success", "failure"]},
            },
            "required": ["action"],
        },
    },
}

_SYSTEM = f"""\
# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{json.dumps(_TOOL)}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{{"name": <function-name>, "arguments": <args-json-object>}}
</tool_call>

# Response format

Answer every step with two parts, in this order, and nothing else:
1) Action: one short sentence that says what to do on the screen.
2) One <tool_call>...</tool_call> block with the JSON of the call.
To finish, call the tool with action=terminate."""


class Qwen3VLHistory(History):
    """The chat of an episode in the form above.

    Args:
        settings: Number of screens.
    """

    system = _SYSTEM

    def __init__(self, settings: ChatSettings) -> None:
        super().__init__(settings.max_history, settings.images, GRID)
        self._instruction = ""

    def opening(self, text: str, past: list[str]) -> str:
        """The instruction, and a line for each answer that has left the window."""
        return (
            "Please generate the next move according to the UI screenshot, instruction and previous actions.\n\n"
            f"Instruction: {self._instruction}\n\n"
            f"Previous actions:\n{numbered(past) or 'None'}"
        )

    def _parts(self, turn: Turn, first: bool) -> tuple[Part, ...]:
        if first:
            self._instruction = str(turn.info.get("instruction", ""))
        return super()._parts(turn, first)
