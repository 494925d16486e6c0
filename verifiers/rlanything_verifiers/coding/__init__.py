"""Coding: untrusted programs run in a sandbox, judged by what they print.

```python
from rlanything_verifiers.coding import judge

judge("print(int(input()) + 1)", [("1\\n", "2\\n"), ("41\\n", "42\\n")]).passed  # True
```
"""

from .checkers import Checker, parse_checker
from .errors import CheckerError, EmptyTests, JudgeError, ProgramFormatError, TestFormatError
from .judging import ajudge, ajudge_many, check_job, judge, judge_many, run_program, shared_sandbox
from .sandbox import Limits, Run, Sandbox, SandboxError, UnsafeSandbox, default_sandbox
from .test import Test
from .trial import Job
from .verdict import Judgement, Verdict

__all__ = [
    "Checker",
    "CheckerError",
    "EmptyTests",
    "Job",
    "JudgeError",
    "Judgement",
    "Limits",
    "ProgramFormatError",
    "Run",
    "Sandbox",
    "SandboxError",
    "Test",
    "TestFormatError",
    "UnsafeSandbox",
    "Verdict",
    "ajudge",
    "ajudge_many",
    "check_job",
    "default_sandbox",
    "judge",
    "judge_many",
    "parse_checker",
    "run_program",
    "shared_sandbox",
]
