"""The curriculum as a Gymnasium wrapper."""

import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Protocol, SupportsFloat

import gymnasium as gym
from gymnasium.utils import seeding

from rlanything_envs.curriculum.acceptance import Acceptance
from rlanything_envs.curriculum.critique import JudgedEpisode, JudgedStep, Summariser, task_critique
from rlanything_envs.curriculum.curriculum import Assignment, Curriculum
from rlanything_envs.curriculum.rewrite_request import Critique
from rlanything_envs.curriculum.rewriter import Rewriter
from rlanything_envs.curriculum.scheduler import Scheduler
from rlanything_envs.errors import CurriculumError, InfrastructureError
from rlanything_envs.sources import GeneratedTasks
from rlanything_envs.verdict import Verdict, settle
from rlanything_task_pools import Outcome, TaskPool, get_domain

_IN_MEMORY = ":memory:"


class StepJudge(Protocol):
    """A reward model as far as critiques need one."""

    def judge(self, goal: str, steps: Sequence[JudgedStep]) -> Sequence[Sequence[int]]:
        """The votes on each step of a failed episode: 1 right, -1 wrong, 0 unreadable.

        Called where rewriting happens: in the background, by several threads.
        """
        ...


class AdaptiveDifficulty(
    gym.Wrapper[Any, Any, Any, Any],
    gym.utils.RecordConstructorArgs,
):
    """Plays the tasks of a pool and adapts them to the agent that plays.

    Each `reset` continues a group of `rollouts` finished episodes of one task, or begins the next group. When
    a group is complete its success rate is looked at: outside the band the rewriter makes a harder or an
    easier candidate, and a candidate that was tried takes its slot or is dropped. That happens between episodes;
    `step` only passes through. Rewriting happens beside the episodes, on threads of this process: neither `step` nor
    `reset` waits for it, and a rewriter that fails leaves an event in the pool and a line in the log of this
    module, never a broken episode. An unfinished episode counts for nothing.
    ``reset(options={"task": ...})`` plays that task outside the curriculum.

    A rewriter that reads critiques is told why episodes failed: with `reward_model` the wrapper has the steps of
    failed episodes judged and summarised, where and when a rewrite is asked for; without it, whoever trains
    pushes what is to be told by `add_critique`.

    Rewriter, acceptance, scheduler, reward model and summariser may also be given as ``"package.module:function"``,
    which is called without arguments where the environment is made: so specifications stay JSON, and each
    process of a vector environment has clients of its own.

    ``info["curriculum"]`` holds the `slot` and the `role` ("active", "candidate" or "root"); ``info["outcome"]`` is
    settled to -1 when the time runs out.

    Args:
        env: an environment whose ``options["task"]`` takes a task, with its time limit.
        pool: a `TaskPool`, the path of one, or None for `pool_size` generated tasks in memory. The
            environment's spec can be rebuilt elsewhere only with a path or None, and with parts given by name.
        rewriter: name or object, see `Curriculum`.
        acceptance: name or object, see `Curriculum`.
        scheduler: name or object, see `Curriculum`.
        rewriting: "background", or "inline" for runs that can be repeated exactly: then `reset` waits for the
            rewriter.
        reward_model: judges the steps of failed episodes for the rewriter.
        summariser: makes sentences of its votes; scripted if None.
        band: success rates outside this open interval call for a rewrite.
        rollouts: episodes in a group.
        pool_size: number of generated tasks when there is no pool.
        seed: seeds the generated tasks and the rewriter's choices.
        actor: who plays, kept with each outcome.
        roots: share of the groups that plays roots, see `Curriculum`.
        step_back: whether a mastered task first makes way for the one it was made from, see `Curriculum`.
        operators: the domain's rewrite operators to enable, see `Curriculum`.

    Raises:
        CurriculumError: the environment names no domain of tasks, or as `Curriculum`.
        PoolMissing, PoolVersionError: the path is not that of a pool.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        pool: TaskPool | str | os.PathLike[str] | None = None,
        rewriter: str | Rewriter = "scripted",
        acceptance: str | Acceptance = "paper",
        scheduler: str | Scheduler = "published",
        rewriting: Literal["background", "inline"] = "background",
        reward_model: str | StepJudge | None = None,
        summariser: str | Summariser | None = None,
        band: tuple[float, float] = (0.2, 0.8),
        rollouts: int = 8,
        pool_size: int = 16,
        seed: int = 0,
        actor: str = "agent",
        roots: float = 0.0,
        step_back: bool = False,
        operators: Sequence[str] | None = None,
    ) -> None:
        path = pool.path if isinstance(pool, TaskPool) else pool
        in_memory = isinstance(pool, TaskPool) and str(path) == _IN_MEMORY
        gym.utils.RecordConstructorArgs.__init__(
            self,
            _disable_deepcopy=True,
            pool=pool if path is None or in_memory else os.fspath(path),
            rewriter=rewriter,
            acceptance=acceptance,
            scheduler=scheduler,
            rewriting=rewriting,
            reward_model=reward_model,
            summariser=summariser,
            band=list(band),  # a list, as JSON gives it back
            rollouts=rollouts,
            pool_size=pool_size,
            seed=seed,
            actor=actor,
            roots=roots,
            step_back=step_back,
            operators=None if operators is None else list(operators),
        )
        gym.Wrapper.__init__(self, env)
        self._owns_pool = not isinstance(pool, TaskPool)
        if pool is None:
            pool = _generated_pool(env, pool_size, seed)
        elif not isinstance(pool, TaskPool):
            pool = TaskPool.open(pool)
        self.curriculum = Curriculum(
            pool,
            _made(rewriter),
            _made(acceptance),
            _made(scheduler),
            band=band,
            rollouts=rollouts,
            rewriting=rewriting,
            seed=seed,
            roots=roots,
            step_back=step_back,
            operators=operators,
        )
        self.actor = actor
        self._rng, _ = seeding.np_random(seed)
        self._assignment: Assignment | None = None
        self._group: list[Outcome] = []
        self._reward_model: StepJudge | None = _made(reward_model)
        self._summariser: Summariser | None = _made(summariser)
        self._attempts: list[JudgedEpisode] = []  # the episodes of the group, if they are to be judged
        self._opening = ""
        self._played: list[JudgedStep] = []
        self._told: list[str] = []
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
        self._steps, self._in_group = 0, False
        if options and options.get("task") is not None:
            return self.env.reset(seed=seed, options=options)
        if len(self._group) >= self.curriculum.rollouts:
            self._drop_group()
        if self._assignment is None:
            (self._assignment,) = self.curriculum.assign(1, self._rng)
        self._in_group = True
        try:
            observation, info = self.env.reset(seed=seed, options={**(options or {}), "task": self._assignment.task})
        except InfrastructureError:
            self._end(None, 0.0)
            raise
        info["curriculum"] = {"slot": self._assignment.slot, "role": self._assignment.role}
        if self._reward_model is not None:
            self._opening, self._played = _text(observation), []
        return observation, info

    def add_critique(self, text: str) -> None:
        """Tell the rewriter something of the present group, in case that a rewrite is asked for.

        To be called until the `reset` after the group's last episode.
        """
        self._told.append(text)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Pass through; the end of an episode is noted for the next `reset`."""
        try:
            observation, reward, terminated, truncated, info = self.env.step(action)
        except InfrastructureError:
            self._end(None, 0.0)
            raise
        self._steps += 1
        if self._reward_model is not None and self._in_group:
            self._played.append(JudgedStep(str(action), _text(observation)))
        settle(info, truncated=truncated)
        if self._in_group and self._assignment is not None:
            info["curriculum"] = {"slot": self._assignment.slot, "role": self._assignment.role}
            if terminated or truncated:
                outcome = info.get("outcome")
                unknown = outcome is None or outcome == "error"
                self._end(None if unknown else outcome == Verdict.SUCCESS, float(reward))
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        """Put an unfinished group on record, give rewrites under way a second, and close the environment."""
        self._drop_group()
        self.curriculum.close()
        if self._owns_pool and str(self.pool.path) != _IN_MEMORY:
            self.pool.close()
        self.env.close()

    def _end(self, success: bool | None, score: float) -> None:
        """Note the outcome of the present episode, once."""
        if self._in_group and self._assignment is not None:
            role = self._assignment.role
            self._group.append(Outcome(success=success, score=score, steps=self._steps, actor=self.actor, role=role))
            if self._reward_model is not None:
                goal = self._assignment.task.goal
                self._attempts.append(JudgedEpisode(goal, tuple(self._played), success, self._opening))
        self._in_group = False

    def _drop_group(self) -> None:
        """Leave the present group: a complete one is acted on, of another the outcomes are only recorded."""
        if self._assignment is not None and self._group:
            if len(self._group) >= self.curriculum.rollouts:
                self.curriculum.report(self._assignment, self._group, critique=self._critique())
            else:
                self.curriculum.record(self._assignment, self._group)
        self._assignment, self._group, self._in_group = None, [], False
        self._attempts, self._told = [], []

    def _critique(self) -> Critique:
        told = "\n".join(self._told)
        if self._reward_model is None:
            return told
        return partial(_judged_critique, tuple(self._attempts), self._reward_model, self._summariser, told)


