"""The written-out forward pass against the module's own: logits, gradients, and every trick of its decoder."""

import copy

import numpy as np
import pytest
import torch
from random_models import random_model
from transformers import Qwen3Config, Qwen3ForCausalLM

from rlanything_agents.engines import decoder as decoders
from rlanything_agents.engines import lean
from rlanything_agents.engines import transformers as generators
from rlanything_agents.engines.cache import RaggedDecoder
from rlanything_agents.engines.decoder import Decoder, open_decoder
from rlanything_agents.engines.lean_decoder import LeanDecoder
from rlanything_agents.engines.sampling import LaneNoise, sample_tokens
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


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("tied", [True, False])
def test_logits_and_gradients_are_those_of_the_module(shape: str, tied: bool) -> None:
    model = build(*SHAPES[shape], tie_word_embeddings=tied).train()
    assert lean.supports(model)
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(0, 64, (5, 40), generator=generator)  # the padding id among them
    for share in (0.3, 0.02, 1.1):
        wanted = torch.rand((5, 40), generator=generator) < share
        wanted[0] = False
        wanted[1, 39] = True
        into = torch.randn((int(wanted.sum()), 64), generator=generator)
        found = []
        for logits in (lean.wanted_logits(model, ids, wanted), model(ids).logits[wanted]):
            model.zero_grad()
            torch.autograd.backward((logits * into).sum())
            found.append((logits.detach(), {name: p.grad.clone() for name, p in model.named_parameters()}))
        torch.testing.assert_close(found[0][0], found[1][0], atol=1e-4, rtol=1e-5)
        for name, gradient in found[1][1].items():
            scale = float(gradient.abs().max())
            assert float((found[0][1][name] - gradient).abs().max()) <= 1e-4 * scale, name


def test_every_token_wanted_of_a_full_batch(model: Qwen3ForCausalLM) -> None:
    ids = torch.arange(1, 31).view(2, 15)
    got = lean.wanted_logits(model, ids, torch.ones_like(ids, dtype=torch.bool))
    torch.testing.assert_close(got, model(ids).logits.flatten(0, 1), atol=1e-4, rtol=1e-5)


def test_positions_beyond_the_first_table(model: Qwen3ForCausalLM) -> None:
    rng = np.random.default_rng(0)
    ids = rng.integers(1, 64, 700).tolist()
    with open_decoder(model, 1) as decoder:
        decoder.append(np.array([0]), [ids[:250]])
        (logits,) = decoder.append(np.array([0]), [ids[250:]])
    torch.testing.assert_close(logits.log_softmax(-1), log_probs(model, ids)[-1], atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    "changes",
    [
        {"attention_bias": True},
        {"hidden_act": "gelu"},
        {"attention_dropout": 0.1},
        {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}},
        {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 0},
    ],
)
def test_other_models_run_on_their_own_code(changes: dict[str, object]) -> None:
    model = build(**changes)
    assert not lean.supports(model)
    with open_decoder(model, 1) as decoder:
        assert isinstance(decoder, RaggedDecoder)


def test_a_model_that_computes_something_else_is_found_out(caplog: pytest.LogCaptureFixture) -> None:
    model = build()
    block = model.model.layers[0]
    own = block.mlp.forward
    block.mlp.forward = lambda x: own(x) * 1.01
    assert not lean.supports(model)
    assert "lean forward pass is off" in caplog.text
    model = build().to(torch.bfloat16)
    assert not lean.supports(model)


