"""What a critique is worth to a rewriter, for one player that never learns: the loop of the study ``guided``.

Every arm gets the same tasks, those that the player fails, and the same first group of each. A curriculum rewrites
them until their success rate is inside the band; arms differ only in the critique that the rewriter reads.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from rlanything_agents.config import CheckpointConfig, CurriculumConfig
from rlanything_agents.config.seeds import rng_of, seed_of
from rlanything_agents.domains.alfworld.expert import ExploringExpert
from rlanything_agents.domains.supervision import get_step_supervision
from rlanything_agents.reward_models.judged_group import JudgedGroup
from rlanything_agents.reward_models.step_judge import StepJudge, StepVotes
from rlanything_agents.reward_models.step_reviewer import label_votes
from rlanything_agents.rollout.group import RolloutGroup
from rlanything_agents.rollout.queries import QueriesAtEnd
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.runs.folder import write_atomically
from rlanything_agents.runs.rewriting import open_rewriter, service_of
from rlanything_envs.curriculum import (
    Assignment,
    Curriculum,
    LLMRewriter,
    LLMSummariser,
    Rewriter,
    Tally,
    blamed_actions,
    task_critique,
)
from rlanything_envs.curriculum.critique import BLAME
from rlanything_envs.llm import Completion, Prompt, SamplingParams, TextGenerator
from rlanything_envs.views import make_env
from rlanything_task_pools import Event, Task, TaskPool, get_domain
from rlanything_task_pools.alfworld.stages import STAGES, Stage
from studies.expert_episodes import played

__all__ = [
    "CLUMSY",
    "STAGE_NAMES",
    "ClumsyExpert",
    "GuidedArm",
    "Guiding",
    "LocalModel",
    "Player",
    "failed_tasks",
    "guide",
    "tally_of",
]

DOMAIN = "alfworld"
"""The one domain whose scripted proposals read what a critique blames."""
STAGE_NAMES: tuple[Stage, ...] = ("search", "fetch", "prepare", "place")
_PHASES: Mapping[str, Stage] = {"find": "search", "get": "fetch", "need": "prepare", "put": "place", "light": "place"}
CLUMSY = 0.75
"""Share of the clumsy expert's random moves in its weak stage."""

PROPOSAL, JUDGEMENT, CONTEXT = 1024, 128, 8192
"""Maximum tokens of a proposal, where nothing is cut off, of a vote with reason, and of a prompt with answer."""
STEPS = 4
"""Steps at the end of an episode that `Guiding.model` judges."""
SUMMARY = SamplingParams(max_tokens=320, temperature=0.7, seed=0)

Votes = list[list[StepVotes]]


class Guiding(BaseModel):
    """Settings of the study ``guided``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    knobs: dict[str, Any] = Field(default_factory=dict)
    """Of the generator of the tasks."""
    drawn: Annotated[int, Field(ge=1)] = 64
    """Maximum tasks that the player tries."""
    tasks: Annotated[int, Field(ge=1)] = 16
    """Maximum tasks that are followed: the first that it fails."""
    groups: Annotated[int, Field(ge=1)] = 10
    """Maximum groups played in the slot of a task, the first one included."""
    rollouts: Annotated[int, Field(ge=1)] = 8
    max_steps: Annotated[int, Field(ge=1)] = 20
    curriculum: CurriculumConfig = CurriculumConfig(operators=("goal", "scene", "start"))
    model: str | None = None
    """Checkpoint that rewrites, summarises and judges in the process of a job, in place of a service."""
    judged: Annotated[int, Field(ge=1)] = 3
    """Maximum episodes of a group that `model` judges, each by its last steps; a critique is about these."""


class GuidedArm(BaseModel):
    """What the rewriter reads."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    meaning: str
    critique: Literal["none", "judge", "reasons", "other", "truth", "flipped", "random", "search", "weakness"]
    """``judge``: by the scores of a judge's votes, in scripted sentences. ``reasons``: by its scores and reasons, as
    the rewriter's model summarises them. ``other``: the same of another task. ``truth``: by true step labels.
    ``flipped``: by the judge's votes with the opposite sign. ``random`` blames a stage at random, ``search`` always
    that one, ``weakness`` the one in which the player is weak, ``none`` nothing."""
    rewriter: Literal["scripted", "llm"] = "scripted"


