"""The environments as other trainers want them: one module a trainer, each on top of `Conversation`.

| module | for |
|---|---|
| `rlanything_envs.adapters.trl` | TRL's `GRPOTrainer(environment_factory=...)` |
| `rlanything_envs.adapters.openenv` | OpenEnv: a server over HTTP and WebSocket, and its client |
| `rlanything_envs.adapters.skyrl` | SkyRL-Gym |
| `rlanything_envs.adapters.verifiers` | Prime Intellect's verifiers |
| `rlanything_envs.adapters.gem` | GEM |
| `rlanything_envs.adapters.sb3` | Stable-Baselines3 |

No module imports the package it is made for before it is needed. A failure of the machinery arrives as the other
package's own kind of error, or is masked where that package can mask; it is never a reward.
"""
