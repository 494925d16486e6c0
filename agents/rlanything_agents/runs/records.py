"""Hooks that record an iteration: counts of services, screens, and the row with the episodes and a checkpoint."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import gymnasium as gym

from rlanything_agents.config import ConfigError
from rlanything_agents.rollout.screens import Screens
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.hooks import Hook, Iteration
from rlanything_agents.runs.learners import Learners
from rlanything_agents.runs.player import Player
from rlanything_envs.curriculum import LLMSummariser
from rlanything_envs.llm import PatientGenerator
from rlanything_task_pools import TaskPool

__all__ = ["RecordHook", "ScreenHook", "ServiceHook", "store_screens"]

_log = logging.getLogger(__name__)


class RecordHook(Hook):
    """Stores each iteration in the folder of a run; the last hook, since others add to the row.

    Args:
        folder: Folder of the run.
        learners: Models to store.
        player: Player to store.
        pool: Task pool to store.
    """

    def __init__(self, folder: RunFolder, learners: Learners, player: Player, pool: TaskPool) -> None:
        self._folder, self._learners, self._player, self._pool = folder, learners, player, pool

    def iterated(self, iteration: Iteration) -> None:
        """Store episodes and metrics, then the checkpoint, which makes the iteration count."""
        number = iteration.row["iteration"]
        self._folder.store_episodes(number, iteration.episodes)
        self._folder.append_metrics(iteration.row)
        with self._folder.checkpoints.write(number) as scratch:
            self._learners.save(scratch)
            self._player.save(scratch)
            self._pool.copy(scratch / self._folder.pool.name)


class ServiceHook(Hook):
    """Adds to each row the counts of an iteration: of the rewriter's service, and of a model's summaries.

    Args:
        service: The service of the rewriter; None without one.
        summariser: The model that summarises; None without one.
    """

    def __init__(self, service: PatientGenerator | None, summariser: LLMSummariser | None) -> None:
        self._service, self._summariser = service, summariser

    def iterated(self, iteration: Iteration) -> None:
        """Add the counts and start them at zero; a service that was given up is tried again."""
        if self._service is not None:
            iteration.row["rewriter"] = asdict(self._service.served)
            self._service.begin()
        if self._summariser is not None:
            iteration.row["summaries"] = self._summariser.counts
            self._summariser.begin()


class ScreenHook(Hook):
    """Keeps small pictures of the screens of some environments, and stores them with each iteration.

    Args:
        envs: All environments of the rollouts.
        count: The first so many keep pictures.
        folder: Folder of the run.

    Attributes:
        envs: The environments to play in.

    Raises:
        ConfigError: An environment draws no pictures.
    """

    def __init__(self, envs: Sequence[gym.Env[Any, Any]], count: int, folder: RunFolder) -> None:
        for env in envs[:count]:
            if env.render_mode != "rgb_array":
                raise ConfigError(f"rollout.screenshots: {env.unwrapped} draws no pictures; leave the option out")
        self.envs: list[gym.Env[Any, Any]] = [*map(Screens, envs[:count]), *envs[count:]]
        self._folder = folder

    def iterated(self, iteration: Iteration) -> None:
        """Store the pictures of the iteration's episodes."""
        store_screens(self.envs, self._folder.screens / f"{iteration.row['iteration']:04d}")


def store_screens(envs: Sequence[gym.Env[Any, Any]], folder: Path) -> None:
    """Write the pictures of an iteration as ``EPISODE-TURN.webp``, both counted from 0; the last one is of the end.

    A write error, such as a full disk, is logged as a warning and does not end the run.

    Args:
        envs: All environments of the rollout; those without `Screens` have no pictures.
        folder: Destination; its contents are replaced.
    """
    try:
        shutil.rmtree(folder, ignore_errors=True)
        for env in envs:
            for episode, pictures in (env.take() if isinstance(env, Screens) else {}).items():
                for turn, picture in pictures.items():
                    folder.mkdir(parents=True, exist_ok=True)
                    (folder / f"{episode:04d}-{turn:03d}.webp").write_bytes(picture)
    except OSError as error:
        _log.warning("screens of %s are not complete: %s", folder, error)
