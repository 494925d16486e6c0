"""Audits of tasks. A panel comes in; the tasks that are solved without the work go out.

`audit_panel` plays each task with every cheating agent of its domain (`rlanything_agents.domains.cheats`), with random
play, and with its known solution as a control.

- `agents`: the agents of an audit; `run`: an audit from beginning to end, and panels in which each way to judge a
  program occurs; `card`: what was measured of a panel, as a card.

```python
from rlanything_agents.tools.audit import audit_panel
from rlanything_task_pools.panel import load_panel

found = audit_panel(load_panel("alfworld-easy", limit=2), workers=1)
print(found["clean"], found["findings"])
```
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rlanything_agents.tools.audit.run import audit_panel, probe_panel

__all__ = ["audit_panel", "probe_panel"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # loads SciPy, which worker processes do without
        return getattr(import_module("rlanything_agents.tools.audit.run"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
