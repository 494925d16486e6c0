"""A domain without texts in one file: Gymnasium's `MountainCarContinuous`, with its physics as the task.

A car in a valley is to reach a place on the right hill. Where the engine is too weak for the slope, the car has to
swing. Power, mass, gravity, drag, goal and start are the task's payload; the rewriter changes one of them.

```python
env = gym.make("hill_car:HillCar-v0")
env = AdaptiveDifficulty(gym.make("hill_car:HillCar-v0"), rollouts=4)
```
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.classic_control import Continuous_MountainCarEnv

from rlanything_envs import Verdict
from rlanything_envs.errors import EpisodeOver, InvalidAction
from rlanything_envs.sources import GeneratedTasks, Tasks, find_task, source_of, wanted_task
from rlanything_task_pools import Rejection, Rewrite, Task, TaskFormatError
from rlanything_task_pools.domain import check_operators
from rlanything_task_pools.knobs import KnobError, check_seed, check_split
from rlanything_task_pools.rng_stream import RngStream
from rlanything_task_pools.task import Direction

NAME = "hillcar"
ENV_ID = "hill_car:HillCar-v0"
"""The module's name before the colon lets `gymnasium.make` import it."""

PUSHES = 60
"""Pushes of an episode, and most of a proof."""

HOLD = 5
"""Steps of Gymnasium's physics for which a push is held."""

POWER, GRAVITY = 0.0015, 0.0025
"""Accelerations of Gymnasium's car, per step squared: full throttle, and the hill where it is steepest."""

LIMITS = {
    "power": (0.3, 2.0),
    "mass": (0.5, 2.0),
    "gravity": (0.4, 2.0),
    "drag": (0.0, 0.03),
    "goal": (0.1, 0.55),
    "start": (-0.8, -0.2),
}
"""Least and greatest value of each number of a task."""

DRAWN = {**LIMITS, "power": (0.6, 1.8), "mass": (0.7, 1.5), "gravity": (0.6, 1.4), "drag": (0.0, 0.015)}
"""What the generator draws from, uniformly."""

HARDER = {"power": 0.85, "mass": 1.18, "gravity": 1.18, "drag": 1.5, "goal": 1.25}
"""Operators of rewrites, and the factor of a step towards harder physics."""

OPERATORS = tuple(HARDER)
DIGITS = 4
"""Decimal places of a task's numbers."""


# --- the world, and the proof ---


@dataclass(frozen=True)
class Hill:
    """What a task's payload says.

    Attributes:
        power: Of the engine, in multiples of Gymnasium's.
        mass: Of the car; power and drag are divided by it.
        gravity: In multiples of Gymnasium's.
        drag: Share of the speed that a car of mass 1 loses in a step.
        goal: Position to reach, in Gymnasium's coordinate; the hill's top is at 0.52.
        start: Position at which the car stands; the valley's bottom is at -0.52.
    """

    power: float
    mass: float
    gravity: float
    drag: float
    goal: float
    start: float

    @classmethod
    def of(cls, task: Task) -> Hill:
        """Read a task; its payload is untrusted.

        Raises:
            TaskFormatError: It is no task of this domain.
        """
        if task.domain != NAME:
            raise TaskFormatError(f"task {task.id} is of the domain {task.domain!r}; this environment plays {NAME}")
        if set(task.payload) != set(LIMITS) or not all(within(name, value) for name, value in task.payload.items()):
            limits = ", ".join(f"{name} from {low} to {high}" for name, (low, high) in LIMITS.items())
            raise TaskFormatError(f"task {task.id}: the payload has {limits}, and nothing else")
        return cls(**{name: float(value) for name, value in task.payload.items()})


def within(name: str, value: object) -> bool:
    """Whether something is a number in the limits of this name."""
    low, high = LIMITS[name]
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


class Car(Continuous_MountainCarEnv):
    """Gymnasium's car with the physics of a task."""

    hill: Hill

    def place(self, hill: Hill) -> None:
        """Put the car at the start of a hill, at rest."""
        self.hill = hill
        self.power = POWER * hill.power / hill.mass
        self.goal_position = hill.goal
        self.state = np.array([hill.start, 0.0], dtype=np.float32)

    def push(self, throttle: float) -> bool:
        """Hold a throttle from -1 to 1 for `HOLD` steps; whether the car has arrived."""
        kept, heavier = 1.0 - self.hill.drag / self.hill.mass, (self.hill.gravity - 1.0) * GRAVITY
        action = [throttle]  # plain numbers: three times as fast as arrays, and Gymnasium's step takes them as well
        for _ in range(HOLD):
            position, velocity = self.state.tolist()
            # Gymnasium's step adds its own gravity and engine; what differs is put into the velocity before it.
            self.state = (position, velocity * kept - heavier * math.cos(3 * position))
            if super().step(action)[2]:
                return True
        return False