class ClumsyExpert(ExploringExpert):
    """An exploring expert that moves mostly at random in one stage, and correctly in the others."""

    def __init__(self, seed: int, weak: Stage) -> None:
        super().__init__(seed, 0.0)
        self._weak = weak

    def _plan(self, belief: Any, commands: set[str]) -> tuple[str, str, str]:
        plan = super()._plan(belief, commands)
        self._mistakes = CLUMSY if _PHASES.get(plan[0]) == self._weak else 0.0
        return plan


class LocalModel:
    """A language model in this process."""

    def __init__(self, settings: Guiding) -> None:
        from rlanything_agents.reward_models.step_prompts import FullStepPrompts
        from studies.language_models import opened

        config = CheckpointConfig(checkpoint=str(settings.model), max_tokens=PROPOSAL, context=CONTEXT)
        model = opened(config)
        self.name, self.chat = str(settings.model), model.generator
        prompts = FullStepPrompts(model.template, config.model_copy(update={"max_tokens": JUDGEMENT}))
        self._judge = StepJudge(self.chat, prompts, JUDGEMENT)
        # With the episodes, so that no other object gets the identity of one.
        self._known: dict[tuple[int, ...], tuple[Sequence[Trajectory], Votes]] = {}

    def rewriter(self, operators: Sequence[str] | None, log: Path) -> LLMRewriter:
        """A rewriter that gives one proposal for each request, and keeps prompts and answers in a file."""
        params = SamplingParams(PROPOSAL, temperature=1.0)
        return LLMRewriter(_Logged(self.chat, log), self.name, attempts=1, operators=operators, params=params)

    def judge(self, episodes: Sequence[Trajectory], seed: int) -> Votes:
        """One vote with its reason on each of the last `STEPS` steps; episodes that arms share are judged once."""
        key = (seed, *map(id, episodes))
        if key not in self._known:
            asking = QueriesAtEnd(self.chat, self._judge.params(votes=1, seed=seed))
            asking.add([query for episode in episodes for query in self._judge.queries(episode)[-STEPS:]])
            votes = iter(self._judge.votes(asking.answers()))
            judged = [
                [next(votes) if left <= STEPS else StepVotes([], ()) for left in range(len(episode.steps), 0, -1)]
                for episode in episodes
            ]
            self._known[key] = (episodes, judged)
        return self._known[key][1]


class _Logged:
    """Generator that keeps prompts and answers, a line each."""

    trainable = False

    def __init__(self, generator: TextGenerator, log: Path) -> None:
        self._generator, self._log = generator, log

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        answers = self._generator.generate(prompts, params)
        with self._log.open("a", encoding="utf-8") as file:
            for prompt, samples in zip(prompts, answers, strict=True):
                file.write(json.dumps({"prompt": prompt, "answers": [one.text for one in samples]}) + "\n")
        return answers

    def update_weights(self, source: object, version: int) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Nothing to free."""


class Player:
    """The exploring expert, clumsy or not; a model judges its episodes, or the labels that warm a judge up."""

    def __init__(self, settings: Guiding, seed: int, clumsy: bool, model: LocalModel | None = None) -> None:
        self.settings, self.seed, self._model = settings, seed, model
        self.weak: Stage | None = STAGE_NAMES[1 + seed % 3] if clumsy else None
        self._env = make_env(get_domain(DOMAIN).env_id, "short")
        self._known: dict[tuple[int, str, int], list[Trajectory]] = {}

    def play(self, tasks: Sequence[tuple[int, Task]], number: int) -> list[list[Trajectory]]:
        """A group of episodes of each task, which is that of a slot; the slot's group of this number."""
        return [self._group(task, slot, number) for slot, task in tasks]

    def _group(self, task: Task, slot: int, number: int) -> list[Trajectory]:
        """A group, played once: where arms come to the same task, it would come out the same."""
        key = slot, task.id, number
        if key not in self._known:
            self._known[key] = [self._episode(task, slot, number, k) for k in range(self.settings.rollouts)]
        return self._known[key]

    def _episode(self, task: Task, slot: int, number: int, k: int) -> Trajectory:
        seed = seed_of(self.seed, "play", slot, task.id, number, k)
        expert = ExploringExpert(seed) if self.weak is None else ClumsyExpert(seed, self.weak)
        return played(expert, self._env, task, self.settings.max_steps)

    def judged(self, episodes: Sequence[Trajectory]) -> tuple[str, list[Trajectory]]:
        """The episodes that a judge reads, failures first, and the sentence on them for the rewriter."""
        most = self.settings.judged
        if self._model is None or len(episodes) <= most:
            return "", list(episodes)
        read = sorted(episodes, key=lambda episode: bool(episode.success))[:most]
        return f"The judge read {most} of the {len(episodes)} attempts.\n", read

    def judge(self, episodes: Sequence[Trajectory], number: int) -> Votes:
        """Votes on their steps."""
        if self._model is not None:
            return self._model.judge(episodes, seed_of(self.seed, "judge", number))
        labels = get_step_supervision(DOMAIN).heuristic_labels
        return [label_votes([label.score for label in labels(episode)]) for episode in episodes]