def test_a_copy_decodes_with_its_own_weights(model: Qwen3ForCausalLM) -> None:
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.model.layers[1].mlp.down_proj.weight.add_(0.1)
    for network in (model, other, model):
        with open_decoder(network, 1) as decoder:
            assert isinstance(decoder, LeanDecoder)
            (logits,) = decoder.append(np.array([0]), [[5, 6, 7]])
        torch.testing.assert_close(logits.log_softmax(-1), log_probs(network, [5, 6, 7])[-1], atol=1e-4, rtol=0)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_ragged_lanes_that_end_split_and_wait(shape: str, seed: int) -> None:
    """Random chunks for random lanes; lanes end, are reordered and are copied. Checked by whole passes."""
    model, rng = build(*SHAPES[shape], layers=2), np.random.default_rng(seed)
    opening = rng.integers(1, 64, 9).tolist()
    texts = [opening if i % 3 else rng.integers(1, 64, rng.integers(1, 20)).tolist() for i in range(12)]
    compared = 0
    with open_decoder(model, len(texts)) as decoder:

        def check(lanes: np.ndarray, logits: torch.Tensor) -> int:
            for lane, row in zip(lanes, logits, strict=True):
                expected = log_probs(model, texts[lane])[-1]
                torch.testing.assert_close(row.log_softmax(-1), expected, atol=1e-4, rtol=0)
            return len(lanes)

        every = np.arange(len(texts))
        compared += check(every, decoder.append(every, texts))  # equal openings share their work
        for _ in range(14):
            some = rng.permutation(np.flatnonzero(rng.random(len(texts)) < rng.choice([0.2, 0.8, 1.1])))
            if len(some):
                widths = rng.choice([1, 1, 1, 2, 17], len(some))
                chunks = [rng.integers(1, 64, width).tolist() for width in widths]
                for lane, chunk in zip(some, chunks, strict=True):
                    texts[lane] = texts[lane] + chunk
                compared += check(some, decoder.append(some, chunks))
                assert decoder.lengths.tolist() == [len(text) for text in texts]
            if rng.random() < 0.5:
                kept = rng.permutation(len(texts))[: max(2, len(texts) - rng.integers(0, 4))]
                kept = np.append(kept, rng.choice(kept, rng.integers(0, 3)))
                decoder.keep(kept)
                texts = [texts[lane] for lane in kept]
        decoder.keep(np.empty(0, dtype=np.int64))
        assert not len(decoder.lengths)
    assert compared > 60


def one_by_one(model: Qwen3ForCausalLM, prompts: list[list[int]], params: SamplingParams) -> list[list[list[int]]]:
    """What a generator has to write: each completion for itself, by whole passes."""
    found = []
    for number, prompt in enumerate(prompts):
        found.append([])
        for vote in range(params.n):
            noise, ids = LaneNoise(params.seed or 0, [number * params.n + vote], min(params.max_tokens, 512)), []
            while len(ids) < params.max_tokens and TOKENIZER.eos_token_id not in ids:
                logits = log_probs(model, prompt + ids)[-1:]
                tokens, _ = sample_tokens(logits, [None], noise.draw(np.array([0])), params.temperature)
                ids += tokens
            found[-1].append(ids)
    return found


@pytest.mark.parametrize("temperature", [0.1, 1.0])
@pytest.mark.parametrize("implementation", ["lean", "general"])
def test_drafts_that_share_lanes_write_what_each_would_alone(
    implementation: str, temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = random_model(TOKENIZER)
    if implementation == "general":
        monkeypatch.setattr(generators, "make_decoder", RaggedDecoder)
    rng = np.random.default_rng(2)
    prompts = [rng.integers(4, 64, rng.integers(1, 12)).tolist() for _ in range(5)]
    prompts += [prompts[0], prompts[3]]
    params = SamplingParams(max_tokens=7, temperature=temperature, n=4, seed=3)
    answers = TransformersGenerator(model, TOKENIZER).generate(prompts, params)
    expected = one_by_one(model, prompts, params)
    assert [[c.token_ids for c in answer] for answer in answers] == expected
    alike = any(len({tuple(ids) for ids in drafts}) < len(drafts) for drafts in expected)
    assert alike == (temperature < 1.0), "the colder, the more drafts share a lane to their end"
    for prompt, answer in zip(prompts, answers, strict=True):
        for completion in answer:
            scores = log_probs(model, prompt + completion.token_ids)[len(prompt) - 1 : -1]
            want = scores[range(len(completion.token_ids)), completion.token_ids]
            assert np.allclose(completion.logprobs, want, atol=1e-4)


def test_both_decoders_answer_to_one_protocol(model: Qwen3ForCausalLM, monkeypatch: pytest.MonkeyPatch) -> None:
    def play(decoder: Decoder) -> torch.Tensor:
        decoder.append(np.arange(3), [[5, 6], [7], [5, 6]])
        decoder.keep(np.array([2, 1]))
        return decoder.append(np.array([1, 0]), [[8, 9, 10], [11]]).log_softmax(-1)

    with open_decoder(model, 3) as own:
        assert isinstance(own, LeanDecoder)
        first = play(own)
    monkeypatch.setattr(decoders, "supports", lambda _: False)
    with open_decoder(model, 3) as general:
        assert isinstance(general, RaggedDecoder)
        torch.testing.assert_close(first, play(general), atol=1e-4, rtol=0)
