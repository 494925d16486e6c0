"""ALFWorld for small models: an append-only transcript in some 250 words.

::

    <bos> clean some apple and put it in fridge <room> cabinet 6 fridge 1 ... <act>
          find apple goto cabinet 2 <end>
    <obs> closed <act>
          find apple open cabinet 2 <end>
    <obs> cup 1 <act> ...

Where a game starts with a thing in hand, the transcript tells it as a turn that has been played,
``<act> get apple take apple 1 <end> <obs> ok``: words that a model knows from every other game.

Every step of an episode is a (prompt, response) pair whose prompt is all that stands before it. As the
transcript only grows, one pass over its last state trains all of its steps, and playing on costs only the new
tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from rlanything_agents.domains.alfworld.belief import kind_of_name, parse_start, parse_task
from rlanything_agents.domains.alfworld.casefile import casefiles
from rlanything_agents.domains.alfworld.compact import command_words, compact, words_of
from rlanything_agents.domains.alfworld.expert import ExploringExpert
from rlanything_agents.domains.alfworld.opinion import opinions
from rlanything_agents.domains.alfworld.words import ACT, END, OBS, PHASES, ROOM, TYPES, WORDS
from rlanything_agents.models.small import BOS, EOS
from rlanything_agents.rollout.constraint import TurnConstraint
from rlanything_agents.rollout.dialect import Judgement, Step
from rlanything_agents.rollout.word_dialect import WordDialect

if TYPE_CHECKING:
    from rlanything_agents.config import RunConfig
    from rlanything_agents.domains.lessons import ExpertLessons
    from rlanything_agents.reward_models.step_reviewer import StepReviewer
    from rlanything_agents.runs.learners import Learners

__all__ = ["DIALECT", "AlfWorldDialect"]

_TYPES = frozenset(TYPES)


class AlfWorldDialect(WordDialect):
    """The ALFWorld translation; without state of its own, and shared."""

    words, end = WORDS, END
    turn_limit = 16
    """The longest turn takes 9 tokens."""
    environment: Mapping[str, Any] = {}

    def __init__(self) -> None:
        # A turn offers some thirty commands, nearly all of which were offered before.
        self._command = lru_cache(maxsize=2**16)(lambda action: tuple(self._encode([*command_words(action), END])))

    @cached_property
    def thought_slots(self) -> tuple[tuple[int, ...], ...]:
        """A phase, then a type."""
        return tuple(self._encode(PHASES)), tuple(self._encode(TYPES))

    def opening(self, observation: str) -> list[int]:
        """Task, then how many receptacles of each type the room has, and what is in hand already."""
        sentence, _ = parse_task(observation, _TYPES)
        names, held = parse_start(observation)
        room = Counter(map(kind_of_name, names))
        counts = [word for kind, count in sorted(room.items()) for word in (kind, str(count))]
        return self._encode([BOS, *words_of(sentence), ROOM, *counts, *_taken(held), ACT])

    def message(self, observation: str) -> list[int]:
        """``<obs>``, the message in short, ``<act>``."""
        return self._encode([OBS, *compact(observation), ACT])

    def thought(self, thought: str) -> tuple[int, ...]:
        """The two words of a thought."""
        return tuple(self._encode(thought.split()))

    def command(self, action: str) -> tuple[int, ...]:
        """The words of a command, ``go to`` being one, and ``<end>``."""
        return self._command(action)

    def constraint(self, info: Mapping[str, Any]) -> TurnConstraint:
        """A thought, then one of the admissible commands."""
        commands = ((self.command(text), text) for text in info.get("admissible_commands", ()))
        return TurnConstraint(self.thought_slots, commands)

    def read_turn(self, ids: Sequence[int]) -> tuple[str, str]:
        """Two words of thought, then the command up to ``<end>``."""
        words = self._decode(ids)
        split = len(self.thought_slots)
        return " ".join(words[:split]), " ".join(words[split:]).replace("goto ", "go to ")

    @property
    def lessons(self) -> ExpertLessons:
        """The expert's won games, and its rule of thumb."""
        from rlanything_agents.domains.lessons import ExpertLessons

        return ExpertLessons(self)

    def reviewer(self, config: RunConfig, learners: Learners) -> StepReviewer:
        """The reward model judges steps."""
        from rlanything_agents.reward_models.step_reviewer import StepReviewer

        return StepReviewer(config, learners, self)

    def expert(self, seed: int) -> ExploringExpert:
        """A fresh exploring expert."""
        return ExploringExpert(_TYPES, seed)

    def judge_prompts(self, opening: str, steps: Sequence[Step]) -> list[list[int]]:
        """See `casefile.casefiles`."""
        return [self._encode([BOS, *words]) for words in casefiles(opening, steps, _TYPES)]

    def judgement(self, judgement: Judgement) -> list[int]:
        r"""For example ``progress \boxed{1} <eos>``."""
        return self._encode([judgement.reason, rf"\boxed{{{judgement.score}}}", EOS])

    def opinions(self, opening: str, steps: Sequence[Step]) -> list[Judgement]:
        """See `opinion.opinions`."""
        return opinions(opening, steps, _TYPES)

    def true_labels(self, payload: Mapping[str, Any], steps: Sequence[Step]) -> list[int]:
        """See `oracle.step_labels`."""
        from rlanything_agents.domains.alfworld.oracle import step_labels

        return step_labels(payload, [step.action for step in steps])


def _taken(held: str | None) -> list[str]:
    """What was in hand when the game began, as if the agent had just taken it."""
    return [] if held is None else [ACT, "get", kind_of_name(held), "take", *held.split(), END, OBS, "ok"]


DIALECT = AlfWorldDialect()
"""Shared: it has no state of its own."""
