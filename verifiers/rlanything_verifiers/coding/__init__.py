"""Coding: untrusted programs run in a sandbox and are judged by their output, by checkers or by asserts.

Problems and their tests come from the caller; `rlanything_task_pools.coding` makes them.

```python
from rlanything_verifiers.coding import judge

judge("print(int(input()) + 1)", [("1\\n", "2\\n"), ("41\\n", "42\\n")]).passed  # True
```
"""

from .checkers import Checker, parse_checker
from .errors import JudgeError
from .judging import check_job, judge, judge_many, run_program, shared_sandbox
from .language import LANGUAGES, TAGS, TITLES, Language, Tag, check_language, find_tag
from .sandbox import Limits, Run, Sandbox, SandboxError, SandboxUnsupported, UnsafeSandbox, default_sandbox
from .test import Test
from .trial import Job
from .verdict import Judgement, Verdict

__all__ = [
    "LANGUAGES",
    "TAGS",
    "TITLES",
    "Checker",
    "Job",
    "JudgeError",
    "Judgement",
    "Language",
    "Limits",
    "Run",
    "Sandbox",
    "SandboxError",
    "SandboxUnsupported",
    "Tag",
    "Test",
    "UnsafeSandbox",
    "Verdict",
    "check_job",
    "check_language",
    "default_sandbox",
    "find_tag",
    "judge",
    "judge_many",
    "parse_checker",
    "run_program",
    "shared_sandbox",
]
