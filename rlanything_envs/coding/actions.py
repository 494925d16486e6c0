"""From what an agent writes to an action.

Language models wrap actions in prose, headings and markdown, so reading is lenient; but it never guesses what
to do: without an action word nothing is run.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

MAX_ACTION_LENGTH = 131_072
"""Longest action that is read, in code points."""

Verb = Literal["RUN", "TEST", "SUBMIT", "GIVE_UP"]

_VERB = re.compile(
    r"[\s>#*_`-]*(?:action\s*:)?[\s*_`]*(run|test|submit|give[_ ]up)(?![A-Za-z0-9_]|\s*[=(.])[\s*_`:.]*(.*)",
    re.IGNORECASE,
)
_VERB_WITHIN = 120  # characters of a line that are looked at for an action word
_FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*([^`\s]*)[^`]*\Z")
_STDIN_LABEL = re.compile(r"[\s#*_`>-]*(?:stdin|input)[\s*_`:]*", re.IGNORECASE)
_PYTHON = frozenset({"python", "python3", "py"})
_STDIN = frozenset({"stdin", "input", "in", "text", "txt"})
_AFTER_THINKING = "</think>"


class Unreadable(ValueError):
    """The text is no action; the message tells the agent what to do about it."""


@dataclass(frozen=True, slots=True)
class Action:
    """What an agent wants done."""

    verb: Verb
    code: str = ""
    stdin: str = ""


@dataclass(frozen=True, slots=True)
class _Block:
    """A fenced block."""

    tag: str
    body: str


def read_action(text: str, *, only_submit: bool = False) -> Action:
    """The action of a text.

    The action word stands at the beginning of a line: alone in any case, or in capitals before other words.
    The last one counts, since deliberation comes first. Its code is the first fenced block after it, or the
    last one before it; where a text begins with the action word and has no fence, the rest is code. The
    standard input of RUN is a further block, marked ``stdin`` or ``input`` or not at all. A last fence may be
    left open, and what stands before ``</think>`` is not read.

    Args:
        text: what the agent wrote.
        only_submit: a fenced block without an action word is a submission: there is nothing else to do.

    Raises:
        Unreadable: there is no action in it.
    """
    if len(text) > MAX_ACTION_LENGTH:
        raise Unreadable(f"the message is longer than {MAX_ACTION_LENGTH} characters; send a shorter one")
    items = list(_items(text.rpartition(_AFTER_THINKING)[2].replace("\r\n", "\n")))
    verbs = [(place, verb) for place, item in enumerate(items) if isinstance(item, str) and (verb := _verb(item))]
    if not verbs:
        blocks = [item for item in items if isinstance(item, _Block)]
        if only_submit and blocks:
            return Action("SUBMIT", _not_empty(_code_of(blocks[::-1]).body))
        raise Unreadable("there is no action word; begin a line with RUN, TEST, SUBMIT or GIVE_UP")
    place, verb = verbs[-1]
    if verb == "GIVE_UP":
        return Action(verb)
    after = [item for item in items[place + 1 :] if isinstance(item, _Block)]
    before = [item for item in items[:place] if isinstance(item, _Block)]
    if after:
        code = _code_of(after)
    elif before:
        code = _code_of(before[::-1])
    else:
        return _unfenced(verb, items, place)
    return Action(verb, _not_empty(code.body), _stdin_of(after, code) if verb == "RUN" else "")


def _items(text: str) -> Iterator[str | _Block]:
    """The lines outside of fences, and the fenced blocks."""
    lines = iter(text.split("\n"))
    for line in lines:
        if (start := line.find("```")) > 0 and _verb(line[:start]):
            yield line[:start]
            line = line[start:]
        fence = _FENCE.match(line)
        if fence is None:
            yield line
            continue
        body = []
        for inner in lines:
            closing = inner.strip()
            if len(closing) >= len(fence[1]) and set(closing) == {fence[1][0]}:
                break
            body.append(inner)
        yield _Block(fence[2].lower(), "".join(f"{part}\n" for part in body))


def _verb(line: str) -> Verb | None:
    match = _VERB.match(line[:_VERB_WITHIN])
    if match is None or (match[2] and not match[1].isupper()):
        return None
    word = match[1].upper().replace(" ", "_")
    return next(verb for verb in ("RUN", "TEST", "SUBMIT", "GIVE_UP") if verb == word)


def _code_of(blocks: list[_Block]) -> _Block:
    """The first block that says it is Python, else the first that does not say it is input, else the first."""
    for block in blocks:
        if block.tag in _PYTHON:
            return block
    return next((block for block in blocks if block.tag not in _STDIN), blocks[0])


def _stdin_of(blocks: list[_Block], code: _Block) -> str:
    others = [block for block in blocks if block is not code and block.tag not in _PYTHON]
    return next((block.body for block in others if block.tag in _STDIN), others[0].body if others else "")


def _unfenced(verb: Verb, items: list[str | _Block], place: int) -> Action:
    lines = [item for item in items if isinstance(item, str)]
    if any(line.strip() for line in lines[:place]):
        raise Unreadable(f"{verb} has no code; put your program into a fenced block (```python ... ```)")
    code = lines[place + 1 :]
    stdin: list[str] = []
    if verb == "RUN":
        label = next((i for i, line in enumerate(code) if _STDIN_LABEL.fullmatch(line[:_VERB_WITHIN])), len(code))
        code, stdin = code[:label], code[label + 1 :]
    return Action(verb, _not_empty("\n".join(code)), "".join(f"{line}\n" for line in stdin))


def _not_empty(code: str) -> str:
    if not code.strip():
        raise Unreadable("there is no code; put your program into a fenced block (```python ... ```)")
    return code
