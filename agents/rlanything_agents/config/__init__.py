"""Settings of a run: a YAML file goes in, a checked and frozen `RunConfig` comes out, before anything starts.

Unknown keys, missing files and impossible values raise `ConfigError` with the full name of the key (``rollout.tasks``).
Every field has its default and its unit in its own file:

- ``run``: the whole run, with the sections ``rollout``, ``judge`` and ``warm_start``;
- ``model``: sizes of a small model, or a checkpoint and its adapters; ``engine``: the engine that generates its text;
- ``trainer``: one model's updates; ``feedback``: advantages from outcomes and votes, and the named presets;
- ``curriculum``: task pool and rewriter; ``evaluation``: panels; ``monitors``: limits of a healthy run;
- ``workers``: rollout workers on Ray;
- ``load``: YAML file and ``--set`` overrides; ``section``: base class and shared types; ``seeds``: random streams.
"""

from rlanything_agents.config.curriculum import CurriculumConfig, LLMConfig
from rlanything_agents.config.engine import EngineConfig, ServerConfig
from rlanything_agents.config.evaluation import EvaluationConfig
from rlanything_agents.config.load import ConfigError, load_config
from rlanything_agents.config.model import AnyModel, CheckpointConfig, LoraConfig, SharedConfig, SmallConfig
from rlanything_agents.config.run import TRACKERS, JudgeConfig, RolloutConfig, RunConfig, WarmStartConfig
from rlanything_agents.config.section import Mixture, Part, Section
from rlanything_agents.config.workers import WorkersConfig

__all__ = [
    "TRACKERS",
    "AnyModel",
    "CheckpointConfig",
    "ConfigError",
    "CurriculumConfig",
    "EngineConfig",
    "EvaluationConfig",
    "JudgeConfig",
    "LLMConfig",
    "LoraConfig",
    "Mixture",
    "Part",
    "RolloutConfig",
    "RunConfig",
    "Section",
    "ServerConfig",
    "SharedConfig",
    "SmallConfig",
    "WarmStartConfig",
    "WorkersConfig",
    "load_config",
]
