"""Rank and number of the training processes from the launcher's environment; imports no torch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rlanything_agents.config import CheckpointConfig, RunConfig, SharedConfig
from rlanything_agents.training.errors import TrainingError

__all__ = ["Launch", "launched", "must_be_trainable", "obstacles"]

STRATEGIES = ("fsdp", "deepspeed")


class Launch(NamedTuple):
    """One training process among those that a launcher has started."""

    number: int
    """Rank of the process; 0 is the leader."""
    size: int
    """Number of processes."""
    strategy: str = ""
    """Sharding strategy of accelerate: ``fsdp``, ``deepspeed``, or empty where each process has the whole model."""
    offload: bool = False
    """Whether shards are kept in the host's memory (FSDP)."""
    restart: int = 0
    """Number of times that the launcher has started all processes again (``torchrun --max-restarts``)."""


def launched(environment: Mapping[str, str] = os.environ) -> Launch:
    """Read the variables of ``torchrun`` or ``accelerate launch``; without a launcher there is one process.

    Raises:
        TrainingError: The variables are invalid.
    """
    strategy = next((name for name in STRATEGIES if environment.get(f"ACCELERATE_USE_{name.upper()}") == "true"), "")
    offload = strategy == "fsdp" and environment.get("FSDP_OFFLOAD_PARAMS", "").lower() == "true"
    size = _number(environment, "WORLD_SIZE", 1)
    if size <= 1:
        return Launch(0, 1, strategy, offload)
    number = _number(environment, "RANK", -1)
    if not 0 <= number < size:
        raise TrainingError(
            f"$WORLD_SIZE says {size} training processes, and $RANK is {environment.get('RANK', 'not set')}: start "
            "them with torchrun or accelerate launch, or unset both"
        )
    return Launch(number, size, strategy, offload, _number(environment, "TORCHELASTIC_RESTART_COUNT", 0))


def must_be_trainable(config: RunConfig, launch: Launch) -> None:
    """Refuse a run that cannot be trained as its processes were launched, before they connect or make a model.

    Raises:
        TrainingError: There is an obstacle, see `obstacles`.
    """
    for obstacle in obstacles(config, launch):
        raise TrainingError(obstacle)


def obstacles(config: RunConfig, launch: Launch) -> Iterator[str]:
    """Yield the reasons why a run cannot be trained as its processes were launched, each with the remedy."""
    if launch.strategy == "deepspeed":
        yield (
            "accelerate is configured for DeepSpeed, whose engine takes an optimizer step at each backward pass; an "
            "update here has several for one step. Use configs/accelerate/fsdp2.yaml: it shards weights, gradients "
            "and moments as ZeRO-3 does"
        )
    if config.engine.kind == "tinker" and launch.size > 1:
        yield "engine.kind tinker trains at the service, in a session of one process: start the run without a launcher"
    if launch.strategy != "fsdp":
        return
    if isinstance(config.reward_model, SharedConfig):
        yield (
            "reward_model.base: policy shares tensors, and FSDP shards each model separately: use "
            "configs/accelerate/ddp.yaml, or reward_model.checkpoint in place of base"
        )
    trained = [("policy", "policy")]
    if config.judge_learns:
        trained.append(("reward_model", "judge"))
    for key, role in trained:
        if not isinstance(config.models[key], CheckpointConfig):
            yield f"{key} is made from scratch, and too small to be sharded: use configs/accelerate/ddp.yaml"
            continue
        if config.engine.kind != "vllm" and config.engine.server(role) is None:
            yield (
                f"{key} is sharded over processes (FSDP), none of which can generate with its shard: set engine.kind "
                "to vllm, or to vllm_server with a server for it"
            )


def _number(environment: Mapping[str, str], name: str, default: int) -> int:
    try:
        return int(environment.get(name, default))
    except ValueError:
        raise TrainingError(f"${name} is {environment[name]!r}, not a number: unset it") from None
