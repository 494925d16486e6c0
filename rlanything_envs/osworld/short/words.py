"""The vocabulary of the short view: some 200 words for all its tasks, screens and actions.

Strings are not spelled. Names, numbers and sentences of the task get numbered slots, ``<1>`` for the first; where one
of them is on the screen it is that slot again, and anything else there is ``?``, or ``#`` for a number.
"""

from __future__ import annotations

__all__ = [
    "ABSENT",
    "ACT",
    "BREAK",
    "COLUMNS",
    "COUNTS",
    "DONE",
    "KEYS",
    "LITERALS",
    "MAX_SLOTS",
    "NOBODY",
    "NUMBER",
    "OTHER",
    "REASONS",
    "REPEAT",
    "SCREEN",
    "SEE",
    "SLOTS",
    "TASK_WORDS",
    "VERBS",
    "WORDS",
]

SCREEN = "screen"
"""Mark before the contents of the first screen; a text of the screen never becomes this word."""

BREAK = ";"
"""Separator of lines of a screen."""

REPEAT, ABSENT, ACT, SEE = "<repeat>", "<absent>", "<act>", "<see>"
"""Marks in a judge prompt: a repeated command, slots that are neither on the screen nor were typed, the command, and
the new contents of the screen."""

MAX_SLOTS = 14
SLOTS = tuple(f"<{number}>" for number in range(1, MAX_SLOTS + 1))
"""Strings of the task, in its order."""

OTHER, NUMBER = "?", "#"
"""A string on the screen that the task does not name, and a number."""

NOBODY = "<none>"
"""Thought of a turn without a slot, or without a target."""

COUNTS = tuple(map(str, range(1, 17)))
"""Numbers of things on the screen: rows of a list, lines of a text, rows of a sheet."""

COLUMNS = ("a", "b", "c", "d")

DONE = ("done", "fail")
VERBS = ("click", "line", "cell", "press", "type", *DONE)
"""First words of a command."""

KEYS = {
    "rename": "pyautogui.press('f2'); time.sleep(0.5); pyautogui.hotkey('ctrl', 'a')",
    "save": "pyautogui.hotkey('ctrl', 's')",
    "bottom": "pyautogui.hotkey('ctrl', 'end')",
    "return": "pyautogui.press('enter')",
    "escape": "pyautogui.press('escape')",
}
"""Names for ``press``, and the code of each. A new name replaces the old one, so ``rename`` selects all of it."""

LITERALS = {
    "enter": "\n",
    "tab": "\t",
    "=": " = ",
    "/": "/",
    "|": " | ",
    ">": " > ",
    ">>": " >> ",
    "desktop/": "~/Desktop/",
    "blank": " ",
    "echo": "echo ",
    "mkdir": "mkdir ",
    "mv": "mv ",
    "wc-l<": "wc -l < ",
    "grep": "grep ",
    "grep-c": "grep -c ",
    "grep-v": "grep -v ",
    "grep-vc": "grep -vc ",
}
"""Words that can be typed besides slots, and the text of each."""

_TASK = """
    in the folder on desktop rename to and use terminal create file with single two lines then append there which is
    not empty make it move into as well count all that contain both neither nor write only number configuration set
    save add setting value at end spreadsheet amount price of row item another one a new named name
    select manager press f2 change its has before text writes appends makes moves prints word other counts words goes
    press line echo grep mkdir mv wc -l -c -v put cursor begins replace written own ctrl+s tab next cell first , . :
"""

TASK_WORDS = tuple(_TASK.split())
"""Words of tasks and hints; any other word of theirs gets a slot."""

_SCREEN = """
    files editor sheet dialog nothing changed same refused button total mean main $ no such found error cannot exists
    [ ] ( ) { } * - ~ ! " ' ; _ & + % @
"""

REASONS = ("progress", "useless", "repeated", "refused", "early")
"""First word of a judgement."""

SCORES = {r"\boxed{1}": 1, r"\boxed{-1}": -1}
"""Second word of a judgement."""

WORDS: tuple[str, ...] = tuple(
    dict.fromkeys(
        (
            *(SCREEN, REPEAT, ABSENT, ACT, SEE, OTHER, NUMBER, NOBODY),
            *SLOTS,
            *COUNTS,
            *COLUMNS,
            *VERBS,
            *KEYS,
            *LITERALS,
            *TASK_WORDS,
            *_SCREEN.split(),
            *REASONS,
            *SCORES,
        )
    )
)
"""All words of observations, answers and judgements."""