@dataclass
class _Slot:
    """What became of one task."""

    groups: int = 0
    steps: int = 0
    """Environment steps of all its groups."""
    inside: bool = False
    """Whether it came inside the band."""
    proposed: int = 0
    accepted: int = 0
    discarded: int = 0
    summaries: list[str] = field(default_factory=list)
    """For each summary by a model ``written``, or the fault it was refused for."""
    blamed: list[str] = field(default_factory=list)
    """Stage of the action that each critique blames most; empty text for none."""


def guide(work: Mapping[str, Any], folder: Path) -> None:
    """Follow the arms of one player and seed, and leave ``slots.json``: the tasks of each arm, one record a slot.

    Args:
        work: ``settings``, the fields of a `Guiding`; ``arms``, those of a `GuidedArm` by name; ``player``: ``expert``
            or ``clumsy``; and ``seed``.
        folder: Where the prompts of language models go, which answer a repetition.
    """
    settings, seed = Guiding.model_validate(work["settings"]), int(work["seed"])
    arms = {name: GuidedArm.model_validate(arm) for name, arm in work["arms"].items()}
    model = LocalModel(settings) if settings.model else None
    player = Player(settings, seed, work["player"] == "clumsy", model)
    first = failed_tasks(player, settings, seed)
    found = {}
    for name, arm in arms.items():
        kept, log = folder / f"arm-{name}.json", folder / f"prompts-{name}.jsonl"
        if not kept.exists():  # a job that was stopped goes on with the next arm
            config = settings.curriculum.model_copy(update={"rewriter": arm.rewriter})
            local = model.rewriter(config.operators, log) if model and arm.rewriter == "llm" else None
            with nullcontext(local) if local else open_rewriter(config, log) as rewriter:
                slots = _Following(player, settings, seed, first, arm, rewriter).slots() if first else []
            write_atomically(kept, json.dumps([asdict(slot) for slot in slots]) + "\n")
        found[name] = json.loads(kept.read_text(encoding="utf-8"))
    write_atomically(folder / "slots.json", json.dumps(found, indent=1) + "\n")


def failed_tasks(player: Player, settings: Guiding, seed: int) -> list[tuple[Task, list[Trajectory]]]:
    """Tasks with a success rate below the band, each with its first group."""
    failed: dict[str, tuple[Task, list[Trajectory]]] = {}
    for start in range(0, settings.drawn, settings.tasks):
        numbers = range(start, min(start + settings.tasks, settings.drawn))
        tasks = [
            (number, get_domain(DOMAIN).generate(seed_of(seed, "task", number), **settings.knobs)) for number in numbers
        ]
        for (_, task), group in zip(tasks, player.play(tasks, 0), strict=True):
            tally = tally_of(group)
            if 2 * tally.n >= settings.rollouts and tally.accuracy <= settings.curriculum.band[0]:
                failed.setdefault(task.id, (task, group))
        if len(failed) >= settings.tasks:
            break
    return list(failed.values())[: settings.tasks]


def tally_of(group: Sequence[Trajectory]) -> Tally:
    """Solved and valid episodes of a group."""
    valid = [episode.success for episode in group if episode.success is not None]
    return Tally(sum(valid), len(valid))


