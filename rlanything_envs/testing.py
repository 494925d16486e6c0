"""Conformance of text environments: what every environment of this package promises, for your own ones too.

```python
from rlanything_envs.testing import check_text_env

check_text_env("RLAnything/AlfWorld-v0")
```
"""

import hashlib
import json
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

from rlanything_envs.errors import InfrastructureError
from rlanything_envs.verdict import Verdict

_AnyEnv = gym.Env[Any, Any]


class ConformanceError(AssertionError):
    """The environment breaks a promise; the message says which."""


def check_text_env(
    env: _AnyEnv | str,
    *,
    steps: int = 20,
    seed: int = 7,
    break_engine: Callable[[_AnyEnv], None] | None = None,
) -> None:
    """Check an environment against the contract of text environments.

    Checked are: Gymnasium's own `check_env`, with its warnings as errors; that the spec survives JSON and
    pickle; that two processes with different hash seeds play the same; that ``info`` has ``task_id`` and
    ``outcome``, that no container is handed out twice, that running episodes have neither outcome nor reward;
    and that what is no text is refused.

    Args:
        env: an environment, or the id of a registered one. It must come from `gymnasium.make`, so that it has
            a spec.
        steps: length of the episodes played.
        seed: seed of resets and actions.
        break_engine: breaks the machinery of a running environment. If given, it is called once, and the next
            step must raise `InfrastructureError` or give the outcome "error", and no reward.

    Raises:
        ConformanceError: a promise is broken.
        AssertionError, Warning: Gymnasium's checker objects.
    """
    if isinstance(env, str):
        env = gym.make(env)
    if env.spec is None:
        raise ConformanceError("the environment has no spec: make it with gymnasium.make")
    _check_gymnasium(env)
    _check_spec(env.spec)
    _check_episode(env, steps, seed)
    _check_refusals(env, seed)
    here = episode_digest(env.spec.to_json(), steps, seed)
    for hash_seed in ("1", "2"):
        if _digest_elsewhere(env.spec.to_json(), steps, seed, hash_seed) != here:
            raise ConformanceError(f"another process (PYTHONHASHSEED={hash_seed}) plays seed {seed} differently")
    if break_engine is not None:
        _check_infrastructure(env, break_engine, seed)


def episode_digest(spec_json: str, steps: int, seed: int) -> str:
    """SHA-256 over everything an environment returns in `steps` steps by a seeded random agent."""
    env = gym.make(EnvSpec.from_json(spec_json))
    digest = hashlib.sha256()
    for record in _play(env, steps, seed):
        digest.update(json.dumps(record, sort_keys=True, default=repr).encode())
    env.close()
    return digest.hexdigest()


def _play(env: _AnyEnv, steps: int, seed: int) -> Iterator[tuple[Any, ...]]:
    """An episode by an agent that draws from the admissible commands where there are any."""
    rng = np.random.default_rng(seed)
    env.action_space.seed(seed)
    observation, info = env.reset(seed=seed)
    yield observation, 0.0, False, False, info
    for _ in range(steps):
        commands = info.get("admissible_commands")
        action = commands[int(rng.integers(len(commands)))] if commands else env.action_space.sample()
        observation, reward, terminated, truncated, info = env.step(action)
        yield observation, reward, terminated, truncated, info
        if terminated or truncated:
            return


def _check_gymnasium(env: _AnyEnv) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # A wrapper may be checked as well as a bare environment.
        warnings.filterwarnings("ignore", message=".*is different from the unwrapped version.*")
        check_env(env if _is_wrapper_of_ours(env) else env.unwrapped)


def _is_wrapper_of_ours(env: _AnyEnv) -> bool:
    return isinstance(env, gym.Wrapper) and not type(env).__module__.startswith("gymnasium.")


def _check_spec(spec: EnvSpec) -> None:
    if EnvSpec.from_json(spec.to_json()) != spec:
        raise ConformanceError("the spec changes in JSON: use string entry points and plain JSON arguments")
    if pickle.loads(pickle.dumps(spec)) != spec:
        raise ConformanceError("the spec changes when pickled")


def _check_episode(env: _AnyEnv, steps: int, seed: int) -> None:
    seen: dict[int, Any] = {}  # by identity; keeps the containers alive, so that no id is used twice
    for observation, reward, terminated, truncated, info in _play(env, steps, seed):
        for container in _containers((observation, info)):
            if id(container) in seen:
                raise ConformanceError(f"a {type(container).__name__} is returned twice: {container!r:.100}")
            seen[id(container)] = container
        if missing := {"task_id", "outcome"} - set(info):
            raise ConformanceError(f"info lacks {sorted(missing)}")
        if not isinstance(info["task_id"], str) or not info["task_id"]:
            raise ConformanceError(f"info['task_id'] must be a non-empty text, got {info['task_id']!r}")
        if info["outcome"] not in (None, Verdict.SUCCESS, Verdict.FAILURE, "error"):
            raise ConformanceError(f"info['outcome'] must be None, 1, -1 or 'error', got {info['outcome']!r}")
        if not (terminated or truncated) and (reward != 0 or info["outcome"] is not None):
            raise ConformanceError("a running episode must have reward 0 and outcome None")
        if terminated and info["outcome"] is None:
            raise ConformanceError("a terminated episode must have an outcome")


def _containers(value: Any) -> Iterator[Any]:
    if isinstance(value, list | dict | set | np.ndarray):
        yield value
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _containers(item)


def _check_refusals(env: _AnyEnv, seed: int) -> None:
    env.reset(seed=seed)
    for action in (None, 3, b"look", ["look"]):
        try:
            env.step(action)
        except (TypeError, ValueError):
            continue
        raise ConformanceError(f"the action {action!r} is no text and must be refused")


def _digest_elsewhere(spec_json: str, steps: int, seed: int, hash_seed: str) -> str:
    code = (
        "import sys; from rlanything_envs.testing import episode_digest; "
        "print(episode_digest(sys.stdin.read(), int(sys.argv[1]), int(sys.argv[2])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(steps), str(seed)],
        input=spec_json,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise ConformanceError(f"the environment fails in another process: {done.stderr[-2000:]}")
    return done.stdout.strip()


def _check_infrastructure(env: _AnyEnv, break_engine: Callable[[_AnyEnv], None], seed: int) -> None:
    env.reset(seed=seed)
    break_engine(env)
    try:
        _, reward, _, _, info = env.step("look")
    except InfrastructureError:
        return
    if reward != 0 or info.get("outcome") != "error":
        raise ConformanceError("a broken engine must raise InfrastructureError or give outcome 'error' and no reward")
