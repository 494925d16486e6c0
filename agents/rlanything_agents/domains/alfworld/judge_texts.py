"""Judge texts of the short view: the task, the last steps, notes on the state, and the step itself.

A model of half a million parameters does not learn from a few thousand examples to compare words of a step with words
of the task, so its votes would hardly depend on the object and the receptacle. The text makes the comparison instead:
words of the task are marked wherever they occur, and notes summarise the steps before the last ones (the object in
hand, whether it is prepared, whether the wanted object has been seen). Neither the heuristic labels nor the true labels
are in the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rlanything_agents.domains.alfworld.belief import Belief
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_envs.alfworld.texts import compact, kind_of_name, words_of
from rlanything_envs.alfworld.words import ACT, HELD, HOME, NEW, OBS, READY, REPEAT, SEEN, WANTED

__all__ = ["judge_texts"]

_HISTORY = 4
"""Maximum earlier steps in a text."""

_SHORT = 6
"""Maximum words of an earlier message in a text."""


def judge_texts(trajectory: Trajectory) -> list[str]:
    """One text per step, in order; a step's text does not depend on later steps."""
    belief = Belief(trajectory.full_opening)
    sentence = words_of(belief.sentence)
    marks = {belief.task.receptacle: HOME, belief.task.object: WANTED}
    past: list[list[str]] = []
    earlier: Counter[str] = Counter()
    texts = []
    for step in trajectory.steps:
        words = sentence + [word for turn in past[-_HISTORY:] for word in turn] + _notes(belief, marks)
        action = _marked(words_of(step.action), marks)
        shown = compact(step.full)
        words += [REPEAT, str(min(earlier[step.action], 9)), ACT, *words_of(step.thought), *action]
        if _unseen(step.action, belief):
            words.append(NEW)
        texts.append(" ".join([*words, OBS, *_marked(shown, marks)]))
        past.append([ACT, *action, OBS, *_marked(shown[:_SHORT], marks)])
        earlier[step.action] += 1
        belief.update(step.full)
    return texts


def _marked(words: Sequence[str], marks: dict[str, str]) -> list[str]:
    """The words, with the mark of the task after each word that the task names."""
    return [shown for word in words for shown in ((word, marks[word]) if word in marks else (word,))]


def _notes(belief: Belief, marks: dict[str, str]) -> list[str]:
    held = belief.holding
    notes = [HELD, *_marked([kind_of_name(held)], marks)] if held else [HELD, "nothing"]
    if held in belief.prepared:
        notes.append(READY)
    if belief.found(belief.task.object):
        notes.append(SEEN)
    return notes


def _unseen(action: str, belief: Belief) -> bool:
    """Whether a command goes to, or opens, a receptacle that was not looked into before."""
    place = action.removeprefix("go to ").removeprefix("open ")
    return place in belief.receptacles and place not in belief.contents
