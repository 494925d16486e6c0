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
from rlanything_envs.curriculum.critique import Critique, task_critique
from rlanything_envs.curriculum.curriculum import Assignment, Curriculum
from rlanything_envs.curriculum.rewrite_request import CritiqueSource
from rlanything_envs.curriculum.rewriter import FreshRewriter, Rewriter
from rlanything_envs.curriculum.source import CurriculumSource
from rlanything_envs.curriculum.summary import JudgedEpisode, JudgedStep, Summariser
from rlanything_envs.errors import InfrastructureError, SettingError
from rlanything_envs.sources import GeneratedTasks
from rlanything_envs.verdict import Verdict, settle
from rlanything_task_pools import Domain, Outcome, TaskPool, get_domain


class StepJudge(Protocol):
    """The part of a reward model that critiques use."""

    def judge(self, goal: str, steps: Sequence[JudgedStep]) -> Sequence[Sequence[float | None]]:
        """The votes on each step of a failed episode: positive right, negative wrong, None unreadable.

        Called by the threads that rewrite in the background, so it must be thread-safe.
        """
        ...


class AdaptiveDifficulty(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Plays the tasks of a pool and adapts their difficulty to the agent.

    Each `reset` continues a group of `rollouts` finished episodes of one task, or begins the next group. When a group
    is complete, its success rate decides: outside the band the rewriter makes a harder or an easier candidate, and a
    candidate whose trial is complete takes the slot or is rejected. That happens between episodes; `step` only passes
    through. Rewriting runs in the background, on threads of this process: neither `step` nor `reset` waits for it,
    and a rewriter that fails leaves an event in the pool and a line in the log of this module, never a broken episode.
    An unfinished episode counts for nothing. ``reset(options={"task": ...})`` plays that task outside the curriculum.

    A rewriter may read a critique, a summary of why episodes failed. With `reward_model`, the steps of failed episodes
    are judged and summarised when a rewrite is requested; without it, the trainer passes its own text by
    `add_critique`.

    Rewriter, acceptance, reward model and summariser may also be given as ``"package.module:function"``,
    which is called without arguments when the environment is made: specs stay JSON, and each process of a vector
    environment has clients of its own.

    ``info["curriculum"]`` holds the `slot` and the `role` ("active" or "candidate");
    ``info["outcome"]`` is set to -1 when the time limit ends an episode.

    Args:
        env: an environment whose ``options["task"]`` takes a task, with its time limit.
        pool: a `TaskPool`, the path of one, or None for `pool_size` generated tasks in memory. The
            environment's spec can be rebuilt elsewhere only with a path or None, and with parts given by name.
        rewriter: name or object, see `Curriculum`.
        acceptance: name or object, see `Curriculum`.
        rewriting: "background", or "inline" for runs that can be repeated exactly: then `reset` waits for the
            rewriter.
        reward_model: judges the steps of failed episodes for the rewriter.
        summariser: turns its votes into sentences; scripted if None.
        band: success rates outside this open interval trigger a rewrite.
        rollouts: episodes in a group.
        pool_size: number of generated tasks when there is no pool.
        seed: seeds the generated tasks and the rewriter's choices.
        actor: name of the agent, stored with each outcome.
        operators: the domain's rewrite operators to enable, see `Curriculum`.

    Raises:
        SettingError: the environment names no domain of tasks, or as `Curriculum`.
        PoolError: the path is not that of a pool.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        pool: TaskPool | str | os.PathLike[str] | None = None,
        rewriter: str | Rewriter = "scripted",
        acceptance: str | Acceptance = "paper",
        rewriting: Literal["background", "inline"] = "background",
        reward_model: str | StepJudge | None = None,
        summariser: str | Summariser | None = None,
        band: tuple[float, float] = (0.2, 0.8),
        rollouts: int = 8,
        pool_size: int = 16,
        seed: int = 0,
        actor: str = "agent",
        operators: Sequence[str] | None = None,
    ) -> None:
        path = pool.path if isinstance(pool, TaskPool) else pool
        in_memory = isinstance(pool, TaskPool) and pool.in_memory
        gym.utils.RecordConstructorArgs.__init__(
            self,
            _disable_deepcopy=True,
            pool=pool if path is None or in_memory else os.fspath(path),
            rewriter=rewriter,
            acceptance=acceptance,
            rewriting=rewriting,
            reward_model=reward_model,
            summariser=summariser,
            band=list(band),  # a list, as JSON gives it back
            rollouts=rollouts,
            pool_size=pool_size,
            seed=seed,
            actor=actor,
            operators=None if operators is None else list(operators),
        )
        gym.Wrapper.__init__(self, env)
        self.source = CurriculumSource(
            _generated_pool(env, pool_size, seed) if pool is None else pool,
            rewriter=FreshRewriter(partial(_source_of, env)) if rewriter == "fresh" else _made(rewriter),
            acceptance=_made(acceptance),
            band=band,
            rollouts=rollouts,
            rewriting=rewriting,
            seed=seed,
            operators=operators,
            skip=False,  # as published
            actor=actor,
        )
        self._assignment: Assignment | None = None
        self._group: list[Outcome] = []
        self._reward_model: StepJudge | None = _made(reward_model)
        self._summariser: Summariser | None = _made(summariser)
        self._attempts: list[JudgedEpisode] = []  # the group's episodes, recorded only where a reward model judges them
        self._opening = ""
        self._recorded_steps: list[JudgedStep] = []
        self._added: list[str] = []
        self._in_group = False  # whether the present episode belongs to the group
        self._steps = 0

    @property
    def curriculum(self) -> Curriculum:
        """The rules by which the pool is adapted."""
        return self.source.curriculum

    @property
    def pool(self) -> TaskPool:
        """The pool being played and adapted."""
        return self.source.pool

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin the next episode; a seed also begins a new group, drawn by that seed."""
        if seed is not None:
            self._drop_group()
            self.source.rng, _ = seeding.np_random(seed)
        self._steps, self._in_group = 0, False
        if options and options.get("task") is not None:
            return self.env.reset(seed=seed, options=options)
        if len(self._group) >= self.source.rollouts:
            self._drop_group()
        if self._assignment is None:
            self._assignment = next(self.source)
        self._in_group = True
        try:
            observation, info = self.env.reset(seed=seed, options={**(options or {}), "task": self._assignment.task})
        except InfrastructureError:
            self._end(None, 0.0)
            raise
        info["curriculum"] = {"slot": self._assignment.slot, "role": self._assignment.role}
        if self._reward_model is not None:
            self._opening, self._recorded_steps = _text(observation), []
        return observation, info

    def add_critique(self, text: str) -> None:
        """Add a text to the critique of the current group, which the rewriter reads if the group triggers a rewrite.

        Must be called before the `reset` that follows the group's last episode.
        """
        self._added.append(text)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the environment; the outcome of a finished episode is recorded for the next `reset`."""
        try:
            observation, reward, terminated, truncated, info = self.env.step(action)
        except InfrastructureError:
            self._end(None, 0.0)
            raise
        self._steps += 1
        if self._reward_model is not None and self._in_group:
            self._recorded_steps.append(JudgedStep(str(action), _text(observation)))
        settle(info, truncated=truncated)
        if self._in_group and self._assignment is not None:
            info["curriculum"] = {"slot": self._assignment.slot, "role": self._assignment.role}
            if terminated or truncated:
                outcome = info.get("outcome")
                unknown = outcome is None or outcome == "error"
                self._end(None if unknown else outcome == Verdict.SUCCESS, float(reward))
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        """Record an unfinished group, wait up to a second for running rewrites, and close the environment."""
        self._drop_group()
        self.source.close()
        self.env.close()

    def _end(self, success: bool | None, score: float) -> None:
        """Record the outcome of the current episode, once."""
        if self._in_group and self._assignment is not None:
            self._group.append(self.source.outcome(self._assignment, success, score=score, steps=self._steps))
            if self._reward_model is not None:
                goal = self._assignment.task.goal
                self._attempts.append(JudgedEpisode(goal, tuple(self._recorded_steps), success, self._opening))
        self._in_group = False

    def _drop_group(self) -> None:
        """End the current group: report it if it is complete, else only record its outcomes."""
        if self._assignment is not None:
            self.source.observe(self._assignment, self._group, critique=self._critique())
        self._assignment, self._group, self._in_group = None, [], False
        self._attempts, self._added = [], []

    def _critique(self) -> CritiqueSource:
        added = "\n".join(self._added)
        if self._reward_model is None:
            return added
        return partial(_judged_critique, tuple(self._attempts), self._reward_model, self._summariser, added)


