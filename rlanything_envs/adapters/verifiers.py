"""Prime Intellect's verifiers (version 1 of its interface): text environments as taskset, env and harness.

verifiers finds these by the name of an installed module, so an environment of yours is a module of two lines, say
``my_env.py``, and ``vf-eval my_env --env.taskset.env-id RLAnything/Coding-v0`` plays it:

```python
from rlanything_envs.adapters.verifiers import ChatHarness, TextEnv, TextTaskset

__all__ = ["ChatHarness", "TextEnv", "TextTaskset"]
```

With `LiveTaskset` in the place of `TextTaskset` the tasks of a pool adapt to the episodes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field

from rlanything_envs.conversation import Conversation
from rlanything_envs.curriculum import Assignment, CurriculumSource, Group, TrialRole
from rlanything_envs.errors import MissingExtra
from rlanything_envs.message import for_services
from rlanything_task_pools import Task, TaskPool

try:
    import verifiers.v1 as vf  # Prime Intellect's: imports are absolute, and this module is another
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient, OpenAIError
    from verifiers.v1.dialects.chat import message_to_wire
except ImportError as error:
    raise MissingExtra("rlanything_envs.adapters.verifiers needs verifiers: pip install 'verifiers>=0.4'") from error

__all__ = [
    "ChatHarness",
    "LiveTaskset",
    "LiveTasksetConfig",
    "TextEnv",
    "TextEnvConfig",
    "TextTask",
    "TextTaskData",
    "TextTaskset",
    "TextTasksetConfig",
]


class TextTaskData(vf.TaskData):  # type: ignore[misc]
    """A task as JSON, or the seed by which the environment draws one.

    A task of a curriculum has its slot and role, and the number of its group where the environment gives the outcome
    back.
    """

    task: str | None = None
    seed: int | None = None
    slot: int | None = None
    role: TrialRole = "active"
    group: int | None = None

    @classmethod
    def of(cls, assignment: Assignment, group: int | None = None) -> TextTaskData:
        """The data of a group's task."""
        task = assignment.task
        return cls(
            id=task.id, name=task.id, task=task.to_json(), slot=assignment.slot, role=assignment.role, group=group
        )

    @property
    def assignment(self) -> Assignment | None:
        """What the curriculum dealt; None for a task of none."""
        if self.task is None or self.slot is None:
            return None
        return Assignment(self.slot, Task.from_json(self.task), self.role)


class TextTask(vf.Task[TextTaskData]):  # type: ignore[misc]
    """One episode. Its score is the environment's, given by `TextEnv`."""


class TextTasksetConfig(vf.TasksetConfig):  # type: ignore[misc]
    """The environment and its tasks; under ``--env.taskset``."""

    env_id: str = "RLAnything/AlfWorld-v0"
    """Id of the environment, as `gymnasium.make` takes it."""
    arguments: dict[str, Any] = {}  # noqa: RUF012 (pydantic copies it)
    """Arguments of `gymnasium.make`."""
    pool: Path | None = None
    """Path of a task pool, whose active tasks are played."""
    count: int = Field(64, ge=1)
    """Number of tasks, without a pool."""
    first_seed: int = Field(0, ge=0)
    """The seed of the first of them; the others follow."""


class TextTaskset(vf.Taskset[TextTask, TextTasksetConfig]):  # type: ignore[misc]
    """The active tasks of a pool, or tasks by seeds."""

    def load(self) -> Iterator[TextTask]:
        """Yield the tasks.

        Raises:
            PoolError: The path is not that of a pool.
        """
        config = self.config
        if config.pool is None:
            for seed in range(config.first_seed, config.first_seed + config.count):
                yield TextTask(TextTaskData(name=f"{config.env_id}#{seed}", seed=seed), config.task)
            return
        with TaskPool.open(config.pool) as pool:
            tasks = [pool.active(slot) for slot in pool.slots]
        for task in tasks:
            yield TextTask(TextTaskData(id=task.id, name=task.id, task=task.to_json()), config.task)


