"""RLAnything's OSWorld environment for verifiers: ``vf-eval rlanything-osworld``."""

import verifiers.v1 as vf

from rlanything_envs.adapters.verifiers import ChatHarness, TextEnv, TextTask, TextTaskset, TextTasksetConfig

__all__ = ["ChatHarness", "OSWorldTaskset", "TextEnv"]


class OSWorldConfig(TextTasksetConfig):
    """Settings under ``--env.taskset``."""

    env_id: str = "RLAnything/OSWorld-v0"


class OSWorldTaskset(TextTaskset, vf.Taskset[TextTask, OSWorldConfig]):
    """Tasks by seeds, or the active tasks of a pool."""
