"""Parser of actions in an agent's text: PyAutoGUI code, or one of the words WAIT, DONE and FAIL.

Language models wrap code in prose, fences and headings, so parsing is lenient; but it never guesses: where neither code
nor a word can be distinguished from prose, nothing is run.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rlanything_envs.errors import Unreadable

__all__ = ["MAX_ACTION_LENGTH", "MOST_CALLS", "Action", "brief_action", "labelled_action", "last_block", "last_word"]
__all__ += ["objects_in", "read_action", "readable", "without_thoughts"]

MAX_ACTION_LENGTH = 32_768
"""Longest action that is read, in code points."""

MOST_CALLS = 8
"""Calls of one answer."""
_MOST_BROKEN = 200
_LONGEST_LINE = 200
"""Characters of what an answer calls its action."""

Word = Literal["WAIT", "DONE", "FAIL"]

_AFTER_THINKING = "</think>"
_FENCE = re.compile(r"[ \t>]*+(`{3,}+|~{3,}+)[^`\n]*+\Z")
_LANGUAGE = re.compile(r"(?:python3?|py|json|bash|text|code)\s++(?=.)")
_LABEL = re.compile(r"[\s>#*_-]*(?:(?:final\s+)?(?:action|answer|code)\s*[*_]*\s*:)?[\s*_`]*", re.IGNORECASE)
_WORD = re.compile(r"(WAIT|DONE|FAIL)[\s*_`.!;:]*\Z", re.IGNORECASE)
_CODE_LINE = re.compile(r"(?:pyautogui\.\w+\s*\(|time\.sleep\s*\(|import (?:pyautogui|time)\b)")


@dataclass(frozen=True, slots=True)
class Action:
    """A parsed action: the code, if any, is run first, then the word is carried out.

    Attributes:
        code: PyAutoGUI code for the guest; empty for none.
        word: WAIT, DONE or FAIL; None where there is only code.
    """

    code: str = ""
    word: Word | None = None

    @property
    def name(self) -> str:
        """``CODE``, or the word."""
        return self.word or "CODE"


def read_action(text: str) -> Action:
    """The action of a text.

    Text before ``</think>`` is skipped. The last fenced block counts, with any language tag; it may be unclosed.
    Without a fence, a text that is Python and calls something is code; of any other the lines that begin with
    ``pyautogui.`` or ``time.sleep`` are. A last line WAIT, DONE or FAIL is carried out after the code, or alone.

    Raises:
        Unreadable: the text holds no action.
    """
    said = readable(text)
    if (block := last_block(said)) is None:
        return _without_fence(said)
    code, word = _split(block)
    if not code and word is None:
        raise Unreadable("the code block is empty; put pyautogui calls, WAIT, DONE or FAIL into it")
    return Action(code, word)


def brief_action(text: str) -> str:
    """Code and word of a text without the prose around them, or what it calls its action; else empty."""
    try:
        action = read_action(text)
    except Unreadable:
        return labelled_action(text)
    return "\n".join(part for part in (action.code, action.word) if part)


def labelled_action(text: str) -> str:
    """The first line of an answer that begins with ``Action:``, without that; else what stands in ``<tool_call>``."""
    said = without_thoughts(text)
    for line in said.split("\n"):
        if line.strip().lower().startswith("action:") and (rest := line.strip()[len("action:") :].strip()):
            return rest[:_LONGEST_LINE]
    return " ".join(said.partition("<tool_call>")[2].partition("</tool_call>")[0].split())[:_LONGEST_LINE]


def readable(text: str) -> str:
    """The text after a model's reasoning.

    Raises:
        Unreadable: It is too long, or has a null character in it.
    """
    if len(text) > MAX_ACTION_LENGTH:
        raise Unreadable(f"the message is longer than {MAX_ACTION_LENGTH} characters; send a shorter one")
    if "\x00" in text:
        raise Unreadable("the message has a null character in it; leave it out")
    return without_thoughts(text)


def without_thoughts(text: str) -> str:
    """The text after a model's reasoning, with plain line ends."""
    return text.rpartition(_AFTER_THINKING)[2].replace("\r\n", "\n").replace("\r", "\n")


