"""Text as vectors of fixed length, for agents with numeric observations."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from zlib import crc32

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rlanything_envs.adapters.sb3 import AdmissibleActions

__all__ = ["HashedText", "Vectors"]

Vectors = dict[str, NDArray[np.float32]]

_WORD = re.compile(r"\w+")


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
        self._opening = _counts(text, self._features)
        self._past = self._latest = np.zeros(self._features)
        return self._seen(self._opening), info

    def step(self, action: int) -> tuple[Vectors, Any, bool, bool, dict[str, Any]]:
        """Take the action of a number."""
        self._past = self._past + self._latest + _counts(self._numbered.said(action), self._features)
        text, reward, terminated, truncated, info = self.env.step(action)
        self._latest = _counts(text, self._features)
        return self._seen(self._latest), reward, terminated, truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Masks of `AdmissibleActions`."""
        return self._numbered.action_masks()

    def _seen(self, latest: NDArray[np.float64]) -> Vectors:
        seen = {"opening": _scaled(self._opening), "latest": _scaled(latest), "past": _scaled(self._past)}
        if self._command_features:
            rows = np.zeros((self._numbered.slots, self._command_features), np.float32)
            for number, command in enumerate(self._numbered.commands):
                rows[number] = _scaled(_known_counts(command, self._command_features))
            seen["commands"] = rows.ravel()
        return seen


def _counts(text: str, features: int) -> NDArray[np.float64]:
    words = _WORD.findall(text.lower())
    hashes = [crc32(gram.encode()) for gram in (*words, *map(" ".join, pairwise(words)))]
    signs = [1.0 if value >> 31 else -1.0 for value in hashes]
    return np.bincount([value % features for value in hashes] or [0], signs or [0.0], features).astype(np.float64)


_known_counts = lru_cache(maxsize=16_384)(_counts)  # for commands, which recur


def _scaled(counts: NDArray[np.float64]) -> NDArray[np.float32]:
    length = float(np.linalg.norm(counts))
    return (counts / length if length else counts).astype(np.float32)
