"""Desktops for small models: an append-only transcript in some 200 words.

::

    <bos> in the folder <1> on the desktop , rename <2> to <3> . <screen> files ; 1 ? ; 2 <2> ; 3 ? <act>
          <2> 2 click 2 <end>
    <see> same <act>
          <2> <none> press rename <end>
    <see> dialog <2> <act>
          <3> <none> type <3> enter <end>
    <see> files ; 1 <3> ; 2 ? <act>
          <none> <none> done <end>

A turn is a thought, which is the slot that it is about and the number of the place that it goes to, and a command. The
commands are a restricted language (see `gestures`): a small model neither aims at pixels nor spells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from rlanything_agents.domains.osworld.casefile import casefiles
from rlanything_agents.domains.osworld.compact import CompactDesktop
from rlanything_agents.domains.osworld.expert import DesktopExpert
from rlanything_agents.domains.osworld.grammar import GestureConstraint
from rlanything_agents.domains.osworld.opinion import opinions
from rlanything_agents.domains.osworld.words import ACT, COUNTS, END, NOBODY, SCREEN, SEE, SLOTS, WORDS
from rlanything_agents.models.small import BOS, EOS
from rlanything_agents.rollout.dialect import Judgement, Step
from rlanything_agents.rollout.word_dialect import WordDialect

if TYPE_CHECKING:
    from rlanything_agents.config import RunConfig
    from rlanything_agents.domains.lessons import ExpertLessons
    from rlanything_agents.reward_models.step_reviewer import StepReviewer
    from rlanything_agents.runs.learners import Learners

__all__ = ["DIALECT", "OSWorldDialect"]


class OSWorldDialect(WordDialect):
    """The translation of desktops; without state of its own, and shared."""

    words, end = WORDS, END
    turn_limit = 16
    """The longest turn takes 16 tokens."""
    environment: Mapping[str, Any] = {
        "backend": "simulator",
        "screen": (1280, 720),
        "observation": ("accessibility_tree", "instruction", "message"),
    }

    def wrapped(self, env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
        """In few words."""
        return CompactDesktop(env)

    @property
    def thought_slots(self) -> tuple[tuple[int, ...], ...]:
        """The slot that a turn is about, and the place that it goes to."""
        return tuple(self._encode([NOBODY, *SLOTS])), tuple(self._encode([NOBODY, *COUNTS]))

    def opening(self, observation: str) -> list[int]:
        """The task in words, and the first screen."""
        _, words, screen = [*observation.split("\n", 2), "", ""][:3]
        return self._encode([BOS, *words.split(), SCREEN, *screen.split(), ACT])

    def message(self, observation: str) -> list[int]:
        """What is new on the screen."""
        return self._encode([SEE, *observation.split(), ACT])

    def thought(self, thought: str) -> tuple[int, ...]:
        """The two words of a thought."""
        return tuple(self._encode(thought.split()))

    def command(self, action: str) -> tuple[int, ...]:
        """The words of a command, and ``<end>``."""
        return tuple(self._encode([*action.split(), END]))

    def constraint(self, info: Mapping[str, Any]) -> GestureConstraint:
        """A thought, then a command about things that are there."""
        return GestureConstraint(self._ids, info)

    def read_turn(self, ids: Sequence[int]) -> tuple[str, str]:
        """Two words of thought, then the command up to ``<end>``."""
        words = self._decode(ids)
        return " ".join(words[:2]), " ".join(words[2:])

    @property
    def lessons(self) -> ExpertLessons:
        """The expert's won episodes, and its rule of thumb."""
        from rlanything_agents.domains.lessons import ExpertLessons

        return ExpertLessons(self)

    def reviewer(self, config: RunConfig, learners: Learners) -> StepReviewer:
        """The reward model judges steps."""
        from rlanything_agents.reward_models.step_reviewer import StepReviewer

        return StepReviewer(config, learners, self)

    def expert(self, seed: int) -> DesktopExpert:
        """A fresh expert."""
        return DesktopExpert(seed)

    def judge_prompts(self, opening: str, steps: Sequence[Step]) -> list[list[int]]:
        """See `casefile.casefiles`."""
        return [self._encode([BOS, *words]) for words in casefiles(opening, steps)]

    def judgement(self, judgement: Judgement) -> list[int]:
        r"""For example ``progress \boxed{1} <eos>``."""
        return self._encode([judgement.reason, rf"\boxed{{{judgement.score}}}", EOS])

    def opinions(self, opening: str, steps: Sequence[Step]) -> list[Judgement]:
        """See `opinion.opinions`."""
        return opinions(opening, steps)

    def true_labels(self, payload: Mapping[str, Any], steps: Sequence[Step]) -> list[int]:
        """See `truth.step_labels`."""
        from rlanything_agents.domains.osworld.truth import step_labels

        return step_labels(payload, [step.action for step in steps])


DIALECT = OSWorldDialect()
"""Shared: it has no state of its own."""
