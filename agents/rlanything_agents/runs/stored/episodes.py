"""Reader of stored episodes, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rlanything_agents.runs.storage import RunFolderError
from rlanything_agents.runs.stored.folder import SafeFolder
from rlanything_agents.runs.stored.lines import unpacked_lines

__all__ = ["StoredEpisode", "StoredTurn", "read_episodes"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class StoredTurn(_Record):
    """One turn with its judgements, its reward and its advantage."""

    thought: str
    action: str
    observation: str
    judgements: tuple[str, ...] = ()
    votes: tuple[float | None, ...] = ()
    """The votes on the step; None for one that cannot be read."""
    reward: float | None = None
    """The integrated reward; None where the infrastructure failed."""
    advantage: float = 0.0


class StoredEpisode(_Record):
    """One episode."""

    iteration: int
    slot: int
    role: str
    goal: str
    task_id: str
    outcome: Literal[1, -1] | None
    error: str = ""
    score: float = 0.0
    opening: str
    turns: tuple[StoredTurn, ...] = Field(max_length=100_000)


def read_episodes(file: Path) -> Iterator[StoredEpisode]:
    """Read the episodes of one iteration's file, in order.

    Raises:
        RunFolderError: The file is damaged, truncated or too large, or a line is not the record of an episode; the
            episodes before it have been yielded.
    """
    try:
        with SafeFolder(file.parent).open(file.name) as packed:
            for number, line in unpacked_lines(packed):
                if line is None:
                    raise RunFolderError(f"{file}, line {number + 1}: too long to be an episode")
                try:
                    yield StoredEpisode.model_validate_json(line)
                except ValidationError as error:
                    first = error.errors(include_url=False, include_input=False)[0]
                    place = ".".join(map(str, first["loc"])) or "record"
                    raise RunFolderError(f"{file}, line {number + 1}, {place}: {first['msg']}") from None
    except (RunFolderError, OSError) as error:
        raise RunFolderError(f"{file}: {error}") from None
