"""Reading and checking of a YAML configuration, with overrides from the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rlanything_agents.config.feedback import FeedbackConfig
from rlanything_agents.config.run import RunConfig
from rlanything_verifiers.plain_yaml import YamlError, read_yaml

__all__ = ["ConfigError", "apply_override", "explain", "load_config"]


class ConfigError(ValueError):
    """Configuration that cannot be run; the message names the file, the key and the remedy."""


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> RunConfig:
    """Read a YAML file and apply ``key.subkey=value`` overrides.

    Raises:
        ConfigError: The file is missing or not YAML, or a key or value is not allowed.
    """
    path = Path(path)
    if not path.is_file():
        raise ConfigError(f"no configuration file {path}")
    try:
        tree = read_yaml(path.read_text(encoding="utf-8"))
    except (YamlError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from error
    if not isinstance(tree, dict):
        raise ConfigError(f"{path} must hold a mapping of keys to values")
    for override in overrides:
        apply_override(tree, override)
    try:
        return RunConfig.model_validate(tree)
    except ValidationError as error:
        raise ConfigError(f"{path}: {explain(error)}") from error


def apply_override(tree: dict[str, Any], override: str) -> None:
    """Set ``key.subkey=value`` in a configuration before it is checked.

    Raises:
        ConfigError: It has no such form, or a value stands where the key needs a section.
    """
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
        node[last] = read_yaml(text)
    except YamlError as error:
        raise ConfigError(f"--set {override!r}: {error}") from error


def explain(error: ValidationError) -> str:
    """Each problem in a sentence with the full name of its key."""
    return "; ".join(_sentence(dict(problem)) for problem in error.errors())


def _sentence(problem: Mapping[str, Any]) -> str:
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"unknown key `{key}`"
    if problem["type"] == "missing":
        return f"`{key}` is missing"
    return f"`{key}`: {problem['msg']} (got {problem['input']!r:.200})" if key else str(problem["msg"])