class _Following:
    """One arm: a curriculum on the failed tasks, until each is inside the band or its groups are used up."""

    def __init__(
        self,
        player: Player,
        settings: Guiding,
        seed: int,
        first: Sequence[tuple[Task, list[Trajectory]]],
        arm: GuidedArm,
        rewriter: Rewriter,
    ) -> None:
        self.player, self.settings, self.seed = player, settings, seed
        self.first, self.arm, self.rewriter = first, arm, rewriter
        self._judging = threading.Lock()

    def slots(self) -> list[_Slot]:
        """What became of the tasks, in their order."""
        slots, rules = [_Slot() for _ in self.first], self.settings.curriculum
        service = service_of(self.rewriter)
        with TaskPool.create(":memory:", [task for task, _ in self.first]) as pool:
            curriculum = Curriculum(
                pool,
                self.rewriter,
                rules.acceptance,
                band=rules.band,
                rollouts=self.settings.rollouts,
                rewriting="inline" if service is None else "background",  # a service answers several requests at once
                seed=self.seed,
            )
            for number in range(self.settings.groups):
                done = [place for place, slot in enumerate(slots) if slot.inside]
                if len(done) == len(slots):
                    break
                if service is not None:
                    service.begin()
                given = curriculum.assign(len(slots) - len(done), rng_of(self.seed, "assign", number), without=done)
                groups = self._play(given, number)
                events: list[Event] = []
                for assignment, episodes in zip(given, groups, strict=True):
                    slot = slots[assignment.slot]
                    self._count_group(slot, assignment, episodes)
                    critic = partial(self._critique, assignment, episodes, slot, number)
                    outcomes = RolloutGroup(assignment, episodes).pool_outcomes("player")
                    events += curriculum.report(assignment, outcomes, critique=critic)
                for event in [*events, *curriculum.drain(wait=True)]:
                    self._count_event(slots[event.slot], event)
        return slots

    def _play(self, given: Sequence[Assignment], number: int) -> list[list[Trajectory]]:
        if not number:  # all arms begin alike
            return [self.first[assignment.slot][1] for assignment in given]
        return self.player.play([(assignment.slot, assignment.task) for assignment in given], number)

    def _count_group(self, slot: _Slot, assignment: Assignment, episodes: Sequence[Trajectory]) -> None:
        slot.groups += 1
        slot.steps += sum(len(episode.steps) for episode in episodes)
        slot.inside = assignment.role == "active" and self._inside(tally_of(episodes))

    def _count_event(self, slot: _Slot, event: Event) -> None:
        match event.kind:
            case "proposed":
                slot.proposed += 1
            case "discarded":
                slot.discarded += 1
            case "accepted":
                slot.accepted += 1
                slot.inside = self._inside(Tally(event.stats["successes"], event.stats["n"]))

    def _inside(self, tally: Tally) -> bool:
        low, high = self.settings.curriculum.band
        return low < tally.accuracy < high

    def _critique(self, assignment: Assignment, episodes: Sequence[Trajectory], slot: _Slot, number: int) -> str:
        with self._judging:
            text = self._text(assignment, list(episodes), slot, number)
        stages = [STAGES[action] for action in blamed_actions(text) if action in STAGES]
        slot.blamed.append(stages[0] if stages else "")
        return text

    def _text(self, assignment: Assignment, episodes: list[Trajectory], slot: _Slot, number: int) -> str:
        match self.arm.critique:
            case "none":
                return ""
            case "random":
                rng = rng_of(self.seed, "blame", assignment.slot, number)
                return _blaming(STAGE_NAMES[int(rng.integers(len(STAGE_NAMES)))])
            case "search":
                return _blaming("search")
            case "weakness":
                return "" if self.player.weak is None else _blaming(self.player.weak)
            case "other":
                place = (assignment.slot + 1) % len(self.first)
                task, episodes = self.first[place]
                assignment = Assignment(place, task, "active")
        read, episodes = self.player.judged(episodes)
        votes: Callable[[], Votes] = partial(self.player.judge, episodes, number)
        if self.arm.critique == "truth":
            votes = partial(_true_votes, assignment.task, episodes)
        group = JudgedGroup(assignment, episodes, votes())
        if self.arm.critique == "flipped":
            group = group.flipped()
        if self.arm.critique not in ("reasons", "other") or not isinstance(self.rewriter, LLMRewriter):
            return read + task_critique(group.judged_episodes()).text
        summariser = LLMSummariser(self.rewriter.generator, name=self.rewriter.name, params=SUMMARY)
        made = task_critique(group.judged_episodes(), summariser)
        slot.summaries += Counter(summariser.counts).elements()
        return read + made.text


def _true_votes(task: Task, episodes: Sequence[Trajectory]) -> Votes:
    labels = get_step_supervision(DOMAIN).true_labels
    return [label_votes(labels(task.payload, episode) or []) for episode in episodes]


def _blaming(stage: Stage) -> str:
    """A critique that blames one stage."""
    action = next(action for action, of in STAGES.items() if of == stage)
    return f"{BLAME}{action} 1 of 1."
