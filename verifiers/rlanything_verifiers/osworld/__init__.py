"""OSWorld: scores of the final state of a desktop, by the evaluators of OSWorld's tasks.

```python
from rlanything_verifiers.osworld import check_evaluator, evaluate

evaluator = {
    "func": "exact_match",
    "result": {"type": "vm_command_line", "command": ["ls", "/home/user/Desktop"]},
    "expected": {"type": "rule", "rules": {"expected": "final.txt\\n"}},
}
check_evaluator(evaluator)
evaluate(evaluator, desktop.client, last_action="DONE", files=assets)  # 0.0 to 1.0
```
"""

from .errors import EvaluatorError, MissingRequirement, VerifierError
from .evaluator import Strict, check_evaluator, check_libraries, evaluate, evaluator_urls
from .file import File
from .guest import Files, Guest
from .registry import GETTERS, METRICS

__all__ = [
    "GETTERS",
    "METRICS",
    "EvaluatorError",
    "File",
    "Files",
    "Guest",
    "MissingRequirement",
    "Strict",
    "VerifierError",
    "check_evaluator",
    "check_libraries",
    "evaluate",
    "evaluator_urls",
]
