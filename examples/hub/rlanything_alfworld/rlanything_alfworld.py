"""RLAnything's AlfWorld environment for verifiers: ``vf-eval rlanything-alfworld``."""

import verifiers.v1 as vf

from rlanything_envs.adapters.verifiers import ChatHarness, TextEnv, TextTask, TextTaskset, TextTasksetConfig

__all__ = ["AlfWorldTaskset", "ChatHarness", "TextEnv"]


class AlfWorldConfig(TextTasksetConfig):
    """Settings under ``--env.taskset``."""

    env_id: str = "RLAnything/AlfWorld-v0"


class AlfWorldTaskset(TextTaskset, vf.Taskset[TextTask, AlfWorldConfig]):
    """Tasks by seeds, or the active tasks of a pool."""
