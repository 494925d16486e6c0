"""Small text environments, right but for the flaw a test asks for; importable by other processes."""

from __future__ import annotations

from string import printable
from typing import Any

import gymnasium as gym
import numpy as np


class Parrot(gym.Env[Any, Any]):
    """Repeats what it hears, and ends at the third word; made of Gymnasium's parts only."""

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, flaw: str = "", thing: Any = None) -> None:
        self.flaw = flaw
        self.action_space = self.observation_space = gym.spaces.Text(100, min_length=0, charset=printable)
        self.kept = ["look"]
        self.steps = self.closings = 0
        self.broken = False
        self.word: Any = ""
        self.id = "parrot-0123456789abcdef"
        if flaw in ("domain", "forgets", "other-task"):
            self.domain = "parrot"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        if options and "task" in options:
            if self.flaw == "forgets":
                raise LookupError("what task?")
            if self.flaw == "other-task":
                self.id = "parrot-00000000000000ff"
        if self.flaw == "space":
            return "x" * 200, self.info(None)
        return self.said(f"hello {int(self.np_random.integers(9))}"), self.info(None)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        if self.broken and self.flaw != "unmasked":
            raise OSError("the cage is open")
        if not isinstance(action, str) and self.flaw != "any-action":
            if self.flaw == "ends":
                self.steps = 99
            if self.flaw == "crash":
                action.strip()
            raise TypeError("not a text")
        if self.steps == 99:
            raise RuntimeError("the episode is over")
        self.steps += 1
        self.word = action
        over = self.steps == 3
        outcome = {"early": 1, "odd": "won"}.get(self.flaw, 1 if over and self.flaw != "silent" else None)
        reward: Any = 1.0 if over else 0.0
        reward = {"early-reward": 0.5, "nan": float("nan"), "text": "much"}.get(self.flaw, reward)
        if self.flaw == "paid-error" and over:
            outcome = "error"
        return self.said(str(action)[:90]), reward, over, False, self.info(outcome)

    def close(self) -> None:
        self.closings += 1
        if self.flaw == "close" and self.closings > 1:
            raise RuntimeError("closed already")

    def said(self, text: str) -> Any:
        if self.flaw == "wordless":
            self.observation_space = gym.spaces.Box(0, 1, (2,))
            return np.zeros(2, np.float32)
        return text

    def became(self, outcome: Any) -> str | None:
        if self.steps == 0:
            return "ok" if self.flaw == "early-command" else None
        if self.flaw == "odd-command":
            return "fine"
        return "ok" if self.word or self.flaw == "lenient" else "unreadable"

    def info(self, outcome: Any) -> dict[str, Any]:
        info = {"task_id": self.id, "outcome": outcome, "admissible_commands": ["look", "fly"]}
        if self.flaw == "shared":
            info["admissible_commands"] = self.kept
        if self.flaw == "hash":
            info["hash"] = hash("text")
        if self.flaw == "address":
            info["me"] = object()
        if self.flaw in ("commands", "odd-command", "early-command", "lenient"):
            info["command"] = self.became(outcome)
        if self.flaw == "numpy":
            info["numbers"] = np.arange(2000)
        if self.flaw == "no-task":
            del info["task_id"]
        if self.flaw == "nameless":
            info["task_id"] = 7
        return info


class Wordless(Parrot):
    """Its space is right; that it has no text is what is wrong."""

    def __init__(self) -> None:
        super().__init__("wordless")
        self.observation_space = gym.spaces.Box(0, 1, (2,))
