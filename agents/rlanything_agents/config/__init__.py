"""Every knob of a run in one place, checked before anything starts.

A run is described by a YAML file of these fields. Unknown keys, missing files and impossible values
raise `ConfigError` with the full name of the key (``rollout.tasks``).
"""

from rlanything_agents.config.corrupt import CorruptConfig
from rlanything_agents.config.curriculum import CurriculumConfig, LLMConfig
from rlanything_agents.config.engine import EngineConfig, ServerConfig
from rlanything_agents.config.evaluation import EvaluationConfig
from rlanything_agents.config.load import ConfigError, load_config
from rlanything_agents.config.model import AnyModel, CheckpointConfig, LoraConfig, SmallConfig
from rlanything_agents.config.run import TRACKERS, JudgeConfig, RolloutConfig, RunConfig, WarmStartConfig
from rlanything_agents.config.section import Mixture, Part, Section
from rlanything_agents.config.workers import WorkersConfig

__all__ = [
    "TRACKERS",
    "AnyModel",
    "CheckpointConfig",
    "ConfigError",
    "CorruptConfig",
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
    "SmallConfig",
    "WarmStartConfig",
    "WorkersConfig",
    "load_config",
]