def _judged_critique(
    attempts: Sequence[JudgedEpisode], judge: StepJudge, summariser: Summariser | None, told: str
) -> str:
    """What a reward model and a summariser make of a group; won episodes need no judgement."""
    judged = []
    for attempt in attempts:
        if attempt.success is False and attempt.steps:
            votes = judge.judge(attempt.goal, attempt.steps)
            steps = [replace(step, votes=tuple(cast)) for step, cast in zip(attempt.steps, votes, strict=True)]
            attempt = replace(attempt, steps=tuple(steps))
        judged.append(attempt)
    return "\n".join(text for text in (task_critique(judged, summariser), told) if text)


def _text(observation: object) -> str:
    """The text of an observation; of a mapping, that under "observation" or "text"."""
    if isinstance(observation, Mapping):
        observation = observation.get("observation", observation.get("text"))
    return observation if isinstance(observation, str) else ""


def _made(part: Any) -> Any:
    """What a ``"module:function"`` makes; anything else as it is."""
    if not isinstance(part, str) or ":" not in part:
        return part
    module, _, name = part.partition(":")
    try:
        return getattr(importlib.import_module(module), name)()
    except (ImportError, AttributeError) as error:
        raise CurriculumError(f"AdaptiveDifficulty: {part!r} cannot be loaded ({error}): check its name") from error


def _generated_pool(env: gym.Env[Any, Any], size: int, seed: int) -> TaskPool:
    try:
        domain = get_domain(env.get_wrapper_attr("domain"))
    except AttributeError:
        raise CurriculumError(
            f"AdaptiveDifficulty: {env} names no `domain`, so no tasks can be generated for it: pass pool="
        ) from None
    if size < 1:
        raise CurriculumError(f"AdaptiveDifficulty: pool_size must be at least 1, got {size}")
    source = getattr(env.unwrapped, "source", None)
    make = source.of_seed if isinstance(source, GeneratedTasks) else domain.generate
    tasks = {task.id: task for task in (make(seed * size + i) for i in range(size))}
    return TaskPool.create(_IN_MEMORY, tasks.values())
