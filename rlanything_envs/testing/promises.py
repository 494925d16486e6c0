"""Checks of the contracts of environments, a function a promise; see `check_task_env` and `check_text_env`."""

from __future__ import annotations

import math
import pickle
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, get_args

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

from rlanything_envs.errors import InfrastructureError
from rlanything_envs.testing.errors import ConformanceError
from rlanything_envs.testing.replay import AnyEnv, play, some_action
from rlanything_envs.verdict import Command, Verdict

__all__ = [
    "check_command",
    "check_episode",
    "check_gymnasium",
    "check_infrastructure",
    "check_refusals",
    "check_tasks",
    "check_texts",
    "checked_spec",
]


def check_gymnasium(env: AnyEnv) -> None:
    """Check that Gymnasium's own checker finds nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # Gymnasium's category; warnings of other packages do not count
        # A wrapper may be checked as well as a bare environment.
        warnings.filterwarnings("ignore", message=".*is different from the unwrapped version.*")
        try:
            check_env(env if _is_wrapper_of_ours(env) else env.unwrapped)
        except (AssertionError, UserWarning, gym.error.Error) as error:
            remedy = "gymnasium.utils.env_checker.check_env(env.unwrapped) shows the place"
            said = re.sub(r"\x1b\[\d+m|WARN: ", "", str(error)).rstrip(".")
            raise ConformanceError(f"Gymnasium's checker objects: {said}", remedy) from error


def _is_wrapper_of_ours(env: AnyEnv) -> bool:
    return isinstance(env, gym.Wrapper) and not type(env).__module__.startswith("gymnasium.")


def checked_spec(spec: EnvSpec) -> str:
    """The spec as JSON; checks that it survives JSON and pickle."""
    remedy = "register it with a string entry point (package.module:Class) and plain JSON arguments"
    try:
        text = spec.to_json()
        if EnvSpec.from_json(text) != spec:
            raise ConformanceError("the spec changes in JSON", remedy)
        if pickle.loads(pickle.dumps(spec)) != spec:  # nosec B301 # pickled in this line
            raise ConformanceError("the spec changes when pickled", remedy)
    except ConformanceError:
        raise
    except Exception as error:  # any error of JSON, of pickle, or of the arguments' own methods
        raise ConformanceError(f"the spec cannot be written down ({error})", remedy) from error
    return text


def check_episode(env: AnyEnv, steps: int, seed: int) -> None:
    """Check observations, information and rewards of an episode."""
    seen: dict[int, Any] = {}  # by identity; keeps the containers alive, so that no id is used twice
    for observation, reward, terminated, truncated, info in play(env, steps, seed):
        for container in _containers((observation, info)):
            if id(container) in seen:
                flaw = f"a {type(container).__name__} is returned twice, {container!r:.100}"
                raise ConformanceError(flaw, "build observation and info anew in every call")
            seen[id(container)] = container
        _check_info(info)
        _check_reward(reward, info["outcome"], terminated, truncated)


def check_texts(env: AnyEnv, steps: int, seed: int) -> None:
    """Check that every observation of an episode is a text or has one."""
    for observation, *_ in play(env, steps, seed):
        text = observation.get("text") if isinstance(observation, Mapping) else observation
        if not isinstance(text, str):
            flaw = f"an observation of the type {type(observation).__name__} has no text"
            raise ConformanceError(flaw, 'return a str, or a mapping with a str under "text"')


def _check_info(info: Any) -> None:
    if missing := {"task_id", "outcome"} - set(info):
        raise ConformanceError(f"info lacks {sorted(missing)}", "put them into the info of every reset and step")
    if not isinstance(info["task_id"], str) or not info["task_id"]:
        remedy = "give each task a name that is the same on every machine"
        raise ConformanceError(f"info['task_id'] is {info['task_id']!r:.80} and not a non-empty text", remedy)
    if info["outcome"] not in (None, Verdict.SUCCESS, Verdict.FAILURE, "error"):
        remedy = "say None while the episode runs, then 1 or -1, or 'error' where the machinery failed"
        raise ConformanceError(f"info['outcome'] is {info['outcome']!r:.80}", remedy)


def check_command(env: AnyEnv, seed: int) -> None:
    """Check ``info["command"]``: set after each action, and None before the first."""
    _, info = env.reset(seed=seed)
    if "command" not in info:
        return
    remedy = "put 'ok', 'impossible' or 'unreadable' into info['command'] of each step, and None into that of a reset"
    if info["command"] is not None:
        raise ConformanceError(f"info['command'] is {info['command']!r:.80} before the first action", remedy)
    for action, known in (
        ("", ("unreadable",)),
        (some_action(env, info, np.random.default_rng(seed)), get_args(Command)),
    ):
        *_, terminated, truncated, info = env.step(action)
        if info.get("command") not in known:
            raise ConformanceError(
                f"info['command'] is {info.get('command')!r:.80} after the action {action!r:.80}", remedy
            )
        if terminated or truncated:
            return


def _check_reward(reward: Any, outcome: Any, terminated: bool, truncated: bool) -> None:
    try:
        amount = float(reward)
    except (TypeError, ValueError):
        amount = math.nan
    if not math.isfinite(amount):
        raise ConformanceError(f"the reward is {reward!r:.80}", "give a finite number")
    if not (terminated or truncated) and (amount != 0 or outcome is not None):
        flaw = f"a running episode has the reward {amount:g} and the outcome {outcome!r}"
        raise ConformanceError(flaw, "keep them at 0 and None until the end, and then give the verifier's score")
    if terminated and outcome is None:
        raise ConformanceError("a terminated episode has no outcome", "set info['outcome'] to 1 or -1")
    if outcome == "error" and amount != 0:
        flaw = f"an episode that the machinery ended has the reward {amount:g}"
        raise ConformanceError(flaw, "give 0 with the outcome 'error', or raise InfrastructureError")


def _containers(value: Any) -> Iterator[Any]:
    if isinstance(value, list | dict | set | np.ndarray):
        yield value
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _containers(item)


def check_refusals(env: AnyEnv, seed: int, refused: Iterable[Any]) -> None:
    """Check that actions of a wrong type are refused and leave the episode unchanged."""
    _, info = env.reset(seed=seed)
    remedy = "raise TypeError before anything else happens where an action is not of the space's type"
    for action in refused:
        try:
            env.step(action)
        except (TypeError, ValueError):
            continue
        except Exception as error:
            flaw = f"the action {action!r} must be refused, but breaks the environment ({error!r:.200})"
            raise ConformanceError(flaw, remedy) from error
        raise ConformanceError(f"the action {action!r} is not in the action space and must be refused", remedy)
    try:
        env.step(some_action(env, info, np.random.default_rng(seed)))
    except Exception as error:
        raise ConformanceError(f"a refused action ends the episode ({error!r:.200})", remedy) from error


def check_tasks(env: AnyEnv, seed: int) -> None:
    """Check that a task can be played again by its id."""
    env = env.unwrapped  # a wrapper may take its tasks from elsewhere
    if not hasattr(env, "domain"):
        return
    _, info = env.reset(seed=seed)
    wanted = info["task_id"]
    remedy = 'play the task that reset(options={"task": ...}) names: a Task, its JSON mapping, or an id'
    try:
        _, info = env.reset(seed=seed + 1, options={"task": wanted})
    except Exception as error:
        raise ConformanceError(f"the task {wanted} cannot be played again ({error!r:.200})", remedy) from error
    if info["task_id"] != wanted:
        raise ConformanceError(f"asked for the task {wanted}, the environment plays {info['task_id']}", remedy)


def check_infrastructure(env: AnyEnv, break_engine: Callable[[AnyEnv], None], seed: int) -> None:
    """Check that a broken engine gives no reward."""
    _, info = env.reset(seed=seed)
    action = some_action(env, info, np.random.default_rng(seed))
    break_engine(env)
    try:
        _, reward, _, _, info = env.step(action)
    except InfrastructureError:
        return
    except Exception as error:
        flaw = f"a broken engine shows as {error!r:.200}"
        raise ConformanceError(flaw, "raise InfrastructureError from it, or give the outcome 'error'") from error
    if reward != 0 or info.get("outcome") != "error":
        flaw = f"a broken engine gives the reward {reward} and the outcome {info.get('outcome')!r}"
        raise ConformanceError(flaw, "raise InfrastructureError, or give the outcome 'error' and no reward")
