"""Verdicts and judgements of the code judge."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from .sandbox import Run

Verdict = Literal["AC", "WA", "TLE", "TLE_WALL", "MLE", "OLE", "RE", "CE", "IE"]
"""Accepted, wrong answer, over the limit of processor time, of wall time (it sleeps or waits; waiting for a core of a
busy machine does not count), of memory, of output, runtime error, compile error; and IE, an error of the judge and not
of the program."""

SLOW = ("TLE", "TLE_WALL")
"""Verdicts, and statuses of runs, over a limit of time."""

MAX_DETAIL = 500
"""Longest reason of a verdict, in characters."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdicts on one program, in the order of its tests."""

    verdicts: tuple[Verdict, ...]
    sandbox: str
    """Tier of the sandbox the program ran in."""
    cpu: tuple[float, ...]
    """Processor seconds of each test; 0 where the program was not run."""
    details: tuple[str, ...]
    """Reason for each test that was not accepted, cut to `MAX_DETAIL`. It may quote the expected output."""
    error: str | None = None
    """Failure of the judge itself; None without one."""

    @property
    def passed(self) -> bool:
        """Whether every test was accepted."""
        return all(verdict == "AC" for verdict in self.verdicts)

    @property
    def fraction(self) -> float:
        """Share of the tests that were accepted, 0 to 1."""
        return self.verdicts.count("AC") / len(self.verdicts)

    @property
    def outcome(self) -> bool | None:
        """`passed`, or None where the judge failed and no test did: that is neither a success nor a failure."""
        failed = any(verdict not in ("AC", "IE") for verdict in self.verdicts)
        return None if self.error is not None and not failed else self.passed

    @property
    def counts(self) -> dict[str, int]:
        """Number of tests by verdict, most frequent first."""
        return dict(Counter[str](self.verdicts).most_common())


def why(run: Run) -> str:
    """The reason of a failed run: the end of its standard error."""
    said = run.stderr[-4 * MAX_DETAIL :].decode(errors="replace").strip()
    return (run.detail or said)[-MAX_DETAIL:] if run.status != "RE" else (said or run.detail)[-MAX_DETAIL:]
