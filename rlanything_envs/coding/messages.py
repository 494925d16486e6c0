"""Messages of the environment to the agent. No function here receives a hidden test."""

import re
from collections.abc import Sequence

from rlanything_envs.coding.actions import ActionFormat
from rlanything_task_pools.coding import Payload
from rlanything_task_pools.coding.problem_text import INTERACTIVE, problem_text, shorten
from rlanything_verifiers.coding import Judgement, Language, Run, Verdict
from rlanything_verifiers.plain_text import printable_lines

MAX_OBSERVATION_LENGTH = 131_072
"""Longest observation in code points; statements have at most 60,000, and all else is shortened below that."""

_OUTPUT_LENGTH = 4_000  # characters shown of what a program prints
_ERROR_LENGTH = 2_000
_TABLE_LENGTH = 8_000

_ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,16}\b")
_WITH_REASON = ("WA", "RE", "CE")

_VERDICTS: dict[Verdict, str] = {
    "AC": "accepted",
    "WA": "wrong answer",
    "TLE": "over the limit of processor time",
    "TLE_WALL": "took too long without computing (it slept, or waited for an answer that never came)",
    "MLE": "out of memory",
    "OLE": "printed too much",
    "RE": "runtime error",
    "CE": "does not compile",
    "IE": "the judge failed",
}

_PROGRAMS: dict[Language, str] = {
    "python": "print(sum(map(int, input().split())))",
    "cpp": "#include <iostream>\nint main() {\n    int a, b;\n    std::cin >> a >> b;\n    std::cout << a + b;\n}",
}

_MANUAL = """\
Send one action a message: a line with the action word, then your program in a fenced block.
- RUN: run the program on an input of yours, given in a second block marked stdin.
- TEST: judge the program on the samples.
- SUBMIT: judge the program on the hidden tests; this ends the task.
- GIVE_UP: end the task without a program.
For example:
TEST
```{language}
{program}
```"""

_MANUAL_OF_ONE_TURN = """\
You have one message: write SUBMIT on a line of its own, then your program in a fenced block.
SUBMIT
```{language}
{program}
```"""

LAST_BLOCK = "The last block of your message is submitted, which ends the task."
"""Sentence of the first message where answers are code alone."""

_MANUAL_OF_CODE = (
    f"Write your program in a fenced block. {LAST_BLOCK}\n"
    + """\
```{language}
{program}
```"""
)


_NO_RUN = """\
TEST holds the conversation of each sample; RUN does not: it gives your program the stdin block as it is,
so write the judge's lines there."""

FAILED = "The judge failed: this is not the program's fault, and the task counts for nothing."
GAVE_UP = "GIVE_UP: the task is over."
NO_SAMPLES = "TEST: this task has no samples; RUN your program on an input of yours, or SUBMIT it."


def opening(
    problem: Payload,
    turns: int,
    action_format: ActionFormat = "verbs",
    languages: Sequence[Language] = ("python",),
    packages: Sequence[str] = (),
    instructions: bool = True,
) -> str:
    """The first message: statement, samples, limits and, with `instructions`, how to act."""
    text = problem_text(problem, languages, packages, fences=instructions, interactive=f"{INTERACTIVE} {_NO_RUN}")
    if not instructions:
        return f"{text}\n\n{turns_left(turns)}"
    name = problem.entry_point
    if action_format == "code":
        manual = _MANUAL_OF_CODE
    else:
        manual = _MANUAL_OF_ONE_TURN if turns == 1 else f"{_MANUAL}\n{turns_left(turns)}"
    program = _PROGRAMS[languages[0]] if name is None else f"def {name}(...):\n    ..."
    return f"{text}\n\n{manual.format(language=languages[0], program=program)}"


def turns_left(turns: int) -> str:
    """Sentence on the number of turns left."""
    return "This was the last turn." if turns == 0 else f"Turns left: {turns}."


def unreadable(reason: str) -> str:
    """The answer to a text that is not an action."""
    return f"No action was taken: {reason}."


def ran(run: Run) -> str:
    """Result of a program on the agent's own input."""
    lines = [f"RUN: {'finished' if run.status == 'OK' else _VERDICTS[run.status]}."]
    if run.status == "CE":
        return "\n".join([*lines, _shown(run.detail, _ERROR_LENGTH)])
    lines += ["Output:", _shown(run.stdout.decode(errors="replace"), _OUTPUT_LENGTH) or "(nothing)"]
    if error := _shown(run.stderr.decode(errors="replace"), _ERROR_LENGTH):
        lines += ["Errors:", error]
    return "\n".join(lines)


def tested(judgement: Judgement) -> str:
    """The verdicts on the samples, with those reasons that do not vary between runs."""
    lines = [f"TEST: {judgement.verdicts.count('AC')} of {len(judgement.verdicts)} samples accepted."]
    for number, (verdict, reason) in enumerate(zip(judgement.verdicts, judgement.details, strict=True), 1):
        why = f" ({printable_lines(_masked(reason))})" if reason and verdict in _WITH_REASON else ""
        lines.append(f"Sample {number}: {_VERDICTS[verdict]}{why}")
    return shorten("\n".join(lines), _TABLE_LENGTH)


def submitted(verdicts: Sequence[Verdict]) -> str:
    """The verdicts on the hidden tests, counted."""
    counts = {verdict: verdicts.count(verdict) for verdict in _VERDICTS if verdict in verdicts}
    listed = ", ".join(f"{number} {_VERDICTS[verdict]}" for verdict, number in counts.items())
    return f"SUBMIT: {verdicts.count('AC')} of {len(verdicts)} hidden tests accepted: {listed}."


def _shown(output: str, length: int) -> str:
    return printable_lines(shorten(_masked(output), length)).strip("\n")


def _masked(text: str) -> str:
    """A text without the addresses Python writes into ``<object at 0x7f...>``: they differ from run to run."""
    return _ADDRESS.sub("at 0x...", text)
