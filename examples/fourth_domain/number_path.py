"""A fourth domain in one file: walk from one number to another by a few operations.

    You are at 3. Reach 20. In each move, write one of: add 4, double, subtract 1

With the line in ``pyproject.toml`` that announces `DOMAIN` in the entry-point group ``rlanything.domains`` this is all
it takes: the environment, the curriculum that rewrites its tasks, pools, and every adapter.

```python
env = gym.make("number_path:NumberPath-v0")
env = AdaptiveDifficulty(gym.make("number_path:NumberPath-v0"), rollouts=4)
```
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeGuard

import gymnasium as gym
import numpy as np

from rlanything_envs import Unicode, Verdict
from rlanything_envs.errors import EpisodeOver, InvalidAction
from rlanything_envs.sources import GeneratedTasks, Tasks, find_task, source_of
from rlanything_task_pools import Rejection, Rewrite, Task, TaskFormatError
from rlanything_task_pools.domain import check_operators
from rlanything_task_pools.knobs import KnobError, check_seed, check_split, read_knobs
from rlanything_task_pools.rng_stream import RngStream
from rlanything_task_pools.task import Direction

NAME = "numberpath"
ENV_ID = "number_path:NumberPath-v0"
"""The module's name before the colon lets `gymnasium.make` import it."""

LARGEST = 200
"""Numbers run from 0 to this; an operation that leaves the range changes nothing."""

MOVES = 8
"""How many an episode may take, and so a proof."""

OPERATIONS = ("add 1", "add 3", "add 4", "add 7", "double", "triple", "halve", "subtract 1", "subtract 5")
OPERATORS = ("target", "start")
"""Ways to rewrite a task."""


# --- the world, and the proof ---


@dataclass(frozen=True)
class Puzzle:
    """What a task's payload says."""

    start: int
    target: int
    operations: tuple[str, ...]

    @classmethod
    def of(cls, task: Task) -> Puzzle:
        """Read a task; its payload is untrusted.

        Raises:
            TaskFormatError: It is no task of this domain.
        """
        if task.domain != NAME:
            raise TaskFormatError(f"task {task.id} is of the domain {task.domain!r}; this environment plays {NAME}")
        payload = task.payload
        start, target, operations = (payload.get(key) for key in ("start", "target", "operations"))
        if not is_number(start) or not is_number(target):
            raise TaskFormatError(f"task {task.id}: start and target are whole numbers from 0 to {LARGEST}")
        if not isinstance(operations, list | tuple) or not operations or not set(operations) <= set(OPERATIONS):
            raise TaskFormatError(f"task {task.id}: operations are one or more of {', '.join(OPERATIONS)}")
        return cls(start, target, tuple(operations))

    def after(self, number: int, operation: str) -> int:
        """Where an operation leads; it leads nowhere if it is not offered or leaves the range."""
        verb, _, amount = operation.partition(" ")
        moved = {
            "add": lambda: number + int(amount),
            "subtract": lambda: number - int(amount),
            "double": lambda: number * 2,
            "triple": lambda: number * 3,
            "halve": lambda: number // 2,
        }[verb]() if operation in self.operations else number  # fmt: skip
        return moved if 0 <= moved <= LARGEST else number

    def path(self) -> tuple[str, ...] | None:
        """A shortest path to the target, by breadth-first search: the proof. None if there is none."""
        return paths(self.start, self.operations).get(self.target)


@lru_cache(maxsize=512)
def paths(start: int, operations: tuple[str, ...]) -> Mapping[int, tuple[str, ...]]:
    """A shortest path to every number that can be reached."""
    puzzle = Puzzle(start, start, operations)
    found: dict[int, tuple[str, ...]] = {start: ()}
    frontier: list[int] = [start]
    while frontier:
        following = []
        for number in frontier:
            for operation in operations:
                there = puzzle.after(number, operation)
                if there not in found:
                    found[there] = (*found[number], operation)
                    following.append(there)
        frontier = following
    return found


