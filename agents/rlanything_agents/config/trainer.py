"""Keys of the updates of one model."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["TrainerConfig"]


class TrainerConfig(BaseModel):
    """Settings of the updates of one model; the defaults suit the small local models.

    Attributes:
        learning_rate: Peak learning rate of AdamW (released code: 1e-6 for 7 B parameters).
        warmup_updates: The rate rises linearly over this many updates. AdamW's first steps have no history to
            divide by and move every weight by the full rate: without a warm-up the first update here moves the
            policy further (k3 KL 0.06 to 0.09) than the next ten together.
        schedule: ``"constant"``, or ``"linear"`` down to zero at the end of a run's budget.
        clip: PPO clip range of the probability ratio (released code: 0.2).
        beta: Weight of the k3 estimate of the KL divergence to the policy before the update (released code:
            0.01); 0 = off.
        anchor: Weight of the k3 estimate of the KL divergence to a frozen model passed to the trainer with
            ``set_anchor``, such as the warm start; it limits drift over many updates. 0 = off.
        optimizer_steps: Optimizer steps per update; the samples are shuffled and split that many ways
            (released code: 4). With fewer samples there are fewer steps.
        steps_per_group: Optimizer steps per group with a learning signal, rounded up, at most ``optimizer_steps``:
            one group is not learnt as hard as ten. ``None`` = always ``optimizer_steps``.
        average: Decay of a running mean of the weights over the updates; evaluations use the mean, rollouts never
            do. 0 = off.
        micro_batch_tokens: Padded tokens per forward pass, of updates and of the warm start; a prompt that several
            samples share counts once. It changes speed and memory, never the result.
        max_grad_norm: Gradients are scaled down to this norm.
        betas: Coefficients of AdamW.
        weight_decay: Decoupled weight decay.
        epsilon: AdamW's denominator offset.
        temperature: Logits are divided by it before the log-probabilities. Equal to the sampling temperature
            the ratio is on-policy; the released code samples at 0.8 and trains at 1.
        fresh_optimizer: Reset the optimizer's moments before every update, as the released code does.
        seed: Seeds the split of the samples (and dropout, where a model has it).
        bf16: Train under bfloat16 autocast (accelerators only).
        checkpointing: Gradient checkpointing: keep only the inputs of a model's blocks for the backward pass and
            compute the blocks again; less memory for a third more time.
        world_size: Required number of training processes; 1 accepts as many as the launcher started. A run may
            continue with another number, so it is not stored.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    learning_rate: float = Field(default=3e-4, gt=0, allow_inf_nan=False)
    warmup_updates: int = Field(default=0, ge=0)
    schedule: Literal["constant", "linear"] = "constant"
    clip: float = Field(default=0.2, gt=0, lt=1)
    beta: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    anchor: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    optimizer_steps: int = Field(default=4, ge=1)
    steps_per_group: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    average: float = Field(default=0.0, ge=0, lt=1)
    micro_batch_tokens: int = Field(default=2048, ge=1)
    max_grad_norm: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    epsilon: float = Field(default=1e-8, gt=0)
    temperature: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    fresh_optimizer: bool = False
    seed: int = Field(default=0, ge=0, lt=2**32)
    bf16: bool = False
    checkpointing: bool = False
    world_size: int = Field(default=1, ge=1, exclude=True)

    def rate(self, update: int, used: float) -> float:
        """Share of the peak learning rate.

        Args:
            update: Number of this update, from 1.
            used: Share of the run's budget that was used before it, from 0 to 1.
        """
        rising = min(1.0, update / max(1, self.warmup_updates))
        falling = 1.0 - used if self.schedule == "linear" else 1.0
        return rising * falling

    def steps_for(self, groups: int) -> int | None:
        """Optimizer steps of an update from ``groups`` groups; None for the fixed number."""
        if self.steps_per_group is None:
            return None
        return min(max(1, math.ceil(groups * self.steps_per_group)), self.optimizer_steps)
