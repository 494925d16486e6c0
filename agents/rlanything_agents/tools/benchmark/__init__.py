"""Benchmarks: agents of any making on pinned panels of tasks.

An `Agent` says how it plays; `run_benchmark` plays a panel, appends each episode to a folder and goes on where an
interrupted run stopped; `compare_results` pairs two such folders task by task.

```python
from pathlib import Path

from rlanything_agents.tools.benchmark import run_benchmark
from rlanything_task_pools.panel import load_panel

summary = run_benchmark(load_panel("alfworld-easy", limit=8), "expert", Path("runs/expert"), workers=1)
print(summary["total"]["rate"], summary["panel"]["hash"])
```
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rlanything_agents.tools.benchmark.errors import AgentError, BenchmarkError

if TYPE_CHECKING:
    from rlanything_agents.tools.benchmark.compare import compare_results
    from rlanything_agents.tools.benchmark.runner import run_benchmark
    from rlanything_agents.tools.benchmark.settings import ChatSettings

__all__ = ["AgentError", "BenchmarkError", "ChatSettings", "compare_results", "run_benchmark"]

_LATE = {
    "ChatSettings": "rlanything_agents.tools.benchmark.settings",
    "compare_results": "rlanything_agents.tools.benchmark.compare",
    "run_benchmark": "rlanything_agents.tools.benchmark.runner",
}
"""Names whose modules bring statistics along; a process that only plays does not wait for them."""


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(import_module(_LATE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
