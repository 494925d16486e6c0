"""The coding environment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

import gymnasium as gym

from rlanything_envs.coding import messages
from rlanything_envs.coding.actions import (
    MAX_ACTION_LENGTH,
    Action,
    ActionFormat,
    WrongLanguage,
    brief_action,
    read_action,
)
from rlanything_envs.coding.messages import MAX_OBSERVATION_LENGTH
from rlanything_envs.coding.tools import toolset
from rlanything_envs.errors import EpisodeOver, InfrastructureError, InvalidAction, SettingError, Unreadable
from rlanything_envs.sources import GeneratedTasks, Tasks, find_task, source_of, wanted_task
from rlanything_envs.spaces import Unicode
from rlanything_envs.tools import Toolset
from rlanything_envs.verdict import Command, Limits, Verdict, is_last_step, limits_of_reset, settle
from rlanything_task_pools import Task, TaskFormatError
from rlanything_task_pools.coding import SPLITS, CodingDomain, Example, Payload, read_payload
from rlanything_task_pools.coding.generate import make_knobs
from rlanything_verifiers.coding import (
    Job,
    JudgeError,
    Judgement,
    Language,
    Sandbox,
    SandboxError,
    SandboxUnsupported,
    Test,
    UnsafeSandbox,
    check_job,
    check_language,
    judge_many,
    run_program,
    shared_sandbox,
)

Reward = Literal["all", "fraction"]


@lru_cache(maxsize=64)
def problem_of(task: Task) -> Payload:
    """The problem of a task; read once and shared by all environments of the process.

    Raises:
        TaskFormatError: the task is not of this domain, or its payload is malformed.
    """
    if task.domain != "coding":
        raise TaskFormatError(f"task {task.id} is of the domain {task.domain!r}; this environment plays coding")
    try:
        problem = read_payload(task.payload)
        for tests in (problem.public, problem.hidden):
            if tests:
                check_job(_job("", tests, problem))
    except (TaskFormatError, JudgeError) as error:
        raise TaskFormatError(f"task {task.id}: {error}") from error
    return problem


class CodingEnv(gym.Env[str, str]):
    """Programming problems: write a program, try it on inputs, submit it to hidden tests.

    ## Description
    The agent gets a problem, some samples, and a number of turns. In each turn it may run a program on
    its own input, judge one on the samples, or submit one to the hidden tests, which ends the episode.
    Programs are Python 3 or C++, run in a sandbox without files, network or other processes, and are judged by their
    output.

    ## Action Space
    `Unicode`: an action word at the beginning of a line and a program in a fenced block:

    - ``RUN``: run the program on the input in a second block, marked ``stdin``;
    - ``TEST``: judge it on the samples;
    - ``SUBMIT``: judge it on the hidden tests;
    - ``GIVE_UP``: end the episode.

    In an interactive problem the program exchanges messages with a program of the task (an interactor): ``TEST`` holds
    the conversation of each sample, ``SUBMIT`` those of the hidden tests, and ``RUN`` none: the program reads the
    ``stdin`` block as it is. Such problems need ``backend="process"``.

    Prose and markup around it do not matter, and text before ``</think>`` is skipped. A program belongs to
    the action word directly before it, and the last word with a program counts; of several blocks after a word the
    last complete program does. A program without an action word is submitted. Tool calls in JSON are read too. With
    ``max_turns=1`` only ``SUBMIT`` and ``GIVE_UP`` are action words. With ``action_format="code"`` there are none:
    the last fenced block is submitted, as in LiveCodeBench. `rlanything_envs.coding.actions.read_action` has
    the rules. A text in which no action can be read, or a program in a language that the task does not accept, uses up
    the turn, and the answer explains the fault.

    ## Observation Space
    `Unicode`: the latest message only; the first one is the problem. Long outputs are shortened. Keeping the
    history is up to the agent.

    ## Information
    - ``task_id``: id of the task, the same on every machine.
    - ``action``: the action word that was read, None where none was.
    - ``command``: ``"ok"``; ``"impossible"`` where an action was read that cannot be taken (a program in another
      language, ``TEST`` without samples); ``"unreadable"`` where none was; None at the reset.
    - ``turn``, ``turns_left``: turns used and left.
    - ``public_verdicts``: after ``TEST``, the verdict on each sample (AC, WA, TLE, TLE_WALL, MLE, OLE, RE, CE).
    - ``hidden_counts``: after ``SUBMIT``, the number of hidden tests by verdict. Inputs, outputs and messages of
      hidden tests are nowhere in observations and information.
    - ``sandbox``: tier of the sandbox, ``full`` or ``landlock``; others have to be allowed.
    - ``outcome``: None while undecided; then 1 if the submission passed every hidden test, or -1; "error" if
      the judge failed, which ends the episode truncated and counts for nothing.

    ## Rewards
    0 until ``SUBMIT``. Then, with ``reward="all"``, 1 if every hidden test was accepted and else 0; with
    ``reward="fraction"``, the share that was accepted.

    ## Starting State
    ``reset(options={"task": ...})`` takes a `Task` (or its JSON mapping), or the id of a task this
    environment knows. Without it, a task is drawn by the environment's random generator.

    ## Episode End
    Terminated by ``SUBMIT``, ``GIVE_UP`` or the end of the last turn.

    ## Arguments
    - ``max_turns``: number of turns; 1 for answers at once.
    - ``action_format``: ``"verbs"``, or ``"code"`` for submissions alone.
    - ``reward``: ``"all"`` or ``"fraction"``.
    - ``split``: the generator's split: ``"train"``, ``"valid_seen"`` or ``"valid_unseen"``.
    - ``knobs``: further arguments of the generator.
    - ``tasks``: tasks to draw from instead of generated ones: a list of `Task` objects or of their JSON
      mappings, or a `TaskPool` or the path of one, whose active tasks are played.
    - ``backend``: ``"process"``, or ``"docker"`` where the system has no sandbox of its own.
    - ``allow_unsafe``: accept a sandbox that does not protect files, inside a container for example.
    - ``languages``: the languages that count, of ``"python"`` and ``"cpp"`` (needs g++); the first is that of blocks
      without a language. None: those that the task names, for most Python alone. Functions are written in Python
      always.
    - ``packages``: third-party packages that Python programs may import besides the standard library, of the
      environment of this process (of the image with ``backend="docker"``).
    - ``instructions``: False leaves out of the first message how to write an action, for agents that call tools.
    - ``render_mode``: None or ``"ansi"`` (the last exchange as text).

    ```python
    import gymnasium as gym
    import rlanything_envs

    env = gym.make("RLAnything/Coding-v0", max_turns=4)
    observation, info = env.reset(seed=0)
    action = "TEST\\n```python\\nprint(42)\\n```"
    observation, reward, terminated, truncated, info = env.step(action)
    ```

    ## Version History
    - v0: initial version.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 2}  # noqa: RUF012
    domain = "coding"
    brief_action = staticmethod(brief_action)

    def __init__(
        self,
        max_turns: int = 8,
        *,
        action_format: ActionFormat = "verbs",
        reward: Reward = "all",
        split: str = "train",
        knobs: Mapping[str, Any] | None = None,
        tasks: Tasks | None = None,
        backend: Literal["process", "docker"] = "process",
        allow_unsafe: bool = False,
        languages: Sequence[Language] | None = None,
        packages: Sequence[str] = (),
        instructions: bool = True,
        render_mode: str | None = None,
    ) -> None:
        """See the class.

        Raises:
            ValueError: an argument is not one of its choices, or `tasks` is empty.
            JudgeError: a language is unknown.
            KnobError: a knob of the generator is unknown or its value is out of range.
        """
        if isinstance(max_turns, bool) or not isinstance(max_turns, int) or max_turns < 1:
            raise ValueError(f"CodingEnv: max_turns must be a positive integer, got {max_turns!r}")
        if action_format not in ("verbs", "code"):
            raise ValueError(f"CodingEnv: action_format {action_format!r} is unknown; choose 'verbs' or 'code'")
        if reward not in ("all", "fraction"):
            raise ValueError(f"CodingEnv: reward {reward!r} is unknown; choose 'all' or 'fraction'")
        if backend not in ("process", "docker"):
            raise ValueError(f"CodingEnv: backend {backend!r} is unknown; choose 'process' or 'docker'")
        if not isinstance(allow_unsafe, bool):
            raise SettingError(f"CodingEnv: allow_unsafe = {allow_unsafe!r:.80}: give True or False")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"CodingEnv: render_mode {render_mode!r} is unknown; choose 'ansi' or None")
        self.action_space = Unicode(MAX_ACTION_LENGTH)
        self.observation_space = Unicode(MAX_OBSERVATION_LENGTH)
        self.render_mode = render_mode
        self.max_turns = max_turns
        self.action_format = action_format
        self.reward = reward
        self.backend = backend
        self.allow_unsafe = allow_unsafe
        if languages is not None and not languages:
            raise ValueError("CodingEnv: languages is empty; name some, or give None for those of each task")
        self.languages = None if languages is None else tuple(check_language(name) for name in _list(languages))
        self.packages = _list(packages)
        self.instructions = instructions
        self.source = _generated(split, knobs, allow_unsafe) if tasks is None else source_of(tasks)
        self.task_id = ""
        self._problem: Payload | None = None
        self._taken: tuple[Language, ...] = ("python",)
        self._tried: set[Language] = set()
        self._turn = 0
        self._last = ("", "")  # action and answer, for rendering
        self._limits: Limits = ()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode on ``options["task"]``, or on a task drawn at random.

        Raises:
            SettingError: an option other than ``task``.
            UnknownTask: the id names no task.
            TaskFormatError: the task cannot be played.
            UnsafeSandbox: there is no safe sandbox here.
            SandboxUnsupported: a package is not installed.
            SandboxUnsupported: there is no compiler here for a language that counts; the message names what to install.
            SandboxUnsupported: the problem is interactive, and the backend cannot connect programs.
            InfrastructureError: the sandbox failed to start.
        """
        super().reset(seed=seed)
        self._problem = None
        wanted = wanted_task(options)
        try:
            tier = self._sandbox().tier
            task = self.source.draw(self.np_random) if wanted is None else find_task(wanted, self.domain, self.source)
        except (UnsafeSandbox, SandboxUnsupported):
            raise
        except SandboxError as error:
            raise InfrastructureError(f"the sandbox failed to begin an episode: {error}") from error
        problem = problem_of(task)
        if problem.interactive:
            self._sandbox().check_interaction()
        self._taken = self._languages(problem)
        self._problem, self.task_id, self._turn = problem, task.id, 0
        self._limits = limits_of_reset(self)
        observation = messages.opening(
            problem, self.max_turns, self.action_format, self._taken, self.packages, self.instructions
        )
        self._last = ("", observation)
        return observation, self._info(tier)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one action.

        Raises:
            EpisodeOver: there is no running episode.
            InvalidAction: the action is not a string.
            InfrastructureError: the judge broke down; the episode is void. A sandbox that merely failed gives
                the outcome "error" instead.
        """
        problem = self._problem
        if problem is None:
            raise EpisodeOver("CodingEnv: no episode is running: call reset() first")
        if not isinstance(action, str):
            raise InvalidAction(f"CodingEnv: an action is a text, got {type(action).__name__}: pass a str")
        self._turn += 1
        left = self.max_turns - self._turn
        try:
            box = self._sandbox()
            tier, answer = box.tier, self._answer(action, problem, box)
        except Exception as error:
            self._problem = None
            raise InfrastructureError(f"the judge failed on task {self.task_id}: {error!r}") from error
        observation = answer.text
        if answer.outcome is None:
            observation = f"{observation}\n{messages.turns_left(left)}"
            if left == 0:
                answer = replace(answer, outcome=Verdict.FAILURE)
        if answer.outcome is not None:
            self._problem = None
        self._last = (action, observation)
        truncated = answer.outcome == "error"
        terminated = answer.outcome is not None and not truncated
        info = self._info(tier, answer)
        settle(info, truncated=is_last_step(self._limits))
        return observation, answer.reward, terminated, truncated, info

    @property
    def tools(self) -> Toolset:
        """The actions as typed tools."""
        return toolset(self.max_turns, self.action_format)

    def render(self) -> str | None:
        """The last action and the answer as text, or None."""
        if self.render_mode is None:
            gym.logger.warn("CodingEnv.render: make the environment with render_mode='ansi'")
            return None
        action, answer = self._last
        return f"{action}\n\n{answer}" if action else answer

    def close(self) -> None:
        """End the episode; may be called more than once. The sandbox stays for the other environments."""
        self._problem = None

    def _sandbox(self) -> Sandbox:
        return shared_sandbox(self.backend, self.allow_unsafe, self.packages)

    def _languages(self, problem: Payload) -> tuple[Language, ...]:
        """The languages that count for a problem, each tried once."""
        taken = problem.languages if self.languages is None or problem.entry_point is not None else self.languages
        for language in taken:
            if language not in self._tried:
                self._sandbox().require(language)
                self._tried.add(language)
        return taken

    def _answer(self, text: str, problem: Payload, box: Sandbox) -> "_Answer":
        try:
            action = read_action(
                text,
                only_submit=self.max_turns == 1,
                languages=self._taken,
                entry_point=problem.entry_point,
                action_format=self.action_format,
            )
        except Unreadable as error:
            command: Command = "impossible" if isinstance(error, WrongLanguage) else "unreadable"
            return _Answer(messages.unreadable(str(error)), command=command)
        try:
            return self._do(action, problem, box)
        except SandboxError:
            return _Answer(messages.FAILED, action.verb, outcome="error")

    def _do(self, action: Action, problem: Payload, box: Sandbox) -> "_Answer":
        verb = action.verb
        if verb == "GIVE_UP":
            return _Answer(messages.GAVE_UP, verb, outcome=Verdict.FAILURE)
        if verb == "RUN":
            limits = problem.judge_limits()
            run = run_program(action.code, action.stdin, limits, sandbox=box, language=action.language)
            if run.status == "IE":
                return _Answer(messages.FAILED, verb, outcome="error")
            return _Answer(messages.ran(run), verb)
        if verb == "TEST" and not problem.public:
            return _Answer(messages.NO_SAMPLES, verb, command="impossible")
        judgement = _judge(action, problem.public if verb == "TEST" else problem.hidden, problem, box)
        if judgement.outcome is None:
            return _Answer(messages.FAILED, verb, outcome="error")
        if verb == "TEST":
            return _Answer(messages.tested(judgement), verb, public=judgement.verdicts)
        return _Answer(
            messages.submitted(judgement.verdicts),
            verb,
            hidden=judgement.counts,
            reward=judgement.fraction if self.reward == "fraction" else float(judgement.passed),
            outcome=Verdict.SUCCESS if judgement.passed else Verdict.FAILURE,
        )

    def _info(self, tier: str, answer: "_Answer | None" = None) -> dict[str, Any]:
        command = None if answer is None else answer.command
        answer = answer or _Answer("")
        return {
            "task_id": self.task_id,
            "action": answer.verb,
            "command": command,
            "turn": self._turn,
            "turns_left": self.max_turns - self._turn,
            "public_verdicts": list(answer.public),
            "hidden_counts": dict(answer.hidden),
            "sandbox": tier,
            "outcome": answer.outcome,
        }


