"""Conformance tests of text environments: the contract of this package's environments, for your own ones too.

```python
from rlanything_envs.testing import check_text_env

check_text_env("RLAnything/AlfWorld-v0")
```

An environment that passes can be put into `Conversation`, and so into every adapter and benchmark; one that also names
its `domain` into `AdaptiveDifficulty`. Nothing of this package has to be in it: `gymnasium.spaces.Text` will do for its
spaces, and plain 1 and -1 for its outcomes.
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
    checked_spec,
)
from rlanything_envs.testing.replay import AnyEnv, digest_elsewhere, episode_digest

__all__ = ["ConformanceError", "check_text_env", "episode_digest"]


def check_text_env(
    env: AnyEnv | str,
    *,
    steps: int = 20,
    seed: int = 7,
    break_engine: Callable[[AnyEnv], None] | None = None,
) -> None:
    """Check an environment against the contract of text environments.

    The promises:

    - Gymnasium's own `check_env` finds nothing, not even a reason to warn.
    - Its spec survives JSON and pickle, so that it can be made elsewhere.
    - Observations are texts, or mappings with a ``text``.
    - ``info`` has ``task_id``, a text, and ``outcome``: None while the episode runs, then 1 or -1; "error" where the
      machinery failed. (Of an episode that `TimeLimit` cuts off, the outcome may stay None.)
    - If ``info`` has ``command``, it is "ok", "impossible" or "unreadable" after each action, "unreadable" after an
      empty text, and None after a reset.
    - A reward is a finite number, and 0 until the end; an episode that the machinery ended has none.
    - No container is returned twice, so that a stored ``info`` never changes.
    - Episodes are determined by seed and actions: processes with different hash seeds return the same.
    - An action that is not a string raises `TypeError` or `ValueError`, and the episode goes on.
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
    if isinstance(env, str):
        made = gym.make(env)
        try:
            check_text_env(made, steps=steps, seed=seed, break_engine=break_engine)
        finally:
            made.close()
        return
    if env.spec is None:
        raise ConformanceError("the environment has no spec", "make it with gymnasium.make")
    check_gymnasium(env)
    spec_json = checked_spec(env.spec)
    check_episode(env, steps, seed)
    check_command(env, seed)
    check_refusals(env, seed)
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
