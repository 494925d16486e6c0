"""A study as data: regimes, arms, seeds, and the run configuration of each of their combinations.

The configuration of a run is made of layers, the later ones winning key by key: the study's ``config``, the
regime's, the arm's, with ``--quick`` the one under ``quick``, and last the ``--set`` of the command line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rlanything_agents.config import ConfigError, RunConfig
from rlanything_agents.config.load import apply_override, explain
from rlanything_agents.feedback import FeedbackConfig
from rlanything_verifiers.plain_yaml import YamlError, read_yaml

__all__ = ["BEFORE", "Arm", "Plan", "Regime", "StudyError", "StudyFile", "load_file", "make_plan"]

BEFORE = "before"
"""The arm that is not trained: the shared warm start of a regime and a seed."""

FIXED = ("seed", "threads", "domain", "policy", "reward_model", "warm_start", "rollout", "evaluation")
"""Sections that every arm of a regime has in common: they decide the warm start and the panels that arms share."""

File = TypeVar("File", bound=BaseModel)
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,23}$")]


class StudyError(ValueError):
    """A study that cannot be run or read; the message names the file, the place and the remedy."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Arm(_Part):
    """One way to learn."""

    meaning: str
    config: dict[str, Any] = Field(default_factory=dict)
    votes: Literal["oracle", "potential"] | None = None
    """Votes of the planner in the place of a reward model's; see `studies.votes.TrueVotes`."""


class Regime(_Part):
    """One kind of tasks to learn on."""

    meaning: str
    config: dict[str, Any] = Field(default_factory=dict)


class Quick(_Part):
    """Settings of ``--quick``."""

    seeds: Annotated[int, Field(gt=0)]
    arms: tuple[Name, ...]
    config: dict[str, Any] = Field(default_factory=dict)


class StudyFile(_Part):
    """The content of a study file."""

    name: Name
    meaning: str
    seeds: Annotated[int, Field(gt=0)]
    arms: tuple[Name, ...]
    """Arms that run unless the command line names others, in the order of the table."""
    ladder: tuple[Name, ...]
    """Arms that each add one thing to the one before; the steps between them are reported."""
    baselines: tuple[Name, ...]
    """Arms that every other one is compared with."""
    regimes: dict[Name, Regime]
    variants: dict[Name, Arm]
    """Every way to learn that can be named."""
    quick: Quick
    config: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _names_are_known(self) -> StudyFile:
        if BEFORE in self.variants:
            raise ValueError(f"variants.{BEFORE}: this name is kept for the untrained policy")
        for key in ("arms", "ladder", "baselines"):
            _check_names(key, getattr(self, key), {*self.variants, BEFORE})
        _check_names("quick.arms", self.quick.arms, {*self.variants, BEFORE})
        if not self.regimes:
            raise ValueError("regimes: give at least one")
        return self


def _check_names(key: str, names: Sequence[str], known: set[str]) -> None:
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"{key}: there is no {', '.join(unknown)}; there are {', '.join(sorted(known))}")


def load_file(path: Path, content: type[File]) -> File:
    """Read a file of a study.

    Args:
        path: The file.
        content: Its expected content.

    Raises:
        StudyError: It is missing, not YAML, or a key or value is not allowed.
    """
    if not path.is_file():
        raise StudyError(f"no study file {path}: name one with --file (the checkout has them in configs/study)")
    try:
        return content.model_validate(read_yaml(path.read_text(encoding="utf-8")))
    except (YamlError, UnicodeDecodeError) as error:
        raise StudyError(f"{path} is not valid YAML: {error}") from error
    except ValidationError as error:
        raise StudyError(f"{path}: {explain(error)}") from error