@lru_cache(maxsize=4096)
def proof_of(hill: Hill) -> tuple[str, ...] | None:
    """Pushes that bring the car to its goal, by a controller that is run; None if it does not arrive in time.

    The controller pushes the way the car moves, which puts energy into each swing. The first push may go either way;
    the shorter drive counts.
    """
    car, drives = Car(), []
    for first in ("+1", "-1"):
        car.place(hill)
        pushes = [first]
        while not car.push(float(pushes[-1])) and len(pushes) <= PUSHES:
            pushes.append("+1" if car.state[1] > 0 else "-1")
        if len(pushes) <= PUSHES:
            drives.append(tuple(pushes))
    return min(drives, key=len, default=None)


# --- the tasks ---


def make_task(hill: Hill, proof: tuple[str, ...], **more: Any) -> Task:
    """A task with its proof; the id comes from goal and payload."""
    return Task(
        domain=NAME,
        goal=f"Drive from {hill.start:g} to {hill.goal:g} within {PUSHES} pushes.",
        payload=asdict(hill),
        proof=proof,
        traits={"pushes": len(proof), "difficulty": float(len(proof))},
        **more,
    )


class HillCarDomain:
    """What `rlanything_task_pools.get_domain("hillcar")` gives; see `Domain` for what the methods promise."""

    name = NAME
    env_id = ENV_ID

    def __init__(self, operators: Iterable[str] = OPERATORS) -> None:
        self.operators = check_operators(list(operators), OPERATORS)

    def with_operators(self, names: Iterable[str]) -> HillCarDomain:
        """The same domain with other ways to rewrite."""
        return HillCarDomain(names)

    def generate(self, seed: int, split: str = "train", **knobs: Any) -> Task:
        """The task of a seed: physics are drawn until the controller has to swing."""
        if knobs:
            raise KnobError(f"{NAME} has no knobs: leave out {', '.join(knobs)}")
        rng = RngStream(NAME, check_split(split), check_seed(seed))
        while True:
            drawn = {name: low + (high - low) * rng.uniform() for name, (low, high) in DRAWN.items()}
            hill = Hill(**{name: round(value, DIGITS) for name, value in drawn.items()})
            proof = proof_of(hill)
            if proof and len(set(proof)) > 1:
                return make_task(hill, proof)

    def describe(self, task: Task) -> str:
        """The task in words, for a rewriter's prompt."""
        hill = Hill.of(task)
        numbers = ", ".join(f"{field.name} {getattr(hill, field.name):g}" for field in fields(hill))
        return f"{task.goal} {numbers}. A controller that knows how to swing takes {len(proof_of(hill) or ())} pushes."

    def proposal_schema(self, task: Task) -> Mapping[str, Any]:
        """JSON schema of what `validate` reads: the new value of one number."""
        limits = {name: LIMITS[name] for name in self.operators}
        numbers = {name: {"type": "number", "minimum": low, "maximum": high} for name, (low, high) in limits.items()}
        one = {"minProperties": 1, "maxProperties": 1, "additionalProperties": False}
        return {"type": "object", "properties": numbers, **one}

    def propose(
        self, task: Task, direction: Direction, rng: np.random.Generator, blamed: Sequence[str] = ()
    ) -> Sequence[Mapping[str, Any]]:
        """One step of each operator; those that change the drive least come first, equal ones in random order."""
        hill, ranked = Hill.of(task), []
        before = len(proof_of(hill) or ())
        for name in rng.permutation(self.operators).tolist():
            now = getattr(hill, name) or LIMITS[name][1] / 10  # a factor moves no zero
            factor = HARDER[name] ** (1 if direction == "harder" else -1)
            low, high = LIMITS[name]
            value = round(min(max(now * factor, low), high), DIGITS)
            proof = proof_of(replace(hill, **{name: value}))
            if proof and len(proof) != before and (len(proof) > before) == (direction == "harder"):
                ranked.append((abs(len(proof) - before), {name: value}))
        return [proposal for _, proposal in sorted(ranked, key=lambda item: item[0])]

    def validate(
        self, task: Task, proposal: Mapping[str, Any], *, direction: Direction, author: str, critique: str = ""
    ) -> Task | Rejection:
        """The proposed rewrite with its proof, or why it is none. A proposal may come from a language model."""
        try:
            hill = Hill.of(task)
        except TaskFormatError as error:
            return Rejection(reason="bad_parent", detail=str(error)[:400])
        if not isinstance(proposal, Mapping) or len(proposal) != 1 or not set(proposal) <= set(self.operators):
            return Rejection(reason="malformed", detail=f"expected one of {', '.join(self.operators)} and nothing else")
        ((name, value),) = proposal.items()
        if not within(name, value):
            low, high = LIMITS[name]
            return Rejection(reason="malformed", detail=f"{name}: expected a number from {low} to {high}")
        rewritten = replace(hill, **{name: round(float(value), DIGITS)})
        proof, before = proof_of(rewritten), len(proof_of(hill) or ())
        if proof is None:
            return Rejection(reason="unsolvable", detail=f"the controller does not arrive within {PUSHES} pushes")
        if len(proof) == before or (len(proof) > before) != (direction == "harder"):
            detail = f"asked for {direction}, but the controller takes {len(proof)} pushes and took {before}"
            return Rejection(reason="wrong_direction", detail=detail)
        rewrite = Rewrite(direction=direction, author=author, change=dict(proposal), critique=critique)
        return make_task(rewritten, proof, parent=task.id, root=task.root or task.id, rewrite=rewrite)

    def verify(self, task: Task) -> str | None:
        """Drive the proof of a task of unknown origin."""
        try:
            hill = Hill.of(task)
        except TaskFormatError as error:
            return str(error)
        if not task.proof or len(task.proof) > PUSHES or not set(task.proof) <= {"+1", "-1"}:
            return f"its proof is no list of 1 to {PUSHES} pushes, each '+1' or '-1'"
        car = Car()
        car.place(hill)
        if not any(car.push(float(push)) for push in task.proof):
            return f"its proof ends at {car.state[0]:.3f}, short of {hill.goal:g}"
        return None

    def load(self, source: str | os.PathLike[str]) -> Task:
        """The task of a JSON file, whose proof is driven."""
        task = Task.from_json(Path(source).read_bytes())
        if wrong := self.verify(task):
            raise TaskFormatError(f"{os.fspath(source)}: {wrong}")
        return task


