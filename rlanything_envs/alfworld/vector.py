"""Many ALFWorld environments in one process."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from rlanything_envs.alfworld.env import AlfWorldEnv
from rlanything_envs.errors import EpisodeOver, InfrastructureError, InvalidAction
from rlanything_envs.verdict import settle

BoolArray = npt.NDArray[np.bool_]
_Batch = tuple[tuple[str, ...], npt.NDArray[np.float64], BoolArray, BoolArray, dict[str, Any]]

_INFO_TYPES: Mapping[str, type] = {
    "task_id": object,
    "command": object,
    "admissible_commands": object,
    "goal_condition_rate": float,
    "won": bool,
    "outcome": object,
}


class AlfWorldVectorEnv(VectorEnv[tuple[str, ...], Sequence[str], npt.NDArray[Any]]):
    """A batch of `AlfWorldEnv` copies stepped in a loop, thousands of them if need be.

    Observations are tuples of texts, ``infos`` Gymnasium's dictionary of arrays with ``_key`` masks. Equal
    seeds give the episodes that `gymnasium.vector.SyncVectorEnv` would give. This class keeps the time limit
    itself, so it writes ``outcome`` -1 when the time runs out. Where one engine fails, its episode ends
    truncated with ``outcome`` "error" and no reward; the others go on.

    ``reset(options=...)`` accepts ``"tasks"`` (one for each copy; None draws one), ``"task"`` (the same for
    all) and ``"reset_mask"`` (a boolean array: reset only these).

    Args:
        num_envs: number of copies.
        max_episode_steps: time limit in steps, None for no limit.
        autoreset_mode: an `AutoresetMode` or its value. With ``DISABLED``, finished copies must be reset
            through ``reset_mask`` before they are stepped again, and no action is ever ignored.
        render_mode: as for `AlfWorldEnv`.
        **kwargs: the other arguments of `AlfWorldEnv`.

    Raises:
        ValueError: `num_envs` or `max_episode_steps` is below 1, or the mode is unknown.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        max_episode_steps: int | None = 50,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        **kwargs: Any,
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"AlfWorldVectorEnv: num_envs must be at least 1, got {num_envs}")
        if max_episode_steps is not None and max_episode_steps < 1:
            raise ValueError(f"AlfWorldVectorEnv: max_episode_steps must be at least 1, got {max_episode_steps}")
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**AlfWorldEnv.metadata, "autoreset_mode": self.autoreset_mode}
        self.num_envs = num_envs
        self.max_episode_steps = max_episode_steps
        self.render_mode = render_mode
        first = AlfWorldEnv(render_mode=render_mode, **kwargs)
        # The copies share one source of tasks: an index of thousands of files is made once.
        chosen: dict[str, Any] = {name: kwargs[name] for name in ("engine", "admissible") if name in kwargs}
        shared: dict[str, Any] = {**chosen, "render_mode": render_mode, "tasks": first.source}
        self.envs = [first, *(AlfWorldEnv(**shared) for _ in range(num_envs - 1))]
        self.single_observation_space = first.observation_space
        self.single_action_space = first.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._observations = [""] * num_envs
        self._elapsed = np.zeros(num_envs, dtype=np.int64)
        self._ended = np.zeros(num_envs, dtype=np.bool_)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Begin new episodes in all copies, or in those of ``options["reset_mask"]``.

        Args:
            seed: one seed for each copy, or the first of consecutive ones.
            options: see the class.

        Raises:
            ValueError: a list has the wrong length, or the mask is not a boolean array with a True in it.
            UnknownTask, TaskFormatError, GameFormatError, InfrastructureError: as for `AlfWorldEnv.reset`.
        """
        options = dict(options or {})
        mask = self._mask(options.pop("reset_mask", None))
        if isinstance(seed, int):
            super().reset(seed=seed)
        seeds = (
            [None if seed is None else seed + i for i in range(self.num_envs)]
            if (seed is None or isinstance(seed, int))
            else list(seed)
        )
        tasks = options.pop("tasks", None)
        tasks = [options.pop("task", None)] * self.num_envs if tasks is None else list(tasks)
        for name, values in (("seed", seeds), ("options['tasks']", tasks)):
            if len(values) != self.num_envs:
                raise ValueError(f"AlfWorldVectorEnv: {name} has {len(values)} entries for {self.num_envs} copies")
        infos: list[dict[str, Any] | None] = [None] * self.num_envs
        for i in np.flatnonzero(mask):
            self._observations[i], infos[i] = self.envs[i].reset(seed=seeds[i], options={**options, "task": tasks[i]})
        self._elapsed[mask] = 0
        self._ended[mask] = False
        return tuple(self._observations), _batch(infos)

    def step(self, actions: Sequence[str]) -> _Batch:
        """Play one command in every copy.

        Raises:
            ValueError: the number of actions is not that of the copies.
            EpisodeOver: a copy was never reset, or has ended and the mode is DISABLED.
            InvalidAction: an action is not a string.
        """
        if len(actions) != self.num_envs:
            raise ValueError(f"AlfWorldVectorEnv: {len(actions)} actions for {self.num_envs} copies")
        if not all(isinstance(action, str) for action in actions):  # before any copy has moved
            raise InvalidAction("AlfWorldVectorEnv: an action is a text: pass a str for each copy")
        ended = self._ended
        if self.autoreset_mode is AutoresetMode.DISABLED and ended.any():
            raise EpisodeOver(
                f"AlfWorldVectorEnv: the episodes of copies {np.flatnonzero(ended).tolist()} are over: "
                "reset them with options={'reset_mask': ...}"
            )
        rewards = np.zeros(self.num_envs)
        terminated, truncated = np.zeros((2, self.num_envs), dtype=np.bool_)
        infos: list[dict[str, Any] | None] = [None] * self.num_envs
        final: dict[str, Any] = {}
        same_step = self.autoreset_mode is AutoresetMode.SAME_STEP
        for i, env in enumerate(self.envs):
            if ended[i] and not same_step:
                self._observations[i], infos[i] = env.reset()
                self._elapsed[i] = 0
                continue
            observation, reward, won, cut, info = self._step_one(i, actions[i])
            rewards[i], terminated[i], truncated[i] = reward, won, cut
            if (won or cut) and same_step:
                self._add_info(final, {"final_obs": observation, "final_info": info}, i)
                observation, info = env.reset()
                self._elapsed[i] = 0
            self._observations[i], infos[i] = observation, info
        self._ended = np.zeros_like(ended) if same_step else terminated | truncated
        return tuple(self._observations), rewards, terminated, truncated, {**final, **_batch(infos)}

    def render(self) -> tuple[Any, ...] | None:
        """The frames of all copies."""
        return None if self.render_mode is None else tuple(env.render() for env in self.envs)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the copies."""
        for env in self.envs:
            env.close()

    def _step_one(self, i: int, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        env = self.envs[i]
        try:
            observation, reward, won, cut, info = env.step(action)
        except InfrastructureError:
            nothing = {"admissible_commands": [], "goal_condition_rate": 0.0, "won": False}
            return "", 0.0, False, True, {"task_id": env.task_id, "command": None, **nothing, "outcome": "error"}
        self._elapsed[i] += 1
        cut = self.max_episode_steps is not None and bool(self._elapsed[i] >= self.max_episode_steps)
        settle(info, truncated=cut)
        return observation, reward, won, cut, info

    def _mask(self, mask: object) -> BoolArray:
        if mask is None:
            return np.ones(self.num_envs, dtype=np.bool_)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise ValueError(f"AlfWorldVectorEnv: reset_mask must be a boolean array of shape ({self.num_envs},)")
        if not mask.any():
            raise ValueError("AlfWorldVectorEnv: reset_mask selects no copy")
        return mask


def _batch(infos: Sequence[Mapping[str, Any] | None]) -> dict[str, Any]:
    """Gymnasium's dictionary of arrays with masks, by column: its own way costs more than a step."""
    present = np.array([info is not None for info in infos])
    batch: dict[str, Any] = {}
    for key, kind in _INFO_TYPES.items():
        empty = None if kind is object else kind()
        column: Iterable[Any] = (empty if info is None else info[key] for info in infos)
        batch[key] = np.fromiter(column, dtype=kind, count=len(infos))
        batch[f"_{key}"] = present.copy()
    return batch
