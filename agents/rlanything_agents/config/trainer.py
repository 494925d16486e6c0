"""Keys of the updates of one model."""

from __future__ import annotations

import math
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = ["TrainerConfig"]


class TrainerConfig(BaseModel):
    """Settings of the updates of one model; the defaults suit the small local models.

    Attributes:
        learning_rate: Peak learning rate of AdamW (released code: 1e-6 for 7 B parameters).
        warmup_updates: The rate rises linearly over this many updates. AdamW's first steps have no history to
            divide by and move every weight by the full rate: without a warm-up the first update here moves the
            policy further (k3 KL 0.06 to 0.09) than the next ten together.
        schedule: ``"constant"``, or ``"linear"`` down to zero at the end of a run's budget.
        loss: How the losses of tokens become the loss of an optimizer step, by TRL's names; TRL's sequence is here an
            answer, a step of an episode or a vote. ``grpo``: mean over answers of the mean over the tokens of each
            (DeepSeekMath, arXiv 2402.03300; the released code). ``dr_grpo``: sum over tokens, divided by the number of
            answers times ``max_completion_length``, so that no answer's tokens weigh less because it is long (arXiv
            2503.20783). ``dapo``: mean over all tokens (arXiv 2503.14476). ``cispo``: mean over all tokens of the
            truncated ratio, without a gradient, times the log-probability, so that no token is clipped out of the
            gradient (MiniMax-M1, arXiv 2506.13585).
        max_completion_length: Divisor of ``dr_grpo``; ``max_tokens`` of the model if None.
        importance_sampling_level: ``token``: a probability ratio for each token. ``sequence``: the geometric mean of an
            answer's ratios for all its tokens (GSPO, arXiv 2507.18071, whose clip ranges are some 3e-4); with ``grpo``.
        clip: PPO clip range of the probability ratio (released code: 0.2).
        clip_high: The range above 1, if it is another one than that below (TRL's ``epsilon_high``; DAPO: 0.28). With
            ``cispo`` the largest ratio itself (ScaleRL, arXiv 2510.13786: 5, the default there).
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
        optim: Optimizer, by the names of transformers. ``adamw_bnb_8bit``: AdamW with 8-bit moments in blocks of 256
            (arXiv 2110.02861), by the package bitsandbytes; embeddings, and weights of fewer than 4,096 numbers, keep
            float32 moments. Master weights stay float32.
        betas: Coefficients of AdamW.
        weight_decay: Decoupled weight decay.
        epsilon: AdamW's denominator offset.
        temperature: Logits are divided by it before the log-probabilities. Equal to the sampling temperature
            the ratio is on-policy; the released code samples at 0.8 and trains at 1. Samplers record log-probabilities
            at temperature 1; with another value the trainer computes the old ones itself, so that ratios are exact.
        recompute: Whether the trainer computes the log-probabilities before the update itself, in one more forward
            pass, in place of those that the sampler recorded (released code: yes).
        importance_sampling_mode: Correction of a mismatch of sampler and trainer, as TRL's
            ``vllm_importance_sampling_mode``: the loss is multiplied by the trainer's probability before the update
            over the sampler's, of each token or of its answer (the product over the tokens), truncated to the bounds
            or, with ``_mask``, 0 outside of them. Implies ``recompute``. None = no correction. Sources: truncated
            importance sampling (Yao et al. 2025, fengyao.notion.site/off-policy-rl); masks and sequences, TRL 1.16.
        importance_sampling_clip_max: Upper bound of that ratio; None = none (TRL: 3).
        importance_sampling_clip_min: Lower bound of that ratio; None = none.
        most_sampler_ratio: Largest factor between a token's probabilities by sampler and trainer at the first update of
            a run, beyond which it stops before a weight changes; None = no limit. Rounding reached 1.64 in bfloat16
            (docs/howto/losses.md) and may reach more in a large model; a sampler and a trainer that normalised over
            different sets of tokens, 8,771.
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
    loss: Literal["grpo", "dr_grpo", "dapo", "cispo"] = "grpo"
    max_completion_length: int | None = Field(default=None, ge=1)
    importance_sampling_level: Literal["token", "sequence"] = "token"
    clip: float = Field(default=0.2, gt=0, lt=1)
    clip_high: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    beta: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    anchor: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    optimizer_steps: int = Field(default=4, ge=1)
    steps_per_group: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    average: float = Field(default=0.0, ge=0, lt=1)
    micro_batch_tokens: int = Field(default=2048, ge=1)
    max_grad_norm: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    optim: Literal["adamw_torch", "adamw_bnb_8bit"] = "adamw_torch"
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    epsilon: float = Field(default=1e-8, gt=0)
    temperature: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    recompute: bool = False
    importance_sampling_mode: Literal["token_truncate", "token_mask", "sequence_truncate", "sequence_mask"] | None = (
        None
    )
    importance_sampling_clip_max: float | None = Field(default=3.0, gt=0, allow_inf_nan=False)
    importance_sampling_clip_min: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    most_sampler_ratio: float | None = Field(default=20.0, gt=1, allow_inf_nan=False)
    fresh_optimizer: bool = False
    seed: int = Field(default=0, ge=0, lt=2**32)
    bf16: bool = False
    checkpointing: bool = False
    world_size: int = Field(default=1, ge=1, exclude=True)

    @model_validator(mode="after")
    def _ratios_of_answers_fit_the_loss(self) -> Self:
        if self.importance_sampling_level == "sequence" and self.loss != "grpo":
            raise ValueError(
                f"importance_sampling_level sequence with loss {self.loss} would weight answers by their length: "
                "set loss to grpo"
            )
        return self

    @model_validator(mode="after")
    def _a_correction_has_bounds(self) -> Self:
        if self.importance_sampling_mode is None:
            return self
        least, most = self.importance_sampling_clip_min, self.importance_sampling_clip_max
        if least is None and most is None:
            raise ValueError(f"importance_sampling_mode {self.importance_sampling_mode} needs a bound: set clip_max")
        if least is not None and most is not None and least >= most:
            raise ValueError(f"importance_sampling_clip_min {least} is not below importance_sampling_clip_max {most}")
        if self.temperature != 1.0:
            raise ValueError(
                f"importance_sampling_mode with temperature {self.temperature}: samplers record log-probabilities at "
                "temperature 1, and their ratio says nothing about another one. Set temperature to 1, or leave the "
                "correction out"
            )
        return self

    @property
    def highest(self) -> float:
        """Clip range above a ratio of 1; with ``cispo`` the largest ratio."""
        if self.clip_high is not None:
            return self.clip_high
        return 5.0 if self.loss == "cispo" else self.clip

    @property
    def recomputes(self) -> bool:
        """Whether the trainer computes the log-probabilities before the update itself."""
        return self.recompute or self.temperature != 1.0 or self.importance_sampling_mode is not None

    @property
    def by_answer(self) -> bool:
        """Whether a ratio depends on the answer that a token belongs to."""
        return self.importance_sampling_level == "sequence" or self.importance_sampling_mode is not None

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