class LiveTasksetConfig(vf.TasksetConfig):  # type: ignore[misc]
    """The environment and its curriculum; under ``--env.taskset``."""

    env_id: str = "RLAnything/AlfWorld-v0"
    """Id of the environment, as `gymnasium.make` takes it."""
    arguments: dict[str, Any] = {}  # noqa: RUF012
    """Arguments of `gymnasium.make`."""
    pool: Path
    """Path of the task pool, which changes."""
    rollouts: int = Field(8, ge=1)
    """Episodes in a group: as many as are played of each task."""
    curriculum: dict[str, Any] = {}  # noqa: RUF012
    """Other arguments of `CurriculumSource`, such as ``acceptance``."""


class LiveTaskset(vf.Taskset[TextTask, LiveTasksetConfig]):  # type: ignore[misc]
    """Tasks without end, which a curriculum deals and `TextEnv` gives the outcomes of back, from any process.

    Raises:
        PoolError: The path is not that of a pool.
        SettingError: See `CurriculumSource`.
    """

    INFINITE = True

    def __init__(self, config: LiveTasksetConfig) -> None:
        super().__init__(config)
        self.source = CurriculumSource(config.pool, rollouts=config.rollouts, **config.curriculum)

    def load(self) -> Iterator[TextTask]:
        """Yield a task for each group; what happened until then decides which."""
        while True:
            group = self.source.join()
            yield TextTask(TextTaskData.of(group.assignment, group.number), self.config.task)


class TextEnvConfig(vf.EnvConfig):  # type: ignore[misc]
    """The agent of the environment. Its answers are text, so it needs no sandbox."""

    player: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class TextEnv(vf.Env[TextEnvConfig]):  # type: ignore[misc]
    """An episode as a chat: the environment writes the user's messages, and the agent answers. Screens are image parts.

    The verifier's score is the reward ``score`` of the agent's trace; ``success`` is a metric. An episode that a limit
    of the agent cuts off counts as failed. An infrastructure failure gives no reward: the failure is an ``EnvError`` of
    the episode, which is not ``ok``, and verifiers' retries apply to it.
    """

    async def run(self, task: TextTask, agents: Any) -> None:
        """Play one episode; blocking calls run in a thread."""
        success: bool | None = None
        score: float | None = None
        steps = 0
        config, data = self.taskset.config, task.data
        try:
            conversation = await asyncio.to_thread(Conversation, config.env_id, **config.arguments)
            try:
                async with agents.player.interaction(task) as interaction:
                    turn = await asyncio.to_thread(conversation.start, data.task, seed=data.seed)
                    while not turn.done:
                        content = for_services(turn.content)
                        segment = await interaction.turn([{"role": "user", "content": content}])
                        if segment.terminated:
                            break
                        steps += 1
                        turn = await asyncio.to_thread(conversation.answer, segment.last_reply)
            finally:
                await asyncio.to_thread(conversation.close)
            trace = interaction.trace
            trace.info["task_id"] = turn.info["task_id"]
            if trace.ok:
                success, score = turn.won, turn.reward
                trace.record_reward("score", score)
                trace.record_metric("success", float(success))
        finally:
            assignment = data.assignment
            if data.group is not None and assignment is not None:
                group = Group(data.group, assignment)
                await asyncio.to_thread(self.taskset.source.end, group, success, score=score, steps=steps)


class ChatHarness(vf.Harness[vf.HarnessConfig]):  # type: ignore[misc]
    """A harness of single model calls: no tools, and no program to start for each turn."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self, ctx: Any, trace: Any, runtime: Any, endpoint: str, secret: str, mcp_urls: dict[str, str], data: Any
    ) -> Any:
        """Query the model once, through the endpoint that records the trace."""
        system, prompt = self.resolve_prompt(data)
        opening = [vf.UserMessage(content=prompt)] if isinstance(prompt, str) else prompt or []
        messages: list[Any] = [{"role": "system", "content": system}] if system else []
        messages += [message_to_wire(message) for message in opening]
        # The endpoint is this machine's own, without TLS; reading all certificates would take 30 ms a turn.
        http = DefaultAsyncHttpxClient(verify=endpoint.startswith("https:"), timeout=None)
        async with AsyncOpenAI(base_url=endpoint, api_key=secret, http_client=http) as client:
            try:
                await client.chat.completions.create(model=ctx.model, messages=messages)
            except OpenAIError as error:
                return vf.ProgramResult(exit_code=1, stdout="", stderr=str(error))
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")
