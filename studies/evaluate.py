"""The weights that a run of a study ends with."""

from __future__ import annotations

from pathlib import Path

from rlanything_agents.runs.folder import RunFolder
from studies.plan import BEFORE, StudyError

__all__ = ["weights_of"]


def weights_of(folder: RunFolder) -> Path:
    """Where the weights of a run are at its end; of a run that was only warmed up, those of the warm start.

    Raises:
        StudyError: The run has not come to them.
        RunFolderError: They are damaged.
    """
    if checkpoint := folder.final_weights():
        return checkpoint
    warm = folder.path / "stages" / "warm_start"
    if folder.path.name == BEFORE and folder.stage("warm_start") is not None:
        return warm
    raise StudyError(f"{folder.path} has no final weights: let the study come to its end, or leave this run out")
