"""The ALFWorld environment."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from rlanything_envs.alfworld import render
from rlanything_envs.alfworld.commands import (
    MANUAL,
    MAX_ACTION_LENGTH,
    answer_form,
    has_form,
    read_answer,
    to_command,
    with_listing,
)
from rlanything_envs.alfworld.sources import make_source
from rlanything_envs.alfworld.tools import TOOLS
from rlanything_envs.errors import EpisodeOver, InfrastructureError, InvalidAction
from rlanything_envs.sources import Tasks, find_task, is_task_id, source_of, wanted_task
from rlanything_envs.spaces import Unicode
from rlanything_envs.verdict import Command, Limits, Verdict, is_last_step, limits_of_reset, settle
from rlanything_task_pools import Task, TaskFormatError
from rlanything_task_pools.alfworld import DOMAIN
from rlanything_task_pools.alfworld.games import game_of
from rlanything_verifiers.alfworld import NOTHING_HAPPENS, Game, World

Split = Literal["generated", "train", "valid_seen", "valid_unseen"]
Engine = Literal["native", "textworld"]
Admissible = Literal["none", "list"]

MAX_OBSERVATION_LENGTH = 1_048_576
"""Longest observation in code points; official games stay below 6,000, and the largest scene that is read below
this."""


class GameWorld(Protocol):
    """One running game of any engine."""

    def reset(self) -> str:
        """Restart the game and return the first message."""
        ...

    def step(self, command: str) -> str:
        """Play one command and return the answer."""
        ...

    @property
    def admissible_commands(self) -> list[str]:
        """The admissible commands, sorted; a new list at each call."""
        ...

    @property
    def won(self) -> bool:
        """Whether the goal holds."""
        ...

    @property
    def goal_condition_rate(self) -> float:
        """Share of the goal's conditions that hold."""
        ...

    @property
    def inventory(self) -> str | None:
        """Name of the thing in hand; None if the hand is empty."""
        ...


def _make_engine(name: str) -> Callable[[Game], GameWorld]:
    if name == "native":
        return World
    if name == "textworld":
        from rlanything_envs.alfworld.textworld import TextWorldEngine

        return TextWorldEngine()
    raise ValueError(f"AlfWorldEnv: engine {name!r} is unknown; choose 'native' or 'textworld'")


