"""An environment that verifiers finds by its name: tasks that adapt."""

from rlanything_envs.adapters.verifiers import ChatHarness, LiveTaskset, TextEnv

__all__ = ["ChatHarness", "LiveTaskset", "TextEnv"]
