"""The cards of a cluster, in blocks that change their task together."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Literal

import simpy

from rlanything_agents.config.cluster import ClusterConfig
from rlanything_agents.planning.cards import CARDS
from rlanything_agents.planning.demand import Demand, Drawn
from rlanything_agents.planning.engine import Engine
from rlanything_agents.planning.errors import PlanError
from rlanything_agents.planning.memory import engine_memory
from rlanything_agents.planning.sizes import ModelSize
from rlanything_agents.planning.speed import EngineSpeed

__all__ = ["ROLES", "Block", "Role", "Span", "block_gpus", "capacities", "make_blocks"]

Role = Literal["policy", "judge", "rewriter"]
ROLES: tuple[Role, ...] = ("policy", "judge", "rewriter")


@dataclass(frozen=True, slots=True)
class Span:
    """What a block did for a while; ``what`` is a role, ``switch``, or the name of an update."""

    block: int
    begin: float
    end: float
    what: str


def block_gpus(cluster: ClusterConfig) -> int:
    """The least number of cards that both kinds of engine divide.

    Raises:
        PlanError: The cluster does not consist of whole ones.
    """
    block = math.lcm(cluster.policy_parallel, cluster.judge_parallel)
    if cluster.all_gpus % block:
        raise PlanError(
            f"cluster: {cluster.nodes} x {cluster.gpus} GPUs are no whole number of blocks of {block}, which engines "
            f"of policy_parallel {cluster.policy_parallel} and judge_parallel {cluster.judge_parallel} need"
        )
    return block


def capacities(demand: Demand, cluster: ClusterConfig) -> dict[Role, int]:
    """Most sequences that an engine of each model writes at once, by its memory and ``cluster.sequences``.

    Raises:
        PlanError: A model and one sequence do not fit on the cards of an engine.
    """
    found: dict[Role, int] = {}
    for role, size, parallel in _models(demand, cluster):
        memory = engine_memory(size, CARDS[cluster.card].memory, cluster.memory_share, parallel, demand.context)
        if memory.sequences < 1:
            key = "policy_parallel" if role == "policy" else "judge_parallel"
            raise PlanError(
                f"{size.name} ({role}): its weights and one sequence of {demand.context} tokens do not fit on "
                f"{parallel} {cluster.card}; raise cluster.{key} or take a smaller context"
            )
        found[role] = min(cluster.sequences, memory.sequences)
    return found


def _models(demand: Demand, cluster: ClusterConfig) -> list[tuple[Role, ModelSize, int]]:
    models: list[tuple[Role, ModelSize | None, int]] = [
        ("policy", demand.policy, cluster.policy_parallel),
        ("judge", demand.judge, cluster.judge_parallel),
        ("rewriter", demand.rewriter, cluster.judge_parallel),
    ]
    return [(role, size, parallel) for role, size, parallel in models if size is not None]


class Block:
    """Cards that are all in one role at a time."""

    def __init__(
        self,
        env: simpy.Environment,
        number: int,
        gpus: int,
        engines: Mapping[Role, list[Engine]],
        switch_seconds: float,
    ) -> None:
        self.env = env
        self.number = number
        self.gpus = gpus
        self.engines = engines
        self.role: Role | None = None
        self.switches: list[Span] = []
        self._switch_seconds = switch_seconds

    def switch(self, role: Role) -> Generator[simpy.Event, None, None]:
        """Put the engines of a role in the place of those that are awake."""
        if self.role == role:
            return
        begun = self.env.now
        yield self.env.timeout(self._switch_seconds)
        self.role = role
        self.switches.append(Span(self.number, begun, self.env.now, "switch"))

    @property
    def busy_gpu_seconds(self) -> float:
        """Seconds of cards whose engine read or wrote."""
        return sum(e.busy * e.speed.parallel for role in self.engines for e in self.engines[role])

    def spans(self) -> list[Span]:
        """What it did, in order of time; for several engines at once, when any of them was busy."""
        found = list(self.switches)
        for role, engines in self.engines.items():
            times = sorted(span for engine in engines for span in engine.spans)
            merged: list[tuple[float, float]] = []
            for begin, end in times:
                if merged and begin <= merged[-1][1]:
                    merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
                else:
                    merged.append((begin, end))
            found += [Span(self.number, begin, end, role) for begin, end in merged]
        return sorted(found, key=lambda span: span.begin)


def make_blocks(env: simpy.Environment, demand: Demand, cluster: ClusterConfig, drawn: Drawn) -> list[Block]:
    """All blocks of a cluster, each with its engines."""
    gpus, room = block_gpus(cluster), capacities(demand, cluster)
    card = CARDS[cluster.card]

    def engines() -> dict[Role, list[Engine]]:
        return {
            role: [
                Engine(env, EngineSpeed.of(size, card, parallel, drawn), room[role]) for _ in range(gpus // parallel)
            ]
            for role, size, parallel in _models(demand, cluster)
        }

    count = cluster.all_gpus // gpus
    return [Block(env, number, gpus, engines(), drawn["switch_seconds"]) for number in range(count)]
