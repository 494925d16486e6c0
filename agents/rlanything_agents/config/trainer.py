"""Keys of the updates of one model."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["MAX_GRAD_NORM", "MOST_IMPORTANCE", "MOST_SAMPLER_RATIO", "TrainerConfig"]

MAX_GRAD_NORM = 1.0
"""Gradients are scaled down to this norm, as in the released code (configs/alfworld_rl.yaml:90)."""
MOST_IMPORTANCE = 3.0
"""Largest factor of ``importance_sampling_mode``: TRL's default of ``vllm_importance_sampling_clip_max``."""
MOST_SAMPLER_RATIO = 20.0
"""Largest factor between a token's probabilities by sampler and trainer at the first update of a run, beyond which it
stops before a weight changes. Rounding reached 2.08 in bfloat16 (docs/howto/losses.md) and may reach more in a large
model; a sampler and a trainer that normalised over different sets of tokens, 8,771."""


class TrainerConfig(BaseModel):
    """Settings of the updates of one model; the defaults suit the small local models.

    Attributes:
        learning_rate: Peak learning rate of AdamW (released code: 1e-6 for 7 B parameters). In a run a checkpoint has
            another default, see `RunConfig`.
        warmup_updates: The rate rises linearly over this many updates. AdamW's first steps have no history to
            divide by and move every weight by the full rate: without a warm-up the first update here moves the
            policy further (k3 KL 0.06 to 0.09) than the next ten together.
        schedule: ``"constant"``, or ``"linear"`` down to zero at the end of a run's budget.
        loss: How the losses of tokens become the loss of an optimizer step, by TRL's names; TRL's sequence is here an
            answer, a step of an episode or a vote. ``grpo``: mean over answers of the mean over the tokens of each
            (DeepSeekMath, arXiv 2402.03300; the released code). ``dr_grpo``: sum over tokens, divided by the number of
            answers times the model's ``max_tokens``, so that no answer's tokens weigh less because it is long (arXiv
            2503.20783). ``dapo``: mean over all tokens (arXiv 2503.14476).
        clip: PPO clip range of the probability ratio (released code: 0.2).
        clip_high: The range above 1, if it is another one than that below (TRL's ``epsilon_high``; DAPO: 0.28).
        beta: Weight of the k3 estimate of the KL divergence to the policy before the update (released code:
            0.01); 0 = off.
        optimizer_steps: Optimizer steps per update; the samples are shuffled and split that many ways
            (released code: 4). With fewer samples there are fewer steps.
        micro_batch_tokens: Padded tokens per forward pass, of updates and of the warm start; a prompt that several
            samples share counts once. It changes speed and memory, never the result.
        betas: Coefficients of AdamW.
        epsilon: AdamW's denominator offset.
        recompute: Whether the trainer computes the log-probabilities before the update itself, in one more forward
            pass, in place of those that the sampler recorded (released code: yes).
        importance_sampling_mode: Correction of a mismatch of sampler and trainer, as TRL's
            ``vllm_importance_sampling_mode``: the loss of a token is multiplied by its probability by the trainer
            before the update over that by the sampler, truncated to `MOST_IMPORTANCE` or, with ``_mask``, 0 above it.
            Implies ``recompute``. None = no correction. Sources: truncated importance sampling (Yao et al. 2025,
            fengyao.notion.site/off-policy-rl); masks, TRL 1.16.
        fresh_optimizer: Reset the optimizer's moments before every update, as the released code does.
        checkpointing: Gradient checkpointing: keep only the inputs of a model's blocks for the backward pass and
            compute the blocks again; less memory for a third more time.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    learning_rate: float = Field(default=3e-4, gt=0, allow_inf_nan=False)
    warmup_updates: int = Field(default=0, ge=0)
    schedule: Literal["constant", "linear"] = "constant"
    loss: Literal["grpo", "dr_grpo", "dapo"] = "grpo"
    clip: float = Field(default=0.2, gt=0, lt=1)
    clip_high: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    beta: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    optimizer_steps: int = Field(default=4, ge=1)
    micro_batch_tokens: int = Field(default=2048, ge=1)
    betas: tuple[float, float] = (0.9, 0.95)
    epsilon: float = Field(default=1e-8, gt=0)
    recompute: bool = False
    importance_sampling_mode: Literal["token_truncate", "token_mask"] | None = None
    fresh_optimizer: bool = False
    checkpointing: bool = False

    @property
    def highest(self) -> float:
        """Clip range above a ratio of 1."""
        return self.clip if self.clip_high is None else self.clip_high

    @property
    def recomputes(self) -> bool:
        """Whether the trainer computes the log-probabilities before the update itself."""
        return self.recompute or self.importance_sampling_mode is not None

    def rate(self, update: int, used: float) -> float:
        """Share of the peak learning rate.

        Args:
            update: Number of this update, from 1.
            used: Share of the run's budget that was used before it, from 0 to 1.
        """
        rising = min(1.0, update / max(1, self.warmup_updates))
        falling = 1.0 - used if self.schedule == "linear" else 1.0
        return rising * falling
