"""What a judge reads of one step: the task, what is known by then, the last steps, and the step itself.

A small model hardly learns to compare what is there with what the task names, so a part of this is done for it: the
slots that are still absent are told. The rule of thumb that it imitates, and the truth, are not in the prompt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rlanything_agents.domains.osworld.belief import Belief
from rlanything_agents.domains.osworld.words import ABSENT, ACT, ANSWER, COUNTS, REPEAT, SCREEN, SEE, SLOTS
from rlanything_agents.rollout.dialect import Step

__all__ = ["casefiles"]

_HISTORY = 4
"""Steps a judge reads before the one it judges."""
_SHORT = 8
"""Words of an earlier message a judge reads."""


def casefiles(opening: str, steps: Sequence[Step]) -> list[list[str]]:
    """The words a judge reads for each step, in order; a step's words do not depend on later ones."""
    belief = Belief(opening)
    past: list[list[str]] = []
    given: Counter[str] = Counter()
    files = []
    for step in steps:
        shown = step.observation.split()
        words = [*belief.words, SCREEN, belief.app or "?"]
        for number, row in sorted(belief.rows.items()):
            words += [str(number), *row] if str(number) in COUNTS else []
        words += [ABSENT, *(slot for slot in dict.fromkeys(belief.words) if slot in SLOTS and slot not in belief.met)]
        words += [word for turn in past[-_HISTORY:] for word in turn]
        words += [REPEAT] * min(given[step.action], 2)
        files.append([*words, ACT, *step.thought.split(), *step.action.split(), SEE, *shown, ANSWER])
        past.append([ACT, *step.action.split(), SEE, *shown[:_SHORT]])
        given[step.action] += 1
        belief.update(step.action, step.observation)
    return files