def is_number(value: object) -> TypeGuard[int]:
    """Whether something is a whole number in the range."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST


# --- the tasks ---


@dataclass(frozen=True)
class Knobs:
    """Difficulty: the length of the shortest path, and how many operations there are."""

    length: int = 3
    operations: int = 3

    def __post_init__(self) -> None:
        if not isinstance(self.length, int) or not 1 <= self.length <= MOVES:
            raise KnobError(f"length = {self.length!r}: give a whole number from 1 to {MOVES}")
        if not isinstance(self.operations, int) or not 2 <= self.operations <= len(OPERATIONS):
            raise KnobError(f"operations = {self.operations!r}: give a whole number from 2 to {len(OPERATIONS)}")


def make_task(puzzle: Puzzle, proof: tuple[str, ...], **more: Any) -> Task:
    """A task with its proof; the id comes from goal and payload."""
    return Task(
        domain=NAME,
        goal=f"Reach {puzzle.target} from {puzzle.start} by {', '.join(puzzle.operations)}.",
        payload={"start": puzzle.start, "target": puzzle.target, "operations": list(puzzle.operations)},
        proof=proof,
        traits={"length": len(proof), "operations": len(puzzle.operations), "difficulty": float(len(proof))},
        **more,
    )


class NumberPathDomain:
    """What `rlanything_task_pools.get_domain("numberpath")` gives; see `Domain` for what the methods promise."""

    name = NAME
    env_id = ENV_ID

    def __init__(self, operators: Iterable[str] = OPERATORS) -> None:
        self.operators = check_operators(list(operators), OPERATORS)

    def with_operators(self, names: Iterable[str]) -> NumberPathDomain:
        """The same domain with other ways to rewrite."""
        return NumberPathDomain(names)

    def generate(self, seed: int, split: str = "train", **knobs: Any) -> Task:
        """The task of a seed: operations and a start are drawn until some number is `length` moves away."""
        chosen, dice = read_knobs(Knobs, knobs), RngStream(NAME, check_split(split), check_seed(seed))
        for _ in range(1000):
            operations = tuple(OPERATIONS[i] for i in sorted(dice.shuffled(len(OPERATIONS))[: chosen.operations]))
            start = dice.below(30)
            far = sorted(number for number, path in paths(start, operations).items() if len(path) == chosen.length)
            if far:
                puzzle = Puzzle(start, dice.pick(far), operations)
                return make_task(puzzle, paths(start, operations)[puzzle.target])
        raise KnobError(f"no puzzle with {chosen.operations} operations takes {chosen.length} moves")

    def describe(self, task: Task) -> str:
        """The task in words, for a rewriter's prompt."""
        return f"{task.goal} The shortest way takes {len(Puzzle.of(task).path() or ())} moves."

    def proposal_schema(self, task: Task) -> Mapping[str, Any]:
        """JSON schema of what `validate` reads: one enabled operator's number."""
        number = {"type": "integer", "minimum": 0, "maximum": LARGEST}
        schemas = [
            {"type": "object", "properties": {name: number}, "required": [name], "additionalProperties": False}
            for name in self.operators
        ]
        return {"oneOf": schemas}

    def propose(
        self, task: Task, direction: Direction, rng: np.random.Generator, blamed: Sequence[str] = ()
    ) -> Sequence[Mapping[str, Any]]:
        """New targets, then new starts, in random order; those that change the length least come first."""
        puzzle = Puzzle.of(task)
        length, ranked = len(puzzle.path() or ()), []
        for operator in self.operators:
            for number in rng.permutation(LARGEST + 1).tolist():
                path = changed(puzzle, {operator: number}).path()
                goes = path and (len(path) > length if direction == "harder" else len(path) < length)
                if path and goes and len(path) <= MOVES:
                    ranked.append((abs(len(path) - length), {operator: number}))
        return [proposal for _, proposal in sorted(ranked, key=lambda item: item[0])]

    def validate(
        self,
        task: Task,
        proposal: Mapping[str, Any],
        *,
        direction: Direction,
        author: str,
        critique: str = "",
    ) -> Task | Rejection:
        """The proposed rewrite with its proof, or why it is none. A proposal may come from a language model."""
        try:
            puzzle = Puzzle.of(task)
        except TaskFormatError as error:
            return Rejection(reason="bad_parent", detail=str(error)[:400])
        if not isinstance(proposal, Mapping) or len(proposal) != 1 or not set(proposal) <= set(self.operators):
            return Rejection(reason="malformed", detail=f"expected one of {', '.join(self.operators)} and nothing else")
        if not all(is_number(number) for number in proposal.values()):
            return Rejection(reason="malformed", detail=f"expected a whole number from 0 to {LARGEST}")
        rewritten = changed(puzzle, proposal)
        proof, before = rewritten.path(), len(puzzle.path() or ())
        if proof is None or len(proof) > MOVES:
            return Rejection(reason="unsolvable", detail=f"{rewritten.target} cannot be reached in {MOVES} moves")
        if not proof:
            return Rejection(reason="already_true", detail="start and target are the same")
        if (len(proof) > before) != (direction == "harder") or len(proof) == before:
            detail = f"asked for {direction}, but the shortest way takes {len(proof)} moves and took {before}"
            return Rejection(reason="wrong_direction", detail=detail)
        rewrite = Rewrite(direction=direction, author=author, change=dict(proposal), critique=critique)
        return make_task(rewritten, proof, parent=task.id, root=task.root or task.id, rewrite=rewrite)

    def verify(self, task: Task) -> str | None:
        """Walk the proof of a task of unknown origin."""
        try:
            puzzle = Puzzle.of(task)
        except TaskFormatError as error:
            return str(error)
        number = puzzle.start
        for operation in task.proof:
            number = puzzle.after(number, operation)
        if puzzle.start == puzzle.target:
            return "start and target are the same"
        if number != puzzle.target or len(task.proof) > MOVES:
            return f"its proof leads to {number} in {len(task.proof)} moves, and not to {puzzle.target} in {MOVES}"
        return None

    def load(self, source: str | os.PathLike[str]) -> Task:
        """The task of a JSON file, whose proof is walked."""
        task = Task.from_json(Path(source).read_bytes())
        if wrong := self.verify(task):
            raise TaskFormatError(f"{os.fspath(source)}: {wrong}")
        return task


