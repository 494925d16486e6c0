"""Coding tasks: generated from families of problems, imported, rewritten, and proved by running programs.

The sandbox and the judge are in `rlanything_verifiers.coding`, the environment in `rlanything_envs.coding`.

```python
from rlanything_task_pools.coding import DOMAIN, read_payload

task = DOMAIN.generate(0)
print(read_payload(task.payload).statement)
```
"""

from rlanything_task_pools.coding.domain import DOMAIN, CodingDomain
from rlanything_task_pools.coding.draft import ImportFormatError
from rlanything_task_pools.coding.families import FAMILIES
from rlanything_task_pools.coding.generate import HELD_OUT, Knobs, generate
from rlanything_task_pools.coding.importing import Imported, Rejected, import_tasks, load
from rlanything_task_pools.coding.payload import Example, Payload, TaskLimits, make_task, read_payload
from rlanything_task_pools.knobs import SPLITS, KnobError

__all__ = [
    "DOMAIN",
    "FAMILIES",
    "HELD_OUT",
    "SPLITS",
    "CodingDomain",
    "Example",
    "ImportFormatError",
    "Imported",
    "KnobError",
    "Knobs",
    "Payload",
    "Rejected",
    "TaskLimits",
    "generate",
    "import_tasks",
    "load",
    "make_task",
    "read_payload",
]
