"""Seeded episodes by a random agent, here and in other processes."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec

from rlanything_envs.testing.errors import ConformanceError

__all__ = ["AnyEnv", "digest_elsewhere", "episode_digest", "play", "some_action"]

AnyEnv = gym.Env[Any, Any]
_ELSEWHERE_S = 600


def episode_digest(spec_json: str, steps: int, seed: int) -> str:
    """SHA-256 over everything an environment returns in `steps` steps by a seeded random agent."""
    env = gym.make(EnvSpec.from_json(spec_json))
    digest = hashlib.sha256()
    for record in play(env, steps, seed):
        digest.update(json.dumps(record, sort_keys=True, default=_plain).encode())
    env.close()
    return digest.hexdigest()


def digest_elsewhere(spec_json: str, steps: int, seed: int, hash_seed: str) -> str:
    """`episode_digest` in a process with its own hash seed."""
    code = (
        "import sys; from rlanything_envs.testing import episode_digest; "
        "print(episode_digest(sys.stdin.read(), int(sys.argv[1]), int(sys.argv[2])))"
    )
    remedy = "keep the class in a module that can be imported, and all it needs in the arguments of its spec"
    # The same import path: an environment under test need not be installed.
    path = os.pathsep.join(place for place in sys.path if place)
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, str(steps), str(seed)],
            input=spec_json,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
            timeout=_ELSEWHERE_S,
        )
    except subprocess.TimeoutExpired as error:
        flaw = f"{steps} steps in another process take more than {_ELSEWHERE_S} s"
        raise ConformanceError(flaw, "check it with fewer steps=, or make it faster") from error
    if done.returncode != 0:
        raise ConformanceError(f"it fails in another process ({done.stderr[-2000:].strip()})", remedy)
    return done.stdout.strip().rpartition("\n")[2]


def play(env: AnyEnv, steps: int, seed: int) -> Iterator[tuple[Any, ...]]:
    """Records of an episode by a random agent; see `some_action`."""
    rng = np.random.default_rng(seed)
    env.action_space.seed(seed)
    observation, info = env.reset(seed=seed)
    yield observation, 0.0, False, False, info
    for _ in range(steps):
        observation, reward, terminated, truncated, info = env.step(some_action(env, info, rng))
        yield observation, reward, terminated, truncated, info
        if terminated or truncated:
            return


def some_action(env: AnyEnv, info: Mapping[str, Any], rng: np.random.Generator) -> Any:
    """An admissible command where there are any, else a sample of the action space."""
    commands = info.get("admissible_commands")
    return commands[int(rng.integers(len(commands)))] if commands else env.action_space.sample()


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else repr(value)
