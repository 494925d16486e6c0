"""Decoding with a cache whose rows grow, end, split and wait, against whole passes."""

import copy

import numpy as np
import pytest
import torch
from random_models import random_model
from transformers import Qwen3Config, Qwen3ForCausalLM

from rlanything_agents.engines.cache import RaggedDecoder
from rlanything_agents.engines.sampling import NoiseStreams, sample_tokens
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models.small import word_tokenizer
from rlanything_envs.llm.generator import SamplingParams

TOKENIZER = word_tokenizer([f"w{i}" for i in range(60)])
SHAPES = {"one key-value head": (4, 1), "two": (4, 2), "as many as query heads": (3, 3)}


def build(heads: int = 4, shared: int = 1, layers: int = 3, **changes: object) -> Qwen3ForCausalLM:
    """A wide initial spread, and norms unlike 1, so that a weight in the wrong place shows."""
    config = {
        "vocab_size": 64,
        "hidden_size": 48,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": shared,
        "head_dim": 16,
        "intermediate_size": 80,
        "initializer_range": 0.2,
        "max_position_embeddings": 1024,
        "pad_token_id": 0,
        "tie_word_embeddings": True,
    }
    torch.manual_seed(0)
    model = Qwen3ForCausalLM(Qwen3Config(**config | changes)).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" in name:
                weight.uniform_(0.5, 1.5)
    return model


@pytest.fixture(scope="module")
def model() -> Qwen3ForCausalLM:
    return build()


def log_probs(model: Qwen3ForCausalLM, ids: list[int]) -> torch.Tensor:
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].log_softmax(-1)


def test_a_copy_decodes_with_its_own_weights(model: Qwen3ForCausalLM) -> None:
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.model.layers[1].mlp.down_proj.weight.add_(0.1)
    for network in (model, other, model):
        decoder = RaggedDecoder(network, 1)
        with decoder.running():
            (logits,) = decoder.append(np.array([0]), [[5, 6, 7]])
        torch.testing.assert_close(logits.log_softmax(-1), log_probs(network, [5, 6, 7])[-1], atol=1e-4, rtol=0)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_ragged_rows_that_end_split_and_wait(shape: str, seed: int) -> None:
    """Random chunks for random rows; rows end, are reordered and are copied. Checked by whole passes."""
    model, rng = build(*SHAPES[shape], layers=2), np.random.default_rng(seed)
    opening = rng.integers(1, 64, 9).tolist()
    texts = [opening if i % 3 else rng.integers(1, 64, rng.integers(1, 20)).tolist() for i in range(12)]
    compared = 0
    decoder = RaggedDecoder(model, len(texts))
    decoder.cache._capacity = 4  # so that it has to grow
    with decoder.running():

        def check(rows: np.ndarray, logits: torch.Tensor) -> int:
            for number, row in zip(rows, logits, strict=True):
                expected = log_probs(model, texts[number])[-1]
                torch.testing.assert_close(row.log_softmax(-1), expected, atol=1e-4, rtol=0)
            return len(rows)

        every = np.arange(len(texts))
        compared += check(every, decoder.append(every, texts))  # equal openings share their work
        for _ in range(14):
            some = rng.permutation(np.flatnonzero(rng.random(len(texts)) < rng.choice([0.2, 0.8, 1.1])))
            if len(some):
                widths = rng.choice([1, 1, 1, 2, 17], len(some))
                chunks = [rng.integers(1, 64, width).tolist() for width in widths]
                for row, chunk in zip(some, chunks, strict=True):
                    texts[row] = texts[row] + chunk
                compared += check(some, decoder.append(some, chunks))
                assert decoder.lengths.tolist() == [len(text) for text in texts]
            if rng.random() < 0.5:
                kept = rng.permutation(len(texts))[: max(2, len(texts) - rng.integers(0, 4))]
                kept = np.append(kept, rng.choice(kept, rng.integers(0, 3)))
                decoder.keep(kept)
                texts = [texts[row] for row in kept]
        decoder.keep(np.empty(0, dtype=np.int64))
        assert not len(decoder.lengths)
    assert compared > 60


def one_by_one(model: Qwen3ForCausalLM, prompts: list[list[int]], params: SamplingParams) -> list[list[list[int]]]:
    """Expected completions: each one computed alone, by whole passes."""
    found = []
    for number, prompt in enumerate(prompts):
        found.append([])
        for vote in range(params.n):
            noise, ids = NoiseStreams(params.seed or 0, [number * params.n + vote], min(params.max_tokens, 512)), []
            while len(ids) < params.max_tokens and TOKENIZER.eos_token_id not in ids:
                logits = log_probs(model, prompt + ids)[-1:]
                tokens, _ = sample_tokens(logits, [None], noise.draw(np.array([0])), params.temperature)
                ids += tokens
            found[-1].append(ids)
    return found


@pytest.mark.parametrize("temperature", [0.1, 1.0])
def test_drafts_that_share_rows_write_the_same_as_alone(temperature: float) -> None:
    model = random_model(TOKENIZER)
    rng = np.random.default_rng(2)
    prompts = [rng.integers(4, 64, rng.integers(1, 12)).tolist() for _ in range(5)]
    prompts += [prompts[0], prompts[3]]
    params = SamplingParams(max_tokens=7, temperature=temperature, n=4, seed=3)
    answers = TransformersGenerator(model, TOKENIZER).generate(prompts, params)
    expected = one_by_one(model, prompts, params)
    assert [[c.token_ids for c in answer] for answer in answers] == expected
    alike = any(len({tuple(ids) for ids in drafts}) < len(drafts) for drafts in expected)
    assert alike == (temperature < 1.0), "the colder, the more drafts share a row to their end"
    for prompt, answer in zip(prompts, answers, strict=True):
        for completion in answer:
            scores = log_probs(model, prompt + completion.token_ids)[len(prompt) - 1 : -1]
            want = scores[range(len(completion.token_ids)), completion.token_ids]
            assert np.allclose(completion.logprobs, want, atol=1e-4)
