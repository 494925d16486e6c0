"""Desktop tasks: generated kinds with levels of evaluators, OSWorld's own task files, rewrites, and the asset cache.

Evaluators are run by `rlanything_verifiers.osworld`; desktops and the environment are in `rlanything_envs.osworld`.

```python
from rlanything_task_pools.osworld import DOMAIN, read_payload

task = DOMAIN.generate(0)
print(read_payload(task.payload).instruction)
```
"""

from rlanything_task_pools.knobs import SPLITS, KnobError
from rlanything_task_pools.osworld.assets import AssetError, Assets, asset_urls
from rlanything_task_pools.osworld.domain import DOMAIN, OSWorldDomain
from rlanything_task_pools.osworld.generate import APPS, HELD_OUT, Knobs, generate
from rlanything_task_pools.osworld.importing import import_folder, import_task, load
from rlanything_task_pools.osworld.kinds import KINDS
from rlanything_task_pools.osworld.payload import STEP_TYPES, Payload, Step, file_of, make_task, read_payload
from rlanything_task_pools.osworld.proof import keys
from rlanything_task_pools.osworld.requirements import Requirements, requirements_of

__all__ = [
    "APPS",
    "DOMAIN",
    "HELD_OUT",
    "KINDS",
    "SPLITS",
    "STEP_TYPES",
    "AssetError",
    "Assets",
    "KnobError",
    "Knobs",
    "OSWorldDomain",
    "Payload",
    "Requirements",
    "Step",
    "asset_urls",
    "file_of",
    "generate",
    "import_folder",
    "import_task",
    "keys",
    "load",
    "make_task",
    "read_payload",
    "requirements_of",
]
