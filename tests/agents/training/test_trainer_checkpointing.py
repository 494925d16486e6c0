"""Blocks computed again for the backward pass: the same update, from less memory."""

import torch
from random_models import random_model

from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.models.small import word_tokenizer
from rlanything_agents.training.samples import Sample
from rlanything_agents.training.trainer import SampleTrainer

WORDS = [f"w{number}" for number in range(20)]


def updated(checkpointing: bool) -> tuple[dict[str, torch.Tensor], int]:
    """Weights after two updates, and how often the first block was computed."""
    tokenizer = word_tokenizer(WORDS)
    model = random_model(tokenizer, spread=0.02)
    calls = []
    model.model.layers[0].mlp.register_forward_pre_hook(lambda *_: calls.append(1))
    settings = TrainerConfig(learning_rate=1e-2, optimizer_steps=2, checkpointing=checkpointing)
    trainer = SampleTrainer(model, tokenizer, settings)
    samples = [
        Sample([5, 6, 7 + k], [8 + k, 9, 3], weights=[1 / 3] * 3, advantages=[1.0 - k] * 3, logprobs=[-3.0] * 3)
        for k in range(3)
    ]
    for _ in range(2):
        stats = trainer.update(samples)
        assert stats.optimizer_steps == 2
    return {name: weight.detach().clone() for name, weight in model.state_dict().items()}, len(calls)


def test_the_update_is_the_same() -> None:
    plain, once = updated(checkpointing=False)
    saving, again = updated(checkpointing=True)
    assert again > once  # blocks really are computed a second time
    for name, weight in plain.items():
        torch.testing.assert_close(saving[name], weight)
