"""GEM: any text environment as a `gem.Env`, alone, in GEM's vectors and under GEM's wrappers.

```python
import gem
import rlanything_envs.adapters.gem

rlanything_envs.adapters.gem.register("alfworld:easy", "RLAnything/AlfWorld-v0", knobs={"kinds": ["simple"]})
env = gem.make("alfworld:easy")
observation, info = env.reset(seed=0)
observation, reward, terminated, truncated, info = env.step("Action: look")
```
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rlanything_envs.conversation import Conversation, Turn
from rlanything_envs.errors import MissingExtra

try:
    import gem
    from gem.envs.registration import ENV_REGISTRY
except ImportError as error:
    raise MissingExtra("rlanything_envs.adapters.gem needs GEM: pip install gem-llm") from error

__all__ = ["GemEnv", "register"]


class GemEnv(gem.Env):  # type: ignore[misc]
    """A text environment for GEM.

    An episode whose machinery fails raises `InfrastructureError`, which also ends a step of GEM's vectors: GEM knows no
    episode without a reward. GEM's global random generators are left alone; all chance is from the seeds.

    Args:
        gym_id: Of the environment, as `gymnasium.make` takes it.
        seed: Of the seeds of resets that name none; GEM's vectors give each environment another one.
        arguments: Of `gymnasium.make`.
    """

    def __init__(self, gym_id: str, *, seed: int | None = None, **arguments: Any) -> None:
        super().__init__()
        self._gym_id, self._arguments = gym_id, arguments
        self._rng = np.random.default_rng(seed)
        self._conversation = Conversation(gym_id, **arguments)
        self._seed: int | None = None
        self._said: list[str] = []
        self._turn: Turn | None = None

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Says which; None for the next one of this environment's own seed.

        Raises:
            InfrastructureError: The machinery failed.
        """
        self._seed = int(self._rng.integers(2**31)) if seed is None else seed
        self._turn, self._said = None, []
        self._turn = self._conversation.start(seed=self._seed)
        return self._turn.text, self._turn.info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Answer the environment.

        Returns:
            Its message, the reward (0 until the end), whether the task ended the episode, whether a limit cut it off,
            and the environment's information.

        Raises:
            InfrastructureError: The machinery failed.
            EpisodeOver: No episode is running.
            InvalidAction: The action is no text.
        """
        self._turn = turn = self._conversation.answer(action)
        self._said.append(action)
        return turn.text, turn.reward, turn.terminated, turn.truncated, turn.info

    def sample_random_action(self) -> str:
        """One of the commands that are possible now.

        Raises:
            NotImplementedError: The environment does not list them, or no episode is running.
        """
        commands = self._turn.commands if self._turn is not None else None
        if not commands:
            raise NotImplementedError(
                f"{self._gym_id} lists no commands to choose from now: sample from a model instead"
            )
        return commands[int(self._rng.integers(len(commands)))]

    def spawn(self, same_state: bool = False, **kwargs: Any) -> GemEnv:
        """Another environment with these arguments.

        Args:
            same_state: Bring it where this one is, by playing the same episode again.
            kwargs: Arguments that shall differ.

        Raises:
            InfrastructureError: The machinery failed while it was played.
        """
        other = type(self)(self._gym_id, **{**self._arguments, **kwargs})
        if same_state and self._seed is not None:
            other.reset(self._seed)
            for action in self._said:
                other.step(action)
        return other

    def close(self) -> None:
        """Close the environment. GEM does not ask for it: a desktop runs until it is closed or the program ends."""
        self._conversation.close()


def register(name: str, gym_id: str, **arguments: Any) -> None:
    """Make an environment known to `gem.make` and `gem.make_vec`; again under the same name replaces it.

    Args:
        name: In GEM.
        gym_id: Of the environment, as `gymnasium.make` takes it.
        arguments: Of `gymnasium.make`.
    """
    ENV_REGISTRY.pop(name, None)
    gem.register(name, f"{GemEnv.__module__}:{GemEnv.__qualname__}", gym_id=gym_id, **arguments)
