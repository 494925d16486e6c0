"""What a judge reads of one step: the task, what is known by then, the last steps, and the step itself.

A small model hardly learns to compare what is there with what the task names, so a part of this is done for it: the
slots that are still absent are listed. The heuristic labels that it imitates, and the truth, are not in the prompt.
"""

from __future__ import annotations

from collections import Counter

from rlanything_agents.domains.osworld.belief import Belief
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_envs.osworld.short.words import ABSENT, ACT, COUNTS, REPEAT, SCREEN, SEE, SLOTS

__all__ = ["judge_texts"]

_HISTORY = 4
"""Steps a judge reads before the one it judges."""
_SHORT = 8
"""Words of an earlier message a judge reads."""


def judge_texts(trajectory: Trajectory) -> list[str]:
    """The words a judge reads for each step, in order; a step's words do not depend on later ones."""
    belief = Belief(trajectory.full_opening)
    past: list[list[str]] = []
    given: Counter[str] = Counter()
    texts = []
    for step in trajectory.steps:
        shown = step.observation.split()
        words = [*belief.words, SCREEN, belief.app or "?"]
        for number, row in sorted(belief.rows.items()):
            words += [str(number), *row] if str(number) in COUNTS else []
        words += [ABSENT, *(slot for slot in dict.fromkeys(belief.words) if slot in SLOTS and slot not in belief.met)]
        words += [word for turn in past[-_HISTORY:] for word in turn]
        words += [REPEAT] * min(given[step.action], 2)
        done = [*step.thought.split(), *step.action.split()]
        texts.append(" ".join([*words, ACT, *done, SEE, *shown]))
        past.append([ACT, *step.action.split(), SEE, *shown[:_SHORT]])
        given[step.action] += 1
        belief.update(step.action, step.observation)
    return texts
