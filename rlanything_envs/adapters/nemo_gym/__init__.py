"""NeMo Gym: text environments as a resource server of its Gymnasium-style class, and the agent that plays them.

`write_servers` writes the folder that ``gym`` reads: the server, the agent, rows of tasks and a configuration.

```python
from rlanything_envs.adapters import nemo_gym

nemo_gym.write_servers("servers", nemo_gym.rows(tasks, "alfworld"), "RLAnything/AlfWorld-v0", name="alfworld")
```

A row holds its task, proof included, for the server; the agent sends the model the environment's messages alone.
"""

from rlanything_envs.errors import MissingExtra

try:
    import responses_api_agents.gymnasium_agent.app  # noqa: F401 (its import needs all that is used here)
except ImportError as error:
    raise MissingExtra(
        f"rlanything_envs.adapters.nemo_gym needs NeMo Gym ({error}): pip install 'nemo-gym>=0.7,<0.8'"
    ) from error

from rlanything_envs.adapters.nemo_gym.agent import TextAgent
from rlanything_envs.adapters.nemo_gym.folder import group_rows, rows, write_servers
from rlanything_envs.adapters.nemo_gym.server import TextServer, TextServerConfig

__all__ = ["TextAgent", "TextServer", "TextServerConfig", "group_rows", "rows", "write_servers"]
