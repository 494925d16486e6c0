"""Small models, the ragged cache, sampling, and the generator on top of them."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from random_models import random_model
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel, PreTrainedTokenizerFast, Qwen3ForCausalLM

from rlanything_agents.config import SmallConfig
from rlanything_agents.engines import cache
from rlanything_agents.engines.cache import RaggedCache, RaggedDecoder
from rlanything_agents.engines.sampling import NoiseStreams, sample_tokens
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models.checkpoint import CheckpointError
from rlanything_agents.models.small import END, PAD, small_model, word_tokenizer
from rlanything_envs.llm.generator import SamplingParams, SeenPrompt
from rlanything_envs.message import Image

WORDS = [f"w{i}" for i in range(60)]


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return word_tokenizer(WORDS)


@pytest.fixture(scope="module")
def model(tokenizer: PreTrainedTokenizerFast) -> Qwen3ForCausalLM:
    # A wide initial spread makes the expected tokens depend on the whole context.
    return random_model(tokenizer)


def full_logprobs(model: PreTrainedModel, ids: list[int]) -> torch.Tensor:
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].log_softmax(-1)


FAMILIES: dict[str, dict[str, object]] = {
    "granite": {"logits_scaling": 8.0},
    "cohere": {},  # multiplies its logits by 1/16
    "gemma2": {"head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 8},  # caps its logits
    "gemma3_text": {"head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 8},
    "olmo2": {},
    "phi3": {"sliding_window": 16},
    "mistral": {"sliding_window": 8},
    "qwen2": {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1},
    "gpt_oss": {"head_dim": 8, "num_local_experts": 2, "num_experts_per_tok": 1, "layer_types": ["full_attention"] * 2},
    "phi3 of long texts": {
        "original_max_position_embeddings": 64,
        "rope_scaling": {"type": "longrope", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4},
    },
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "mamba": {},
}
REFUSED = {
    "gpt_oss": r"differ by [0-9.]+ nats, at most 0\.01",
    "phi3 of long texts": "its positions change with the longest text",
    "gpt_neo": "its attention cannot be replaced",
    "mamba": "cannot run it",
}


def model_of(family: str, words: int) -> PreTrainedModel:
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2}
    sizes |= {"vocab_size": words, "num_hidden_layers": 2, "max_position_embeddings": 512, "pad_token_id": 0}
    torch.manual_seed(0)
    config = AutoConfig.for_model(family.partition(" ")[0], **sizes, initializer_range=0.5, **FAMILIES[family])
    return AutoModelForCausalLM.from_config(config).eval()


@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in REFUSED])
def test_logits_are_scaled_and_windows_kept_as_the_model_does(family: str, tokenizer: PreTrainedTokenizerFast) -> None:
    model = model_of(family, len(tokenizer))
    prompts = [list(range(2, 42)), list(range(5, 26)), [7, 8, 9]]
    for prompt, (said,) in zip(
        prompts, TransformersGenerator(model, tokenizer).generate(prompts, SamplingParams(6, seed=1)), strict=True
    ):
        ids = said.token_ids or []
        own = full_logprobs(model, prompt + ids)[len(prompt) - 1 : -1].gather(1, torch.tensor(ids)[:, None])
        assert own[:, 0].tolist() == pytest.approx(said.logprobs, abs=1e-4)


@pytest.mark.parametrize("family", REFUSED)
def test_a_model_that_the_engine_cannot_run_is_refused(family: str, tokenizer: PreTrainedTokenizerFast) -> None:
    with pytest.raises(CheckpointError, match=rf"{REFUSED[family]}.*; take engine\.kind vllm"):
        TransformersGenerator(model_of(family, len(tokenizer)), tokenizer)


def test_what_a_model_cannot_read_is_refused(model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    engine = TransformersGenerator(model, tokenizer)
    with pytest.raises(ValueError, match=r"the id 500, and the model has \d+"):
        engine.generate([[5], [5, 500]], SamplingParams(2, seed=1))
    with pytest.raises(ValueError, match="the model reads text alone"):
        engine.generate([SeenPrompt([5, 6], (Image(np.zeros((64, 64, 3), np.uint8)),))], SamplingParams(2, seed=1))
    for seeds in ({"seed": -1}, {"seeds": (1, -1)}):
        with pytest.raises(ValueError, match=r"seeds? must be at least 0"):
            SamplingParams(2, **seeds)  # type: ignore[arg-type]


def test_a_long_prompt_is_read_in_pieces(
    model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    prompts = [rng.integers(2, len(tokenizer), size).tolist() for size in (50, 7, 33)]
    params = SamplingParams(4, seeds=(1, 2, 3))
    whole = TransformersGenerator(model, tokenizer).generate(prompts, params)
    seen: list[int] = []
    extend = RaggedCache.extend

    def watched(self: RaggedCache, rows: np.ndarray, counts: np.ndarray, device: torch.device) -> object:
        seen.extend(counts)
        return extend(self, rows, counts, device)

    monkeypatch.setattr(RaggedCache, "extend", watched)
    monkeypatch.setattr(cache, "PIECE", 16)
    pieces = TransformersGenerator(model, tokenizer).generate(prompts, params)
    assert max(seen) <= 19, "the check at load reads 19 tokens"
    assert [each.token_ids for (each,) in pieces] == [each.token_ids for (each,) in whole]
    assert [each.logprobs for (each,) in pieces] == [pytest.approx(each.logprobs, abs=1e-4) for (each,) in whole]


def test_copies_of_a_short_row_have_no_room_for_the_long_one_before(model: Qwen3ForCausalLM) -> None:
    decoder = RaggedDecoder(model, 1)
    with decoder.running():
        decoder.append(np.arange(1), [[5] * 900])
        decoder.keep(np.zeros(3, np.int64), np.full(3, 5))
        assert decoder.cache._keys[0].shape[:2] == (3, 256)
        first, again = decoder.append(np.arange(2), [[6, 7], [6, 7]])
    assert torch.equal(first, again)


def test_decoding_gives_the_model_back_as_it_was(model: Qwen3ForCausalLM) -> None:
    model.train()
    before = model.config._attn_implementation

    def fail() -> None:
        with RaggedDecoder(model, 1).running():
            assert not model.training
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        fail()
    assert model.training
    assert model.config._attn_implementation == before
    model.eval()


def test_an_empty_cache_has_no_length() -> None:
    assert RaggedCache(0).get_seq_length() == 0


def test_tokenizer_keeps_its_words_on_disk(tokenizer: PreTrainedTokenizerFast, tmp_path: object) -> None:
    tokenizer.save_pretrained(tmp_path)
    again = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    text = "w3 w59 w0"
    assert again(text)["input_ids"] == tokenizer(text)["input_ids"] == [8, 64, 5]
    assert again.decode([8, 64, 5]) == text
    assert again.unk_token_id in again("w3 w60")["input_ids"]
    assert (again.pad_token, again.eos_token) == (PAD, END)
    assert again.pad_token_id != again.eos_token_id


@pytest.mark.parametrize("words", [["a", "a"], ["a b", "a b"], [" a"], [""], [PAD]])
def test_tokenizer_refuses_words_it_could_not_tell_apart(words: list[str]) -> None:
    with pytest.raises(ValueError, match="vocabulary"):
        word_tokenizer(words)


def test_words_with_a_blank_are_one_token_and_colons_none() -> None:
    tokenizer = word_tokenizer(["go", "find", "apple", "go to"])
    ids = tokenizer("find apple: go to apple go")["input_ids"]
    assert [tokenizer.decode([token]) for token in ids] == ["find", "apple", "go to", "apple", "go"]
    assert tokenizer.decode(ids) == "find apple go to apple go"


def test_a_small_model_is_small_seeded_and_storable(tokenizer: PreTrainedTokenizerFast, tmp_path: object) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    model = small_model(tokenizer, SmallConfig(), seed=1)
    assert torch.equal(torch.rand(3), expected), "the caller's random stream moved"
    assert 0.7e6 < sum(p.numel() for p in model.parameters()) < 0.8e6
    same, other = small_model(tokenizer, SmallConfig(), 1), small_model(tokenizer, SmallConfig(), 2)
    weight = "model.layers.0.self_attn.q_proj.weight"
    assert torch.equal(model.state_dict()[weight], same.state_dict()[weight])
    assert not torch.equal(model.state_dict()[weight], other.state_dict()[weight])
    model.save_pretrained(tmp_path)
    stored = Qwen3ForCausalLM.from_pretrained(tmp_path)
    ids = [5, 6, 7]
    torch.testing.assert_close(full_logprobs(stored, ids), full_logprobs(model, ids))
    with pytest.raises(ValueError, match="multiple of 4"):
        SmallConfig(hidden_size=30)


def test_sampling_follows_the_probabilities_and_the_choices() -> None:
    probabilities = torch.tensor([0.1, 0.2, 0.3, 0.4])
    logits = probabilities.log().repeat(1000, 1)
    uniform = (np.arange(1000) + 0.5) / 1000
    tokens, logprobs = sample_tokens(logits, [None] * 1000, uniform, 1.0)
    assert np.bincount(tokens).tolist() == [100, 200, 300, 400]
    assert np.allclose(logprobs, probabilities.log()[tokens], atol=1e-6)
    tokens, logprobs = sample_tokens(logits, [(1, 3)] * 1000, uniform, 1.0)
    assert abs(np.bincount(tokens)[1] - 333) <= 1
    assert set(tokens) == {1, 3}
    assert logprobs[0] == pytest.approx(np.log(1 / 3), abs=1e-6)


@given(
    logits=st.lists(st.floats(-50, 50, width=32), min_size=4, max_size=4),
    choices=st.sets(st.integers(0, 3), min_size=1),
    uniform=st.sampled_from([0.0, 1e-300, 0.5, float(np.nextafter(1, 0))]),
    temperature=st.sampled_from([0.01, 0.8, 1.0, 3.0]),
)
def test_sampling_never_leaves_the_choices(
    logits: list[float], choices: set[int], uniform: float, temperature: float
) -> None:
    allowed = tuple(sorted(choices))
    (token,), (logprob,) = sample_tokens(torch.tensor([logits]), [allowed], np.array([uniform]), temperature)
    assert token in choices
    assert logprob <= 1e-6
    expected = torch.tensor(logits)[list(allowed)].log_softmax(-1)[allowed.index(token)]
    assert logprob == pytest.approx(float(expected), abs=1e-4), "log-probabilities are those at temperature 1"


@given(data=st.data(), n=st.integers(1, 6), temperature=st.sampled_from([0.3, 1.0, 2.0]))
def test_looking_at_candidates_only_chooses_what_a_mask_would(data: st.DataObject, n: int, temperature: float) -> None:
    """Rows of differently many candidates, some of them free, against a mask over the whole vocabulary."""
    ids = st.sets(st.integers(0, 19), min_size=1).map(lambda chosen: tuple(sorted(chosen)))
    choices = data.draw(st.lists(st.one_of(st.none(), ids), min_size=n, max_size=n))
    if data.draw(st.booleans()):
        choices = [choices[0]] * n  # one object, as the slots of a thought are
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    logits, uniform = torch.from_numpy(rng.normal(0, 3, (n, 20))).float(), rng.random(n)
    masked = logits.clone()
    for row, choice in enumerate(choices):
        if choice is not None:
            masked[row, [i for i in range(20) if i not in choice]] = float("-inf")
    assert (
        sample_tokens(logits, choices, uniform, temperature)[0]
        == (expected := sample_tokens(masked, [None] * n, uniform, temperature))[0]
    )
    assert np.allclose(sample_tokens(logits, choices, uniform, temperature)[1], expected[1], atol=1e-5)


def test_noise_streams_are_independent() -> None:
    many, few = NoiseStreams(7, range(5)), NoiseStreams(7, [3], block=3)
    rows = np.array([0, 3, 4])
    for _ in range(20):
        assert few.draw(np.array([0]))[0] == many.draw(rows)[1]
    assert NoiseStreams(8, [3]).draw(np.array([0])) != NoiseStreams(7, [3]).draw(np.array([0]))


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1, 2**32, 2**63 - 1])
def test_a_noise_stream_draws_the_numbers_of_numpy_for_seed_and_number(seed: int) -> None:
    streams = [0, 1, 767, 2**32 - 1]
    noise, rows = NoiseStreams(seed, streams, block=2), np.arange(len(streams))
    drawn = np.array([noise.draw(rows) for _ in range(5)]).T
    for stream, numbers in zip(streams, drawn, strict=True):
        assert numbers.tolist() == np.random.default_rng((seed, stream)).random(5).tolist()


def test_generator_scores_what_it_samples(model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    generator = TransformersGenerator(model, tokenizer, tokens=200)
    rng = np.random.default_rng(0)
    prompts = [rng.integers(4, 64, rng.integers(1, 30)).tolist() for _ in range(9)]
    params = SamplingParams(max_tokens=6, temperature=0.7, n=3, seed=11)
    answers = generator.generate(prompts, params)
    assert [len(answer) for answer in answers] == [3] * 9
    for prompt, answer in zip(prompts, answers, strict=True):
        for completion in answer:
            assert completion.prompt_ids == prompt
            ids = completion.token_ids
            logprobs = full_logprobs(model, prompt + ids)[len(prompt) - 1 : -1]
            expected = logprobs[range(len(ids)), ids]
            assert np.allclose(completion.logprobs, expected, atol=1e-5)
            assert completion.finish_reason == ("stop" if ids[-1] == tokenizer.eos_token_id else "length")
            assert completion.text == tokenizer.decode([i for i in ids if i != tokenizer.eos_token_id])
    assert len({tuple(c.token_ids) for answer in answers for c in answer}) > 9, "completions differ"
    whole = TransformersGenerator(model, tokenizer).generate(prompts, params)
    assert [[c.token_ids for c in a] for a in whole] == [[c.token_ids for c in a] for a in answers]


def test_generator_cuts_at_stop_texts_and_takes_the_most_probable(
    model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast
) -> None:
    generator = TransformersGenerator(model, tokenizer)
    greedy = SamplingParams(max_tokens=5, temperature=0, seed=0)
    ((completion,),) = generator.generate([[9, 10]], greedy)
    ids = [9, 10]
    for _ in completion.token_ids:
        ids.append(int(full_logprobs(model, ids)[-1].argmax()))
    assert completion.token_ids == ids[2:]
    assert generator.generate([[9, 10]], SamplingParams(max_tokens=5, top_p=1e-6, seed=3)) == [[completion]]
    word = tokenizer.decode(completion.token_ids[1:2])
    ((stopped,),) = generator.generate([[9, 10]], SamplingParams(max_tokens=5, temperature=0, seed=0, stop=(word,)))
    assert stopped.finish_reason == "stop"
    assert word not in stopped.text
    assert len(stopped.token_ids) <= 2


def test_generator_reads_chats_through_the_template(model: Qwen3ForCausalLM) -> None:
    tokenizer = word_tokenizer(WORDS)
    tokenizer.chat_template = "{% for m in messages %}w1 {{ m.content }} {% endfor %}w2"
    generator = TransformersGenerator(model, tokenizer)
    ((completion,),) = generator.generate([[{"role": "user", "content": "w5"}]], SamplingParams(max_tokens=1, seed=0))
    assert completion.prompt_ids == tokenizer("w1 w5 w2")["input_ids"]
    with pytest.raises(ValueError, match="at least one"):
        generator.generate([[]], SamplingParams(max_tokens=1))


@pytest.mark.parametrize("temperature", [0.6, 1.0])
def test_a_nucleus_is_sampled_and_the_whole_distribution_recorded(
    model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, temperature: float
) -> None:
    params = SamplingParams(max_tokens=1, temperature=temperature, top_p=0.5, n=400, seed=3)
    ((*samples,),) = TransformersGenerator(model, tokenizer).generate([[9, 10]], params)
    whole = np.asarray(full_logprobs(model, [9, 10])[-1], dtype=np.float64)
    heated = np.exp(whole / temperature)
    order = np.argsort(-heated)
    nucleus = order[: int(np.searchsorted(np.cumsum(heated[order]) / heated.sum(), 0.5)) + 1].tolist()
    drawn = [sample.token_ids[0] for sample in samples]
    assert set(drawn) == set(nucleus)
    assert 1 < len(nucleus) < 32
    shares = np.array([drawn.count(token) / 400 for token in nucleus])
    assert np.abs(shares - heated[nucleus] / heated[nucleus].sum()).max() < 0.1
    assert np.allclose([sample.logprobs[0] for sample in samples], whole[drawn], atol=1e-5)


def test_a_nucleus_among_choices() -> None:
    """Probabilities .6, .3, .1 among three choices, although most of the mass lies outside of them."""
    logits = torch.full((300, 8), 5.0)
    logits[:, [1, 4, 6]] = torch.tensor([0.6, 0.3, 0.1]).log()
    uniform = np.random.default_rng(0).random(300)
    tokens, logprobs = sample_tokens(logits, [(1, 4, 6)] * 300, uniform, 1.0, top_p=0.8)
    assert set(tokens) == {1, 4}
    assert tokens.count(1) / 300 == pytest.approx(2 / 3, abs=0.1)
    assert dict(zip(tokens, logprobs, strict=True)) == pytest.approx({1: np.log(0.6), 4: np.log(0.3)})


@pytest.mark.parametrize("stop", [("w5", "w40"), ("w7 w1",), ("w2 ",), ("nowhere",)])
def test_a_completion_ends_where_its_whole_text_has_a_stop_text(
    model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, stop: tuple[str, ...]
) -> None:
    generator = TransformersGenerator(model, tokenizer)
    ((*free,),) = generator.generate([[9, 10]], SamplingParams(max_tokens=60, n=30, seed=2))
    ((*cut,),) = generator.generate([[9, 10]], SamplingParams(max_tokens=60, n=30, seed=2, stop=stop))
    for whole, part in zip(free, cut, strict=True):
        ids = whole.token_ids or []
        texts = [tokenizer.decode(ids[:end]) for end in range(1, len(ids) + 1)]
        end = next((n for n, text in enumerate(texts, 1) if any(one in text for one in stop)), len(ids))
        assert part.token_ids == ids[:end]
        assert part.logprobs == pytest.approx((whole.logprobs or [])[:end], abs=1e-5)
        assert not any(one in part.text for one in stop)


def test_generator_takes_over_weights(
    model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, tmp_path: object
) -> None:
    other = random_model(tokenizer, seed=9)
    generator = TransformersGenerator(other, tokenizer)
    generator.update_weights(model, version=3)
    params = SamplingParams(max_tokens=3, seed=1)
    ((mine,),) = generator.generate([[4, 5]], params)
    ((theirs,),) = TransformersGenerator(model, tokenizer).generate([[4, 5]], params)
    assert mine.token_ids == theirs.token_ids
    assert (mine.weights_version, theirs.weights_version) == (3, 0)
