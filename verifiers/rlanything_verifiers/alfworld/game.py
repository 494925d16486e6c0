"""One game: a scene, a goal, and the sentence that tells it."""

from dataclasses import dataclass, field

from .errors import GameFormatError
from .goal import Goal
from .scene import Scene
from .tables import Tables

#: Characters that TextWorld's text grammar would interpret instead of printing.
_GRAMMAR_CHARACTERS = frozenset('"#{}[]<>|;\\')
_MAX_SENTENCE = 500
_MAX_WALKTHROUGH = 1000


def check_sentence(sentence: object) -> str:
    """Return a task sentence that is safe to print through TextWorld's grammar.

    Raises:
        GameFormatError: It is not.
    """
    if not isinstance(sentence, str) or not 0 < len(sentence) <= _MAX_SENTENCE:
        raise GameFormatError(f"task sentence: expected 1 to {_MAX_SENTENCE} characters of text")
    met = sorted(_GRAMMAR_CHARACTERS & set(sentence))
    if met or not sentence.isprintable() or sentence != sentence.strip():
        raise GameFormatError(
            f"task sentence {sentence!r:.80}: write it on one line without surrounding blanks"
            f" and without any of {' '.join(sorted(_GRAMMAR_CHARACTERS))}"
        )
    return sentence


@dataclass(frozen=True, slots=True)
class Game:
    """An immutable game, to be shared by any number of worlds and threads.

    Attributes:
        scene: The world at the start.
        goal: The condition on the final state.
        sentence: The task text without ``"Your task is to: "``. Left empty at construction it becomes the
            goal's first wording.
        walkthrough: A winning command list that came with the game, unchecked, or None.

    Raises:
        GameFormatError: The sentence or the walkthrough is malformed.
    """

    scene: Scene
    goal: Goal
    sentence: str = ""
    walkthrough: tuple[str, ...] | None = None
    tables: Tables = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        sentence = check_sentence(self.sentence) if self.sentence else self.goal.sentence()
        object.__setattr__(self, "sentence", sentence)
        if self.walkthrough is not None:
            commands = self.walkthrough
            if not isinstance(commands, list | tuple) or len(commands) > _MAX_WALKTHROUGH:
                raise GameFormatError(f"walkthrough: expected at most {_MAX_WALKTHROUGH} commands in a list")
            if not all(isinstance(command, str) and len(command) <= 200 for command in commands):
                raise GameFormatError("walkthrough: every command must be text of at most 200 characters")
            object.__setattr__(self, "walkthrough", tuple(commands))
        object.__setattr__(self, "tables", Tables(self.scene, self.goal, sentence))
