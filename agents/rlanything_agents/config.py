"""Every knob of a run in one place, checked before anything starts.

A run is described by a YAML file of these fields. Unknown keys, missing files and impossible values
raise `ConfigError` with the full name of the key (``rollout.tasks``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from rlanything_agents.feedback import FeedbackConfig, UnknownPreset
from rlanything_agents.trainer_config import TrainerConfig

__all__ = ["ConfigError", "RunConfig", "load_config"]

Positive = Annotated[int, Field(gt=0)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class ConfigError(ValueError):
    """A configuration that cannot be run; the message names the file, the key and the remedy."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelConfig(_Section):
    """Size of a from-scratch Qwen3-architecture model."""

    hidden_size: Positive = 128
    layers: Positive = 4
    heads: Positive = 4
    intermediate_size: Positive = 384

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> ModelConfig:
        if self.hidden_size % self.heads:
            raise ValueError(f"hidden_size {self.hidden_size} must be a multiple of heads {self.heads}")
        return self


class WarmStartConfig(_Section):
    """Supervised start of the policy from an exploring expert, and of the judge from noisy labels."""

    demonstrations: Positive = 1000
    max_steps: Positive = 40
    """A demonstration that has not won by then is dropped."""
    epochs: Positive = 6
    batch_size: Positive = 16
    learning_rate: Annotated[float, Field(gt=0)] = 2e-3
    judge_steps: Positive = 5000
    judge_epochs: Positive = 2
    label_noise: Share = 0.15
    """Share of the judge's warm-start labels that are flipped."""


class RolloutConfig(_Section):
    """How trajectories are collected: ``tasks`` groups of ``rollouts`` episodes of at most ``max_steps``."""

    tasks: Positive = 16
    rollouts: Annotated[int, Field(ge=2)] = 8
    max_steps: Positive = 30
    temperature: Annotated[float, Field(gt=0)] = 1.0
    constrained: bool = True
    """Sample only tokens that continue an admissible command (the environment lists them)."""


class JudgeConfig(_Section):
    """The generative reward model's votes."""

    votes: Annotated[int, Field(ge=1, le=32)] = 3
    temperature: Annotated[float, Field(gt=0)] = 1.0
    train: bool = True
    steps: Positive = 256
    """At most this many judged steps train the judge in one iteration."""


class CurriculumConfig(_Section):
    """The task pool and how its tasks adapt."""

    pool_size: Positive = 64
    adapt: bool = True
    rewriter: Literal["scripted"] = "scripted"
    acceptance: Literal["paper", "reference", "default"] = "paper"
    scheduler: Literal["published", "uniform", "learnability"] = "published"
    band: tuple[Share, Share] = (0.2, 0.8)
    """Success outside this band asks for an easier or a harder task (paper: alpha_low, alpha_high)."""
    knobs: dict[str, Any] = Field(default_factory=dict)
    """Passed to the domain's generator."""

    @field_validator("band")
    @classmethod
    def _ordered(cls, band: tuple[float, float]) -> tuple[float, float]:
        if not band[0] < band[1]:
            raise ValueError(f"the lower bound {band[0]} must be below the upper bound {band[1]}")
        return band


class EvaluationConfig(_Section):
    """Fixed panels of generated games, played before and after training."""

    panels: tuple[str, ...] = ("valid_seen", "valid_unseen")
    """Splits of the domain's generator: in-domain, then out-of-domain."""
    episodes: Positive = 2048
    """Episodes per panel, each on a game of its own."""
    max_steps: Positive = 30
    temperature: Annotated[float, Field(gt=0)] = 0.8
    judge_episodes: Positive = 96
    """Episodes of the first panel on which the judge's accuracy is measured."""


class RunConfig(_Section):
    """A whole run."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    threads: Positive = 2
    domain: str = "alfworld"
    iterations: Positive = 32
    policy: ModelConfig = ModelConfig()
    reward_model: ModelConfig = ModelConfig(layers=2)
    warm_start: WarmStartConfig = WarmStartConfig()
    rollout: RolloutConfig = RolloutConfig()
    judge: JudgeConfig = JudgeConfig()
    feedback: FeedbackConfig = FeedbackConfig()
    policy_trainer: TrainerConfig = TrainerConfig(
        learning_rate=3e-4, betas=(0.9, 0.99), warmup_updates=3, schedule="linear"
    )
    judge_trainer: TrainerConfig = TrainerConfig(learning_rate=2e-4)
    curriculum: CurriculumConfig = CurriculumConfig()
    evaluation: EvaluationConfig = EvaluationConfig()

    @field_validator("feedback", mode="before")
    @classmethod
    def _preset(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return FeedbackConfig.preset(value)
        except UnknownPreset as error:
            raise ValueError(str(error)) from error

    @model_validator(mode="after")
    def _groups_fit_the_pool(self) -> RunConfig:
        if self.rollout.tasks > self.curriculum.pool_size:
            raise ValueError(
                f"rollout.tasks ({self.rollout.tasks}) is larger than "
                f"curriculum.pool_size ({self.curriculum.pool_size}): a batch draws distinct slots"
            )
        return self


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> RunConfig:
    """Read a YAML file and apply ``key.subkey=value`` overrides.

    Raises:
        ConfigError: The file is missing or not YAML, or a key or value is not allowed.
    """
    path = Path(path)
    if not path.is_file():
        raise ConfigError(f"no configuration file {path}")
    try:
        tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from error
    if not isinstance(tree, dict):
        raise ConfigError(f"{path} must hold a mapping of keys to values")
    for override in overrides:
        _apply(tree, override)
    try:
        return RunConfig.model_validate(tree)
    except ValidationError as error:
        raise ConfigError(f"{path}: {_explain(error)}") from error


def _apply(tree: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or not key:
        raise ConfigError(f"--set {override!r}: expected key.subkey=value")
    *parents, last = key.split(".")
    node: Any = tree
    for parent in parents:
        node = node.setdefault(parent, {})
        if isinstance(node, str) and parent == "feedback":
            node = tree["feedback"] = FeedbackConfig.preset(node).model_dump()
        if not isinstance(node, dict):
            raise ConfigError(f"--set {override!r}: {parent} is a value, not a section")
    try:
        node[last] = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"--set {override!r}: {error}") from error


def _explain(error: ValidationError) -> str:
    return "; ".join(_sentence(dict(problem)) for problem in error.errors())


def _sentence(problem: Mapping[str, Any]) -> str:
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"unknown key `{key}`"
    if problem["type"] == "missing":
        return f"`{key}` is missing"
    return f"`{key}`: {problem['msg']} (got {problem['input']!r})" if key else str(problem["msg"])