class Plan(_Part):
    """The chosen part of a study file, with the resolved configuration of every run."""

    study: StudyFile
    regimes: tuple[str, ...]
    arms: tuple[str, ...]
    """Trained arms, in order; the untrained one is always there."""
    seeds: tuple[int, ...]
    configs: dict[str, dict[str, RunConfig]]
    """By regime and arm; `BEFORE` stands for the warm start. Name and seed are still to be filled in."""

    def config(self, regime: str, arm: str, seed: int) -> RunConfig:
        """The configuration of one run."""
        return self.configs[regime][arm].model_copy(update={"name": f"{regime}.{arm}.{seed}", "seed": seed})

    def runs(self) -> Iterator[tuple[str, str, int]]:
        """Regime, arm and seed of every run in order: seed by seed, so that a part of a study is a balanced one."""
        for seed in self.seeds:
            for regime in self.regimes:
                for arm in (BEFORE, *self.arms):
                    yield regime, arm, seed


def make_plan(
    study: StudyFile,
    *,
    regimes: Sequence[str] = (),
    arms: Sequence[str] = (),
    seeds: int | None = None,
    quick: bool = False,
    overrides: Sequence[str] = (),
) -> Plan:
    """Choose from a study file; what is not given is as the file says.

    Args:
        study: The file.
        regimes: Names of regimes; the first one of the file when empty.
        arms: Names of arms.
        seeds: Number of seeds, counted from 0.
        quick: The small version of the study.
        overrides: ``key.subkey=value``, for every run.

    Raises:
        StudyError: A name the file does not have, or a configuration that cannot be run.
    """
    chosen = tuple(dict.fromkeys(regimes)) or (next(iter(study.regimes)),)
    named = tuple(dict.fromkeys(arms)) or (study.quick.arms if quick else study.arms)
    try:
        _check_names("--regime", chosen, set(study.regimes))
        _check_names("--arms", named, {*study.variants, BEFORE})
    except ValueError as error:
        raise StudyError(str(error)) from error
    trained = tuple(arm for arm in named if arm != BEFORE)
    count = seeds if seeds is not None else (study.quick.seeds if quick else study.seeds)
    configs = {
        regime: {arm: _resolve(study, regime, arm, quick, overrides) for arm in (BEFORE, *trained)} for regime in chosen
    }
    for regime, by_arm in configs.items():
        for arm in trained:
            _check_shared(regime, arm, by_arm[BEFORE], by_arm[arm])
    return Plan(study=study, regimes=chosen, arms=trained, seeds=tuple(range(count)), configs=configs)


def _resolve(study: StudyFile, regime: str, arm: str, quick: bool, overrides: Sequence[str]) -> RunConfig:
    layers = [study.config, study.regimes[regime].config]
    if arm != BEFORE:
        layers.append(study.variants[arm].config)
    if quick:
        layers.append(study.quick.config)
    tree: dict[str, Any] = {"name": f"{regime}.{arm}"}
    for layer in layers:
        _merge(tree, layer)
    tree = deepcopy(tree)  # the layers keep their values
    try:
        for override in overrides:
            apply_override(tree, override)
        return RunConfig.model_validate(tree)
    except ConfigError as error:
        raise StudyError(str(error)) from error
    except ValidationError as error:
        raise StudyError(f"regime {regime}, arm {arm}: {explain(error)}") from error


def _merge(tree: dict[str, Any], layer: Mapping[str, Any]) -> None:
    """Lay ``layer`` over ``tree``: sections key by key, values and lists as a whole."""
    for key, value in layer.items():
        old = tree.get(key)
        if key == "feedback" and isinstance(value, Mapping) and isinstance(old, str):
            old = FeedbackConfig.preset(old).model_dump()  # fields on top of a preset
        if isinstance(value, Mapping) and key != "knobs":
            tree[key] = dict(old) if isinstance(old, Mapping) else {}
            _merge(tree[key], value)
        else:
            tree[key] = value


def _check_shared(regime: str, arm: str, warm: RunConfig, config: RunConfig) -> None:
    for key in FIXED:
        if getattr(warm, key) != getattr(config, key):
            raise StudyError(
                f"variants.{arm}.config changes `{key}` in regime {regime}: the arms of a seed share their warm start "
                f"and panels, so `{key}` belongs to the regime or the study"
            )