DOMAIN = HillCarDomain()


# --- the environment ---


class HillCarEnv(Car):
    """Drive a car to a place on the hill; the reward is 1 on arrival.

    The action is the throttle, float32 of shape (1,), from -1 to 1, held for `HOLD` steps. The observation is float32
    of shape (7,), each number scaled to -1 to 1 by its limits: position, velocity, then power, mass, gravity, drag and
    goal of the task.

    Args:
        split: Of the generator.
        tasks: What to draw from instead of generated tasks.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012
    domain = NAME

    def __init__(self, split: str = "train", *, tasks: Tasks | None = None) -> None:
        super().__init__()
        ranges = [(self.min_position, self.max_position), (-self.max_speed, self.max_speed)]
        self._low, self._high = np.array([*ranges, *(LIMITS[name] for name in OPERATORS)]).T
        self.observation_space = gym.spaces.Box(-1.0, 1.0, (len(self._low),), np.float32)
        self.source = GeneratedTasks(DOMAIN, split) if tasks is None else source_of(tasks)
        self.task_id = ""
        self._driving = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode on ``options["task"]``, or on a task drawn at random."""
        gym.Env.reset(self, seed=seed)  # Gymnasium's car would draw its own start
        wanted = wanted_task(options)
        task = self.source.draw(self.np_random) if wanted is None else find_task(wanted, NAME, self.source)
        self.place(Hill.of(task))
        self.task_id, self._driving = task.id, True
        return self._observation(), {"task_id": task.id, "outcome": None}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Push once."""
        if not self._driving:
            raise EpisodeOver("HillCarEnv: no episode is running: call reset() first")
        if not isinstance(action, np.ndarray) or action.shape != (1,) or not np.isfinite(action).all():
            raise InvalidAction("HillCarEnv: an action is one finite number: pass an array of shape (1,)")
        arrived = self.push(float(action[0]))
        self._driving = not arrived
        info = {"task_id": self.task_id, "outcome": Verdict.SUCCESS if arrived else None}
        return self._observation(), float(arrived), arrived, False, info

    def _observation(self) -> np.ndarray:
        numbers = np.array([*self.state, *(getattr(self.hill, name) for name in OPERATORS)])
        scaled = 2 * (numbers - self._low) / (self._high - self._low) - 1
        return np.clip(scaled, -1.0, 1.0).astype(np.float32)


gym.register("HillCar-v0", entry_point="hill_car:HillCarEnv", max_episode_steps=PUSHES)
