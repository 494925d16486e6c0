"""``run:FOLDER``: the policy of a training run, in the view that it was trained in."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import gymnasium as gym
from pydantic import ValidationError
from transformers.utils import logging as transformers_logging

from rlanything_agents.config import RunConfig
from rlanything_agents.models.checkpoint import CheckpointError
from rlanything_agents.rollout.environments import make_envs
from rlanything_agents.rollout.rollout import rollout
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.runs.folder import RunFolder, RunFolderError, write_atomically
from rlanything_agents.runs.learners import Learners
from rlanything_agents.tools.benchmark.agent import Lockstep
from rlanything_agents.tools.benchmark.episode import Episode, Result, counted
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_envs.llm.budget import Usage

if TYPE_CHECKING:
    from rlanything_agents.tools.benchmark.episode import World
    from rlanything_agents.tools.benchmark.settings import ChatSettings

__all__ = ["RunAgent"]

CHUNK = 64
"""Episodes rolled out in step, whatever ``parallel`` is: the place among them names the RNG stream of an episode."""

NEVER = 1_000_000
"""Steps: environments end episodes themselves."""


class RunAgent(Lockstep):
    """Plays with the final weights of a run, with the sampling of the run's own evaluation.

    The environment is made with the run's arguments, except for those that the panel sets.

    Args:
        path: Folder of a finished run, or its ``stages/warm_start``: the policy that the loop began with.
        settings: The temperature, if it is to be another.

    Raises:
        BenchmarkError: The folder holds no finished run that can be loaded, or a setting has no meaning for one.
    """

    def __init__(self, path: str, settings: ChatSettings) -> None:
        self.name = f"run:{path}"
        if (settings.max_tokens, settings.max_history) != (None, None):
            raise BenchmarkError(f"{self.name} is played as it was trained: leave out --max-tokens and --max-history")
        transformers_logging.disable_progress_bar()
        place = Path(path)
        warm = place.parts[-2:] == ("stages", "warm_start")
        folder = RunFolder(place.parents[1] if warm else place)
        try:
            self.config = RunConfig.model_validate(folder.config())
            self.learners = Learners(self.config)
            if (weights := folder.warm_weights() if warm else folder.final_weights()) is None:
                raise BenchmarkError(f"{self.name} has no final weights: let the run come to its end")
            if (weights / "policy").is_dir():  # a checkpoint without lessons begins as published
                self.learners.policy.load_weights(weights / "policy")
            self.sees = self.learners.actor.renderer.template.images is not None
        except (OSError, ValidationError, CheckpointError, RunFolderError, RuntimeError) as error:
            raise BenchmarkError(f"{self.name} holds no run that can be played: {error}") from error
        self.environment = {"view": self.config.view, **self.config.environment_arguments}
        usual = self.config.evaluation.temperature
        self._temperature = usual if settings.temperature is None else settings.temperature
        self.settings = replace(settings, temperature=self._temperature)
        self._episodes: list[Episode] = []

    def check(self, episodes: Sequence[Episode]) -> None:
        """Check that the tasks are of the run's domain.

        Raises:
            BenchmarkError: A task is of another domain.
        """
        for episode in episodes:
            if episode.task.domain != self.config.domain:
                raise BenchmarkError(
                    f"{self.name} learned the domain {self.config.domain}; the panel has tasks of {episode.task.domain}"
                )
        self._episodes = list(episodes)

    def close(self) -> None:
        """Close the engines of the models."""
        self.learners.close()

    def play(self, world: World, episodes: Sequence[Episode], parallel: int) -> Generator[Result, None, None]:
        """Play the chunks that hold these episodes, with ``parallel`` threads for the environments."""
        wanted = {episode.key for episode in episodes}
        count = min(self.config.rollout.environments or CHUNK, len(self._episodes))
        envs = make_envs(self.config, count, **world.arguments)
        try:
            for first in range(0, len(self._episodes), CHUNK):
                chunk = self._episodes[first : first + CHUNK]
                if any(episode.key in wanted for episode in chunk):
                    results = self._in_batch(envs, chunk, parallel, world.record)
                    yield from (result for result in results if result.key in wanted)
        finally:
            for env in envs:
                env.close()

    def _in_batch(
        self, envs: Sequence[gym.Env[str, str]], chunk: Sequence[Episode], threads: int, record: str
    ) -> list[Result]:
        start = time.perf_counter()
        trajectories = rollout(
            self.learners.actor,
            envs,
            [episode.task for episode in chunk],
            max_steps=NEVER,
            seed=chunk[0].seed,
            temperature=self._temperature,
            top_p=self.config.rollout.top_p,
            stop=self.config.rollout.stop,
            constrained=self.config.rollout.constrained,
            threads=threads,
        )
        seconds = (time.perf_counter() - start) / len(chunk)
        for episode, t in zip(chunk, trajectories, strict=True) if record else ():
            told = {"role": "benchmark", "goal": episode.task.goal, **t.record()}
            told["turns"] = [step.record() for step in t.steps]
            Path(record).mkdir(parents=True, exist_ok=True)
            write_atomically(Path(record) / f"{episode.name}.json", json.dumps(told))
        return [_result(episode, t, seconds) for episode, t in zip(chunk, trajectories, strict=True)]


def _result(episode: Episode, played: Trajectory, seconds: float) -> Result:
    """Result of a trajectory; each token of a transcript that only grows is counted once, else every whole prompt."""
    written = sum(step is not None for step in played.step_of_token)
    read = len(played.prompt_ids) + len(played.completion_ids) - written
    usage = Usage(sum(len(turn.prompt_ids) for turn in played.turns) or read, written)
    group, task, number = episode.key
    error = played.error if played.outcome is None else ""
    return Result(
        group,
        task,
        number,
        None if played.outcome is None else 1 if played.outcome > 0 else -1,
        played.score,
        len(played.steps),
        usage,
        round(seconds, 4),
        error,
        **counted([step.command for step in played.steps]),
        agent_crash=played.agent_crash,
        outgrown="overlong" if played.overlong else "",
    )