def last_block(text: str) -> str | None:
    """The last fenced block of a text, without the fences; None where there is none."""
    found: str | None = None
    fence: str | None = None
    body: list[str] = []
    for line in text.split("\n"):
        if fence is None:
            if (opening := _FENCE.match(line)) is not None:
                fence, body = opening[1], []
            elif (ended := line.rstrip()).endswith("```") and (inside := ended[ended.find("```") + 3 : -3]):
                found = inside[language.end() :] if (language := _LANGUAGE.match(inside)) else inside
            continue
        if len(closing := line.strip()) >= len(fence) and set(closing) == {fence[0]}:
            found, fence = "\n".join(body), None
        elif closing.endswith("```") and fence[0] == "`":  # closed at the end of its last line
            found, fence = "\n".join([*body, line.rstrip().removesuffix("```")]), None
        else:
            body.append(line)
    return found if fence is None else "\n".join(body)


def objects_in(text: str) -> list[Mapping[str, Any]]:
    """The JSON objects of a text that are not inside another, in linear time.

    Raises:
        Unreadable: There are more than eight, or hundreds of braces that begin none.
    """
    decoder, place, broken = json.JSONDecoder(), 0, 0
    found: list[Mapping[str, Any]] = []
    while (start := text.find("{", place)) >= 0:
        try:
            value, place = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            place = max(start + 1, error.pos)  # what was read of a broken object is not read again
            broken += 1
            if broken > _MOST_BROKEN:  # an error alone takes as long as the text up to it
                raise Unreadable("there are hundreds of braces in it that begin no JSON object") from None
            continue
        except (ValueError, RecursionError):  # a number of thousands of digits, or too deep
            break
        found.append(value)
        if len(found) > MOST_CALLS:
            raise Unreadable(f"there are more than {MOST_CALLS} calls in it; send fewer")
    return found


def last_word(text: str) -> Word | None:
    """The word that the last line of a text consists of; else None."""
    return _word(text.rstrip().rpartition("\n")[2])


def _split(code: str) -> tuple[str, Word | None]:
    """Code, and the word on its last line."""
    before, _, last = code.rstrip().rpartition("\n")
    word = _word(last)
    if word is None or (last.lstrip().startswith("#") and _is_code(before)):  # a comment of the code is no word
        return code.strip("\n"), None
    return before.strip("\n"), word


def _word(line: str) -> Word | None:
    """The word that a line consists of, with or without ``Action:`` before it; else None."""
    if (found := _WORD.fullmatch(line, _label_end(line))) is None:
        return None
    return "WAIT" if (upper := found[1].upper()) == "WAIT" else "DONE" if upper == "DONE" else "FAIL"


def _label_end(line: str) -> int:
    return 0 if (label := _LABEL.match(line)) is None else label.end()


def _without_fence(text: str) -> Action:
    if not text.strip():
        raise Unreadable("the message is empty; send pyautogui code, WAIT, DONE or FAIL")
    code, word = _split(text)
    if not code or _is_code(code):
        return Action(code, word)
    lines = [line[_label_end(line) :].rstrip(" `") for line in code.split("\n")]
    if (kept := "\n".join(line for line in lines if _CODE_LINE.match(line))) or word is not None:
        return Action(kept, word)
    raise Unreadable(
        "there is no code in it; put pyautogui calls into a block (```python ... ```), or say WAIT, DONE or FAIL"
    )


def _is_code(text: str) -> bool:
    """Whether a text is Python with an effect; a single English word is valid Python, too.

    So is ``Action: click(start_box='(1,2)')``, an annotation: the line of another action space, or code with a label.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about literals in text that is not code
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    if any(isinstance(node, ast.AnnAssign) and node.value is None for node in tree.body):
        return False
    return any(isinstance(node, ast.Call) for node in ast.walk(tree))
