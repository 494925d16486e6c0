"""A model that is spread over the training processes (FSDP2), made whole again, and the other way round.

Every function here is called by all processes at once: each has a part of everything.
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
    """All weights by name, on the processor of the first process; empty in the others."""
    return dict(get_model_state_dict(model, options=WHOLE))


def whole_optimizer(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """What ``optimizer.state_dict()`` would be in one process; on the first, the others have nothing of it."""
    state: dict[str, Any] = get_optimizer_state_dict(model, optimizer, options=WHOLE)
    number = {name: place for place, name in enumerate(_names(model, optimizer))}
    return {
        "state": {number[name]: entry for name, entry in state.get("state", {}).items()},
        "param_groups": [
            {**group, "params": [number[name] for name in group["params"]]} for group in state.get("param_groups", [])
        ],
    }


def shard_optimizer(model: torch.nn.Module, optimizer: torch.optim.Optimizer, state: Mapping[str, Any] | None) -> None:
    """Give each process its part of what `whole_optimizer` returned.

    Args:
        model: Spread already.
        optimizer: Of its parts.
        state: In the first process; the others need none.
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
    """Of the parameters of an optimizer, in its order."""
    names = {id(weight): name for name, weight in model.named_parameters()}
    return [names[id(weight)] for group in optimizer.param_groups for weight in group["params"]]
