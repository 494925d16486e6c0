"""OpenEnv: text environments behind a WebSocket, for any OpenEnv client, and a client for them.

```python
from rlanything_envs.adapters.openenv import TextClient, create_server

with create_server("RLAnything/AlfWorld-v0", max_sessions=4) as server:
    with TextClient(server.url).sync() as env:
        result = env.reset(seed=0)
        result = env.step("Action: look")
```

The package ``openenv`` (0.10) is required; it is imported when a name of this module is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rlanything_envs.adapters.openenv.client import TextClient
    from rlanything_envs.adapters.openenv.messages import TextAction, TextObservation, TextState
    from rlanything_envs.adapters.openenv.server import create_server
    from rlanything_envs.adapters.serving import Server

__all__ = ["Server", "TextAction", "TextClient", "TextObservation", "TextState", "create_server"]

_HERE = "rlanything_envs.adapters.openenv"
_HOMES = {
    "Server": "rlanything_envs.adapters.serving",
    "TextAction": f"{_HERE}.messages",
    "TextClient": f"{_HERE}.client",
    "TextObservation": f"{_HERE}.messages",
    "TextState": f"{_HERE}.messages",
    "create_server": f"{_HERE}.server",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
