"""The desktop environment."""

from __future__ import annotations

import contextlib
import copy
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

import gymnasium as gym

from rlanything_envs.errors import EpisodeOver, InfrastructureError, InvalidAction, SettingError, Unreadable
from rlanything_envs.osworld import messages
from rlanything_envs.osworld.accessibility import Line
from rlanything_envs.osworld.actions import MAX_ACTION_LENGTH, Action, brief_action, read_action
from rlanything_envs.osworld.ahead import Ahead
from rlanything_envs.osworld.computer_13 import Computer13, action_of, read_dictionary
from rlanything_envs.osworld.coordinates import Scale, absolute
from rlanything_envs.osworld.desktop import Client, Desktop, DesktopError, DesktopWrecked, Observation, Unwinnable
from rlanything_envs.osworld.desktop.local import check_screen
from rlanything_envs.osworld.desktop.observation import Pixels
from rlanything_envs.osworld.kept import KeptGuest, Recorder
from rlanything_envs.osworld.looks import Look
from rlanything_envs.osworld.machine import Machine
from rlanything_envs.osworld.marks import with_marks
from rlanything_envs.osworld.readers import READERS
from rlanything_envs.osworld.settle import AFTER_SETUP, BEFORE_SCORE, Limit, Settle, changed
from rlanything_envs.osworld.setup import Files, Stage, check_steps, run_steps, stage_names, substitute
from rlanything_envs.osworld.tools import TOOLS
from rlanything_envs.osworld.view import View
from rlanything_envs.sources import GeneratedTasks, Tasks, find_task, source_of, wanted_task
from rlanything_envs.spaces import Unicode
from rlanything_envs.tools import Toolset
from rlanything_envs.verdict import Command, Limits, Verdict, is_last_step, limits_of_reset
from rlanything_envs.verdict import settle as settle_outcome
from rlanything_task_pools import Task, TaskFormatError
from rlanything_task_pools.osworld import (
    SPLITS,
    AssetError,
    Assets,
    OSWorldDomain,
    Payload,
    asset_urls,
    read_payload,
    requirements_of,
)
from rlanything_task_pools.osworld.generate import make_knobs
from rlanything_verifiers.osworld import (
    EvaluatorError,
    Strict,
    VerifierError,
    check_libraries,
    evaluate,
    evaluator_urls,
)

ActionSpace = Literal["pyautogui", "computer_13", "computer_use", "ui_tars", "openai", "anthropic"]

_WAIT = "time.sleep(2)"
"""Code of WAIT; OSWorld waits as long."""
_LOOKS = 3
"""Maximum number of times that tree and pixels are read, where the screen changes in between; a film never stops."""
_LOOKS_SECONDS = 10.0
"""After which it is not read once more."""
_PAUSE = 2.0
"""Seconds from the last action to the score, as in OSWorld: LibreOffice stores settings a second after its dialog."""
_FULL_SCORE = 1 - 1e-9
_INFRASTRUCTURE = (InfrastructureError, VerifierError, AssetError, EvaluatorError)
"""Errors that end an episode without a score. A malformed evaluator is no evidence about the agent, like a broken
desktop."""
_ELSEWHERE = (VerifierError, AssetError, EvaluatorError, TaskFormatError, OSError, MemoryError)
"""Errors that no desktop causes, see `evaluate`."""


@lru_cache(maxsize=64)
def problem_of(task: Task) -> Payload:
    """The payload of a task; read once and shared by all environments of the process.

    Raises:
        TaskFormatError: the task is not of this domain, its payload is malformed, or nothing here can carry out a step
            of its set-up.
    """
    if task.domain != "osworld":
        raise TaskFormatError(f"task {task.id} is of the domain {task.domain!r}; this environment plays osworld")
    try:
        problem = read_payload(task.payload)
        check_steps([step.model_dump() for step in problem.config], "config")
        check_steps(problem.evaluator.get("postconfig", ()), f"evaluators.{problem.current}.postconfig")
    except (TaskFormatError, EvaluatorError, TypeError) as error:
        raise TaskFormatError(f"task {task.id}: {error}") from error
    return problem


