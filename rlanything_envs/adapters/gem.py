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

    An episode whose machinery fails raises `InfrastructureError`, which also ends a step of GEM's vectors: GEM has no
    episodes without a reward. GEM's global random generators are not used; all randomness is from the seeds.

    Args:
        gym_id: Id of the environment, as `gymnasium.make` takes it.
        seed: Seed of the resets without a seed of their own; GEM's vectors give each environment another one.
        arguments: Arguments of `gymnasium.make`.
    """

    def __init__(self, gym_id: str, *, seed: int | None = None, **arguments: Any) -> None:
        super().__init__()
        self._gym_id, self._arguments = gym_id, arguments
        self._rng = np.random.default_rng(seed)
        self._conversation = Conversation(gym_id, **arguments)
        self._seed: int | None = None
        self._answers: list[str] = []
        self._turn: Turn | None = None

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Seed of the episode; None for the next one derived from this environment's own seed.

        Raises:
            InfrastructureError: The machinery failed.
        """
        self._seed = int(self._rng.integers(2**31)) if seed is None else seed
        self._turn, self._answers = None, []
        self._turn = self._conversation.start(seed=self._seed)
        return self._turn.text, self._turn.info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Send an answer to the environment.

        Returns:
            The message, the reward (0 until the end), whether the task ended the episode, whether a limit cut it off,
            and the environment's information.

        Raises:
            InfrastructureError: The machinery failed.
            EpisodeOver: No episode is running.
            InvalidAction: The action is not a string.
        """
        self._turn = turn = self._conversation.answer(action)
        self._answers.append(action)
        return turn.text, turn.reward, turn.terminated, turn.truncated, turn.info

    def sample_random_action(self) -> str:
        """A random command among those that are possible now.

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
        """Another environment with the same arguments.

        Args:
            same_state: Bring it into the state of this one, by replaying the episode.
            kwargs: Arguments that differ.

        Raises:
            InfrastructureError: The machinery failed while it was played.
        """
        other = type(self)(self._gym_id, **{**self._arguments, **kwargs})
        if same_state and self._seed is not None:
            other.reset(self._seed)
            for action in self._answers:
                other.step(action)
        return other

    def close(self) -> None:
        """Close the environment. GEM does not call this: a desktop runs until it is closed or the program ends."""
        self._conversation.close()


def register(name: str, gym_id: str, **arguments: Any) -> None:
    """Make an environment known to `gem.make` and `gem.make_vec`; again under the same name replaces it.

    Args:
        name: Its id in GEM.
        gym_id: Id of the environment, as `gymnasium.make` takes it.
        arguments: Arguments of `gymnasium.make`.
    """
    ENV_REGISTRY.pop(name, None)
    gem.register(name, f"{GemEnv.__module__}:{GemEnv.__qualname__}", gym_id=gym_id, **arguments)
