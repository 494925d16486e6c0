"""Completions of very different lengths share a batch without touching one another."""

import numpy as np
import torch
from random_models import random_model
from transformers import PreTrainedTokenizerFast

from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models.small import word_tokenizer
from rlanything_envs.llm.generator import SamplingParams


def test_log_probs_are_those_of_a_full_forward_however_the_batch_shrinks() -> None:
    tokenizer: PreTrainedTokenizerFast = word_tokenizer([f"w{i}" for i in range(4)])
    model = random_model(tokenizer, hidden_size=16, layers=1, seed=1)
    rng = np.random.default_rng(0)
    prompts = [[1, *map(int, rng.integers(4, 8, size=rng.integers(1, 6)))] for _ in range(150)]
    generator = TransformersGenerator(model, tokenizer, tokens=6 * 46)  # so few that one token often ends most of them
    answers = generator.generate(list(prompts), SamplingParams(40, n=6, seed=2))
    lengths = set()
    for prompt, group in zip(prompts, answers, strict=True):
        for answer in group:
            assert answer.token_ids is not None
            assert answer.logprobs is not None
            with torch.no_grad():
                logits = model(torch.tensor([prompt + answer.token_ids])).logits[0, len(prompt) - 1 : -1]
            scored = logits.log_softmax(-1)[range(len(answer.token_ids)), answer.token_ids]
            assert np.allclose(scored.numpy(), answer.logprobs, atol=1e-4)
            lengths.add(len(answer.token_ids))
    assert len(lengths) > 8
