"""In which order an iteration's work is done, and how long it takes then.

* ``synchronous``: phase after phase, each waits for the last of the one before, and the episodes of a block step
  together: all write, then all environments step. This is what ``rlanything train`` does.
* ``overlapped``: an episode goes on as soon as its environment answers; a block whose episodes are over judges finished
  groups while others still play; tasks are rewritten beside the updates where that is sooner. The same samples and the
  same updates: only the time differs.
* ``off_policy``: some blocks play and judge the next batch while the others learn from the last. The policy that plays
  is one update behind the one that learns: another algorithm, not a faster way to the same result.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from rlanything_agents.config.cluster import ClusterConfig
from rlanything_agents.planning.demand import Demand, Drawn, Episode
from rlanything_agents.planning.errors import PlanError
from rlanything_agents.planning.hardware import Block, block_gpus
from rlanything_agents.planning.simulation import Outcome, Part, Simulation, Steps

__all__ = ["SCHEDULES", "Schedule", "simulate"]

Schedule = Literal["synchronous", "overlapped", "off_policy"]
SCHEDULES: tuple[Schedule, ...] = ("synchronous", "overlapped", "off_policy")


def simulate(
    demand: Demand,
    cluster: ClusterConfig,
    drawn: Drawn,
    seed: int,
    schedule: Schedule = "synchronous",
    without: Iterable[Part] = (),
    playing: int | None = None,
) -> Outcome:
    """Simulate one iteration.

    Args:
        demand: What it asks for.
        cluster: What it runs on.
        drawn: A value for every assumption.
        seed: Of the lengths of episodes and responses: the same in every schedule.
        schedule: See the module's docstring.
        without: Parts that take no time.
        playing: With ``off_policy``, how many blocks play and judge; the division with the shortest iteration if None.

    Raises:
        PlanError: The models do not fit on the cluster, or there are no two blocks for ``off_policy``.
    """
    free = frozenset(without)
    if schedule != "off_policy":
        simulation = Simulation(demand, cluster, drawn, seed, free)
        steps = _synchronous(simulation) if schedule == "synchronous" else _overlapped(simulation)
        simulation.env.run(simulation.env.process(steps))
        return simulation.outcome()
    blocks = cluster.all_gpus // block_gpus(cluster)
    if blocks < 2:
        raise PlanError("schedule off_policy needs two blocks of GPUs: one that plays and one that learns")
    divisions = range(1, blocks) if playing is None else (playing,)
    return min((_off_policy(demand, cluster, drawn, seed, free, n) for n in divisions), key=lambda o: o.seconds)


def _synchronous(simulation: Simulation) -> Steps:
    s = simulation
    places = -(-s.demand.environments // len(s.blocks))
    yield s.switch("policy", s.blocks)
    yield s.env.all_of([s.env.process(s.play_together(block, lanes, places)) for block, lanes in s.lanes(s.blocks)])
    s.end("rollouts")
    if s.expected_votes:
        yield s.switch("judge", s.blocks)
        for block in s.blocks:
            s.judge(block, len(s.blocks))
        for group in range(s.demand.tasks):
            s.ask(group)
        yield s.all_judged
        s.end("judging")
    if s.asking:
        if s.demand.rewriter is not None:
            yield s.switch("rewriter", s.blocks)
        yield s.rewrite(s.blocks)
        s.end("rewriting")
    yield from s.update(len(s.blocks))


def _overlapped(simulation: Simulation) -> Steps:
    s = simulation
    yield from _play_and_judge(s, s.blocks)
    beside = s.blocks[:1] if s.demand.rewriter is not None else []
    before = s.rewriting_seconds(s.blocks) + s.updating_seconds(len(s.blocks))
    rest = len(s.blocks) - len(beside)
    if s.asking and beside and (not rest or max(s.rewriting_seconds(beside), s.updating_seconds(rest)) >= before):
        yield s.switch("rewriter", s.blocks)
        yield s.rewrite(s.blocks)
        s.end("rewriting")
        yield from s.update(len(s.blocks))
        return
    update = s.env.process(s.update(rest if s.asking else len(s.blocks)))
    if s.asking:
        if beside:
            yield s.switch("rewriter", beside)
        yield s.rewrite(beside)
        s.end("rewriting")
    yield update


def _off_policy(
    demand: Demand, cluster: ClusterConfig, drawn: Drawn, seed: int, free: frozenset[Part], playing: int
) -> Outcome:
    """With so many blocks that play and judge, while the rest learns from a batch like this one."""
    s = Simulation(demand, cluster, drawn, seed, free)

    def play() -> Steps:
        yield from _play_and_judge(s, s.blocks[:playing])
        if s.asking:
            if demand.rewriter is not None:
                yield s.switch("rewriter", s.blocks[:playing])
            yield s.rewrite(s.blocks[:playing])
            s.end("rewriting")

    both = [s.env.process(play()), s.env.process(s.update(len(s.blocks) - playing))]
    s.env.run(s.env.all_of(both))
    return s.outcome()


def _play_and_judge(simulation: Simulation, blocks: list[Block]) -> Steps:
    """Episodes one by one; a block that has played its own judges whatever group is finished."""
    s = simulation
    left = [len(group) for group in s.groups]

    def over(episode: Episode) -> None:
        left[episode.group] -= 1
        if not left[episode.group] and s.expected_votes:
            s.ask(episode.group)

    def work(block: Block, lanes: list[Episode]) -> Steps:
        yield from block.switch("policy")
        playing = [s.env.process(s.play_alone(block, number, lane, over)) for number, lane in enumerate(lanes)]
        yield s.env.all_of(playing)
        if s.expected_votes:
            yield from block.switch("judge")
            s.judge(block, len(blocks))

    yield s.env.all_of([s.env.process(work(block, lanes)) for block, lanes in s.lanes(blocks)])
    s.end("rollouts")
    if s.expected_votes:
        yield s.all_judged
        s.end("judging")