def _judged_critique(
    attempts: Sequence[JudgedEpisode], judge: StepJudge, summariser: Summariser | None, added: str
) -> Critique:
    """Critique of a group by a reward model and a summariser; only failed episodes are judged."""
    judged = []
    for attempt in attempts:
        if attempt.success is False and attempt.steps:
            votes = judge.judge(attempt.goal, attempt.steps)
            steps = [replace(step, votes=tuple(cast)) for step, cast in zip(attempt.steps, votes, strict=True)]
            attempt = replace(attempt, steps=tuple(steps))
        judged.append(attempt)
    made = task_critique(judged, summariser)
    return replace(made, text="\n".join(text for text in (made.text, added) if text))


def _text(observation: object) -> str:
    """The text of an observation; of a mapping, that under "observation" or "text"."""
    if isinstance(observation, Mapping):
        observation = observation.get("observation", observation.get("text"))
    return observation if isinstance(observation, str) else ""


def _made(part: Any) -> Any:
    """Result of calling a ``"module:function"``; any other value is returned unchanged."""
    if not isinstance(part, str) or ":" not in part:
        return part
    module, _, name = part.partition(":")
    try:
        return getattr(importlib.import_module(module), name)()
    except (ImportError, AttributeError) as error:
        raise SettingError(f"AdaptiveDifficulty: {part!r} cannot be loaded ({error}): check its name") from error


def _generated_pool(env: gym.Env[Any, Any], size: int, seed: int) -> TaskPool:
    try:
        domain = get_domain(env.get_wrapper_attr("domain"))
    except AttributeError:
        raise SettingError(
            f"AdaptiveDifficulty: {env} names no `domain`, so no tasks can be generated for it: pass pool="
        ) from None
    if not hasattr(size, "__index__") or size < 1:
        raise SettingError(f"AdaptiveDifficulty: pool_size must be a whole number of at least 1, got {size!r:.80}")
    source = _source_of(env, domain)
    tasks = {task.id: task for task in (source.of_seed(seed * size + i) for i in range(size))}
    return TaskPool.create(":memory:", tasks.values())


def _source_of(env: gym.Env[Any, Any], domain: Domain) -> GeneratedTasks:
    """The environment's generator of tasks with its knobs, if it has one, else the domain's."""
    source = getattr(env.unwrapped, "source", None)
    return source if isinstance(source, GeneratedTasks) else GeneratedTasks(domain, "train")