class OSWorldEnv(gym.Env[Any, Any]):
    """A desktop: follow an instruction with mouse and keyboard, in the programs that people use.

    ## Description
    The agent gets an instruction, and a desktop in some state: files, open windows. It sees the screen as pixels,
    as an accessibility tree or as a list of elements in text, and acts by mouse and keyboard. At the end an evaluator
    looks at files, settings and programs and gives a score. Tasks, actions and evaluators are OSWorld's. The desktop is
    a light one of Debian packages in a sandbox by default; OSWorld's virtual machine is another.

    ## Action Space
    With ``action_space="pyautogui"`` a `Unicode`: Python code that calls ``pyautogui``, in a fenced block or bare, or

    - ``WAIT``: let two seconds pass;
    - ``DONE``: the task is done; ends the episode;
    - ``FAIL``: the task cannot be done; ends the episode.

    A word after code is carried out after it. Prose around a fenced block does not matter; the last block counts, and
    text before ``</think>`` is skipped. Code runs in the guest and nowhere else.

    With ``action_space="computer_13"`` a `Computer13`: ``{"action_type": "CLICK", "parameters": {"x": 1, "y": 2}}``, or
    a text that has one in it as JSON. Other types are MOVE_TO, MOUSE_DOWN, MOUSE_UP, RIGHT_CLICK, DOUBLE_CLICK,
    DRAG_TO, SCROLL, TYPING, PRESS, KEY_DOWN, KEY_UP, HOTKEY and the three words.

    The others are `Unicode`, in the forms that trained models write (see `rlanything_envs.osworld.readers`):

    - ``"computer_use"``: Qwen's ``<tool_call>{"name": "computer_use", "arguments": {...}}</tool_call>``;
    - ``"ui_tars"``: ``Action: click(start_box='(500,500)')``;
    - ``"openai"``, ``"anthropic"``: the JSON of their computer tools.

    A text that cannot be read as an action uses up the turn, and the answer explains the fault.

    ## Observation Space
    A `gymnasium.spaces.Dict` of what ``observation=`` names:

    - ``screenshot``: uint8 of shape (height, width, 3);
    - ``accessibility_tree``: XML in OSWorld's vocabulary;
    - ``accessibility_text``: its elements in a line each: role, name, text, centre, states;
    - ``instruction``: the task in words;
    - ``terminal``: the text of the terminal in the active window;
    - ``message``: first how to act, later the output of the last action, or the reason why it failed;
    - ``marks``: elements with a number in a line each; the screenshot then has numbered boxes around them, and in an
      action ``mark_3`` stands for the middle of the third: ``pyautogui.click(mark_3)``;
    - ``text``: everything for a reader of text: first the task and the instructions, later the message; and the screen.

    With ``observation="text"`` it is that text alone, as a `Unicode`. For a model that sees,
    ``["screenshot", "instruction", "message"]`` is enough, and spares the time that reading the elements takes.

    ## Information
    - ``task_id``: id of the task, the same on every machine.
    - ``instruction``, ``evaluator``: the task in words, and the name of the evaluator that decides.
    - ``action``: ``CODE``, ``WAIT``, ``DONE`` or ``FAIL``; None where none was read.
    - ``command``: ``"ok"``; ``"impossible"`` where the code failed in the guest; ``"unreadable"`` where no action was
      read; None at the reset.
    - ``turn``, ``turns_left``: turns used and left.
    - ``message``: output of the last action, or the reason why it failed.
    - ``outcome``: None while undecided; then 1 if the score is full, or -1; "error" if desktop or evaluator failed and
      no action was the cause, which ends the episode truncated and counts for nothing.
    - ``error``: the failure, where ``outcome`` is "error"; else empty.
    - ``agent_crash``: what no longer works, where the agent's actions broke the desktop: the session ended, the disk
      full, a device in the place of a result, no answer. The outcome is then -1 at once; else empty.
    - ``independent``: False on a guest that is never reset: the episode began with what others left.

    ## Rewards
    0 until the end, then the evaluator's score, 0 to 1. ``FAIL`` scores 1 on an infeasible task and 0 on any other; an
    infeasible task scores 0 with anything else.

    ## Starting State
    ``reset(options={"task": ...})`` takes a `Task` (or its JSON mapping), or the id of a task this environment knows.
    Without it, a task is drawn by the environment's random generator. The desktop has a new home directory, and the
    task's set-up has been carried out; `prepare` does that for the next task while this one is played.

    ## Episode End
    Terminated by ``DONE`` and ``FAIL``. Truncated after the last turn; the final state of the desktop is scored.

    ## Arguments
    - ``max_turns``: number of turns.
    - ``tasks``: tasks to draw from instead of generated ones: a list of `Task` objects or of their JSON mappings, or a
      `TaskPool` or the path of one, whose active tasks are played.
    - ``split``, ``knobs``: of the generator.
    - ``backend``: ``"bwrap"``, ``"docker"``, ``"vm"`` or ``"http"``, or a `Desktop`, which its owner
      ends. ``desktop``: further settings of the backend, such as ``{"url": ...}``.
    - ``observation``: see above. ``action_space``: see above.
    - ``relative_coordinates``: True where coordinates run from 0 to 1, a number where they run from 0 to that, two
      numbers for x and y: the size of the picture that a model reads. False for pixels. By default 1000 for
      ``"computer_use"`` and ``"ui_tars"``, pixels for the others.
    - ``screen``: width and height in pixels.
    - ``looks``: a number that varies wallpaper, theme, size of the text and places of windows by task (see
      `rlanything_envs.osworld.looks`); None for the usual look.
    - ``settle``: a `Settle` or its fields: when to observe after an action; None for at once.
    - ``assets``: the directory of the tasks' remote files (see `Assets`).
    - ``password``: password of the guest's user, for set-up steps that need it.
    - ``strict``: ``"upstream"`` for OSWorld's reading of the few metrics of which ours differs on purpose.
    - ``instructions``: False leaves out of the first text how to write an action, for agents that call tools.
    - ``render_mode``: None or ``"rgb_array"`` (the screen).

    ```python
    import gymnasium as gym
    import rlanything_envs

    env = gym.make("RLAnything/OSWorld-v0", observation="text")
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step("pyautogui.press('enter')")
    ```

    ## Version History
    - v0: initial version.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 2}  # noqa: RUF012
    domain = "osworld"
    brief_action = staticmethod(brief_action)

    def __init__(
        self,
        max_turns: int = 15,
        *,
        tasks: Tasks | None = None,
        split: str = "train",
        knobs: Mapping[str, Any] | None = None,
        backend: str | Desktop = "bwrap",
        desktop: Mapping[str, Any] | None = None,
        observation: Sequence[str] | str = ("screenshot", "accessibility_tree", "instruction"),
        action_space: ActionSpace = "pyautogui",
        relative_coordinates: bool | float | Sequence[float] | None = None,
        screen: Sequence[int] = (1920, 1080),
        looks: int | None = None,
        settle: Settle | Mapping[str, float] | None = Settle(),  # noqa: B008 (it is frozen)
        assets: Files | str | os.PathLike[str] | None = None,
        password: str = "password",
        strict: Strict = "own",
        instructions: bool = True,
        render_mode: str | None = None,
    ) -> None:
        """See the class.

        Raises:
            ValueError: an argument is not one of its choices, or `tasks` is empty.
            SettingError: there is no such desktop.
        """
        if isinstance(max_turns, bool) or not isinstance(max_turns, int) or max_turns < 1:
            raise ValueError(f"OSWorldEnv: max_turns must be a positive integer, got {max_turns!r}")
        if action_space not in get_args(ActionSpace):
            raise ValueError(
                f"OSWorldEnv: action_space {action_space!r} is unknown; choose {', '.join(get_args(ActionSpace))}"
            )
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"OSWorldEnv: render_mode {render_mode!r} is unknown; choose 'rgb_array' or None")
        self.max_turns = max_turns
        self.render_mode = render_mode
        self.screen = check_screen(screen)
        self._reader = READERS.get(action_space)
        usual = self._reader.scale if self._reader else 0.0
        self.scale = usual if relative_coordinates is None else _scale(relative_coordinates)
        self._dictionaries = action_space == "computer_13"
        self.action_space = Computer13(self.screen, self.scale) if self._dictionaries else Unicode(MAX_ACTION_LENGTH)
        self._view = View(observation, self.screen, action_space, self.scale, instructions)
        self.observation_space = self._view.space
        self.settle = settle if settle is None or isinstance(settle, Settle) else Settle(**settle)
        self.files: Files = Assets(assets) if assets is None or isinstance(assets, str | os.PathLike) else assets
        if strict not in ("own", "upstream"):
            raise ValueError(f"OSWorldEnv: strict {strict!r} is unknown; choose 'own' or 'upstream'")
        self.password, self.strict, self.looks = password, strict, looks
        self._machine = Machine(backend, self.screen, desktop)
        self.source = _generated(split, knobs) if tasks is None else source_of(tasks)
        self.task_id = ""
        self.code = ""
        """PyAutoGUI code of the last action, with coordinates in pixels; empty where it was a word or unreadable."""
        self.keep_results = False
        """Whether `results` are kept."""
        self.results: bytes | None = None
        """What the evaluator read of the desktop at the end of the last episode, for `judge_again`; one line."""
        self._ahead: Ahead | None = None
        self._episode: _Episode | None = None

    @property
    def root(self) -> str | None:
        """Hash of the root folder that desktops are made of; None where they are of something else."""
        return self._machine.root

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode on ``options["task"]``, or on a task drawn at random.

        Raises:
            SettingError: an option other than ``task``.
            UnknownTask: the id names no task.
            TaskFormatError: the task cannot be played.
            Unwinnable: the desktop lacks a program, a schema, a locale or the network that the task requires.
            InfrastructureError: the desktop or its set-up failed, or a file of the task is missing.
        """
        super().reset(seed=seed)
        self._episode = self.results = None
        wanted = wanted_task(options)
        task = self.source.draw(self.np_random) if wanted is None else find_task(wanted, self.domain, self.source)
        problem = problem_of(task)
        try:
            seen, evaluator = self._begin(task.id, problem)
        except (InfrastructureError, AssetError) as error:
            if isinstance(error, Unwinnable):
                raise Unwinnable(f"task {task.id} cannot be won here: the desktop lacks {error}") from None
            self._machine.replace()
            if isinstance(error, InfrastructureError):
                raise
            raise InfrastructureError(f"task {task.id}: {error}") from error
        self.task_id = task.id
        self._episode = episode = _Episode(task.id, problem, evaluator, limits_of_reset(self))
        return self._observe(episode, seen, _Answer()), self._info(episode, _Answer())

    def missing_files(self, tasks: Iterable[Task]) -> dict[str, list[str]]:
        """The files without which `reset` fails on these tasks, by the ids of the tasks that lack some.

        Nothing is known of files that are not in a directory of assets, or of a task that cannot be read.
        """
        found: dict[str, list[str]] = {}
        if not isinstance(assets := self.files, Assets):
            return found
        for task in tasks:
            with contextlib.suppress(TaskFormatError, EvaluatorError):
                problem = problem_of(task)
                played = problem.model_copy(update={"evaluators": {problem.current: problem.evaluator}})
                if absent := [url for url in asset_urls(played) if assets.lacks(url)]:
                    found[task.id] = absent
        return found

    def prepare(self, task: Task | Mapping[str, Any] | str) -> None:
        """Put a second desktop into the state of a task in the background.

        The reset to that task then takes as long as a look. To be called after a reset. A desktop that was given, one
        by ``"http"`` stay alone: there the reset does all of it, as without this.

        Args:
            task: a `Task`, its JSON mapping, or the id of a task this environment knows.

        Raises:
            UnknownTask, TaskFormatError: as `reset`; any other failure shows at the reset.
        """
        wanted = find_task(task, self.domain, self.source)
        problem = problem_of(wanted)
        if self._machine.alone:
            return
        if self._ahead is None:
            self._ahead = Ahead(copy.copy(self._machine))
        self._ahead.prepare(wanted.id, lambda machine: self._set_up(machine, wanted.id, problem))

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one action.

        Raises:
            EpisodeOver: there is no running episode.
            InvalidAction: the action is neither a text nor, with ``computer_13``, a mapping.
            InfrastructureError: an unexpected failure; the episode is void. An ordinary failure of desktop or evaluator
                gives the outcome "error" instead.
        """
        if (episode := self._episode) is None:
            raise EpisodeOver("OSWorldEnv: no episode is running: call reset() first")
        if not isinstance(action, (str, Mapping) if self._dictionaries else str):
            wanted = "a mapping or a text" if self._dictionaries else "a text"
            raise InvalidAction(f"OSWorldEnv: an action is {wanted}, got {type(action).__name__}")
        episode.turn += 1
        self.code = ""
        seen: Observation | None = None
        try:
            answer = self._do(action, episode)
            self._check(episode)  # before a look, which would wait for a screen that is gone
            seen = self._look(self.client, self.settle if answer.acted else None)
            self._check(episode)  # after it, since what was killed takes a moment to end
            if answer.ends or episode.turn == self.max_turns or is_last_step(episode.limits):
                answer.reward = self._score(episode, answer.action)
                answer.outcome = _verdict(answer.reward)
        except Exception as error:
            reason = str(error) or type(error).__name__
            crash = self._is_crash(episode, error)
            self._machine.replace()
            if crash:
                answer = _Answer(message=messages.CRASHED, outcome=Verdict.FAILURE, ends=True, agent_crash=reason)
            elif isinstance(error, _INFRASTRUCTURE):
                answer = _Answer(message=messages.FAILED, outcome="error", error=reason)
            else:
                self._episode = None
                raise InfrastructureError(f"the desktop failed on task {self.task_id}: {error!r}") from error
        if answer.outcome is not None:
            self._episode = None
        terminated = answer.ends and answer.outcome != "error"
        truncated = answer.outcome is not None and not terminated
        observation = self._observe(episode, seen, answer)
        info = self._info(episode, answer)
        settle_outcome(info, truncated=is_last_step(episode.limits))
        return observation, answer.reward, terminated, truncated, info

    def look(self) -> Any:
        """An observation of the desktop as it is now; no action is taken, and no turn counts.

        Raises:
            EpisodeOver: there is no running episode.
            DesktopError: the desktop failed.
        """
        if self._episode is None:
            raise EpisodeOver("OSWorldEnv: no episode is running: call reset() first")
        return self._observe(self._episode, self._look(self.client, None), _Answer())

    @property
    def tools(self) -> Toolset:
        """The actions of ``computer_13`` as typed tools.

        Raises:
            SettingError: The action space is another one.
        """
        if not self._dictionaries:
            raise SettingError("the tools of OSWorldEnv need action_space='computer_13'")
        return TOOLS

    @property
    def client(self) -> Client:
        """The way to the running desktop besides the actions; what is done there is no turn."""
        return self._machine.client

    def render(self) -> Pixels | None:
        """The screen: uint8, shape (height, width, 3); black where there is none."""
        if self.render_mode is None:
            gym.logger.warn("OSWorldEnv.render: make the environment with render_mode='rgb_array'")
            return None
        try:
            return self.client.screenshot_array()
        except InfrastructureError:
            return self._view.black()

    def close(self) -> None:
        """End the episode and the desktop; may be called more than once."""
        self._episode = None
        self._machine.close()
        if self._ahead is not None:
            self._ahead.close()

    # --- the course of an episode ---

    def _begin(self, task: str, problem: Payload) -> tuple[Observation, Mapping[str, Any]]:
        ready = None if self._ahead is None else self._ahead.take(task, self._machine)
        if ready is None:
            seen = self._set_up(self._machine, task, problem)
        else:
            self._machine, seen = ready
            seen = self._still(seen) or self._look(self.client, self.settle)
        return seen, substitute(problem.evaluator, stage_names(self.screen, self.password))

    def _still(self, seen: Observation) -> Observation | None:
        """An observation of a while ago with the pixels of now; None where the screen has changed."""
        if self.settle is None or seen.screenshot is None:
            return None
        pixels = self.client.screenshot_array()
        same = changed(seen.screenshot, pixels) <= self.settle.tolerance
        return Observation(pixels, seen.accessibility_tree, seen.terminal) if same else None

    def _set_up(self, machine: Machine, task: str, problem: Payload) -> Observation:
        stage = Stage(machine.pristine(), self.files, self.screen, self.password)
        if self.looks is not None:
            Look.drawn(self.looks, task).put_on(stage.client, self.screen)
        if lacking := machine.lacking(requirements_of(problem)):
            raise Unwinnable(", ".join(lacking))
        evaluator = substitute(problem.evaluator, stage.names)
        try:
            check_libraries(evaluator)
        except VerifierError as error:
            raise Unwinnable(f"on the machine that judges: {error}") from error
        for url in evaluator_urls(evaluator):  # now and not after the agent's work
            self.files.read(url)
        run_steps([step.model_dump() for step in problem.config], stage, "config")
        if problem.config and self.settle is not None:
            _settled(stage.client, AFTER_SETUP)
        return self._look(stage.client, self.settle)

    def _is_crash(self, episode: _Episode, error: Exception) -> bool:
        """Whether a failure is one that the agent's actions caused, at once or later.

        After an action only what is out of the desktop's reach says otherwise: its server has ended, a file of the task
        is gone, the verifier fails without anything of the agent, or this machine refuses something.
        """
        if not episode.acted or isinstance(error, _ELSEWHERE):
            return False
        return isinstance(error, DesktopWrecked) or self._machine.intact()

    def _do(self, given: Any, episode: _Episode) -> _Answer:
        try:
            name, action = self._read(given)
        except Unreadable as error:
            return _Answer(message=messages.unreadable(str(error)), command="unreadable")
        self.code = action.code
        said: list[str] = []
        command: Command = "ok"
        if action.code:
            episode.acted = True
            done = self.client.act(action.code)
            episode.pause = Limit(_PAUSE, lambda: self.client.health().held)
            said.append(messages.ran(done))
            command = "ok" if done.returncode == 0 else "impossible"
        if action.word == "WAIT":
            self.client.act(_WAIT)
        elif action.word is not None:
            said.append(messages.DONE if action.word == "DONE" else messages.FAIL)
        acted, ends = bool(action.code) or action.word == "WAIT", action.word in ("DONE", "FAIL")
        return _Answer(name, "\n".join(filter(None, said)), acted, ends, command=command)

    def _check(self, episode: _Episode) -> None:
        if episode.acted and (broken := self.client.health().broken):
            raise DesktopWrecked(broken)

    def _read(self, given: str | Mapping[str, Any]) -> tuple[str, Action]:
        if self._reader is not None:
            action = self._reader.read(str(given), self.screen, self.scale)
            return action.name, action
        if self._dictionaries:
            value = read_dictionary(given) if isinstance(given, str) else given
            return str(value.get("action_type")), action_of(value, self.screen, self.scale)
        action = read_action(str(given))
        if self._view.marked and self._episode is not None:
            action = Action(with_marks(action.code, self._episode.marks), action.word)
        if self.scale and action.code:
            action = Action(absolute(action.code, self.screen, self.scale), action.word)
        return action.name, action

    def _score(self, episode: _Episode, last: str | None) -> float:
        stage = Stage(self.client, self.files, self.screen, self.password)
        steps = episode.evaluator.get("postconfig") or ()
        if last == "FAIL" or episode.evaluator.get("func") == "infeasible":
            steps = ()
        while self.settle is not None and episode.pause is not None and not episode.pause.over:
            time.sleep(BEFORE_SCORE.every)
        self._rest(stage)
        run_steps(steps, stage, "postconfig", lenient=True)
        if steps:
            self._rest(stage)
        recorder = Recorder(self.client) if self.keep_results else None
        guest = recorder or self.client
        score = evaluate(episode.evaluator, guest, last_action=last, files=self.files, strict=self.strict)
        self.results = None if recorder is None else recorder.to_json(last)
        return float(score)

    def judge_again(self, task: Task, results: bytes) -> tuple[float, Verdict]:
        """Score and verdict of `results` that were kept of an episode on a task, by the evaluator as it is now.

        No desktop is needed. The results are believed: whoever can write them can write a solved state.

        Raises:
            TaskFormatError: the task is malformed.
            NotKept: the evaluator asks for more than was kept, or the results are malformed.
            VerifierError, EvaluatorError, AssetError: there is no score.
        """
        guest = KeptGuest(results)
        evaluator = substitute(problem_of(task).evaluator, stage_names(self.screen, self.password))
        score = evaluate(evaluator, guest, last_action=guest.last_action, files=self.files, strict=self.strict)
        return score, _verdict(score)

    def _rest(self, stage: Stage) -> None:
        if self.settle is not None:
            _settled(stage.client, BEFORE_SCORE)

    # --- looking ---

    def _look(self, client: Client, settle: Settle | None) -> Observation:
        seen = self._seen(client, settle)
        if seen.screenshot is not None and seen.screenshot.shape[:2] != self.screen[::-1]:
            height, width = seen.screenshot.shape[:2]
            raise DesktopError(f"the screen has {width} by {height} pixels now")
        return seen

    def _seen(self, client: Client, settle: Settle | None) -> Observation:
        view = self._view
        if settle is None:
            return client.observe(screenshot=view.picture, accessibility=view.tree, terminal=view.terminal)
        begin = time.monotonic()
        for _ in range(_LOOKS):  # until the pixels after the tree are those before it: they belong together
            before = _settled(client, settle)
            if not (view.tree or view.terminal):
                return Observation(before)
            more = client.observe(screenshot=False, accessibility=view.tree, terminal=view.terminal)
            pixels = client.screenshot_array()
            if changed(before, pixels) <= settle.tolerance or time.monotonic() - begin > _LOOKS_SECONDS:
                break
        return Observation(pixels, more.accessibility_tree, more.terminal)

    def _observe(self, episode: _Episode, seen: Observation | None, answer: _Answer) -> Any:
        left = self.max_turns - episode.turn
        episode.marks = self._view.marks(seen)
        return self._view.told(seen, episode.problem.instruction, answer.message, episode.turn, left, episode.marks)

    def _info(self, episode: _Episode, answer: _Answer) -> dict[str, Any]:
        return {
            "task_id": episode.task_id,
            "instruction": episode.problem.instruction,
            "evaluator": episode.problem.current,
            "action": answer.action,
            "command": answer.command,
            "turn": episode.turn,
            "turns_left": self.max_turns - episode.turn,
            "message": answer.message,
            "outcome": answer.outcome,
            "error": answer.error,
            "agent_crash": answer.agent_crash,
            "independent": self._machine.independent,
        }


@dataclass(slots=True)
class _Episode:
    """State of an episode."""

    task_id: str
    problem: Payload
    evaluator: Mapping[str, Any]
    limits: Limits = ()
    turn: int = 0
    acted: bool = False
    pause: Limit | None = None
    """Since the last action."""
    marks: Sequence[Line] = ()
    """Elements that the agent has seen with a number."""


@dataclass(slots=True)
class _Answer:
    """Result of an action."""

    action: str | None = None
    message: str = ""
    acted: bool = False
    ends: bool = False
    reward: float = 0.0
    outcome: Verdict | Literal["error"] | None = None
    error: str = ""
    agent_crash: str = ""
    command: Command | None = None


def _verdict(score: float) -> Verdict:
    return Verdict.SUCCESS if score >= _FULL_SCORE else Verdict.FAILURE


def _settled(client: Client, settle: Settle) -> Pixels:
    """The screen after it has settled."""
    return settle.wait(
        client.screenshot_array, busy=lambda: client.health().busy > 0, held=lambda: client.health().held
    )


def _generated(split: str, knobs: Mapping[str, Any] | None) -> GeneratedTasks:
    if split not in SPLITS:
        raise ValueError(f"OSWorldEnv: split {split!r} is unknown; choose from {', '.join(SPLITS)}")
    make_knobs(**(knobs or {}))  # fail now and not at the first reset
    return GeneratedTasks(OSWorldDomain(), split, dict(knobs or {}))


def _scale(relative: bool | float | Sequence[float]) -> Scale:
    if isinstance(relative, bool):
        return float(relative)
    ends = [relative] if isinstance(relative, int | float) else list(relative)
    if len(ends) not in (1, 2) or not all(isinstance(end, int | float) and 0 < end < float("inf") for end in ends):
        raise ValueError(
            f"OSWorldEnv: relative_coordinates is true, false, a positive number or two of them, got {relative!r}"
        )
    return float(ends[0]) if len(ends) == 1 else (float(ends[0]), float(ends[1]))
