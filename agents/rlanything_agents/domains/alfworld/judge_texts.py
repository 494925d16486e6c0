"""What a judge reads of one step: the task, what is known by then, the last steps, and the step itself.

A model of half a million parameters does not learn from a few thousand examples to compare a word here with a
word in the task, which a language model does without effort: its votes then hardly depend on what is taken or
put where. So the comparison is done for it. Words of the task are marked wherever they stand, and what the
transcript said before the last steps is kept as notes: what is in hand, whether it is prepared, whether what
is sought has been seen. The heuristic labels that the judge imitates, and the truth that it is measured against,
are not in the prompt.
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
"""Steps a judge reads before the one it judges."""

_SHORT = 6
"""Words of an earlier message a judge reads."""


def judge_texts(trajectory: Trajectory) -> list[str]:
    """The words a judge reads for each step, in order; a step's words do not depend on later ones."""
    belief = Belief(trajectory.full_opening)
    sentence = words_of(belief.sentence)
    marks = {belief.task.receptacle: HOME, belief.task.object: WANTED}
    past: list[list[str]] = []
    given: Counter[str] = Counter()
    texts = []
    for step in trajectory.steps:
        words = sentence + [word for turn in past[-_HISTORY:] for word in turn] + _notes(belief, marks)
        action = _marked(words_of(step.action), marks)
        shown = compact(step.full)
        words += [REPEAT, str(min(given[step.action], 9)), ACT, *step.thought.split(), *action]
        if _unseen(step.action, belief):
            words.append(NEW)
        texts.append(" ".join([*words, OBS, *_marked(shown, marks)]))
        past.append([ACT, *action, OBS, *_marked(shown[:_SHORT], marks)])
        given[step.action] += 1
        belief.update(step.full)
    return texts


def _marked(words: Sequence[str], marks: dict[str, str]) -> list[str]:
    """The words, each that the task names followed by its mark."""
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
