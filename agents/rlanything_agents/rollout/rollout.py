"""Rollouts of many episodes, in lock step or each on its own.

In lock step one call samples the answers of all live episodes in each turn, then their environments step; an episode
that has ended leaves the batch. Where environments are few and step in parallel, such as real desktops, each plays the
next task as soon as its episode has ended, and one call samples the answers of those that wait. Where the engine serves
many calls at once, episodes do not wait for each other at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import gymnasium as gym

from rlanything_agents.rollout.concurrent import play_concurrently
from rlanything_agents.rollout.episode import INFRASTRUCTURE, Episode
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.rollout.turns import Policy, Turns

__all__ = ["INFRASTRUCTURE", "Policy", "rollout"]


def rollout(
    policy: Policy,
    envs: Sequence[gym.Env[Any, Any]],
    tasks: Sequence[Any],
    *,
    max_steps: int,
    seed: int,
    temperature: float = 1.0,
    top_p: float = 1.0,
    stop: tuple[str, ...] = (),
    constrained: bool = True,
    tags: Sequence[str] | None = None,
    threads: int = 1,
    first: int = 0,
    deadline: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Trajectory]:
    """Play one episode per task.

    The result of episode i depends only on the weights, its task, ``seed`` and i, up to rounding; not on the other
    episodes, on the number of environments, or on whether the episodes run in lock step.

    Args:
        policy: Policy that plays.
        envs: Environments in the view of the policy's renderer; reused when there are more tasks.
        tasks: Tasks for ``reset(options={"task": ...})``, one per episode.
        max_steps: Maximum steps of an episode; an episode that has not ended by then has failed.
        seed: Seed of the sampling.
        temperature: Divisor of the logits, 0 for greedy play; recorded log-probabilities are those at temperature 1.
        top_p: Probability that the most probable tokens to sample from reach together; without effect on recorded
            log-probabilities.
        stop: Texts that end an answer; the action is read from the text before the first of them.
        constrained: Whether to sample only answers of the form in ``info["choices"]``, which short views offer;
            sampling is free where the environment offers no form.
        tags: Tags of the trajectories, one per task.
        threads: Environments that step at once; more than one helps where a step waits for another process.
        first: Number of the first episode, where these are a shard of a larger rollout.
        deadline: Maximum seconds of an episode; one that takes longer ends before its next turn (`Episode.expire`).
        progress: Called with the number of episodes that have just ended.

    Returns:
        Trajectories in the order of the tasks. An environment whose infrastructure fails (see `INFRASTRUCTURE`), or
        that reports ``outcome == "error"``, ends its own episode with ``outcome`` None and does not affect the others.

    Raises:
        ValueError: There are no environments, there is not one tag per task, the temperature is negative, or the
            engine hides the ids it sampled.
        RunMustStop: The engine failed on all of several answers of a turn.
    """
    if not envs:
        raise ValueError("rollout needs at least one environment")
    if tags is not None and len(tags) != len(tasks):
        raise ValueError(f"rollout needs one tag per task, got {len(tags)} for {len(tasks)}")
    if not temperature >= 0:
        raise ValueError(f"temperature must be 0 (greedy play) or more, got {temperature}")
    names = [""] * len(tasks) if tags is None else tags
    turns = Turns(policy, seed, first, temperature, top_p, stop, constrained, deadline)
    if getattr(policy.engine, "parallel_calls", False):
        episodes = play_concurrently(turns, envs, tasks, names, max_steps, threads, progress)
        return [episode.trajectory() for episode in episodes]
    trajectories: list[Trajectory] = []
    if len(envs) < len(tasks) and threads > 1:
        episodes = _play_in_turn(turns, envs, tasks, names, max_steps, threads, progress)
        return [episode.trajectory() for episode in episodes]
    for at in range(0, len(tasks), len(envs)):
        episodes = [
            Episode(env, task, tag, policy.renderer, stop, number)
            for number, (env, task, tag) in enumerate(zip(envs, tasks[at:], names[at:], strict=False), at)
        ]
        with _pool(threads) as pool:
            _play(turns, at, episodes, max_steps, pool, progress)
        trajectories += [episode.trajectory() for episode in episodes]
    return trajectories


def _play(
    turns: Turns,
    first: int,
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
        turns.sample([episodes[number] for number in live], [first + number for number in live])
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


def _play_in_turn(
    turns: Turns,
    envs: Sequence[gym.Env[Any, Any]],
    tasks: Sequence[Any],
    names: Sequence[str],
    max_steps: int,
    threads: int,
    progress: Callable[[int], None] | None,
) -> list[Episode]:
    """Play more episodes than there are environments; only the model runs in the thread of the caller."""
    renderer, waiting, free = turns.policy.renderer, iter(range(len(tasks))), list(envs)
    episodes: dict[int, Episode] = {}
    pending: dict[Future[None], int] = {}
    with ThreadPoolExecutor(threads, "environment") as pool:
        while True:
            for env, number in zip(free, waiting, strict=False):
                episode = episodes[number] = Episode(env, tasks[number], names[number], renderer, turns.stop, number)
                pending[pool.submit(episode.reset)] = number
            free = []
            if not pending:
                return [episodes[number] for number in range(len(tasks))]
            numbers = []
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                future.result()  # raises what a thread raised
                numbers.append(pending.pop(future))
            live = [k for k in sorted(numbers) if not episodes[k].done and len(episodes[k].steps) < max_steps]
            turns.sample([episodes[number] for number in live], live)
            for number in numbers:
                episode = episodes[number]
                if number in live and not episode.done:
                    pending[pool.submit(episode.step)] = number
                    continue
                free.append(episode.env)
                if progress is not None:
                    progress(1)


def _pool(threads: int) -> AbstractContextManager[ThreadPoolExecutor | None]:
    return ThreadPoolExecutor(threads, "environment") if threads > 1 else nullcontext()
