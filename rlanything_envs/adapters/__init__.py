"""Adapters of the environments to other trainers: one module for each, all on top of `Conversation`.

| module | for |
|---|---|
| `rlanything_envs.adapters.trl` | TRL's `GRPOTrainer(environment_factory=...)` |
| `rlanything_envs.adapters.openenv` | OpenEnv: a server over HTTP and WebSocket, and its client |
| `rlanything_envs.adapters.mcp` | any client of the Model Context Protocol |
| `rlanything_envs.adapters.skyrl` | SkyRL-Gym |
| `rlanything_envs.adapters.verl` | verl |
| `rlanything_envs.adapters.verifiers` | Prime Intellect's verifiers |
| `rlanything_envs.adapters.prime_rl` | prime-rl's task samplers, on top of that |
| `rlanything_envs.adapters.nemo_gym` | NeMo Gym: resource servers, their agent and rows |
| `rlanything_envs.adapters.inspect_ai` | Inspect AI: pinned panels as tasks of `inspect eval` |
| `rlanything_envs.adapters.sb3` | Stable-Baselines3 |
| `rlanything_envs.adapters.osworld` | agents and loops written for OSWorld's `DesktopEnv` |

The other package is imported only by its adapter. An infrastructure failure becomes the other package's own error, or
is masked where that package can mask; it is never a reward. Training code of this project is not here, but in
`rlanything_agents`.
"""
