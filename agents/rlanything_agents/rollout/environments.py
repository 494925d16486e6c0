"""Environments of a run, in the view of its policy."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

import rlanything_envs  # noqa: F401  (registers the environments)
from rlanything_agents.config import ConfigError, RunConfig
from rlanything_envs.views import View, get_view, make_env
from rlanything_task_pools import get_domain

__all__ = ["check_eyes", "make_envs", "view_of"]


def view_of(config: RunConfig) -> View:
    """View in which the policy of a run reads and writes its environment.

    Raises:
        UnknownName: The domain is not installed, or its environment has no such view.
    """
    return get_view(get_domain(config.domain).env_id, config.view)


def make_envs(config: RunConfig, count: int, **more: Any) -> list[gym.Env[Any, Any]]:
    """Make environments of a run.

    Args:
        config: Settings of the run; uses ``domain``, ``environment`` and ``rollout.screenshots``.
        count: Number of environments.
        more: Further arguments of the environment, which take precedence.

    Raises:
        ConfigError: The environment takes no such arguments.
    """
    arguments = {**config.environment_arguments, **more}
    if config.rollout.screenshots:
        arguments.setdefault("render_mode", "rgb_array")
    env_id = get_domain(config.domain).env_id
    try:
        return [make_env(env_id, config.view, **arguments) for _ in range(count)]
    except (TypeError, ValueError, LookupError) as error:
        raise ConfigError(f"{env_id}: {error}; correct the section `environment`") from error


def check_eyes(env: gym.Env[Any, Any], sees: bool) -> None:
    """Check that the policy can read the screens of its environment.

    Args:
        env: One of its environments.
        sees: Whether the policy reads images.

    Raises:
        ConfigError: Names the key that has to change.
    """
    if "screenshot" in getattr(env.observation_space, "spaces", {}) and not sees:
        raise ConfigError(
            "environment.observation holds screenshots, and the policy reads text alone: give policy a checkpoint that "
            "sees, or set environment.observation to text"
        )
