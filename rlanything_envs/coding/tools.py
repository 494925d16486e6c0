"""The tools of the coding environment: each makes one action with a program in it."""

from __future__ import annotations

import json
from functools import cache
from typing import Annotated, Literal

from pydantic import Field

from rlanything_envs.coding.actions import MAX_ACTION_LENGTH, ActionFormat
from rlanything_envs.tools import Toolset

__all__ = ["toolset"]

Code = Annotated[str, Field(description="The whole program.", min_length=1)]
Language = Annotated[
    Literal["auto", "python", "cpp"],
    Field(description="Language of the program; auto for the one that the task names first."),
]
Stdin = Annotated[str, Field(description="Standard input of the program.")]


def run(code: Code, stdin: Stdin = "", language: Language = "auto") -> str:
    """Run a program on an input of yours and see what it prints."""
    return _call("run", code, language, stdin)


def test(code: Code, language: Language = "auto") -> str:  # noqa: PT028 (it is no test of ours)
    """Judge a program on the samples and see the verdicts."""
    return _call("test", code, language)


def submit(code: Code, language: Language = "auto") -> str:
    """Judge a program on the hidden tests. This ends the task."""
    return _call("submit", code, language)


def give_up() -> str:
    """End the task without a program."""
    return "GIVE_UP"


def _call(name: str, code: str, language: str, stdin: str = "") -> str:
    """The action as a tool call in JSON, which `read_action` reads.

    Marks that it looks for in any text (``</think>``, ``<function=``) are escaped where they stand in a program.
    """
    call = {"name": name, "arguments": {"code": _fenced(code, language), "stdin": _lines(stdin)}}
    return json.dumps(call, ensure_ascii=False).replace("<", "\\u003c")


def _last_block(code: Code, language: Language = "auto") -> str:
    """Judge a program on the hidden tests. This ends the task."""
    return _fenced(code, language)


_last_block.__name__ = "submit"


def _fenced(code: str, language: str) -> str:
    """The program in a fence that is longer than any in it; as it is where the model put it into one."""
    code = _lines(code)
    if code.lstrip().startswith(("```", "~~~")):
        return code
    runs = "".join(letter if letter == "`" else " " for letter in code).split()
    fence = "`" * max(3, 1 + max(map(len, runs), default=0))
    return f"{fence}{'' if language == 'auto' else language}\n{code}\n{fence}"


def _lines(text: str) -> str:
    """A text with plain line ends, as the environment reads them in any other text."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


@cache
def toolset(max_turns: int, action_format: ActionFormat) -> Toolset:
    """The tools of an environment with these arguments: where only submissions are actions, there is no other tool."""
    if action_format == "code":
        return Toolset(_last_block, max_length=MAX_ACTION_LENGTH)
    if max_turns == 1:
        return Toolset(submit, give_up, max_length=MAX_ACTION_LENGTH)
    return Toolset(run, test, submit, give_up, max_length=MAX_ACTION_LENGTH)
