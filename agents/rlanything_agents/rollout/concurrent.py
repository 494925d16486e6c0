"""Episodes that do not wait for each other: each has a thread, and each of its turns is a call of the engine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any

import gymnasium as gym

from rlanything_agents.rollout.episode import Episode
from rlanything_agents.rollout.turns import Turns
from rlanything_envs.llm.errors import RunMustStop

__all__ = ["play_concurrently"]

PAUSE_S = 0.5
"""Maximum seconds between two calls of ``progress``."""


class _Failures:
    """Answers in a row that the engine did not generate, over all episodes."""

    def __init__(self) -> None:
        self.row, self.last = 0, ""
        self._lock = threading.Lock()

    def count(self, episode: Episode, failed: bool) -> None:
        """Count the answer of an episode, unless it ended without one."""
        with self._lock:
            if failed:
                self.row, self.last = self.row + 1, episode.error
            elif not episode.done:
                self.row = 0


def play_concurrently(
    turns: Turns,
    envs: Sequence[gym.Env[Any, Any]],
    tasks: Sequence[Any],
    tags: Sequence[str],
    max_steps: int,
    threads: int,
    progress: Callable[[int], None] | None,
) -> list[Episode]:
    """Play one episode per task, as many at once as there are environments.

    Args:
        turns: Sampler of the answers; its engine serves calls from several threads at once.
        envs: Environments; each plays the next task as soon as its episode has ended.
        tasks: Task of each episode.
        tags: Tag of each episode.
        max_steps: Maximum steps of an episode.
        threads: Environments that step at once.
        progress: Called with 1 for each episode that has ended, and with 0 from time to time, in this thread; an error
            that it raises ends the rollout.

    Returns:
        Episodes in the order of the tasks, ended.

    Raises:
        RunMustStop: The last answers of the engine all failed, and there were several.
    """
    episodes: list[Episode | None] = [None] * len(tasks)
    waiting, ended = SimpleQueue[int](), SimpleQueue[BaseException | None]()
    for number in range(len(tasks)):
        waiting.put(number)
    stepping, stop, failures = threading.Semaphore(threads), threading.Event(), _Failures()

    def play(env: gym.Env[Any, Any], number: int) -> None:
        episode = episodes[number] = Episode(
            env, tasks[number], tags[number], turns.policy.renderer, turns.stop, number
        )
        with stepping:
            episode.reset()
        for _ in range(max_steps):
            if episode.done or stop.is_set():
                return
            failures.count(episode, turns.sample([episode], [number]) > 0)
            with stepping:
                if not episode.done and not stop.is_set():
                    episode.step()

    def work(env: gym.Env[Any, Any]) -> None:
        while not stop.is_set():
            try:
                number = waiting.get_nowait()
            except Empty:
                return
            try:
                play(env, number)
            except BaseException as error:  # raised in the thread of the caller
                ended.put(error)
                return
            ended.put(None)

    # Daemons, so that an interruption need not wait for a server.
    workers = [threading.Thread(target=work, args=(env,), name="episode", daemon=True) for env in envs[: len(tasks)]]
    for worker in workers:
        worker.start()
    try:
        left = len(tasks)
        while left:
            try:
                error, count = ended.get(timeout=PAUSE_S), 1
            except Empty:
                error, count = None, 0
            if error is not None:
                raise error
            left -= count
            if progress is not None:
                progress(count)
    except BaseException as error:
        stop.set()
        if isinstance(error, Exception):  # the environments are used again only after the last call has returned
            for worker in workers:
                worker.join()
        raise
    if failures.row > 1:
        raise RunMustStop(f"the policy's generator wrote none of its last {failures.row} turns: {failures.last}")
    return [episode for episode in episodes if episode is not None]
