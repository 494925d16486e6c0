"""SkyRL-Gym: any text environment under an id of `skyrl_gym.make`, and the rows of SkyRL's data sets.

```python
from rlanything_envs.adapters import skyrl

skyrl.register("alfworld", "RLAnything/AlfWorld-v0")  # in the entry point of the training run, and in its workers
rows = skyrl.rows(tasks, "alfworld")  # datasets.Dataset.from_list(rows).to_parquet("train.parquet")
```

With a `CurriculumSource` the tasks adapt while SkyRL trains: ``register(..., source=source)``, rows by `group_rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from gymnasium.wrappers import TimeLimit

from rlanything_envs.adapters import rows as plain_rows
from rlanything_envs.adapters.rows import task_rows
from rlanything_envs.conversation import Conversation, Turn
from rlanything_envs.curriculum import CurriculumSource, Group
from rlanything_envs.errors import InfrastructureError, MissingExtra, SettingError
from rlanything_envs.message import for_services
from rlanything_task_pools import Task

try:
    import skyrl_gym
    from omegaconf import DictConfig, OmegaConf
    from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput
except ImportError as error:
    raise MissingExtra("rlanything_envs.adapters.skyrl needs SkyRL-Gym: pip install skyrl-gym") from error

__all__ = ["EpisodeFailed", "SkyRLEnv", "group_rows", "register", "rows"]

Messages = list[dict[str, Any]]


class EpisodeFailed(skyrl_gym.error.Error, InfrastructureError):  # type: ignore[misc]
    """The machinery failed: the episode has no reward. SkyRL has no such episodes: its generation ends."""


class SkyRLEnv(BaseTextEnv):  # type: ignore[misc]
    """One episode of a text environment, as SkyRL plays it: made, `init`, some `step`, `close`.

    Args:
        env_config: This environment's section of SkyRL's configuration; its ``env_id`` and ``arguments`` take
            precedence over those below.
        extras: The row of the data set: ``task`` (JSON, or an id that the environment knows), ``seed`` or ``group``
            selects the task; ``max_turns``, which SkyRL adds, ends the episode at the latest.
        env_id: Id of the environment, as `gymnasium.make` takes it.
        arguments: Arguments of `gymnasium.make`.
        source: Deals the task of a row's group and takes the outcome.

    Raises:
        ValueError: The row has neither task nor seed nor group. SkyRL plays a row several times and compares the
            outcomes, so the row must select one task.
        SettingError: The row has a group, and there is no source.
    """

    def __init__(
        self,
        env_config: Mapping[str, Any] | None = None,
        extras: Mapping[str, Any] | None = None,
        *,
        env_id: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        source: CurriculumSource | None = None,
    ) -> None:
        super().__init__()
        config = OmegaConf.to_container(env_config, resolve=True) if isinstance(env_config, DictConfig) else env_config
        config, row = dict(config or {}), dict(extras or {})
        if (env_id := config.get("env_id") or env_id) is None:
            raise ValueError("SkyRLEnv: env_id is missing: give it to `register`, or in the environment's env_config")
        self._task = row.get("task")
        self._seed = None if row.get("seed") is None else int(row["seed"])
        self._group_name = row.get("group")
        if self._task is None and self._seed is None and self._group_name is None:
            raise ValueError("SkyRLEnv: the row has neither 'task' nor 'seed' nor 'group': make rows by `skyrl.rows`")
        if self._group_name is not None and source is None:
            raise SettingError(f"the row has the group {self._group_name!r}: give `skyrl.register` a source")
        self._source = source
        self._group: Group | None = None
        self.max_turns = int(row.get("max_turns") or 0)
        self._conversation = Conversation(env_id, **{**(arguments or {}), **(config.get("arguments") or {})})
        if self.max_turns:
            self._conversation.env = TimeLimit(self._conversation.env, self.max_turns)
        self._turn: Turn | None = None

    def init(self, prompt: Messages) -> tuple[Messages, dict[str, Any]]:
        """Begin the episode.

        Returns:
            The messages of the row and after them the environment's first one, joined with a last one of the user's;
            and the environment's information.

        Raises:
            EpisodeFailed: The machinery failed.
        """
        task: Task | str | None = self._task
        if self._source is not None and self._group_name is not None:
            self._group = self._source.join(self._group_name)
            task = self._group.task
        turn = self._played(lambda: self._conversation.start(task, seed=self._seed))
        if (messages := [dict(message) for message in prompt]) and messages[-1]["role"] == "user":
            turn = replace(turn, text=f"{messages.pop()['content']}\n\n{turn.text}".strip())
        return [*messages, _message(turn)], turn.info

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Send an answer to the environment.

        Returns:
            The message, none once the episode is over; the reward, 0 until then; whether the episode is over; and as
            ``metadata`` the environment's information, with the message as ``text``.

        Raises:
            EpisodeFailed: The machinery failed.
        """
        self.turns += 1
        turn = self._played(lambda: self._conversation.answer(action))
        return BaseTextEnvStepOutput(
            observations=[] if turn.done else [_message(turn)],
            reward=turn.reward,
            done=turn.done,
            metadata={**turn.info, "text": turn.text},
        )

    def get_metrics(self) -> dict[str, Any]:
        """Whether the task is solved and whether the episode ended (1.0 or 0.0), and the number of answers."""
        won, done = (self._turn.won, self._turn.done) if self._turn else (False, False)
        return {"success": float(won), "finished": float(done), "turns": self.turns}

    def close(self) -> None:
        """Close the environment; an episode that is not over has failed."""
        self._end(False)
        self._conversation.close()

    def _played(self, play: Callable[[], Turn]) -> Turn:
        try:
            self._turn = play()
        except InfrastructureError as error:
            self._end(None)
            self.close()  # SkyRL does not close after an exception
            raise EpisodeFailed(str(error)) from error
        if self._turn.done:
            self._end(self._turn.won, self._turn.reward)
        return self._turn

    def _end(self, success: bool | None, score: float | None = None) -> None:
        """Give the outcome to the source, once."""
        if self._source is not None and self._group is not None:
            self._source.end(self._group, success, score=score, steps=self.turns)
            self._group = None


