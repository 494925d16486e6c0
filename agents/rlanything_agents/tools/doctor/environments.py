"""Check of the environments of all installed domains: the first steps of a known solution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rlanything_envs.osworld.desktop.doctor import Finding
from rlanything_task_pools import domain_names, get_domain

__all__ = ["examine_environments"]

ANSWERS = 3
"""Steps of the known solution that are played."""
AT_ONCE: Mapping[str, Mapping[str, Any]] = {"osworld": {"backend": "simulator"}}
"""Arguments with which an environment starts fast; `machine` checks real desktops."""


def examine_environments() -> Iterator[Finding]:
    """Begin an episode in the environment of every installed domain, and play the first steps of its solution."""
    for name in domain_names():
        try:
            yield Finding(f"play {name}", True, _played(name))
        except Exception as error:  # any error is one that the user would get
            message = f"{type(error).__name__}: {error}"
            yield Finding(f"play {name}", False, message.splitlines()[0][:300], f"rlanything play {name}")


def _played(name: str) -> str:
    from rlanything_agents.domains.solutions import solution_of
    from rlanything_envs.conversation import Conversation

    domain = get_domain(name)
    with Conversation(domain.env_id, **AT_ONCE.get(name, {})) as conversation:
        turn = conversation.start(seed=0)
        source = getattr(conversation.env.unwrapped, "source", None)
        follow = solution_of(source.find(turn.info["task_id"])) if source is not None else None
        given: list[str] = []
        while follow is not None and not turn.done and len(given) < ANSWERS and (answer := follow(given)) is not None:
            turn = conversation.answer(answer)
            given.append(answer)
    end = "won" if turn.won else "lost" if turn.done else "running"
    return f"{turn.info.get('task_id', '?')}: {len(given)} steps of its solution played, {end}"
