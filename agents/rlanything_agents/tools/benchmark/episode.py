"""One episode of a benchmark: its task and seed, its course, and its result."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import gymnasium as gym
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as pydantic_dataclass

from rlanything_agents.config.seeds import seed_of
from rlanything_agents.tools.benchmark.errors import BenchmarkError, Outgrown
from rlanything_agents.tools.benchmark.transcript import RecordedConversation
from rlanything_envs.conversation import Conversation, Turn
from rlanything_envs.errors import InfrastructureError
from rlanything_envs.llm.budget import Usage
from rlanything_envs.verdict import command_of
from rlanything_task_pools import Task, get_domain
from rlanything_task_pools.panel import Panel

if TYPE_CHECKING:
    from rlanything_agents.tools.benchmark.player import Player, Response

__all__ = [
    "OUTGROWN",
    "Episode",
    "Key",
    "Result",
    "World",
    "broken_of",
    "counted",
    "course",
    "episodes_of",
    "has_screens",
    "is_count",
    "most_turns",
    "play_episode",
]

TURNS = 50
"""Turns for which a local model's answers are sized where an environment has no limit."""

OUTGROWN = ("overlong", "slow")
"""Reasons of `Outgrown`."""

Key = tuple[str, str, int]
"""Group, task id and number of an episode, which identify it in a folder of results."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One episode to play.

    Attributes:
        task: The task.
        group: Part of the panel that the task belongs to.
        number: Number of the episode among those on this task, from 0.
        seed: Seed of the episode; it depends on the benchmark's seed, the task and the number alone.
        place: Position of the task in the panel.
    """

    task: Task
    group: str
    number: int
    seed: int
    place: int

    @property
    def name(self) -> str:
        """What its files are called, without an ending."""
        return f"{self.task.id}-{self.seed}"

    @property
    def key(self) -> Key:
        """Identity of the episode."""
        return self.group, self.task.id, self.number


Count = Annotated[int, Field(ge=0, le=2**53)]
Number = Annotated[float, Field(ge=-(2**53), le=2**53, allow_inf_nan=False)]
"""Means of larger numbers cannot be computed in floats."""