def _message(turn: Turn) -> dict[str, Any]:
    """A message of the user; with a screen as SkyRL's generator for models that see takes it."""
    return {"role": "user", "content": for_services(turn.content)}


def register(name: str, env_id: str, *, source: CurriculumSource | None = None, **arguments: Any) -> None:
    """Make an environment known to `skyrl_gym.make`; again under the same name replaces it.

    SkyRL logs the averages of `SkyRLEnv.get_metrics`, under ``environment/``, and the source's `metrics` under
    ``environment/curriculum/``.

    Args:
        name: The ``env_class`` of the rows.
        env_id: Id of the environment, as `gymnasium.make` takes it.
        source: Deals the tasks of rows with a group; its `rollouts` are SkyRL's ``generator.n_samples_per_prompt``.
        arguments: Arguments of `gymnasium.make`.
    """
    if name in skyrl_gym.registry:
        skyrl_gym.envs.deregister(name)

    # A class, since SkyRL asks it for averages. The source is not among the keywords: `make` copies those.
    class Registered(SkyRLEnv):
        def __init__(self, *positional: Any, **keywords: Any) -> None:
            super().__init__(*positional, **keywords, source=source)

        @staticmethod
        def aggregate_metrics(metrics: list[dict[str, Any]]) -> dict[str, Any]:
            numbers = source.metrics() if source else {}
            return {**SkyRLEnv.aggregate_metrics(metrics), **{f"curriculum/{key}": numbers[key] for key in numbers}}

    skyrl_gym.register(name, entry_point=Registered, kwargs={"env_id": env_id, "arguments": arguments})


def rows(tasks: Iterable[Task], name: str, prompt: str = "") -> list[dict[str, Any]]:
    """Rows of a data set for SkyRL, one a task; ``name`` is the registered one, ``prompt`` precedes each episode."""
    return [{**row, "env_class": name, "data_source": name} for row in task_rows(tasks, prompt)]


def group_rows(count: int, name: str, prompt: str = "") -> list[dict[str, Any]]:
    """Rows whose tasks a source deals, one a group; arguments as for `rows`."""
    return [
        {**row, "env_class": name, "data_source": name}
        for row in plain_rows.group_rows(count, prompt=prompt, name=name)
    ]
