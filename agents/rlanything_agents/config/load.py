"""Reading and checking of a YAML configuration, with overrides from the command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from rlanything_agents.config.feedback import FeedbackConfig
from rlanything_agents.config.run import RunConfig
from rlanything_verifiers.plain_yaml import YamlError, read_yaml

__all__ = ["ConfigError", "apply_override", "explain", "keys_of", "load_config"]


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
        raise ConfigError("; ".join(_blamed(path, overrides, dict(problem)) for problem in error.errors())) from error


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


def keys_of(model: Any = RunConfig, prefix: str = "") -> Iterator[str]:
    """Full names of all keys of a configuration, those of sections after the section itself."""
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}"
        for inner in (field.annotation, *get_args(field.annotation)):
            if hasattr(inner, "model_fields"):
                yield from keys_of(inner, f"{prefix}{name}.")


def _blamed(path: Path, overrides: Sequence[str], problem: Mapping[str, Any]) -> str:
    """The sentence about a problem, after the option that made it, or the file."""
    key = ".".join(map(str, problem["loc"]))
    for override in overrides:
        changed = override.partition("=")[0]
        if key and (changed == key or changed.startswith(f"{key}.") or key.startswith(f"{changed}.")):
            return f"--set {override}: {_sentence(problem)}"
    return f"{path}: {_sentence(problem)}"


def _meant(key: str) -> str:
    """The key that somebody meant who wrote this one, as a question; empty where none is like it."""
    key = ".".join(part for part in key.split(".") if not part.isdecimal())
    section, _, last = key.rpartition(".")
    known = dict.fromkeys(keys_of())
    siblings = [name for name in known if name.rpartition(".")[0] == section]
    found = get_close_matches(key, siblings, n=1) or [name for name in known if name.rpartition(".")[2] == last]
    return f": did you mean `{found[0]}`?" if found else ""


def _sentence(problem: Mapping[str, Any]) -> str:
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"unknown key `{key}`{_meant(key)}"
    if problem["type"] == "missing":
        return f"`{key}` is missing"
    return f"`{key}`: {problem['msg']} (got {problem['input']!r:.200})" if key else str(problem["msg"])
