"""What happens in an iteration, as processes of a discrete-event simulation; the order is the schedules' business."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np
import simpy

from rlanything_agents.config.cluster import ClusterConfig
from rlanything_agents.planning.cards import CARDS
from rlanything_agents.planning.demand import Demand, Drawn, Episode
from rlanything_agents.planning.engine import Engine
from rlanything_agents.planning.hardware import Block, Role, Span, make_blocks
from rlanything_agents.planning.speed import LEARNING, update_seconds

__all__ = ["PARTS", "Outcome", "Part", "Simulation", "Steps"]

Part = Literal["environments", "playing", "judging", "rewriting", "updates", "switching", "raggedness"]
PARTS: tuple[Part, ...] = ("environments", "playing", "judging", "rewriting", "updates", "switching", "raggedness")
"""What can be taken out of a simulation, to see what it costs: environments that answer at once; a policy, a reward
model or a rewriter that writes at once; updates, changes of role and transfer of weights in no time; episodes and
responses that are all equally long."""

EXTERNAL_RATE = 50.0
"""Tokens a second of one answer of a service that is not on these machines. Assumed."""

Steps = Generator[simpy.Event, Any, None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One simulated iteration.

    Attributes:
        seconds: From its begin until the engines have new weights.
        idle: Share of the cards' time in which they neither read, wrote nor trained.
        useful: Operations of the models over what the cards could have done (model FLOPs utilisation).
        phases: When each phase ended, in seconds from the begin.
        spans: What each block did.
        episodes: That were played.
        steps: Of environments.
        judged: Episodes that were judged.
        votes: Answers of the reward model.
        rewrites: Tasks that were proposed.
    """

    seconds: float
    idle: float
    useful: float
    phases: dict[str, float]
    spans: tuple[Span, ...]
    episodes: int
    steps: int
    judged: int
    votes: int
    rewrites: int


@dataclass(frozen=True, slots=True)
class _Question:
    """What the reward model reads once, and answers ``votes`` times."""

    group: int
    prompt: float
    votes: int


@dataclass(frozen=True, slots=True)
class _Update:
    begin: float
    end: float
    what: str
    blocks: int
    operations: float


