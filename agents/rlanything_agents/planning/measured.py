"""How long the environment of a run takes on this machine."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median

from rlanything_agents.config import RunConfig
from rlanything_agents.config.cluster import Assumptions
from rlanything_envs import Conversation
from rlanything_task_pools import get_domain

__all__ = ["Measured", "measure_environment"]

IDLE = "I look around first.\nAction: look"
"""What is answered where the environment lists no commands; a valid move in none, and a step in all."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Medians, in seconds."""

    step_seconds: float
    reset_seconds: float
    steps: int
    resets: int

    def applied(self, assumptions: Assumptions) -> Assumptions:
        """Assumptions that know these two."""
        return assumptions.model_copy(
            update={
                "step_seconds": (self.step_seconds, self.step_seconds),
                "reset_seconds": (self.reset_seconds, self.reset_seconds),
            }
        )


def measure_environment(config: RunConfig, steps: int) -> Measured:
    """Play so many steps, drawn from the commands that the environment lists, on training tasks.

    Raises:
        InfrastructureError: The environment failed.
    """
    domain = get_domain(config.domain)
    resets, taken = list[float](), list[float]()
    with Conversation(domain.env_id, **(config.environment or {})) as conversation:
        while len(taken) < steps:
            task = domain.generate(len(resets), split="train", **config.curriculum.knobs[0].knobs)
            begun = time.perf_counter()
            turn = conversation.start(task)
            resets.append(time.perf_counter() - begun)
            while not turn.done and len(taken) < steps:
                commands = turn.commands
                answer = commands[len(taken) % len(commands)] if commands else IDLE
                begun = time.perf_counter()
                turn = conversation.answer(answer)
                taken.append(time.perf_counter() - begun)
    return Measured(median(taken), median(resets), len(taken), len(resets))
