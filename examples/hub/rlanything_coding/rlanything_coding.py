"""RLAnything's Coding environment for verifiers: ``vf-eval rlanything-coding``."""

import verifiers.v1 as vf

from rlanything_envs.adapters.verifiers import ChatHarness, TextEnv, TextTask, TextTaskset, TextTasksetConfig

__all__ = ["ChatHarness", "CodingTaskset", "TextEnv"]


class CodingConfig(TextTasksetConfig):
    """Settings under ``--env.taskset``."""

    env_id: str = "RLAnything/Coding-v0"


class CodingTaskset(TextTaskset, vf.Taskset[TextTask, CodingConfig]):
    """Tasks by seeds, or the active tasks of a pool."""
