"""A problem as its solver reads it: statement, samples, what is to be written, and limits. No hidden test is in it."""

from collections.abc import Sequence

from rlanything_task_pools.coding.payload import Payload
from rlanything_verifiers.coding import Language

__all__ = ["INTERACTIVE", "problem_text", "shorten"]

MOST_SAMPLES = 5
SAMPLE_LENGTH = 2_000
"""Characters shown of each text of a sample."""
INTERACTIVE = """\
This task is interactive: while your program runs it talks with the judge through standard output and standard input.
Flush after each line, as in print(..., flush=True). In samples, lines of the program begin with > and those of the
judge with <."""

_NAMES: dict[Language, str] = {"python": "Python 3", "cpp": "C++20"}


def problem_text(
    problem: Payload,
    languages: Sequence[Language] = ("python",),
    packages: Sequence[str] = (),
    *,
    fences: bool = False,
    interactive: str = INTERACTIVE,
) -> str:
    """The text of a problem.

    Args:
        problem: The problem.
        languages: Languages in which it may be solved.
        packages: Third-party packages that Python programs may import.
        fences: Whether a program is sent in a fenced block, which has to name its language where there are several.
        interactive: What is said of an interactive problem.
    """
    parts = [problem.statement]
    given, made = ("Known to the judge only", "Conversation") if problem.interactive else ("Input", "Output")
    for number, test in enumerate(problem.public[:MOST_SAMPLES], 1):
        if problem.checker.get("kind") == "asserts" and not test.stdout.strip():
            parts.append(f"Sample {number}\n{shorten(test.stdin, SAMPLE_LENGTH).rstrip()}")
            continue
        parts.append(
            f"Sample {number}\n{given}:\n{shorten(test.stdin, SAMPLE_LENGTH).rstrip()}\n"
            f"{made}:\n{shorten(test.stdout, SAMPLE_LENGTH).rstrip()}"
        )
    if (more := len(problem.public) - MOST_SAMPLES) > 0:
        parts.append(f"{more} more samples are not shown.")
    names, several = " or ".join(_NAMES[language] for language in languages), len(languages) > 1
    if problem.interactive:
        what = f"Write a program in {names}. {interactive}" if several else f"Write a {names} program. {interactive}"
    elif problem.entry_point is None:
        program = f"program in {names}" if several else f"{names} program"
        what = f"Write a {program} that reads standard input and writes standard output."
    else:
        what = f"Write the Python 3 function {problem.entry_point}. "
        if problem.checker.get("kind") == "asserts":
            what += "Tests are Python asserts about it."
        else:
            what += "Inputs are JSON lists of its arguments, outputs JSON of its result."
    if several and fences:
        listed = " or ".join(f"```{language}" for language in languages)
        what += f" Mark its block with its language: {listed}."
    if packages:
        what += f" Python programs may import {', '.join(packages)}."
    limits = problem.limits
    parts.append(
        f"{what} Limits for each test: {limits.cpu:g} s of processor time, {limits.memory >> 20} MiB of memory."
    )
    return "\n\n".join(parts)


def shorten(text: str, length: int) -> str:
    """A text cut to `length` characters, its beginning and its end, with a remark on the rest."""
    if len(text) <= length:
        return text
    half = length // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"
