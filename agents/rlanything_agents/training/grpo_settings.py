"""Arguments of TRL's trainer: our settings by its names, without generation, rewards, reports and checkpoints."""

from __future__ import annotations

import warnings
from typing import Any

from rlanything_agents.config.trainer import MAX_GRAD_NORM, TrainerConfig
from rlanything_agents.training.errors import TrainingError

with warnings.catch_warnings():
    # This is about TRL's own engines, which are never used here.
    warnings.filterwarnings("ignore", message="TRL currently supports vLLM versions")
    from trl import GRPOConfig, GRPOTrainer

__all__ = ["GRPOTrainer", "grpo_settings", "no_reward"]


def grpo_settings(config: TrainerConfig, seed: int, folder: str, on_cpu: bool) -> GRPOConfig:
    """Make the arguments of TRL's trainer.

    Args:
        config: Settings of the updates.
        seed: Seed of dropout, where a model has it.
        folder: Required output folder; nothing is written there.
        on_cpu: Whether the model is on a CPU.
    """
    return GRPOConfig(
        output_dir=folder,
        learning_rate=config.learning_rate,
        lr_scheduler_type="constant",
        optim="adamw_torch",
        adam_beta1=config.betas[0],
        adam_beta2=config.betas[1],
        adam_epsilon=config.epsilon,
        weight_decay=0.0,
        max_grad_norm=MAX_GRAD_NORM,
        num_train_epochs=1,
        gradient_accumulation_steps=1,  # an item of the data loader is a whole optimizer step
        per_device_train_batch_size=2,  # these two only satisfy TRL's checks: no generation happens here
        num_generations=2,
        # Weights and divisors of the samples decide how tokens are aggregated, so TRL's rule that takes both as inputs
        # serves all losses.
        loss_type="dapo",
        importance_sampling_level="token",
        epsilon=config.clip,
        epsilon_high=config.highest,
        beta=0.0,  # with a beta TRL would load a reference model; here it is the policy before the update
        temperature=1.0,
        router_aux_loss_coef=0.0,
        use_cpu=on_cpu,
        ddp_find_unused_parameters=False,
        bf16=False,
        gradient_checkpointing=config.checkpointing,
        seed=seed,
        logging_steps=1,
        logging_nan_inf_filter=False,
        save_strategy="no",
        eval_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )


def no_reward(prompts: list[str], **_: Any) -> list[float]:
    """Placeholder of the reward function that TRL requires.

    Raises:
        TrainingError: Always; samples carry their advantages.
    """
    raise TrainingError("samples carry their advantages: TRL must not compute rewards")