@pydantic_dataclass(frozen=True, slots=True, config=ConfigDict(strict=True, extra="forbid"))
class Result:
    """Result of one episode.

    Attributes:
        group: Part of the panel.
        task: Id of the task.
        episode: Number of the episode.
        outcome: 1 (solved), -1 (failed), or None for an infrastructure failure.
        score: Final score of the environment.
        steps: Number of answers.
        usage: Tokens read and written; None for an agent that does not count them.
        seconds: Wall-clock time.
        error: Infrastructure failure, where ``outcome`` is None.
        readable: Number of answers with a readable action; None where the environment does not report it.
        admissible: Number of answers with an admissible action; None likewise.
        agent_crash: What the agent's actions broke, where that ended the episode as failed; else empty.
        outgrown: ``overlong`` or ``slow``, where the agent's chat or answer outgrew what its model or service takes,
            which ended the episode as failed (`Outgrown`); else empty.
    """

    group: str
    task: str
    episode: Count
    outcome: Literal[1, -1] | None
    score: Number
    steps: Count
    usage: Usage | None
    seconds: Number
    error: str = ""
    readable: Count | None = None
    admissible: Count | None = None
    agent_crash: str = ""
    outgrown: Literal["", "overlong", "slow"] = ""

    @property
    def key(self) -> Key:
        """Identity of the episode."""
        return self.group, self.task, self.episode

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, line: bytes) -> Result:
        """Check and restore a result from the JSON of `to_dict`.

        Raises:
            BenchmarkError: It is not a result; the message names the field.
        """
        try:
            result = _RESULT.validate_json(line)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise BenchmarkError(f"not a result: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        if (usage := json.loads(line)["usage"]) is not None and usage.keys() != asdict(Usage()).keys():
            raise BenchmarkError("not a result: usage: it is not whole")  # a number that is missing would be read as 0
        return result


_RESULT = TypeAdapter(Result)


@dataclass(frozen=True, slots=True)
class World:
    """The environment of the episodes as plain data, from which any process can open it.

    Attributes:
        domain: Domain of the environment.
        arguments: Arguments of the environment.
        record: Folder for the courses of episodes; empty for none.
        keep_results: Whether what the evaluator of a desktop read is kept there, too.
    """

    domain: str
    arguments: Mapping[str, Any]
    record: str = ""
    keep_results: bool = False

    def open(self) -> Conversation:
        """Open a conversation with a new environment.

        Raises:
            BenchmarkError: The environment rejects its arguments.
        """
        env_id = get_domain(self.domain).env_id
        if wrong := sorted({"view", "render_mode"} & set(self.arguments)):
            raise BenchmarkError(
                f"--env {wrong[0]}: a benchmark plays the full view unseen, and run:FOLDER its own view"
            )
        try:
            if self.record:
                return RecordedConversation(Path(self.record), env_id, keep_results=self.keep_results, **self.arguments)
            return Conversation(env_id, **self.arguments)
        except (TypeError, ValueError) as error:
            raise BenchmarkError(f"{env_id} cannot be made with {dict(self.arguments)}: {error}") from error


def episodes_of(panel: Panel, count: int, seed: int) -> list[Episode]:
    """All episodes of a panel: ``count`` passes over its tasks."""
    return [
        Episode(entry.task, entry.group, number, seed_of(seed, "episode", entry.task.id, number), place)
        for number in range(count)
        for place, entry in enumerate(panel.entries)
    ]


def most_turns(env: gym.Env[Any, Any]) -> int:
    """Maximum turns of an episode of an environment; `TURNS` where it has no limit that it names."""
    limits = [env.spec.max_episode_steps if env.spec else None, getattr(env.unwrapped, "max_turns", None)]
    return min((limit for limit in limits if limit), default=TURNS)


def has_screens(env: gym.Env[Any, Any]) -> bool:
    """Whether observations of an environment hold a screenshot."""
    return isinstance(env.observation_space, gym.spaces.Dict) and "screenshot" in env.observation_space.spaces


def broken_of(panel: Panel, count: int) -> list[Result]:
    """Results of the unreadable tasks of a panel: ``count`` each, without an outcome."""
    return [
        Result("", game.task, number, None, 0.0, 0, None, 0.0, game.error)
        for game in panel.unreadable
        for number in range(count)
    ]


def course(conversation: Conversation, episode: Episode, counts: bool) -> Generator[Turn, Response, Result]:
    """Run one episode as a generator: it yields turns of the environment, is sent answers, and returns the result.

    An `InfrastructureError` of the environment, or one thrown into the generator, ends it with a result too; an
    `Outgrown` that is thrown into it ends it as failed.

    Args:
        conversation: Conversation with the environment; it may have been used before.
        episode: The episode to play.
        counts: Whether the agent counts its tokens.
    """
    start, steps, score, usage = time.perf_counter(), 0, 0.0, Usage()
    outcome: Literal[1, -1] | None = None
    outgrown: Literal["", "overlong", "slow"] = ""
    error = crash = ""
    commands: list[str] = []
    try:
        turn = conversation.start(episode.task, seed=episode.seed)
        while not turn.done:
            response = yield turn
            usage += response.usage or Usage()
            turn, steps = conversation.answer(response.text), steps + 1
            commands.append(command_of(turn.info))
        outcome, score = (1 if turn.won else -1), turn.reward
        crash = str(turn.info.get("agent_crash") or "")
    except InfrastructureError as failure:
        error = str(failure) or type(failure).__name__
    except Outgrown as failure:
        outcome, outgrown = -1, failure.reason
        if isinstance(conversation, RecordedConversation):
            conversation.cut(failure.reason)
    return Result(
        episode.group,
        episode.task.id,
        episode.number,
        outcome,
        score,
        steps,
        usage if counts else None,
        round(time.perf_counter() - start, 4),
        error,
        **counted(commands),
        agent_crash=crash,
        outgrown=outgrown,
    )


def counted(commands: Sequence[str]) -> dict[str, int | None]:
    """Numbers of readable and of admissible answers, from ``info["command"]`` of each; None where one is empty."""
    if not commands or not all(commands):
        return {"readable": None, "admissible": None}
    return {
        "readable": sum(command != "unreadable" for command in commands),
        "admissible": sum(command == "ok" for command in commands),
    }


def play_episode(conversation: Conversation, player: Player, episode: Episode) -> Result:
    """Play one episode. The player gets the turns of the environment and nothing more.

    A failure of the infrastructure is a result; errors that no other episode could avoid are raised.

    Raises:
        TaskFormatError: The task is malformed.
        UnsafeSandbox: The machine has no safe sandbox.
        BenchmarkError: The agent is broken.
    """
    played = course(conversation, episode, player.counts)
    try:
        turn = next(played)
        while True:
            try:
                response = player.act(turn)
            except (InfrastructureError, Outgrown) as failure:
                turn = played.throw(failure)
            else:
                turn = played.send(response)
    except StopIteration as end:
        result: Result = end.value
        return result


def is_count(value: Any) -> bool:
    """Whether a stored value is a count."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 2**53
