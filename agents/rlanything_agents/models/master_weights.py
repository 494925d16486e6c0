"""AdamW on fp32 master weights of a bfloat16 model.

A bfloat16 number has a significand of eight bits: a step of a usual learning rate is smaller than the distance to the
next number, and adding it would change nothing. So the steps accumulate in float32 copies, and the weights are these
copies rounded. A sum of many bfloat16 gradients is wrong for the same reason, so gradients accumulate in float32, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.optim.optimizer import ParamsT

__all__ = ["MasterAdamW", "move_state"]


def move_state(optimizer: torch.optim.Optimizer, device: torch.device) -> None:
    """Move the state of all weights to a device; counts of steps stay where they are."""
    for state in optimizer.state.values():
        for name, value in state.items():
            if isinstance(value, torch.Tensor) and value.ndim:
                state[name] = value.to(device)


class MasterAdamW(torch.optim.AdamW):
    """AdamW that keeps a float32 copy of each weight of lower precision, and steps the copy.

    The copy is the entry ``master`` of the weight's optimizer state, which stores and restores it. Gradients of these
    weights are float32 as long as the weights live (``Tensor.grad_dtype``): each backward pass adds to a float32 sum.
    DistributedDataParallel cannot reduce such gradients; their processes must average them.
    """

    def __init__(self, params: ParamsT, **options: Any) -> None:
        super().__init__(params, **options)
        for weight in self._low():
            gradient, weight.grad = weight.grad, None  # torch changes the precision where there is none yet
            weight.grad_dtype = torch.float32
            weight.grad = None if gradient is None else gradient.float()

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Take one step; float32 weights are stepped directly. Gradients of the others are dropped afterwards."""
        rounded = [(weight, weight.data) for weight in self._low() if weight.grad is not None]
        for weight, low in rounded:
            master = self.state[weight].get("master")
            weight.data = low.float() if master is None else master
        try:
            loss: float | None = super().step(closure)
        finally:
            for weight, low in rounded:
                self.state[weight]["master"], weight.grad = weight.data, None
                weight.data = low.copy_(weight.data)
        return loss

    def forget_moments(self) -> None:
        """Start over with the moments and the count of steps; the float32 copies stay."""
        for state in self.state.values():
            for name, value in state.items():
                if name != "master":
                    value.zero_()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state dict without rounding it to the precision of the weights, as torch does."""
        super().load_state_dict(state_dict)
        weights = [weight for group in self.param_groups for weight in group["params"]]
        for number, state in state_dict["state"].items():
            weight = weights[number]
            if weight.dtype != torch.float32:
                exact = {name: value for name, value in state.items() if isinstance(value, torch.Tensor) and value.ndim}
                self.state[weight].update({name: v.to(weight.device) for name, v in exact.items()})

    def _low(self) -> Iterator[torch.nn.Parameter]:
        for group in self.param_groups:
            yield from (weight for weight in group["params"] if weight.dtype != torch.float32)
