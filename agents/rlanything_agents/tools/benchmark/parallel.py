"""Runs episodes in this thread, in several threads, in processes, or in step; their results are the same."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from rlanything_agents.tools.benchmark.agent import Lockstep, Solo
from rlanything_agents.tools.benchmark.episode import Episode, Result, World, play_episode
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_agents.tools.benchmark.player import Player, Response
from rlanything_envs.conversation import Conversation, Turn
from rlanything_envs.errors import InfrastructureError

__all__ = ["play_in_parallel"]

ORPHANED = 75
"""Exit code of a worker process whose parent has ended."""


def play_in_parallel(
    agent: Solo | Lockstep, world: World, episodes: Sequence[Episode], parallel: int
) -> Generator[Result, None, None]:
    """Play episodes in parallel; yields results as episodes end, in any order. Closing the generator ends the rest.

    Args:
        agent: The agent.
        world: The environment.
        episodes: The episodes to play.
        parallel: Maximum episodes at once.

    Raises:
        BenchmarkError: A worker process died, or the agent is broken.
    """
    if isinstance(agent, Lockstep):
        return agent.play(world, episodes, parallel)
    parallel = min(parallel, len(episodes))
    if parallel <= 1:
        return _in_this_thread(agent, world, episodes)
    return (_in_processes if agent.executor == "processes" else _in_threads)(agent, world, episodes, parallel)


class _Slot:
    """A conversation that is reused for one episode after the other, and reopened after a failure."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._conversation: Conversation | None = None

    def play(self, player: Player, episode: Episode) -> Result:
        if self._conversation is None:
            self._conversation = self._world.open()
        result = play_episode(self._conversation, player, episode)
        if result.outcome is None:
            self.close()
        return result

    def close(self) -> None:
        conversation, self._conversation = self._conversation, None
        if conversation is not None:
            conversation.close()


def _in_this_thread(agent: Solo, world: World, episodes: Sequence[Episode]) -> Generator[Result, None, None]:
    with contextlib.closing(_Slot(world)) as slot:
        for episode in episodes:
            yield slot.play(agent.player(episode), episode)


def _in_threads(agent: Solo, world: World, episodes: Sequence[Episode], parallel: int) -> Generator[Result, None, None]:
    slots: queue.SimpleQueue[_Slot] = queue.SimpleQueue()
    for _ in range(parallel):
        slots.put(_Slot(world))
    stop = threading.Event()

    def play(episode: Episode) -> Result:
        slot = slots.get()
        try:
            return slot.play(_Stoppable(agent.player(episode), stop), episode)
        finally:
            slots.put(slot)

    pool = ThreadPoolExecutor(parallel, "episode")
    try:
        for future in as_completed([pool.submit(play, episode) for episode in episodes]):
            yield future.result()
    finally:
        stop.set()
        agent.close()  # cancels pending answers
        pool.shutdown(cancel_futures=True)
        while not slots.empty():
            slots.get().close()


class _Stoppable:
    """A player that gives no answers after the benchmark has stopped."""

    def __init__(self, player: Player, stop: threading.Event) -> None:
        self._player, self._stop = player, stop

    @property
    def counts(self) -> bool:
        return self._player.counts

    def act(self, turn: Turn) -> Response:
        if self._stop.is_set():
            raise InfrastructureError("the benchmark was stopped")
        return self._player.act(turn)


def _in_processes(
    agent: Solo, world: World, episodes: Sequence[Episode], parallel: int
) -> Generator[Result, None, None]:
    # Not forked: children would lose the threads of loaded libraries, and keep their locks.
    pool = ProcessPoolExecutor(parallel, multiprocessing.get_context("spawn"), _start_process, (agent, world))
    try:
        for future in as_completed([pool.submit(_play, episode) for episode in episodes]):
            yield future.result()
    except BrokenProcessPool as error:
        raise BenchmarkError(
            "a process that played has died (was it killed for memory?): the same command resumes, and fewer --workers "
            "need less memory"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


_served: tuple[Solo, _Slot] | None = None
"""Agent and slot of a worker process."""


def _start_process(agent: Solo, world: World) -> None:
    global _served
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the benchmark, which lets episodes end
    threading.Thread(target=_end_with_the_benchmark, daemon=True).start()
    _served = agent, _Slot(world)


def _end_with_the_benchmark() -> None:
    """End this worker process with its parent, without which it would wait for work forever."""
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(ORPHANED)


def _play(episode: Episode) -> Result:
    if _served is None:
        raise RuntimeError("this process was not started to play")
    agent, slot = _served
    return slot.play(agent.player(episode), episode)
