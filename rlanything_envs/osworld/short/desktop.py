"""The wrapper of the short view of desktops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from rlanything_envs.errors import Unreadable
from rlanything_envs.llm.choices import Form
from rlanything_envs.osworld.accessibility import read_elements
from rlanything_envs.osworld.short.forms import answer_form
from rlanything_envs.osworld.short.gestures import code_of
from rlanything_envs.osworld.short.screen import Line, Screen
from rlanything_envs.osworld.short.slots import Slots
from rlanything_envs.osworld.short.words import BREAK, COUNTS, NOBODY, SCREEN, SLOTS, VERBS, WORDS
from rlanything_envs.spaces import Unicode
from rlanything_envs.thoughts import split_thought
from rlanything_envs.views import ShortWrapper, View

__all__ = ["VIEW", "ShortOSWorld", "read", "write"]

MOST = 64
"""Most words of one screen; a full window has some fifty."""
_LONGEST = 4096
"""Longest answer that is parsed, in characters; a longer one is passed to the environment."""
_EMPTY = Screen("", ())


def read(answer: str) -> tuple[str, str]:
    """The thought and the command of an answer.

    ``<2> 1 click 1`` is read, and a command alone; of several lines the first counts. Any other answer is passed to the
    environment unchanged.
    """
    before, text = split_thought(answer)
    words = text.split("\n", 1)[0].split() if len(text) <= _LONGEST else []
    if len(words) > 1 and words[0] in (NOBODY, *SLOTS) and (place := words[1].removesuffix(":")) in (NOBODY, *COUNTS):
        thought, command = f"{words[0]} {place}", " ".join(words[2:])
    else:
        thought, command = "", " ".join(words) if words[:1] and words[0] in VERBS else text
    return "\n".join(part for part in (before, thought) if part), command


def write(thought: str, action: str) -> str:
    """The answer with a thought, which may be empty, and a command."""
    return f"{thought} {action}" if thought else action


class ShortOSWorld(ShortWrapper):
    """Wrapper of the short view of desktops.

    The first observation has two lines: the task in words, and ``screen`` with the contents of the screen. A later one
    has one line: the new contents of the screen, or ``same`` if nothing is new, after ``refused`` if the action failed.
    An answer is ``<2> 1 click 1`` (a slot or ``<none>``, a place or ``<none>``, and a command), or a command alone (see
    `rlanything_envs.osworld.short.gestures`); any other answer is passed to the environment, whose message explains the
    fault. ``info["message"]`` of a reset has the full task in a line before the others, and there
    the screen stands alone; later it is the environment's message on the last action, mostly empty.

    Args:
        env: Its observations have ``accessibility_tree``, ``instruction`` and ``message``.

    ```python
    from rlanything_envs.views import make_env

    env = make_env("RLAnything/OSWorld-v0", "short")
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step("<none> <none> press escape")
    ```
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.action_space = Unicode(_LONGEST)
        self._slots = Slots("")
        self._screen: Screen | None = None

    def action_of(self, answer: str) -> str:
        """The code of the command, or the answer as it is."""
        command = read(answer)[1]
        try:
            return code_of(command, self._screen or _EMPTY, self._slots)
        except Unreadable:
            return command

    def opening(self, seen: Any, info: Mapping[str, Any]) -> tuple[str, str]:
        """Task and screen in short, and the environment's own message."""
        instruction = " ".join(str(seen["instruction"]).split())
        self._slots, self._screen = Slots(instruction), None
        words, screen = " ".join(self._slots.words), _joined(self._look(seen))
        return f"{words}\n{SCREEN} {screen}", f"Task: {instruction}\n{words}\n{screen}"

    def later(self, seen: Any, info: Mapping[str, Any]) -> tuple[str, str]:
        """The new contents of the screen in short, and the environment's own message."""
        failed: list[Line] = [("refused",)] if seen["message"] and info.get("action") in (None, "CODE") else []
        return _joined([*failed, *self._look(seen)]), str(seen["message"])

    def choices(self, info: Mapping[str, Any]) -> Form:
        """A thought, then a command on existing targets."""
        return answer_form(self._screen or _EMPTY, self._slots)

    def _look(self, seen: Mapping[str, Any]) -> tuple[Line, ...]:
        before = self._screen
        self._screen = Screen.of(read_elements(str(seen["accessibility_tree"])), self._slots)
        return self._screen.news(before)


def _joined(lines: Sequence[Line]) -> str:
    words = [word for number, line in enumerate(lines) for word in ((BREAK,) if number else ()) + line]
    return " ".join(words[:MOST]) or "same"


VIEW = View(
    "short",
    read,
    write,
    words=WORDS,
    arguments={
        "backend": "simulator",
        # Lists, not tuples: a spec must survive JSON.
        "screen": [1280, 720],
        "observation": ["accessibility_tree", "instruction", "message"],
    },
    wrapper=ShortOSWorld,
)
"""The short view of desktops: of the simulated one, unless another backend is named."""
