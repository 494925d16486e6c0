"""Simulations of many iterations, and what they say together: time, idle cards, where the time goes, how surely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from rlanything_agents.config.cluster import ClusterConfig
from rlanything_agents.planning.demand import Demand, Drawn, draw, middle
from rlanything_agents.planning.errors import PlanError
from rlanything_agents.planning.hardware import block_gpus
from rlanything_agents.planning.schedules import SCHEDULES, Schedule, simulate
from rlanything_agents.planning.simulation import PARTS, Outcome, Part

__all__ = ["SWEPT", "Forecast", "Interval", "forecast", "forecast_sweep"]

SWEPT = ("nodes", "gpus", "workers", "sequences", "policy_parallel", "judge_parallel")
"""Keys of a cluster that a sweep takes."""
MOST_DIVISIONS = 8
"""Divisions of the blocks that are tried for ``off_policy``."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Median, and the values below which 5 % and 95 % of the simulated iterations lie."""

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        """Of the values of all seeds."""
        low, middle, high = np.quantile(np.asarray(values), (0.05, 0.5, 0.95))
        return cls(float(middle), float(low), float(high))


@dataclass(frozen=True, slots=True)
class Forecast:
    """One schedule.

    Attributes:
        schedule: Which.
        seconds: Of an iteration.
        idle: Share of the cards' time in which they do nothing.
        useful: Model FLOPs utilisation.
        speedup: Over ``synchronous``, seed by seed.
        saved: For each part, the share of the time that an iteration would be shorter if it took none; not looked for
            where the schedule is another algorithm.
        example: An iteration in the middle of all ranges.
        playing: Blocks that play, where others learn at the same time.
    """

    schedule: Schedule
    seconds: Interval
    idle: Interval
    useful: Interval
    speedup: Interval
    saved: Mapping[Part, Interval]
    example: Outcome
    playing: int | None = None

    @property
    def bottleneck(self) -> Part | None:
        """The part without which an iteration would be shortest."""
        return max(self.saved, key=lambda part: self.saved[part].middle, default=None)

    def to_dict(self) -> dict[str, object]:
        """As plain data, without the single spans."""
        counts = ("episodes", "steps", "judged", "votes", "rewrites")
        return {
            "schedule": self.schedule,
            "off_policy": self.schedule == "off_policy",
            "seconds": asdict(self.seconds),
            "idle": asdict(self.idle),
            "useful": asdict(self.useful),
            "speedup": asdict(self.speedup),
            "bottleneck": self.bottleneck,
            "saved": {part: asdict(interval) for part, interval in self.saved.items()},
            "playing_blocks": self.playing,
            "phases": dict(self.example.phases),
            "counts": {name: getattr(self.example, name) for name in counts},
        }


def forecast(
    demand: Demand,
    cluster: ClusterConfig,
    *,
    seeds: int = 8,
    probes: int | None = None,
    schedules: Sequence[Schedule] = SCHEDULES,
) -> list[Forecast]:
    """Simulate iterations with assumptions drawn anew for each seed, the same in every schedule.

    Args:
        demand: What an iteration asks for.
        cluster: What it runs on.
        seeds: How many iterations.
        probes: In how many of them each part is taken out, to find the bottleneck; half of them if None.
        schedules: Which; ``off_policy`` is left out where the cluster is a single block of cards.

    Raises:
        PlanError: The models do not fit, or no schedule is left.
    """
    single = cluster.all_gpus == block_gpus(cluster)
    wanted = [schedule for schedule in schedules if not (single and schedule == "off_policy")]
    if not wanted:
        raise PlanError("schedule off_policy needs two blocks of GPUs: raise cluster.nodes or cluster.gpus")
    drawn = [draw(cluster.assumptions, demand, np.random.default_rng(seed)) for seed in range(seeds)]
    base = [simulate(demand, cluster, values, seed) for seed, values in enumerate(drawn)]
    probed = max(1, seeds // 2) if probes is None else probes
    central = middle(cluster.assumptions, demand)
    found = []
    for schedule in wanted:
        playing = _best_division(demand, cluster, central) if schedule == "off_policy" else None
        outcomes = base
        if schedule != "synchronous":
            outcomes = [simulate(demand, cluster, each, k, schedule, (), playing) for k, each in enumerate(drawn)]
        saved: dict[Part, Interval] = {}
        for part in PARTS if schedule != "off_policy" else ():
            pairs = zip(outcomes[:probed], drawn, strict=False)
            shorter = [
                1 - simulate(demand, cluster, values, seed, schedule, (part,)).seconds / outcome.seconds
                for seed, (outcome, values) in enumerate(pairs)
            ]
            saved[part] = Interval.of(shorter)
        found.append(
            Forecast(
                schedule=schedule,
                seconds=Interval.of([outcome.seconds for outcome in outcomes]),
                idle=Interval.of([outcome.idle for outcome in outcomes]),
                useful=Interval.of([outcome.useful for outcome in outcomes]),
                speedup=Interval.of([b.seconds / o.seconds for b, o in zip(base, outcomes, strict=True)]),
                saved=saved,
                example=simulate(demand, cluster, central, 0, schedule, (), playing),
                playing=playing,
            )
        )
    return found


def forecast_sweep(
    demand: Demand, cluster: ClusterConfig, key: str, values: Sequence[int], schedule: Schedule, seeds: int = 4
) -> list[tuple[int, Interval, Interval]]:
    """Seconds and idle share of an iteration for several values of one key of the cluster.

    Args:
        demand: What an iteration asks for.
        cluster: What it runs on, but for the key.
        key: One of `SWEPT`.
        values: What it is to be.
        schedule: Of all of them.
        seeds: Iterations for each value, with the same drawn assumptions.

    Raises:
        PlanError: There is no such key, or a value is impossible.
    """
    if key not in SWEPT:
        raise PlanError(f"--sweep {key!r:.60}: choose one of {', '.join(SWEPT)}")
    if not values or not all(1 <= value <= 1 << 20 for value in values):
        raise PlanError(f"--sweep {key}: whole numbers from 1, such as {key}=8,16,32")
    drawn = [draw(cluster.assumptions, demand, np.random.default_rng(seed)) for seed in range(seeds)]
    found = []
    for value in values:
        changed = cluster.model_copy(update={key: value})
        outcomes = [simulate(demand, changed, each, seed, schedule) for seed, each in enumerate(drawn)]
        found.append((value, Interval.of([o.seconds for o in outcomes]), Interval.of([o.idle for o in outcomes])))
    return found


def _best_division(demand: Demand, cluster: ClusterConfig, drawn: Drawn) -> int:
    """How many blocks play in the shortest ``off_policy`` iteration, among a few evenly spread numbers."""
    blocks = cluster.all_gpus // block_gpus(cluster)
    shares = np.linspace(1, blocks - 1, min(blocks - 1, MOST_DIVISIONS))
    numbers = sorted({round(float(share)) for share in shares})
    return min(numbers, key=lambda n: simulate(demand, cluster, drawn, 0, "off_policy", (), n).seconds)
