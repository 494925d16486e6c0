"""Many episodes at once: all of a turn's answers are sampled in one call.

The episodes move in lock step. In each turn the policy answers all live episodes, then their environments step. An
episode that has ended is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from rlanything_agents.config.seeds import seed_of
from rlanything_agents.rollout.episode import INFRASTRUCTURE, Episode
from rlanything_agents.rollout.renderer import Renderer
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_envs.errors import InfrastructureError
from rlanything_envs.llm.errors import ServiceLost
from rlanything_envs.llm.generator import Completion, SamplingParams, TextGenerator

__all__ = ["INFRASTRUCTURE", "Policy", "rollout"]


@dataclass(frozen=True, slots=True)
class Policy:
    """A model that plays.

    Attributes:
        engine: Samples its answers; it must return the ids it sampled.
        renderer: Makes prompts of messages, and actions of answers.
    """

    engine: TextGenerator
    renderer: Renderer


def rollout(
    policy: Policy,
    envs: Sequence[gym.Env[Any, Any]],
    tasks: Sequence[Any],
    *,
    max_steps: int,
    seed: int,
    temperature: float = 1.0,
    constrained: bool = True,
    tags: Sequence[str] | None = None,
    threads: int = 1,
    first: int = 0,
    progress: Callable[[int], None] | None = None,
) -> list[Trajectory]:
    """Play one episode per task.

    What episode i comes to depends on the weights, its task, ``seed`` and i alone, up to rounding; not on the other
    episodes or on the number of environments.

    Args:
        policy: Who plays.
        envs: Environments to play in, in the view of the policy's renderer; reused when there are more tasks.
        tasks: What ``reset(options={"task": ...})`` takes, one per episode.
        max_steps: An episode that has not ended by then has failed.
        seed: Seed of the sampling.
        temperature: Divides the logits before sampling; the recorded log-probabilities are those at temperature 1.
        constrained: Sample only answers of the form that the environment offers in ``info["choices"]``, as short views
            do; where it offers none, and otherwise, the policy writes freely.
        tags: One per task, handed through to its trajectory.
        threads: How many environments step at once; more than one pays where a step waits for another process.
        first: Number of the first episode, where these are a part of a larger rollout.
        progress: Called with the number of episodes that have just ended.

    Returns:
        Trajectories in the order of the tasks. An environment whose infrastructure fails (see `INFRASTRUCTURE`), or
        that reports ``outcome == "error"``, ends its own episode with ``outcome`` None and leaves the others alone.

    Raises:
        ValueError: No environments, or not one tag per task, or a temperature that is not positive, or an engine that
            hides the ids it sampled.
        ServiceLost: The engine wrote none of several answers.
    """
    if not envs:
        raise ValueError("rollout needs at least one environment")
    if tags is not None and len(tags) != len(tasks):
        raise ValueError(f"rollout needs one tag per task, got {len(tags)} for {len(tasks)}")
    if not temperature > 0:
        raise ValueError(f"temperature must be positive, got {temperature}; use a small value for greedy play")
    trajectories: list[Trajectory] = []
    for at in range(0, len(tasks), len(envs)):
        episodes = [
            Episode(env, task, "" if tags is None else tags[at + i], policy.renderer)
            for i, (env, task) in enumerate(zip(envs, tasks[at : at + len(envs)], strict=False))
        ]
        turns = _Turns(policy, seed, first + at, temperature, constrained)
        with _pool(threads) as pool:
            _play(turns, episodes, max_steps, pool, progress)
        trajectories += [episode.trajectory() for episode in episodes]
    return trajectories


@dataclass(frozen=True, slots=True)
class _Turns:
    """How the answers of a turn are sampled.

    Attributes:
        policy: Who answers.
        seed: Of the sampling.
        first: Number of the first of the episodes among all of a rollout.
        temperature: Of the sampling.
        constrained: Whether answers have the form that the environment offers.
    """

    policy: Policy
    seed: int
    first: int
    temperature: float
    constrained: bool

    def sample(self, episodes: Sequence[Episode], numbers: Sequence[int]) -> None:
        """Answers for these episodes. One whose next turn would outgrow the context is cut off, one whose answer was
        not written has failed.

        Raises:
            ServiceLost: Not a single one of several answers was written.
            ValueError: The engine hides the ids it sampled.
        """
        renderer = self.policy.renderer
        asked: list[tuple[Episode, list[int], int]] = []
        for episode, number in zip(episodes, numbers, strict=True):
            prompt = episode.prompt()
            if len(prompt) + renderer.limit > renderer.context:
                episode.cut(len(prompt))
            else:
                asked.append((episode, prompt, self.first + number))
        if not asked:
            return
        params = SamplingParams(
            renderer.limit,
            temperature=self.temperature,
            seeds=tuple(seed_of(self.seed, number, len(episode.steps)) for episode, _, number in asked),
            choices=tuple(episode.info.get("choices") for episode, *_ in asked) if self.constrained else (),
            keys=tuple(number for *_, number in asked),
        )
        answers = self.policy.engine.generate([prompt for _, prompt, _ in asked], params)
        failed = 0
        for (episode, prompt, _), (answer,) in zip(asked, answers, strict=True):
            if error := _error(answer):
                episode.fail(InfrastructureError(f"the policy's turn was not written: {error}"))
                failed += 1
            elif answer.token_ids is None or answer.logprobs is None:
                raise ValueError("the policy's generator must return token ids and log-probabilities")
            else:
                episode.take(answer, prompt)
        if failed == len(asked) > 1:
            raise ServiceLost(f"the policy's generator wrote none of {failed} turns: {_error(answers[-1][0])}")


def _play(
    turns: _Turns,
    episodes: list[Episode],
    max_steps: int,
    pool: ThreadPoolExecutor | None,
    progress: Callable[[int], None] | None,
) -> None:
    for episode in episodes:
        episode.reset()
    live = [number for number, episode in enumerate(episodes) if not episode.done]
    for _ in range(max_steps):
        if not live:
            return
        turns.sample([episodes[number] for number in live], live)
        answered = [episodes[number] for number in live if not episodes[number].done]
        if pool is None:
            for episode in answered:
                episode.step()
        else:
            list(pool.map(Episode.step, answered))  # the list waits, and raises what a thread raised
        ended = sum(episodes[number].done for number in live)
        live = [number for number in live if not episodes[number].done]
        if progress is not None and ended:
            progress(ended)
    if progress is not None and live:
        progress(len(live))


def _pool(threads: int) -> AbstractContextManager[ThreadPoolExecutor | None]:
    return ThreadPoolExecutor(threads, "environment") if threads > 1 else nullcontext()


def _error(answer: Completion) -> str:
    if answer.finish_reason == "error":
        return answer.error or "the generator does not say why"
    return "" if answer.token_ids or answer.token_ids is None else "no tokens"
