"""Rollouts of many episodes in lock step: in each turn one call samples the answers of all live episodes, then their
environments step. An episode that has ended leaves the batch.
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
from rlanything_agents.rollout.garbage import quick_collection
from rlanything_agents.rollout.renderer import Renderer
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_envs.errors import InfrastructureError
from rlanything_envs.llm.choices import Form, fitted
from rlanything_envs.llm.errors import ServiceLost
from rlanything_envs.llm.generator import Completion, SamplingParams, TextGenerator

__all__ = ["INFRASTRUCTURE", "Policy", "rollout"]


@dataclass(frozen=True, slots=True)
class Policy:
    """Generator that samples the policy's turns, and renderer of its episodes.

    Attributes:
        engine: Generator of the answers; it must return sampled ids and log-probabilities.
        renderer: Renders messages to prompts, and parses answers to actions.
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

    The result of episode i depends only on the weights, its task, ``seed`` and i, up to rounding; not on the other
    episodes or on the number of environments.

    Args:
        policy: Policy that plays.
        envs: Environments in the view of the policy's renderer; reused when there are more tasks.
        tasks: Tasks for ``reset(options={"task": ...})``, one per episode.
        max_steps: Most steps of an episode; an episode that has not ended by then has failed.
        seed: Seed of the sampling.
        temperature: Divisor of the logits before sampling; recorded log-probabilities are those at temperature 1.
        constrained: Whether to sample only answers of the form in ``info["choices"]``, which short views offer;
            sampling is free where the environment offers no form.
        tags: Tags of the trajectories, one per task.
        threads: Environments that step at once; more than one helps where a step waits for another process.
        first: Number of the first episode, where these are a shard of a larger rollout.
        progress: Called with the number of episodes that have just ended.

    Returns:
        Trajectories in the order of the tasks. An environment whose infrastructure fails (see `INFRASTRUCTURE`), or
        that reports ``outcome == "error"``, ends its own episode with ``outcome`` None and does not affect the others.

    Raises:
        ValueError: There are no environments, there is not one tag per task, the temperature is not positive, or the
            engine hides the ids it sampled.
        ServiceLost: The engine failed on all of several answers of a turn.
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
        with quick_collection(), _pool(threads) as pool:
            _play(turns, episodes, max_steps, pool, progress)
        trajectories += [episode.trajectory() for episode in episodes]
    return trajectories


@dataclass(frozen=True, slots=True)
class _Turns:
    """Sampler of the answers of a turn.

    Attributes:
        policy: Policy that answers.
        seed: Seed of the sampling.
        first: Number of the first of the episodes in the whole rollout.
        temperature: Temperature of the sampling.
        constrained: Whether answers must have the form that the environment offers.
    """

    policy: Policy
    seed: int
    first: int
    temperature: float
    constrained: bool

    def sample(self, episodes: Sequence[Episode], numbers: Sequence[int]) -> None:
        """Sample the answers of these episodes.

        An episode whose next turn would exceed the context is cut off and has failed. An episode whose answer the
        engine could not generate ends with an infrastructure failure.

        Args:
            episodes: Live episodes.
            numbers: Their numbers within this call of `rollout`.

        Raises:
            ServiceLost: The engine failed on all of several answers.
            ValueError: The engine hides the ids it sampled.
        """
        renderer = self.policy.renderer
        live: list[tuple[Episode, list[int], int]] = []
        for episode, number in zip(episodes, numbers, strict=True):
            prompt = episode.prompt()
            if len(prompt) + renderer.limit > renderer.context:
                episode.cut(len(prompt))
            else:
                live.append((episode, prompt, self.first + number))
        if not live:
            return
        params = SamplingParams(
            renderer.limit,
            temperature=self.temperature,
            seeds=tuple(seed_of(self.seed, number, len(episode.steps)) for episode, _, number in live),
            choices=tuple(self._form(episode) for episode, *_ in live) if self.constrained else (),
            keys=tuple(number for *_, number in live),
        )
        answers = self.policy.engine.generate([prompt for _, prompt, _ in live], params)
        failed = 0
        for (episode, prompt, _), (answer,) in zip(live, answers, strict=True):
            if error := _error(answer):
                episode.fail(InfrastructureError(f"the policy's turn was not written: {error}"))
                failed += 1
            elif answer.token_ids is None or answer.logprobs is None:
                raise ValueError("the policy's generator must return token ids and log-probabilities")
            else:
                episode.take(answer, prompt)
        if failed == len(live) > 1:
            raise ServiceLost(f"the policy's generator wrote none of {failed} turns: {_error(answers[-1][0])}")

    def _form(self, episode: Episode) -> Form | None:
        """Form of the next answer, if the environment offers one, with room for all of it within the limit."""
        form = episode.info.get("choices")
        return None if form is None else fitted(form, self.policy.renderer.limit)


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
        return answer.error or "the generator gives no reason"
    return "" if answer.token_ids or answer.token_ids is None else "no tokens"
