"""Weights and optimizer state of a model that is sharded over the training processes (FSDP2): gathering and sharding.

All processes must call each of these functions together: each process holds a shard.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)

__all__ = ["shard_optimizer", "whole_optimizer", "whole_weights"]

WHOLE = StateDictOptions(full_state_dict=True, cpu_offload=True)
FROM_FIRST = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)


def whole_weights(model: torch.nn.Module) -> dict[str, Any]:
    """Gather all weights by name, on the CPU of the first process; empty in the others."""
    return dict(get_model_state_dict(model, options=WHOLE))


def whole_optimizer(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Gather the ``optimizer.state_dict()`` of a single process, in the first process; empty in the others."""
    state: dict[str, Any] = get_optimizer_state_dict(model, optimizer, options=WHOLE)
    number = {name: place for place, name in enumerate(_names(model, optimizer))}
    return {
        "state": {number[name]: entry for name, entry in state.get("state", {}).items()},
        "param_groups": [
            {**group, "params": [number[name] for name in group["params"]]} for group in state.get("param_groups", [])
        ],
    }


def shard_optimizer(model: torch.nn.Module, optimizer: torch.optim.Optimizer, state: Mapping[str, Any] | None) -> None:
    """Distribute an optimizer state of `whole_optimizer` over the processes.

    Args:
        model: Sharded model.
        optimizer: Optimizer of its shards.
        state: Whole state in the first process; the others need none.
    """
    names = _names(model, optimizer)
    whole: dict[str, Any] = {}
    if state:
        whole = {
            "state": {names[place]: entry for place, entry in state["state"].items()},
            "param_groups": [
                {**group, "params": [names[place] for place in group["params"]]} for group in state["param_groups"]
            ],
        }
    set_optimizer_state_dict(model, optimizer, whole, options=FROM_FIRST)


def _names(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> list[str]:
    """Names of the parameters of an optimizer, in its order."""
    names = {id(weight): name for name, weight in model.named_parameters()}
    return [names[id(weight)] for group in optimizer.param_groups for weight in group["params"]]
