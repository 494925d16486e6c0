"""Episodes side by side: in this thread, in threads, in processes, or in step; what they come to is the same."""

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

from rlanything_agents.tools.benchmark.agent import Lockstep, Player, Said, Solo
from rlanything_agents.tools.benchmark.episode import Episode, Result, World, play_episode
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_envs.conversation import Conversation, Turn
from rlanything_envs.errors import InfrastructureError

__all__ = ["play_side_by_side"]

ORPHANED = 75
"""Exit code of a process whose benchmark has gone."""


def play_side_by_side(
    agent: Solo | Lockstep, world: World, episodes: Sequence[Episode], lanes: int
) -> Generator[Result, None, None]:
    """Results as they come, in any order. Closing the iterator ends what is under way.

    Raises:
        BenchmarkError: A process died, or the agent is broken.
    """
    if hasattr(agent, "play"):
        return agent.play(world, episodes, lanes)
    lanes = min(lanes, len(episodes))
    if lanes <= 1:
        return _here(agent, world, episodes)
    return (_in_processes if agent.beside == "processes" else _in_threads)(agent, world, episodes, lanes)


class _Seat:
    """A conversation that is used again and again, and opened anew after a failure."""

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


def _here(agent: Solo, world: World, episodes: Sequence[Episode]) -> Generator[Result, None, None]:
    with contextlib.closing(_Seat(world)) as seat:
        for episode in episodes:
            yield seat.play(agent.player(episode), episode)


def _in_threads(agent: Solo, world: World, episodes: Sequence[Episode], lanes: int) -> Generator[Result, None, None]:
    seats: queue.SimpleQueue[_Seat] = queue.SimpleQueue()
    for _ in range(lanes):
        seats.put(_Seat(world))
    stop = threading.Event()

    def play(episode: Episode) -> Result:
        seat = seats.get()
        try:
            return seat.play(_Stoppable(agent.player(episode), stop), episode)
        finally:
            seats.put(seat)

    pool = ThreadPoolExecutor(lanes, "episode")
    try:
        for future in as_completed([pool.submit(play, episode) for episode in episodes]):
            yield future.result()
    finally:
        stop.set()
        agent.close()  # answers that are waited for do not come any more
        pool.shutdown(cancel_futures=True)
        while not seats.empty():
            seats.get().close()


class _Stoppable:
    """A player that says nothing more once its benchmark has stopped."""

    def __init__(self, player: Player, stop: threading.Event) -> None:
        self._player, self._stop = player, stop

    @property
    def counts(self) -> bool:
        return self._player.counts

    def act(self, turn: Turn) -> Said:
        if self._stop.is_set():
            raise InfrastructureError("the benchmark was stopped")
        return self._player.act(turn)


def _in_processes(agent: Solo, world: World, episodes: Sequence[Episode], lanes: int) -> Generator[Result, None, None]:
    # Not forked: threads of a library that is loaded here would be lost in the children, and their locks kept.
    pool = ProcessPoolExecutor(lanes, multiprocessing.get_context("spawn"), _sit_down, (agent, world))
    try:
        for future in as_completed([pool.submit(_play, episode) for episode in episodes]):
            yield future.result()
    except BrokenProcessPool as error:
        raise BenchmarkError(
            "a process that played has died (was it killed for memory?): the same command goes on, and fewer --workers "
            "need less memory"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


_table: tuple[Solo, _Seat] | None = None
"""In a process that plays: who plays, and where."""


def _sit_down(agent: Solo, world: World) -> None:
    global _table
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the benchmark, which lets episodes end
    threading.Thread(target=_end_with_the_benchmark, daemon=True).start()
    _table = agent, _Seat(world)


def _end_with_the_benchmark() -> None:
    """A process whose parent was killed would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(ORPHANED)


def _play(episode: Episode) -> Result:
    if _table is None:
        raise RuntimeError("this process was not started to play")
    agent, seat = _table
    return seat.play(agent.player(episode), episode)
