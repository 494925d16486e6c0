"""Many episodes at once: all live ones share every forward pass.

The episodes move in lock step. In each turn all live lanes are written a thought and a command (who writes them is a
`Writer`), then their environments step, and the new messages are read together. A lane that has finished its command
waits for the others; a lane that has finished its episode is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import gymnasium as gym
import numpy as np

from rlanything_agents.rollout.dialect import Dialect
from rlanything_agents.rollout.lane import INFRASTRUCTURE, Lane
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.rollout.writers import Player, Writer, open_writer

__all__ = ["INFRASTRUCTURE", "rollout"]


def rollout(
    player: Player,
    dialect: Dialect,
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

    Only text, and what `Dialect.constraint` reads of ``info``, reach the agent. What lane i plays depends on the
    weights, its task, ``seed`` and i alone, up to rounding; not on the other lanes or on the number of environments.

    Args:
        player: The policy: a causal language model over the vocabulary of a small model's dialect, or a source of text
            for one of chats.
        dialect: Translates between text and tokens.
        envs: Environments to play in, reused when there are more tasks than environments.
        tasks: What ``reset(options={"task": ...})`` takes, one per episode.
        max_steps: An episode that has not ended by then is lost.
        seed: Seed of the sampling.
        temperature: Divides the logits before sampling; the recorded log-probabilities are those at
            temperature 1.
        constrained: Sample only what `Dialect.constraint` allows. Otherwise, and with a source of text always, the
            policy writes freely, and whatever it wrote goes to the environment.
        tags: One per task, handed through to its trajectory.
        threads: How many environments step at once; more than one pays where a step waits for another process.
        first: Number of the first episode, where these are a part of a larger rollout.
        progress: Called with the number of episodes that have just ended.

    Returns:
        Trajectories in the order of the tasks. An environment whose infrastructure fails (see
        `INFRASTRUCTURE`), or that reports ``outcome == "error"``, ends its own lane with ``outcome`` None and
        leaves the others alone.

    Raises:
        ValueError: No environments, or not one tag per task, or a temperature that is not positive, or a source of text
            that hides the ids it sampled.
        ServiceLost: The source of text wrote none of several turns.
    """
    if not envs:
        raise ValueError("rollout needs at least one environment")
    if tags is not None and len(tags) != len(tasks):
        raise ValueError(f"rollout needs one tag per task, got {len(tags)} for {len(tasks)}")
    if not temperature > 0:
        raise ValueError(f"temperature must be positive, got {temperature}; use a small value for greedy play")
    trajectories: list[Trajectory] = []
    for at in range(0, len(tasks), len(envs)):
        lanes = [
            Lane(env, task, "" if tags is None else tags[at + i], dialect)
            for i, (env, task) in enumerate(zip(envs, tasks[at : at + len(envs)], strict=False))
        ]
        writer = open_writer(
            player,
            dialect,
            len(lanes),
            seed=seed,
            first=first + at,
            temperature=temperature,
            constrained=constrained,
        )
        with writer as opened, _pool(threads) as pool:
            _play(opened, lanes, max_steps, pool, progress)
        trajectories += [lane.trajectory() for lane in lanes]
    return trajectories


def _pool(threads: int) -> AbstractContextManager[ThreadPoolExecutor | None]:
    return ThreadPoolExecutor(threads, "environment") if threads > 1 else nullcontext()


def _play(
    writer: Writer,
    lanes: list[Lane],
    max_steps: int,
    pool: ThreadPoolExecutor | None,
    progress: Callable[[int], None] | None,
) -> None:
    for lane in lanes:
        lane.reset()
    live = np.array([i for i, lane in enumerate(lanes) if not lane.done], dtype=np.int64)
    writer.keep(live)  # from here on live[row] is the number of a lane of the writer
    for _ in range(max_steps):
        playing = [lanes[i] for i in live]
        writer.write(playing, live)
        written = [lane for lane in playing if not lane.done]
        if pool is None:
            for lane in written:
                lane.step()
        else:
            list(pool.map(Lane.step, written))  # the list waits, and raises what a thread raised
        going = np.array([not lane.done for lane in playing], dtype=bool)
        if progress is not None and not going.all():
            progress(int((~going).sum()))
        if not going.all():
            writer.keep(np.flatnonzero(going))
            live = live[going]
        if not len(live):
            return
    if progress is not None:
        progress(len(live))
