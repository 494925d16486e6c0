"""Judge texts of the short view: the task, the state of the screen, the last steps, and the step itself.

A small model hardly learns to compare the screen with the task, so the text does a part of it: it lists the slots of
the task that have not been seen or typed yet. Neither the heuristic labels nor the true labels are in the text.
"""

from __future__ import annotations

from collections import Counter

from rlanything_agents.domains.osworld.belief import Belief
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_envs.osworld.short.words import ABSENT, ACT, COUNTS, REPEAT, SCREEN, SEE, SLOTS

__all__ = ["judge_texts"]

_HISTORY = 4
"""Most earlier steps in a text."""
_SHORT = 8
"""Most words of an earlier message in a text."""


def judge_texts(trajectory: Trajectory) -> list[str]:
    """One text per step, in order; a step's text does not depend on later steps."""
    belief = Belief(trajectory.full_opening)
    past: list[list[str]] = []
    earlier: Counter[str] = Counter()
    texts = []
    for step in trajectory.steps:
        shown = step.observation.split()
        words = [*belief.words, SCREEN, belief.app or "?"]
        for number, row in sorted(belief.rows.items()):
            words += [str(number), *row] if str(number) in COUNTS else []
        words += [ABSENT, *(slot for slot in dict.fromkeys(belief.words) if slot in SLOTS and slot not in belief.met)]
        words += [word for turn in past[-_HISTORY:] for word in turn]
        words += [REPEAT] * min(earlier[step.action], 2)
        done = [*step.thought.split(), *step.action.split()]
        texts.append(" ".join([*words, ACT, *done, SEE, *shown]))
        past.append([ACT, *step.action.split(), SEE, *shown[:_SHORT]])
        earlier[step.action] += 1
        belief.update(step.action, step.observation)
    return texts
