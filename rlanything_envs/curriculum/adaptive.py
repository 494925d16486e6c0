"""The curriculum as a Gymnasium wrapper."""

import os
from typing import Any, SupportsFloat

import gymnasium as gym
from gymnasium.utils import seeding

from rlanything_envs.curriculum.acceptance import Acceptance
from rlanything_envs.curriculum.curriculum import Assignment, Curriculum
from rlanything_envs.curriculum.rewriter import Rewriter
from rlanything_envs.errors import InfrastructureError
from rlanything_envs.verdict import Verdict, settle
from rlanything_task_pools import Outcome, TaskPool, get_domain

_IN_MEMORY = ":memory:"


class AdaptiveDifficulty(
    gym.Wrapper[Any, Any, Any, Any],
    gym.utils.RecordConstructorArgs,
):
    """Plays the tasks of a pool and adapts them to the agent that plays.

    Each `reset` continues a group of `rollouts` finished episodes of one task, or begins the next group. When
    a group is complete its success rate is looked at: outside the band the rewriter makes a harder or an
    easier candidate, and a candidate that was tried takes its slot or is dropped. All of that happens in
    `reset`, between episodes; `step` only passes through. An unfinished episode counts for nothing.
    ``reset(options={"task": ...})`` plays that task outside the curriculum.

    ``info["curriculum"]`` holds the `slot` and the `role` ("active" or "candidate"); ``info["outcome"]`` is
    settled to -1 when the time runs out.

    Args:
        env: an environment whose ``options["task"]`` takes a task, with its time limit.
        pool: a `TaskPool`, the path of one, or None for `pool_size` generated tasks in memory. The
            environment's spec can be rebuilt elsewhere only with a path or None.
        rewriter: name or object, see `Curriculum`.
        acceptance: name or object, see `Curriculum`.
        band: success rates outside this open interval call for a rewrite.
        rollouts: episodes in a group.
        pool_size: number of generated tasks when there is no pool.
        seed: seeds the generated tasks and the rewriter's choices.
        actor: who plays, kept with each outcome.

    Raises:
        ValueError: the environment names no domain of tasks, or as `Curriculum`.
        PoolMissing, PoolVersionError: the path is not that of a pool.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        pool: TaskPool | str | os.PathLike[str] | None = None,
        rewriter: str | Rewriter = "scripted",
        acceptance: str | Acceptance = "paper",
        band: tuple[float, float] = (0.2, 0.8),
        rollouts: int = 8,
        pool_size: int = 16,
        seed: int = 0,
        actor: str = "agent",
    ) -> None:
        path = pool.path if isinstance(pool, TaskPool) else pool
        in_memory = isinstance(pool, TaskPool) and str(path) == _IN_MEMORY
        gym.utils.RecordConstructorArgs.__init__(
            self,
            _disable_deepcopy=True,
            pool=pool if path is None or in_memory else os.fspath(path),
            rewriter=rewriter,
            acceptance=acceptance,
            band=list(band),  # a list, as JSON gives it back
            rollouts=rollouts,
            pool_size=pool_size,
            seed=seed,
            actor=actor,
        )
        gym.Wrapper.__init__(self, env)
        self._owns_pool = not isinstance(pool, TaskPool)
        if pool is None:
            pool = _generated_pool(env, pool_size, seed)
        elif not isinstance(pool, TaskPool):
            pool = TaskPool.open(pool)
        self.curriculum = Curriculum(pool, rewriter, acceptance, band=band, rollouts=rollouts, seed=seed)
        self.actor = actor
        self._rng, _ = seeding.np_random(seed)
        self._assignment: Assignment | None = None
        self._group: list[Outcome] = []
        self._in_group = False  # whether the present episode belongs to the group
        self._steps = 0

    @property
    def pool(self) -> TaskPool:
        """The pool being played and adapted."""
        return self.curriculum.pool

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin the next episode; a seed also begins a new group, drawn by that seed."""
        if seed is not None:
            self._drop_group()
            self._rng, _ = seeding.np_random(seed)
        self._steps = 0
        self._in_group = not (options and options.get("task") is not None)
        if not self._in_group:
            return self.env.reset(seed=seed, options=options)
        if self._assignment is not None and len(self._group) >= self.curriculum.rollouts:
            self.curriculum.report(self._assignment, self._group)
            self._assignment = None
        if self._assignment is None:
            (self._assignment,) = self.curriculum.assign(1, self._rng)
            self._group = []
        try:
            observation, info = self.env.reset(seed=seed, options={**(options or {}), "task": self._assignment.task})
        except InfrastructureError:
            self._end(None, 0.0)
            raise
        info["curriculum"] = {"slot": self._assignment.slot, "role": self._assignment.role}
        return observation, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Pass through; the end of an episode is noted for the next `reset`."""
        try:
            observation, reward, terminated, truncated, info = self.env.step(action)
        except InfrastructureError:
            self._end(None, 0.0)
            raise
        self._steps += 1
        settle(info, truncated=truncated)
        if self._in_group and self._assignment is not None:
            info["curriculum"] = {"slot": self._assignment.slot, "role": self._assignment.role}
            if terminated or truncated:
                outcome = info.get("outcome")
                unknown = outcome is None or outcome == "error"
                self._end(None if unknown else outcome == Verdict.SUCCESS, float(reward))
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        """Put an unfinished group on record and close the environment."""
        self._drop_group()
        if self._owns_pool and str(self.pool.path) != _IN_MEMORY:
            self.pool.close()
        self.env.close()

    def _end(self, success: bool | None, score: float) -> None:
        """Note the outcome of the present episode, once."""
        if self._in_group and self._assignment is not None:
            role = self._assignment.role
            self._group.append(Outcome(success=success, score=score, steps=self._steps, actor=self.actor, role=role))
        self._in_group = False

    def _drop_group(self) -> None:
        """Leave the present group: a complete one is acted on, of another the outcomes are only recorded."""
        if self._assignment is not None and self._group:
            complete = len(self._group) >= self.curriculum.rollouts
            act = self.curriculum.report if complete else self.curriculum.record
            act(self._assignment, self._group)
        self._assignment, self._group, self._in_group = None, [], False


def _generated_pool(env: gym.Env[Any, Any], size: int, seed: int) -> TaskPool:
    try:
        domain = get_domain(env.get_wrapper_attr("domain"))
    except AttributeError:
        raise ValueError(
            f"AdaptiveDifficulty: {env} names no `domain`, so no tasks can be generated for it: pass pool="
        ) from None
    if size < 1:
        raise ValueError(f"AdaptiveDifficulty: pool_size must be at least 1, got {size}")
    tasks = {task.id: task for task in (domain.generate(seed * size + i) for i in range(size))}
    return TaskPool.create(_IN_MEMORY, tasks.values())
