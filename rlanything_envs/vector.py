"""Copies of an environment whose steps wait for other processes: programs being judged, desktops."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import iterate

from rlanything_envs.errors import EpisodeOver


def arguments_of_copies(
    n: int, seed: int | Sequence[int | None] | None, options: Mapping[str, Any] | None
) -> tuple[list[int | None], list[dict[str, Any]], npt.NDArray[np.bool_]]:
    """The arguments of a reset of `n` copies: by copy its seed and its options, and which copies are meant.

    Args:
        n: number of copies.
        seed: one seed for each copy, or the first of consecutive ones.
        options: ``"tasks"`` (one for each copy; None draws one), ``"task"`` (the same for all), ``"reset_mask"`` (a
            boolean array); others go to each copy.

    Raises:
        ValueError: a list has the wrong length, or the mask is not a boolean array with a True in it.
    """
    shared = dict(options or {})
    mask = shared.pop("reset_mask", None)
    given, task = shared.pop("tasks", None), shared.pop("task", None)
    seeds = [None if seed is None else seed + i for i in range(n)] if seed is None or isinstance(seed, int) else [*seed]
    tasks = [task] * n if given is None else [*given]
    for name, values in (("seed", seeds), ("options['tasks']", tasks)):
        if len(values) != n:
            raise ValueError(f"{name} has {len(values)} entries for {n} copies")
    if mask is None:
        mask = np.ones(n, dtype=np.bool_)
    elif not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (n,):
        raise ValueError(f"options['reset_mask'] must be a boolean array of shape ({n},)")
    elif not mask.any():
        raise ValueError("options['reset_mask'] selects no copy")
    return seeds, [{**shared, "task": task} for task in tasks], mask


class _Slot(gym.Wrapper[Any, Any, Any, Any]):
    """A copy that `SyncVectorEnv` steps and resets as any other, while the results are there already."""

    due: Future[list[Any]]
    """The results of the next calls, in their order: of a step, of a reset, or of a step and the reset after it."""

    def step(self, action: Any) -> Any:
        """The result of the step that was begun."""
        return self.due.result().pop(0)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """The result of the reset that was begun."""
        return self.due.result().pop(0)

    def play(self, action: Any, same_step: bool) -> list[Any]:
        """Step, and with autoreset in the same step reset a copy that has ended."""
        result = self.env.step(action)
        return [result, self.env.reset()] if same_step and (result[2] or result[3]) else [result]

    def restart(self, seed: int | None = None, options: dict[str, Any] | None = None) -> list[Any]:
        """Reset."""
        return [self.env.reset(seed=seed, options=options)]


class ThreadedVectorEnv(SyncVectorEnv):
    """Copies of an environment that step at the same time, each in a thread.

    Results are those of `gymnasium.vector.SyncVectorEnv` with the same seeds and actions. An error of a copy is raised
    when all others have finished their step; the vector must then be reset.

    ``reset(options=...)`` accepts ``"tasks"`` (one for each copy; None draws one), ``"task"`` (the same for all) and
    ``"reset_mask"`` (a boolean array: reset only these).

    Args:
        env_id: id of the environment, as for `gymnasium.make`.
        num_envs: number of copies.
        threads: number of copies that step at the same time.
        autoreset_mode: an `AutoresetMode` or its value.
        **kwargs: the other arguments of `gymnasium.make`.

    Raises:
        ValueError: `num_envs` or `threads` is below 1, or the mode is unknown.
    """

    envs: list[_Slot]  # type: ignore[assignment]

    def __init__(
        self,
        env_id: str,
        num_envs: int = 1,
        *,
        threads: int,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        **kwargs: Any,
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"ThreadedVectorEnv: num_envs must be at least 1, got {num_envs}")
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="environment")
        super().__init__([lambda: _Slot(gym.make(env_id, **kwargs))] * num_envs, autoreset_mode=autoreset_mode)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes in all copies, or in those of ``options["reset_mask"]``.

        Args:
            seed: one seed for each copy, or the first of consecutive ones.
            options: see the class.

        Raises:
            ValueError: a list has the wrong length, or the mask is not a boolean array with a True in it.
        """
        seeds, chosen, mask = arguments_of_copies(self.num_envs, seed, options)
        self._begin({i: partial(self.envs[i].restart, seeds[i], chosen[i]) for i in map(int, np.flatnonzero(mask))})
        return super().reset(seed=seeds, options={"reset_mask": mask})

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Take one action in every copy.

        Raises:
            ValueError: the number of actions is not that of the copies.
            EpisodeOver: a copy was never reset, or has ended and the mode is DISABLED.
        """
        ended, mode = self._autoreset_envs, self.autoreset_mode
        if mode is AutoresetMode.DISABLED and ended.any():
            raise EpisodeOver(
                f"ThreadedVectorEnv: the episodes of copies {np.flatnonzero(ended).tolist()} are over: "
                "reset them with options={'reset_mask': ...}"
            )
        given = list(iterate(self.action_space, actions))
        if len(given) != self.num_envs:
            raise ValueError(f"ThreadedVectorEnv: {len(given)} actions for {self.num_envs} copies")
        same_step = mode is AutoresetMode.SAME_STEP
        new, copies = ended & (not same_step), enumerate(self.envs)
        self._begin({i: env.restart if new[i] else partial(env.play, given[i], same_step) for i, env in copies})
        return super().step(actions)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the copies, which may take as long as a step."""
        self._end_calls()
        list(self._threads.map(_Slot.close, self.envs))
        self._threads.shutdown()

    def _begin(self, calls: Mapping[int, Callable[[], list[Any]]]) -> None:
        self._end_calls()
        for i, call in calls.items():
            self.envs[i].due = self._threads.submit(call)
        wait([self.envs[i].due for i in calls])

    def _end_calls(self) -> None:
        """Wait for calls that an interrupt (Ctrl-C) has left running; those that have not begun are dropped."""
        wait([env.due for env in self.envs if hasattr(env, "due") and not env.due.cancel()])


def coding(num_envs: int = 1, **kwargs: Any) -> ThreadedVectorEnv:
    """A vector of ``RLAnything/Coding-v0``: as many programs are judged at the same time as there are cores."""
    return ThreadedVectorEnv("RLAnything/Coding-v0", num_envs, threads=os.cpu_count() or 1, **kwargs)


def osworld(num_envs: int = 1, **kwargs: Any) -> ThreadedVectorEnv:
    """A vector of ``RLAnything/OSWorld-v0``: all desktops act at the same time."""
    return ThreadedVectorEnv("RLAnything/OSWorld-v0", num_envs, threads=num_envs, **kwargs)