def changed(puzzle: Puzzle, proposal: Mapping[str, int]) -> Puzzle:
    """The puzzle with another start or target."""
    return Puzzle(proposal.get("start", puzzle.start), proposal.get("target", puzzle.target), puzzle.operations)


DOMAIN = NumberPathDomain()


# --- the environment ---


class NumberPathEnv(gym.Env[str, str]):
    """Walk from one number to another; the reward is 1 on arrival.

    Args:
        split: Of the generator.
        knobs: Further arguments of the generator.
        tasks: What to draw from instead of generated tasks.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012
    domain = NAME

    def __init__(
        self, split: str = "train", *, knobs: Mapping[str, Any] | None = None, tasks: Tasks | None = None
    ) -> None:
        self.action_space = self.observation_space = Unicode(500)
        self.source = GeneratedTasks(DOMAIN, split, knobs) if tasks is None else source_of(tasks)
        self._puzzle: Puzzle | None = None
        self._number = 0
        self.task_id = ""

    @staticmethod
    def read_answer(text: str) -> str:
        """The last operation in what a language model wrote; a `Conversation` asks for it."""
        found = re.findall("|".join(OPERATIONS), text)
        return found[-1] if found else text.strip()[:500]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode on ``options["task"]``, or on a task drawn at random."""
        super().reset(seed=seed)
        wanted = (options or {}).get("task")
        task = self.source.draw(self.np_random) if wanted is None else find_task(wanted, NAME, self.source)
        self._puzzle, self.task_id = Puzzle.of(task), task.id
        self._number = self._puzzle.start
        operations = ", ".join(self._puzzle.operations)
        said = f"You are at {self._number}. Reach {self._puzzle.target}. In each move, write one of: {operations}"
        return said, self._info(None)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Carry out one operation."""
        if self._puzzle is None:
            raise EpisodeOver("NumberPathEnv: no episode is running: call reset() first")
        if not isinstance(action, str):
            raise InvalidAction(f"NumberPathEnv: an action is a text, got {type(action).__name__}: pass a str")
        self._number = self._puzzle.after(self._number, action.strip())
        if self._number != self._puzzle.target:
            return f"You are at {self._number}.", 0.0, False, False, self._info(None)
        self._puzzle = None
        return f"You are at {self._number}. You have arrived.", 1.0, True, False, self._info(Verdict.SUCCESS)

    def _info(self, outcome: Verdict | None) -> dict[str, Any]:
        commands = [] if self._puzzle is None else sorted(self._puzzle.operations)
        return {"task_id": self.task_id, "outcome": outcome, "admissible_commands": commands}


gym.register("NumberPath-v0", entry_point="number_path:NumberPathEnv", max_episode_steps=MOVES)
