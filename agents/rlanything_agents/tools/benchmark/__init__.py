"""Benchmarks of any agent on pinned panels of tasks. An agent and a panel come in; a folder with one result per
episode, a summary and reports goes out.

`run_benchmark` rolls out a panel, appends each result to the folder and continues after an interruption;
`compare_results` pairs two such folders task by task.

- `agent`: the interfaces of agents, and from a name to an agent.
- `scripted`, `service`, `checkpoint`, `policy`, `own_code`: the kinds of agents.
- `episode`, `parallel`, `runner`: one episode, several in parallel, a whole benchmark.
- `record`, `tables`, `report`: the folder, its statistics, its report; `compare`: two benchmarks.

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

from rlanything_agents.tools.benchmark.errors import BenchmarkError

if TYPE_CHECKING:
    from rlanything_agents.tools.benchmark.compare import compare_results
    from rlanything_agents.tools.benchmark.runner import run_benchmark
    from rlanything_agents.tools.benchmark.settings import ChatSettings

__all__ = ["BenchmarkError", "ChatSettings", "compare_results", "run_benchmark"]

_LATE = {
    "ChatSettings": "rlanything_agents.tools.benchmark.settings",
    "compare_results": "rlanything_agents.tools.benchmark.compare",
    "run_benchmark": "rlanything_agents.tools.benchmark.runner",
}
"""Names whose modules import SciPy; they are loaded on first use, so that worker processes start faster."""


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(import_module(_LATE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