@dataclass(frozen=True, slots=True)
class _Answer:
    """Result of an action."""

    text: str
    verb: str | None = None
    command: Command = "ok"
    public: tuple[str, ...] = ()
    hidden: Mapping[str, int] = field(default_factory=dict)
    reward: float = 0.0
    outcome: Verdict | Literal["error"] | None = None


def _generated(split: str, knobs: Mapping[str, Any] | None, allow_unsafe: bool) -> GeneratedTasks:
    if split not in SPLITS:
        raise ValueError(f"CodingEnv: split {split!r} is unknown; choose from {', '.join(SPLITS)}")
    make_knobs(**(knobs or {}))  # fail now and not at the first reset
    return GeneratedTasks(CodingDomain(allow_unsafe=allow_unsafe), split, knobs)


def _list(values: Sequence[str]) -> tuple[str, ...]:
    if isinstance(values, str):
        raise ValueError(f"CodingEnv: expected a list of names, got {values!r:.60}")
    return tuple(values)


def _job(code: str, tests: tuple[Example, ...], problem: Payload, language: Language = "python") -> Job:
    return Job(
        code,
        [Test(test.stdin, test.stdout) for test in tests],
        checker=problem.checker,
        limits=problem.judge_limits(),
        entry_point=problem.entry_point,
        language=language,
    )


def _judge(action: Action, tests: tuple[Example, ...], problem: Payload, box: Sandbox) -> Judgement:
    (judgement,) = judge_many([_job(action.code, tests, problem, action.language)], sandbox=box)
    return judgement
