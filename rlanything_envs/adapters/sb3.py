"""Stable-Baselines3: text environments for agents with numeric actions and observations.

`AdmissibleActions` numbers the commands and masks those that are impossible; `HashedText` turns messages into vectors
of fixed length. Together they serve ``PPO`` and, with the mask, ``MaskablePPO`` of sb3-contrib:

```python
import gymnasium as gym
from sb3_contrib import MaskablePPO

from rlanything_envs.adapters.sb3 import AdmissibleActions, HashedText

env = HashedText(AdmissibleActions(gym.make("RLAnything/AlfWorld-v0")))
MaskablePPO("MultiInputPolicy", env).learn(10_000)
```
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any
from zlib import crc32

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rlanything_envs.conversation import Conversation, Turn

__all__ = ["AdmissibleActions", "Commands", "HashedText", "Vectors", "counts", "scaled"]

Vectors = dict[str, NDArray[np.float32]]

Commands = Sequence[str] | Callable[[Turn], Sequence[str]]
"""Commands to choose from: a fixed list, or a function of the latest message."""


class AdmissibleActions(gym.Wrapper[str, Any, str, str]):
    """Actions are indices of commands, of the environment's list or of a given one.

    A command that is not possible now is sent like any other, and a number without a command as an empty text: the
    environment counts either as a wasted turn. ``info["action_mask"]`` and `action_masks` mark the possible ones, and
    at the end of an episode ``info["is_success"]`` is True if the task was solved.

    Args:
        env: A text environment, such as `gymnasium.make` gives it.
        commands: Commands to choose from. By default the environment's list, in its order: the number of a command
            changes with the list. In a list of your own each command has a fixed number, and those that the environment
            does not list are masked. An environment without a list needs one.
        slots: Number of actions; by default the length of the given list, else 128.

    Attributes:
        commands: The current commands by number.
    """

    def __init__(self, env: gym.Env[Any, Any], commands: Commands | None = None, slots: int | None = None) -> None:
        super().__init__(env)
        self._conversation = Conversation(env)
        self._given = commands
        self.slots = slots or (128 if commands is None or callable(commands) else len(commands))
        self.action_space = gym.spaces.Discrete(self.slots)
        self.commands: list[str] = []
        self._mask = np.zeros(self.slots, dtype=bool)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode; the message comes without the manual for readers of text.

        Raises:
            InfrastructureError: The machinery failed.
            ValueError: There are no commands, or more than slots.
        """
        turn = self._conversation.start((options or {}).get("task"), seed=seed)
        return turn.text.removeprefix(self._conversation.manual).lstrip(), self._info(turn)

    def step(self, action: int) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Send the command of a number.

        Raises:
            InfrastructureError: The machinery failed; the episode counts for nothing.
            ValueError: As for `reset`.
        """
        turn = self._conversation.answer(self.said(action))
        return turn.text, turn.reward, turn.terminated, turn.truncated, self._info(turn)

    def said(self, action: int) -> str:
        """The current command of a number; an empty text for a number without one."""
        return self.commands[int(action)] if int(action) < len(self.commands) else ""

    def action_masks(self) -> NDArray[np.bool_]:
        """Mask of the possible actions: bool, of shape (slots,). sb3-contrib calls this name."""
        return self._mask.copy()

    def _info(self, turn: Turn) -> dict[str, Any]:
        given, listed = self._given, turn.commands
        self.commands = list((listed or []) if given is None else given(turn) if callable(given) else given)
        if len(self.commands) > self.slots:
            raise ValueError(f"AdmissibleActions: {len(self.commands)} commands for {self.slots} slots: give slots=")
        possible = set(self.commands if listed is None else listed)
        self._mask[:] = False
        self._mask[: len(self.commands)] = [command in possible for command in self.commands]
        if not (turn.done or self._mask.any()):
            lack = "the environment lists none" if given is None else "none of those given is possible now"
            raise ValueError(f"AdmissibleActions: no command to choose from, {lack}: give (other) commands=")
        info = {**turn.info, "action_mask": self._mask.copy()}
        return {**info, "is_success": turn.won} if turn.done else info


class HashedText(gym.Wrapper[Any, int, str, int]):
    """Observations are vectors: counts of words and of pairs of words, hashed with signs and scaled to length 1.

    The hash is CRC-32, the same on every machine and in every process. An observation has arrays of float32:

    - ``opening``: the first message of the episode, which has the task; shape (features,);
    - ``latest``: the latest message; shape (features,);
    - ``past``: the sum of all messages and commands between them; shape (features,);
    - ``commands``: the commands of all actions, concatenated, zeros for actions without one; shape
      (slots * command_features,).

    Args:
        env: An environment with numbered actions.
        features: Length of the vector of a message.
        command_features: Length of the vector of a command; 0 for no such array.
    """

    def __init__(self, env: AdmissibleActions, features: int = 256, command_features: int = 32) -> None:
        super().__init__(env)
        self._numbered, self._features, self._command_features = env, features, command_features
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("opening", "latest", "past"), (features,))
        if command_features:
            shapes["commands"] = (env.slots * command_features,)
        self.observation_space: Any = gym.spaces.Dict(
            {name: gym.spaces.Box(-1.0, 1.0, shape, np.float32) for name, shape in shapes.items()}
        )
        self._opening = self._past = self._latest = np.zeros(features)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Vectors, dict[str, Any]]:
        """Begin an episode."""
        text, info = self.env.reset(seed=seed, options=options)
        self._opening = counts(text, self._features)
        self._past = self._latest = np.zeros(self._features)
        return self._seen(self._opening), info

    def step(self, action: int) -> tuple[Vectors, Any, bool, bool, dict[str, Any]]:
        """Take the action of a number."""
        self._past = self._past + self._latest + counts(self._numbered.said(action), self._features)
        text, reward, terminated, truncated, info = self.env.step(action)
        self._latest = counts(text, self._features)
        return self._seen(self._latest), reward, terminated, truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Masks of `AdmissibleActions`."""
        return self._numbered.action_masks()

    def _seen(self, latest: NDArray[np.float64]) -> Vectors:
        seen = {"opening": scaled(self._opening), "latest": scaled(latest), "past": scaled(self._past)}
        if self._command_features:
            rows = np.zeros((self._numbered.slots, self._command_features), np.float32)
            for number, command in enumerate(self._numbered.commands):
                rows[number] = scaled(known_counts(command, self._command_features))
            seen["commands"] = rows.ravel()
        return seen


_WORD = re.compile(r"\w+")


def counts(text: str, features: int) -> NDArray[np.float64]:
    """Counts of the words and of the pairs of words of a text, hashed with signs; shape (features,).

    The hash is CRC-32, the same on every machine and in every process.
    """
    words = _WORD.findall(text.lower())
    hashes = [crc32(gram.encode()) for gram in (*words, *map(" ".join, pairwise(words)))]
    signs = [1.0 if value >> 31 else -1.0 for value in hashes]
    return np.bincount([value % features for value in hashes] or [0], signs or [0.0], features).astype(np.float64)


known_counts = lru_cache(maxsize=16_384)(counts)  # for commands, which recur


def scaled(vector: NDArray[np.float64]) -> NDArray[np.float32]:
    """Counts scaled to length 1; zeros stay zeros."""
    length = float(np.linalg.norm(vector))
    return (vector / length if length else vector).astype(np.float32)