class AlfWorldEnv(gym.Env[str, str]):
    """ALFWorld: find, clean, heat, cool, slice, light and place things in a house described in text.

    ## Description
    The agent stands in a room of receptacles (cabinets, drawers, a fridge, ...) and things, and gets a task of one of
    six kinds, such as "clean some apple and put it in fridge." It moves and acts by text commands. The default engine
    is a native one that gives the very texts of the original ALFWorld/TextWorld stack, thousands of times as fast;
    ``engine="textworld"`` plays on the original stack.

    ## Action Space
    `Unicode`: a command such as ``go to fridge 1``, ``open fridge 1``, ``take apple 1 from fridge 1``,
    ``move apple 1 to countertop 1``, ``clean apple 1 with sinkbasin 1``, ``heat apple 1 with microwave 1``,
    ``cool apple 1 with fridge 1``, ``use desklamp 1``, ``examine apple 1``, ``inventory``, ``look``.
    ``info["admissible_commands"]`` lists the commands that are possible now. Surrounding white space is dropped, and
    the older ``put apple 1 in/on fridge 1`` (also with ``in`` or ``on``) is read as ``move apple 1 to fridge 1``. Any
    other text, over-long ones included, gets the answer "Nothing happens."; ``info["command"]`` distinguishes a text
    that is not a command from a command without effect.

    ## Observation Space
    `Unicode`: the latest message only; the first one describes the room and ends with the task. Keeping the
    history is up to the agent. With ``admissible="list"`` each ends with a line that lists the admissible commands.

    ## Information
    - ``task_id``: id of the task, the same on every machine.
    - ``command``: ``"ok"``; ``"impossible"`` for a well-formed command that does nothing now; ``"unreadable"`` for a
      text of no known form; None at the reset.
    - ``admissible_commands``: sorted list of commands.
    - ``choices``: with ``admissible="list"`` the form of the next answer (`rlanything_envs.llm.choices`): a thought on
      one line, or none, then ``Action:`` and one of the listed commands.
    - ``goal_condition_rate``: share of the goal's conditions that hold, 0 to 1.
    - ``won``: whether the goal holds.
    - ``outcome``: None while undecided; then 1, or -1 where the time limit ends the episode.

    ## Rewards
    0 until the task is solved, then 1. A failure of the engine is no reward: it raises `InfrastructureError`.

    ## Starting State
    ``reset(options={"task": ...})`` takes a `Task` (or its JSON mapping), the id of a task this environment
    knows, or the path of a game file (``game.tw-pddl``). Without it, a task is drawn from the split by the
    environment's random generator. An official game that cannot be read is left out with a warning that names it;
    ``env.unwrapped.source.unreadable`` has the reasons.

    ## Episode End
    Terminated when the task is solved; truncated after 50 steps (``max_episode_steps`` of `gymnasium.make`).

    ## Arguments
    - ``split``: ``"generated"`` for procedural tasks, or a split of the official data: ``"train"``,
      ``"valid_seen"`` or ``"valid_unseen"``.
    - ``admissible``: ``"none"``, as in ALFWorld's own setting, or ``"list"``: observations list the admissible
      commands.
    - ``engine``: ``"native"`` or ``"textworld"`` (needs the extra ``alfworld``; some 15
      steps a second).
    - ``render_mode``: None, ``"ansi"`` (text) or ``"rgb_array"`` (the text as a picture).
    - ``generated_split``: the generator's split: ``"train"``, ``"valid_seen"`` or ``"valid_unseen"``.
    - ``knobs``: further arguments of the generator.
    - ``data_dir``: folder of the official data, which holds ``json_2.1.1``; default ``$ALFWORLD_DATA``.
    - ``tasks``: tasks to draw from instead of a split: a list of `Task` objects or of their JSON mappings, or
      a `TaskPool` or the path of one, whose active tasks are played.

    ```python
    import gymnasium as gym
    import rlanything_envs

    env = gym.make("RLAnything/AlfWorld-v0")
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(info["admissible_commands"][0])
    ```

    ## Version History
    - v0: initial version.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 2}  # noqa: RUF012
    domain = "alfworld"
    manual = MANUAL
    """Instructions that a `Conversation` puts before the first observation, whose text is ALFWorld's own."""
    read_answer = staticmethod(read_answer)
    tools = TOOLS

    def __init__(
        self,
        split: Split = "generated",
        *,
        engine: Engine = "native",
        admissible: Admissible = "none",
        render_mode: str | None = None,
        generated_split: str = "train",
        knobs: Mapping[str, Any] | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        tasks: Tasks | None = None,
    ) -> None:
        """See the class.

        Raises:
            ValueError: an argument is not one of its choices, or `tasks` is empty.
            MissingExtra: the engine is not installed.
            PoolError: the official data is missing; the message explains how to get it.
        """
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(
                f"AlfWorldEnv: render_mode {render_mode!r} is unknown; "
                f"choose from {', '.join(self.metadata['render_modes'])}, or None"
            )
        if admissible not in ("none", "list"):
            raise ValueError(f"AlfWorldEnv: admissible {admissible!r} is unknown; choose 'none' or 'list'")
        self.action_space = Unicode(MAX_ACTION_LENGTH)
        self.observation_space = Unicode(MAX_OBSERVATION_LENGTH)
        self.render_mode = render_mode
        self.admissible = admissible
        self._make_world = _make_engine(engine)
        if tasks is None:
            self.source = make_source(split, generated_split, knobs, data_dir)
        else:
            self.source = source_of(tasks)
        self.world: GameWorld | None = None
        """The running game; None between episodes."""
        self.task_id = ""
        self.last = ("", "")
        """The last action and its answer, for rendering."""
        self._sentence = ""
        self._held: str | None = None  # at the end of a won episode
        self._limits: Limits = ()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode on ``options["task"]``, or on a task drawn at random.

        Raises:
            SettingError: an option other than ``task``.
            UnknownTask: the id or path names no task.
            TaskFormatError, GameFormatError: the task cannot be played.
            InfrastructureError: the engine failed.
        """
        super().reset(seed=seed)
        self.world = None
        wanted = wanted_task(options)
        task = self.source.draw(self.np_random) if wanted is None else self._find(wanted)
        game = game_of(task)
        try:
            world = self._make_world(game)
            observation = world.reset()
        except Exception as error:
            raise InfrastructureError(f"the engine failed to begin task {task.id}: {error!r}") from error
        if world.won:
            raise TaskFormatError(f"task {task.id} is solved from the start: give it another goal")
        self.world, self.task_id, self._sentence = world, task.id, game.sentence
        self._limits = limits_of_reset(self)
        self.last = ("", observation)
        commands = world.admissible_commands
        return self._shown(observation, commands), self._info(None, commands, world.goal_condition_rate, False)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Play one command.

        Raises:
            EpisodeOver: there is no running episode.
            InvalidAction: the action is not a string.
            InfrastructureError: the engine failed; the episode is void.
        """
        if (world := self.world) is None:
            raise EpisodeOver("AlfWorldEnv: no episode is running: call reset() first")
        if not isinstance(action, str):
            raise InvalidAction(f"AlfWorldEnv: an action is a text, got {type(action).__name__}: pass a str")
        try:
            observation, command, commands, rate, won = play(world, action)
        except Exception as error:
            self.world = None
            raise InfrastructureError(f"the engine failed on task {self.task_id}: {error!r}") from error
        self.last = (action, observation)
        if won:
            self._held, self.world = world.inventory, None
        info = self._info(command, commands, rate, won)
        settle(info, truncated=is_last_step(self._limits))
        return self._shown(observation, commands), float(won), won, False, info

    def render(self) -> str | npt.NDArray[np.uint8] | None:
        """The task, the last command and the answer: as text, as a picture (height, width, 3), or None."""
        if self.render_mode is None:
            gym.logger.warn("AlfWorldEnv.render: make the environment with render_mode='ansi' or 'rgb_array'")
            return None
        inventory = self._held if self.world is None else self.world.inventory
        screen = render.Screen(self._sentence, *self.last, inventory)
        return render.as_text(screen) if self.render_mode == "ansi" else render.as_image(screen)

    def close(self) -> None:
        """End the episode; may be called more than once."""
        self.world = None

    def _shown(self, observation: str, commands: list[str]) -> str:
        return observation if self.admissible == "none" else with_listing(observation, commands)

    def _info(self, command: Command | None, commands: list[str], rate: float, won: bool) -> dict[str, Any]:
        offered = {} if won or self.admissible == "none" else {"choices": answer_form(commands)}
        return offered | {
            "task_id": self.task_id,
            "command": command,
            "admissible_commands": commands,
            "goal_condition_rate": rate,
            "won": won,
            "outcome": Verdict.SUCCESS if won else None,
        }

    def _find(self, wanted: object) -> Task:
        if isinstance(wanted, str | os.PathLike) and not is_task_id(wanted, self.domain) and _exists(wanted):
            return DOMAIN.load(wanted)
        return find_task(wanted, self.domain, self.source, ", nor the path of a game file")


def play(world: GameWorld, action: str) -> tuple[str, Command, list[str], float, bool]:
    """Play one action in a game.

    Returns:
        The game's answer, how the action was read, the admissible commands, the share of the conditions that hold,
        and whether the goal does.
    """
    command = to_command(action)
    observation = NOTHING_HAPPENS if command is None else world.step(command)
    became: Command = "ok"
    if observation == NOTHING_HAPPENS:
        became = "impossible" if command is not None and has_form(command) else "unreadable"
    return observation, became, world.admissible_commands, world.goal_condition_rate, world.won


def _exists(path: str | os.PathLike[str]) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # a text that cannot be a path
        return False
