"""Many ALFWorld environments in one process."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from rlanything_envs.alfworld.commands import answer_form, with_listing
from rlanything_envs.alfworld.env import AlfWorldEnv, GameWorld, play
from rlanything_envs.errors import EpisodeOver, InvalidAction
from rlanything_envs.vector import arguments_of_copies
from rlanything_envs.verdict import Verdict

BoolArray = npt.NDArray[np.bool_]
_Batch = tuple[tuple[str, ...], npt.NDArray[np.float64], BoolArray, BoolArray, dict[str, Any]]

_Row = tuple[Any, ...]
"""The information of one copy: the values of `_COLUMNS`."""

_COLUMNS: Mapping[str, type] = {
    "task_id": object,
    "command": object,
    "admissible_commands": object,
    "goal_condition_rate": float,
    "won": bool,
    "outcome": object,
    "choices": object,
}
_ABSENT: _Row = (None, None, None, 0.0, False, None, None)


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
        self._observations, self._task_ids = [""] * num_envs, [""] * num_envs
        self._worlds: list[GameWorld | None] = [None] * num_envs
        self._elapsed = np.zeros(num_envs, dtype=np.int64)
        self._ended = np.zeros(num_envs, dtype=np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Begin new episodes in all copies, or in those of ``options["reset_mask"]``.

        Args:
            seed: one seed for each copy, or the first of consecutive ones.
            options: see the class.

        Raises:
            ValueError: a list has the wrong length, or the mask is not a boolean array with a True in it.
            UnknownTask, TaskFormatError, GameFormatError, InfrastructureError: as for `AlfWorldEnv.reset`.
        """
        seeds, chosen, mask = arguments_of_copies(self.num_envs, seed, options)
        if isinstance(seed, int):
            super().reset(seed=seed)
        rows = [_ABSENT] * self.num_envs
        for i in map(int, np.flatnonzero(mask)):
            rows[i] = self._begin(i, seeds[i], chosen[i])
        self._elapsed[mask] = 0
        self._ended[mask] = False
        return tuple(self._observations), _batch(rows, mask)

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
        same_step = self.autoreset_mode is AutoresetMode.SAME_STEP
        reset, self._elapsed = ended & (not same_step), self._elapsed + 1
        late = np.zeros_like(ended) if self.max_episode_steps is None else self._elapsed >= self.max_episode_steps
        over = {True: Verdict.FAILURE, False: None}
        listed = self.envs[0].admissible == "list"
        terminated, truncated = np.zeros_like(ended), late & ~reset
        rows, observations = [_ABSENT] * self.num_envs, self._observations
        final: dict[str, Any] = {}
        # Of a thousand games each lies cold in memory, so a step touches the game and nothing else of a copy.
        worlds, ids = self._worlds, self._task_ids
        for i, (world, action, again, cut) in enumerate(
            zip(worlds, actions, reset.tolist(), truncated.tolist(), strict=True)
        ):
            if again:
                rows[i] = self._begin(i)
                continue
            if world is None:
                raise EpisodeOver(f"AlfWorldVectorEnv: copy {i} has no running episode: call reset() first")
            try:
                answer, command, commands, rate, won = play(world, action)
            except Exception:  # the engine's: this episode is void
                won, cut, truncated[i] = False, True, True
                observations[i], rows[i], worlds[i] = "", (ids[i], None, [], 0.0, False, "error", None), None
            else:
                form = answer_form(commands) if listed and not won else None
                rows[i] = (ids[i], command, commands, rate, won, Verdict.SUCCESS if won else over[cut], form)
                observations[i] = with_listing(answer, commands) if listed else answer
                if self.render_mode is not None:
                    self.envs[i].last = (action, answer)
            if won:
                terminated[i], worlds[i] = True, None
            if same_step and (won or cut):
                info = {
                    name: value for name, value in zip(_COLUMNS, rows[i], strict=True) if name != "choices" or value
                }
                self._add_info(final, {"final_obs": observations[i], "final_info": info}, i)
                rows[i] = self._begin(i)
        self._elapsed[reset] = 0
        self._ended = terminated | truncated
        if same_step:
            self._elapsed[self._ended] = 0
            self._ended = np.zeros_like(ended)
        infos = _batch(rows, np.ones_like(ended))
        return tuple(observations), terminated.astype(float), terminated, truncated, {**final, **infos}

    def render(self) -> tuple[Any, ...] | None:
        """The frames of all copies."""
        return None if self.render_mode is None else tuple(env.render() for env in self.envs)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the copies."""
        for env in self.envs:
            env.close()

    def _begin(self, i: int, seed: int | None = None, options: dict[str, Any] | None = None) -> _Row:
        self._worlds[i] = None
        self._observations[i], info = self.envs[i].reset(seed=seed, options=options)
        self._worlds[i], self._task_ids[i] = self.envs[i].world, info["task_id"]
        return tuple(info.get(name) for name in _COLUMNS)


def _batch(rows: Sequence[_Row], present: BoolArray) -> dict[str, Any]:
    """Gymnasium's dictionary of arrays with masks, by column: its own way costs more than a step."""
    batch: dict[str, Any] = {}
    for (name, kind), column in zip(_COLUMNS.items(), zip(*rows, strict=True), strict=True):
        offered = (
            np.fromiter((form is not None for form in column), np.bool_, len(column))
            if name == "choices"
            else present.copy()
        )
        if offered.any():
            batch[name], batch[f"_{name}"] = np.fromiter(column, kind, len(column)), offered
    return batch
