"""From the value of ``--agent`` to an agent."""

from __future__ import annotations

from pathlib import Path

from rlanything_agents.tools.benchmark.agent import Lockstep, Solo
from rlanything_agents.tools.benchmark.errors import AgentError
from rlanything_agents.tools.benchmark.scripted import Expert, RandomAgent
from rlanything_agents.tools.benchmark.settings import ChatSettings

__all__ = ["FORMS", "open_agent", "packages_of"]

FORMS = ("random", "expert", "openai:MODEL", "hf:CHECKPOINT", "run:FOLDER", "python:MODULE:NAME")
"""Forms of the names of agents."""


def open_agent(name: str, settings: ChatSettings, log: Path, turns: int) -> Solo | Lockstep:
    """Open the agent of a name, and import the packages of its kind.

    Args:
        name: A name in one of the `FORMS`.
        settings: Settings of chat agents.
        log: File of the prompts to a model and its answers.
        turns: Most turns of an episode.

    Raises:
        AgentError: There is no agent of this name, or it cannot be opened.
        MissingExtra, MissingKey: The service cannot be used.
    """
    kind, colon, rest = name.partition(":")
    match kind, bool(colon and rest):
        case "random", False:
            return RandomAgent()
        case "expert", False:
            return Expert()
        case "openai", True:
            from rlanything_agents.tools.benchmark.service import ServiceAgent

            return ServiceAgent(rest, settings, log)
        case "hf", True:
            from rlanything_agents.tools.benchmark.checkpoint import CheckpointAgent

            return CheckpointAgent(rest, settings, log, turns)
        case "run", True:
            from rlanything_agents.tools.benchmark.policy import RunAgent

            return RunAgent(rest)
        case "python", True:
            from rlanything_agents.tools.benchmark.own_code import PythonAgent

            return PythonAgent(rest, settings.max_history)
    raise AgentError(f"no agent is called {name!r:.200}: choose one of {', '.join(FORMS)}")


def packages_of(name: str) -> tuple[str, ...]:
    """Packages that an agent of this kind needs besides those of the environments."""
    models = ("torch", "transformers")
    return {"openai": ("openai",), "hf": models, "run": models}.get(name.partition(":")[0], ())
