"""AdamW on fp32 master weights of a bfloat16 model.

A bfloat16 number has a significand of eight bits: a step of a usual learning rate is smaller than the distance to the
next number, and adding it would change nothing. So the steps accumulate in float32 copies, and the weights are these
copies rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

__all__ = ["MasterAdamW"]


class MasterAdamW(torch.optim.AdamW):
    """AdamW that keeps a float32 copy and float32 moments of each weight of lower precision.

    The copy is the entry ``master`` of the weight's optimizer state, which stores and restores it.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Take one step; float32 weights are stepped directly. Gradients of the others are dropped afterwards."""
        rounded = [(weight, weight.data) for weight in self._low() if weight.grad is not None]
        for weight, low in rounded:
            gradient = weight.grad.float()  # type: ignore[union-attr]
            weight.grad = None
            weight.data = self.state[weight].get("master", low.float()) if weight in self.state else low.float()
            weight.grad = gradient
        try:
            loss: float | None = super().step(closure)
        finally:
            for weight, low in rounded:
                master, weight.grad = weight.data, None
                weight.data = low.copy_(master)
                self.state[weight]["master"] = master
        return loss

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state dict without rounding it to the precision of the weights, as torch does."""
        super().load_state_dict(state_dict)
        weights = [weight for group in self.param_groups for weight in group["params"]]
        for number, state in state_dict["state"].items():
            weight = weights[number]
            if weight.dtype != torch.float32:
                exact = {name: value for name, value in state.items() if isinstance(value, torch.Tensor) and value.ndim}
                self.state[weight].update({name: v.to(weight.device, copy=True) for name, v in exact.items()})

    def _low(self) -> Iterator[torch.nn.Parameter]:
        for group in self.param_groups:
            yield from (weight for weight in group["params"] if weight.dtype != torch.float32)
