"""Conformance tests of environments: the contract of this package's environments, for your own ones too.

```python
from rlanything_envs.testing import check_text_env

check_text_env("RLAnything/AlfWorld-v0")
```

A text environment that passes `check_text_env` can be put into `Conversation`, so into every adapter and benchmark. An
environment of any other spaces that passes `check_task_env` and names its `domain` can be put into
`AdaptiveDifficulty`, as text environments can. Nothing of this package has to be in either: `gymnasium.spaces.Text`
will do for texts, and plain 1 and -1 for outcomes.
"""

from __future__ import annotations

from collections.abc import Callable

import gymnasium as gym

from rlanything_envs.testing.errors import ConformanceError
from rlanything_envs.testing.promises import (
    check_command,
    check_episode,
    check_gymnasium,
    check_infrastructure,
    check_refusals,
    check_tasks,
    check_texts,
    checked_spec,
)
from rlanything_envs.testing.replay import AnyEnv, digest_elsewhere, episode_digest

__all__ = ["ConformanceError", "check_task_env", "check_text_env", "episode_digest"]

Breaker = Callable[[AnyEnv], None]
"""What breaks the machinery of a running environment."""


def check_task_env(env: AnyEnv | str, *, steps: int = 20, seed: int = 7, break_engine: Breaker | None = None) -> None:
    """Check an environment of any spaces against the contract of environments that play tasks.

    The promises:

    - Gymnasium's own `check_env` finds nothing, not even a reason to warn.
    - Its spec survives JSON and pickle, so that it can be made elsewhere.
    - ``info`` has ``task_id``, a text, and ``outcome``: None while the episode runs, then 1 or -1; "error" where the
      machinery failed. (Of an episode that `TimeLimit` cuts off, the outcome may stay None.)
    - A reward is a finite number, and 0 until the end; an episode that the machinery ended has none.
    - No container is returned twice, so that a stored ``info`` never changes.
    - Episodes are determined by seed and actions: processes with different hash seeds return the same.
    - An action that its space does not contain at all (None) raises `TypeError` or `ValueError`, and the episode
      goes on.
    - An environment that names its ``domain`` plays a task again when `reset` is given its id as ``options["task"]``.

    Args:
        env: An environment, or the id of a registered one. It must come from `gymnasium.make`, so that it has a spec.
            A given environment is not closed.
        steps: Length of the episodes played.
        seed: Seed of resets and actions.
        break_engine: Breaks the machinery of a running environment. If given, it is called once, and the next step must
            raise `InfrastructureError` or give the outcome "error", and no reward.

    Raises:
        ConformanceError: A promise is broken; the message names it and the remedy.
    """
    _check(env, steps, seed, break_engine, text=False)


def check_text_env(env: AnyEnv | str, *, steps: int = 20, seed: int = 7, break_engine: Breaker | None = None) -> None:
    """Check an environment against the contract of text environments.

    The promises are those of `check_task_env`, and:

    - Observations are texts, or mappings with a ``text``.
    - If ``info`` has ``command``, it is "ok", "impossible" or "unreadable" after each action, "unreadable" after an
      empty text, and None after a reset.
    - An action that is not a string raises `TypeError` or `ValueError`, and the episode goes on.

    Args:
        env: As of `check_task_env`.
        steps: As of `check_task_env`.
        seed: As of `check_task_env`.
        break_engine: As of `check_task_env`.

    Raises:
        ConformanceError: A promise is broken; the message names it and the remedy.
    """
    _check(env, steps, seed, break_engine, text=True)


def _check(env: AnyEnv | str, steps: int, seed: int, break_engine: Breaker | None, *, text: bool) -> None:
    if isinstance(env, str):
        made = gym.make(env)
        try:
            _check(made, steps, seed, break_engine, text=text)
        finally:
            made.close()
        return
    if env.spec is None:
        raise ConformanceError("the environment has no spec", "make it with gymnasium.make")
    check_gymnasium(env)
    spec_json = checked_spec(env.spec)
    if text:
        check_texts(env, steps, seed)
    check_episode(env, steps, seed)
    if text:
        check_command(env, seed)
    check_refusals(env, seed, (None, 3, b"look", ["look"]) if text else (None,))
    check_tasks(env, seed)
    here = episode_digest(spec_json, steps, seed)
    for hash_seed in ("1", "2"):
        if digest_elsewhere(spec_json, steps, seed, hash_seed) != here:
            raise ConformanceError(
                f"another process (PYTHONHASHSEED={hash_seed}) plays seed {seed} differently",
                "draw from self.np_random only, and let neither hash(), the order of a set, clocks nor addresses show",
            )
    if break_engine is not None:
        check_infrastructure(env, break_engine, seed)
