"""A warm start made of two runs: the policy that all arms begin with, and a reward model that was trained before."""

from __future__ import annotations

import shutil

from rlanything_agents.config import RunConfig
from rlanything_agents.runs.folder import RunFolder
from studies.plan import StudyError

__all__ = ["join_start"]


def join_start(config: RunConfig, warm: RunFolder, trained: RunFolder) -> None:
    """Make the run folder that ``warm_start.reuse`` names, unless it is whole; an interrupted one is made again.

    It has the stages of the warm start and of the first evaluation, and nothing else. Both reward models were measured
    on the same trajectories, so the evaluation is put together as well.

    Args:
        config: Of the run that begins with it.
        warm: The shared warm start.
        trained: A finished run from it, whose reward model takes the place of the other.

    Raises:
        StudyError: One of the two has not come to its end, or ``reuse`` is unset.
        RunFolderError: Their files are damaged.
    """
    if config.warm_start.reuse is None:
        raise StudyError("warm_start.reuse names no folder to make")
    start, weights, after = RunFolder(config.warm_start.reuse), trained.final_weights(), trained.stage("after")
    if start.stage("before") is not None:
        return
    if weights is None or after is None:
        raise StudyError(f"{trained.path} has no final reward model: let the study come to its end")
    shutil.rmtree(start.path, ignore_errors=True)
    start.prepare(warm.config())
    shutil.copytree(warm.folder("warm_start") / "policy", start.folder("warm_start") / "policy")
    shutil.copytree(weights / "judge", start.folder("warm_start") / "judge")
    shutil.copytree(warm.folder("before"), start.folder("before"), dirs_exist_ok=True)
    warmed, before = warm.stage("warm_start"), warm.stage("before")
    if warmed is None or before is None:
        raise StudyError(f"{warm.path} has no finished warm start: let the study come to it")
    start.finish_stage("warm_start", {**warmed, "judge_of": str(trained.path)})
    start.finish_stage("before", {**before, "judge": after["judge"]})