class Simulation:
    """The state of one simulated iteration; used once.

    Args:
        demand: What it asks for.
        cluster: What it runs on.
        drawn: A value for every assumption.
        seed: Of the lengths of episodes and responses, which do not depend on the schedule.
        without: Parts that take no time.
    """

    def __init__(
        self, demand: Demand, cluster: ClusterConfig, drawn: Drawn, seed: int, without: frozenset[Part] = frozenset()
    ) -> None:
        self.demand, self.cluster, self.without = demand, cluster, without
        self.drawn = dict(drawn)
        if "environments" in without:
            self.drawn |= dict.fromkeys(("step_seconds", "reset_seconds", "vote_seconds"), 0.0)
        if "switching" in without:
            self.drawn |= {"switch_seconds": 0.0, "sync_rate": float("inf")}
        self.env = simpy.Environment()
        self.blocks = make_blocks(self.env, demand, cluster, self.drawn)
        streams = [np.random.default_rng([seed, number]) for number in range(3)]
        ragged = "raggedness" not in without
        self.episodes = demand.play(self.drawn, streams[0], ragged=ragged)
        self.groups = [self.episodes[k : k + demand.rollouts] for k in range(0, len(self.episodes), demand.rollouts)]
        units = sum(e.steps for e in self.episodes) if demand.judges_steps else demand.tasks
        self.expected_votes = 0 if demand.judge is None else demand.votes * units
        self._vote_tokens = iter(demand.vote_lengths(self.expected_votes, self.drawn, streams[1], ragged=ragged))
        asking = streams[2].random(demand.tasks) < self.drawn["asking"]
        self.asking = int(asking.sum()) if demand.rewrites else 0
        self.all_judged = self.env.event()
        self._workers = simpy.Resource(self.env, cluster.workers * cluster.nodes)
        self._places = simpy.Resource(self.env, demand.environments)
        self._questions = simpy.Store(self.env)
        self._open = [0] * demand.tasks
        self._phases: dict[str, float] = {}
        self._updates: list[_Update] = []
        self._judged: set[int] = set()
        self._counts = {"votes": 0, "rewrites": 0, "steps": 0}

    def end(self, phase: str) -> None:
        """Note that a phase ends now."""
        self._phases[phase] = self.env.now

    def outcome(self) -> Outcome:
        """What came of it."""
        gpus, seconds = self.cluster.all_gpus, self.env.now
        engines = [e for block in self.blocks for role in block.engines for e in block.engines[role]]
        busy = sum(block.busy_gpu_seconds for block in self.blocks)
        busy += sum((u.end - u.begin) * u.blocks * self.blocks[0].gpus for u in self._updates)
        operations = sum(e.speed.operations * e.tokens for e in engines)
        operations += sum(u.operations for u in self._updates)
        spans = [span for block in self.blocks for span in block.spans()]
        for update in self._updates:
            learning = self.blocks[len(self.blocks) - update.blocks :]
            spans += [Span(block.number, update.begin, update.end, update.what) for block in learning]
        capacity = max(gpus * seconds, 1e-12)
        return Outcome(
            seconds=seconds,
            idle=max(0.0, 1 - busy / capacity),
            useful=operations / (capacity * CARDS[self.cluster.card].flops),
            phases=dict(self._phases),
            spans=tuple(spans),
            episodes=len(self.episodes),
            judged=len(self._judged),
            **self._counts,
        )

    # -- playing -----------------------------------------------------------------------------------------------

    def lanes(self, blocks: Sequence[Block]) -> list[tuple[Block, list[Episode]]]:
        """The episodes that each of these blocks plays: neighbours, so that a group is not spread over all blocks."""
        bounds = [round(number * len(self.episodes) / len(blocks)) for number in range(len(blocks) + 1)]
        return [(block, self.episodes[a:b]) for block, a, b in zip(blocks, bounds, bounds[1:], strict=False)]

    def play_together(self, block: Block, lanes: Sequence[Episode], places: int) -> Steps:
        """Episodes in step, ``places`` at a time: all write, then all environments step."""
        for first in range(0, len(lanes), places):
            batch = lanes[first : first + places]
            yield self._all(self._work(self.drawn["reset_seconds"]) for _ in batch)
            for step in range(max(lane.steps for lane in batch)):
                live = [k for k, lane in enumerate(batch) if lane.steps > step]
                yield self.env.all_of([self._respond(block, k, batch[k], step) for k in live])
                yield self._all(self._step() for _ in live)

    def play_alone(self, block: Block, number: int, lane: Episode, over: Callable[[Episode], None]) -> Steps:
        """One episode that goes on as soon as its environment answers."""
        with self._places.request() as place:
            yield place
            yield from self._work(self.drawn["reset_seconds"])
            for step in range(lane.steps):
                yield self._respond(block, number, lane, step)
                yield from self._step()
        over(lane)

    def _respond(self, block: Block, number: int, lane: Episode, step: int) -> simpy.Event:
        if "playing" in self.without:
            return self.env.timeout(0)
        engines = block.engines["policy"]
        written = sum(islice(lane.responses, step))
        whole = self.demand.prompt(step, written, self.drawn)
        before = self.demand.prompt(step - 1, written - lane.responses[step - 1], self.drawn) if step else 0.0
        fresh = max(0.0, whole - self.drawn["cached"] * before)
        tokens = lane.responses[step]
        return engines[number % len(engines)].generate(fresh, tokens, whole + tokens / 2)

    def _step(self) -> Steps:
        yield from self._work(self.drawn["step_seconds"])
        self._counts["steps"] += 1

    def _work(self, seconds: float) -> Steps:
        """On a worker."""
        if seconds > 0:
            with self._workers.request() as worker:
                yield worker
                yield self.env.timeout(seconds)

    # -- judging -----------------------------------------------------------------------------------------------

    def ask(self, group: int) -> None:
        """The episodes of a group wait for the reward model."""
        demand, drawn = self.demand, self.drawn
        questions: list[_Question] = []
        if demand.judges_steps:
            for episode in self.groups[group]:
                written = 0.0
                for step, tokens in enumerate(episode.responses):
                    prompt = demand.prompt(step, written, drawn) + tokens + drawn["observation_tokens"]
                    questions.append(_Question(group, min(demand.context, prompt), demand.votes))
                    written += tokens
        else:
            questions = [_Question(group, drawn["prompt_tokens"], 1) for _ in range(demand.votes)]
        self._open[group] = len(questions)
        for question in questions:
            self._questions.put(question)

    def judge(self, block: Block, blocks: int) -> None:
        """From now on the engines of this block answer what is asked: at a time, each its share of all among so many
        blocks."""
        total = blocks * len(block.engines["judge"])
        a_question = self.demand.votes if self.demand.judges_steps else 1
        share = -(-self.expected_votes // total)
        for engine in block.engines["judge"]:
            for _ in range(max(1, min(share, engine.capacity) // a_question)):
                self.env.process(self._answer(engine))

    def _answer(self, engine: Engine) -> Steps:
        while True:
            question: _Question = yield self._questions.get()
            lengths = list(islice(self._vote_tokens, question.votes))
            if "judging" not in self.without:
                # The prompt is read once: the other votes find it in the prefix cache.
                prompts = [question.prompt] + [0.0] * (len(lengths) - 1)
                answers = zip(prompts, lengths, strict=True)
                yield self.env.all_of([engine.generate(p, n, question.prompt + n / 2) for p, n in answers])
            yield from self._work(self.drawn["vote_seconds"] * question.votes)
            self._counts["votes"] += question.votes
            self._close(question.group)

    def _close(self, group: int) -> None:
        self._open[group] -= 1
        if not self._open[group]:
            first = group * self.demand.rollouts
            self._judged |= set(range(first, first + self.demand.rollouts))
            if len(self._judged) == len(self.episodes):
                self.all_judged.succeed()

    # -- rewriting ---------------------------------------------------------------------------------------------

    def rewrite(self, blocks: Sequence[Block]) -> simpy.Event:
        """All groups that ask for another task get one."""
        engines = [engine for block in blocks for engine in block.engines.get("rewriter", ())]
        return self._all(self._propose(engines, number) for number in range(self.asking))

    def _propose(self, engines: Sequence[Engine], number: int) -> Steps:
        tokens, prompt = self.drawn["rewrite_tokens"], self.drawn["prompt_tokens"]
        if "rewriting" not in self.without:
            if engines:
                yield engines[number % len(engines)].generate(prompt, tokens, prompt + tokens / 2)
            elif self.demand.service:
                yield self.env.timeout(tokens / EXTERNAL_RATE)
            yield from self._work(self.drawn["proof_seconds"])
        self._counts["rewrites"] += 1

    def rewriting_seconds(self, blocks: Sequence[Block]) -> float:
        """About how long `rewrite` takes, a change of role included; what a scheduler knows beforehand."""
        engines = [engine for block in blocks for engine in block.engines.get("rewriter", ())]
        drawn = self.drawn
        if not engines or "rewriting" in self.without:
            return 0.0
        each = -(-self.asking // len(engines))
        context = drawn["prompt_tokens"] + drawn["rewrite_tokens"] / 2
        speed = engines[0].speed
        writing = drawn["rewrite_tokens"] * speed.step_seconds(each, each * context)
        reading = speed.prefill_seconds(each * drawn["prompt_tokens"])
        return drawn["switch_seconds"] + reading + writing + drawn["proof_seconds"]

    # -- learning ----------------------------------------------------------------------------------------------

    def updating_seconds(self, blocks: int) -> float:
        """How long `update` takes."""
        return sum(seconds for _, seconds, _ in self._learning(blocks)) + self._sync_seconds

    def update(self, blocks: int) -> Steps:
        """Both models learn on the last so many blocks, one after the other; then the engines get new weights."""
        for what, seconds, operations in self._learning(blocks):
            begun = self.env.now
            yield self.env.timeout(seconds)
            self._updates.append(_Update(begun, self.env.now, what, blocks, operations))
            self.end(what)
        yield self.env.timeout(self._sync_seconds)
        self.end("new weights")

    def _learning(self, blocks: int) -> list[tuple[str, float, float]]:
        if "updates" in self.without:
            return []
        demand, card = self.demand, CARDS[self.cluster.card]
        models = [("policy update", demand.policy, demand.trained_tokens(self.episodes, self.drawn))]
        if demand.judge is not None:
            judged = self.expected_votes // demand.votes
            tokens = demand.judge_trained_tokens(self.expected_votes, judged, self.drawn)
            models.append(("judge update", demand.judge, tokens))
        gpus = blocks * self.blocks[0].gpus
        return [
            (what, update_seconds(size, tokens, gpus, card, self.drawn), LEARNING * size.parameters * tokens)
            for what, size, tokens in models
        ]

    @property
    def _sync_seconds(self) -> float:
        sizes = [self.demand.policy, *([self.demand.judge] if self.demand.judge and self.demand.judge_learns else [])]
        return sum(2 * size.parameters for size in sizes) / (self.drawn["sync_rate"] * 1e9)

    # -- both --------------------------------------------------------------------------------------------------

    def switch(self, role: Role, blocks: Sequence[Block]) -> simpy.Event:
        """These blocks change their role."""
        return self._all(block.switch(role) for block in blocks)

    def _all(self, steps: Iterable[Steps]) -> simpy.Event:
        return self.env.all_of([self.env.process(each) for each in steps])
