"""Prompts that several samples share are computed once, and the update stays what it is without sharing."""

import copy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_trainer as trainers
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from peft import LoraConfig, get_peft_model
from prompted_turns import episode_of
from random_models import random_llama
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.rollout.trajectory import PromptedTurn
from rlanything_agents.training.plain import PlainTrainer
from rlanything_agents.training.rows import joined
from rlanything_agents.training.samples import Sample, answer_sample, trajectory_samples
from rlanything_agents.training.shared_prompts import attention_share, layout
from rlanything_agents.training.trainer import SampleTrainer
from rlanything_agents.training.update import UpdateStats

VOCAB, SIZES = trainers.VOCAB, {"vocab_size": trainers.VOCAB, "hidden_size": 64, "intermediate_size": 96}
TOKENIZER = trainers.build_tokenizer()
build_llama = partial(random_llama, **SIZES, initializer_range=0.15)
MODELS = {"qwen3": trainers.build_model, "llama": build_llama}


def build_votes(
    model: PreTrainedModel,
    prompts: list[tuple[int, int]],
    constrained: bool = True,
    seed: int = 0,
    noise: float = 0.4,
    longest: int = 5,
) -> list[Sample]:
    """Several samples a prompt: its length and how many, in an order of their own."""
    rng = np.random.default_rng(seed)
    made = []
    for length, count in prompts:
        prompt = rng.integers(2, VOCAB, length).tolist()
        for _ in range(count):
            size = int(rng.integers(1, longest + 1))
            choices = [tuple(sorted(set(rng.integers(0, VOCAB, 5).tolist()))) for _ in range(size)]
            free = [not constrained or rng.random() < 0.3 for _ in range(size)]
            allowed = [None if f else c for f, c in zip(free, choices, strict=True)]
            completion = [int(rng.integers(0, VOCAB) if c is None else rng.choice(c)) for c in allowed]
            forced = (rng.random(size) < 0.2) & (np.arange(size) < size - 1)
            weights = [0.0 if f else 1 / (size - forced.sum()) for f in forced]
            scores = trainers.score(model, prompt, completion, allowed)
            logprobs = [min(0.0, s + noise * rng.normal()) if w else 0.0 for s, w in zip(scores, weights, strict=True)]
            advantages = [float(rng.normal())] * size
            made.append(Sample(prompt, completion, weights, advantages, logprobs, allowed if constrained else None))
    return [made[k] for k in rng.permutation(len(made))]


def agree(base: PreTrainedModel, made: list[Sample], *, restarts: bool = False, **options: Any) -> SampleTrainer:
    """The update of samples that share prompts wherever that spares a token, against the plain reference's.

    Or of samples that stand end to end, as they do where attention restarts.
    """
    # an epsilon above rounding: Adam would otherwise blow noise in vanishing gradients up to whole steps
    config = TrainerConfig(**{"learning_rate": 1e-3, "optimizer_steps": 1, "epsilon": 1e-4, **options})
    ours, golden = copy.deepcopy(base), copy.deepcopy(base)
    trainer, plain = SampleTrainer(ours, TOKENIZER, config), PlainTrainer(golden, config)
    assert trainer._attention == 1 / (6 * 64)
    trainer._attention, trainer._restarts = 0.0, restarts
    a, b = trainer.update(made), plain.update(made)
    same(a, b)
    assert trainers.distance(ours, golden) < 1e-5
    assert trainers.distance(ours, base) > 1e-5 or b.grad_norm < 1e-4, "all clipped"
    return trainer


def same(a: UpdateStats, b: UpdateStats) -> None:
    for name in ("loss", "kl", "clip_fraction", "entropy", "step_samples"):
        assert getattr(a, name) == pytest.approx(getattr(b, name), rel=1e-5, abs=1e-5), name
    assert a.grad_norm == pytest.approx(b.grad_norm, rel=1e-4)
    assert (a.rows, a.tokens, a.optimizer_steps) == (b.rows, b.tokens, b.optimizer_steps)


OPTIONS = {"plain": {}, "kl": {"beta": 0.05}}
PROMPTS = [(20, 4), (12, 3), (9, 1), (1, 2), (20, 2), (5, 1)]
"""Shared and unshared ones, of one token, and two of the same length."""


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("constrained", [True, False])
@pytest.mark.parametrize("case", OPTIONS)
def test_the_update_is_that_of_unshared_rows(kind: str, constrained: bool, case: str) -> None:
    base = MODELS[kind]()
    made = build_votes(base, PROMPTS, constrained)
    agree(base, made, micro_batch_tokens=80, **OPTIONS[case])


@pytest.mark.slow
@given(
    prompts=st.lists(st.tuples(st.integers(1, 24), st.integers(1, 5)), min_size=1, max_size=4),
    constrained=st.booleans(),
    kind=st.sampled_from(sorted(MODELS)),
    tokens=st.sampled_from([1, 40, 100, 2048]),
    seed=st.integers(0, 99),
)
@settings(max_examples=15, deadline=None)
def test_random_batches(prompts: list[tuple[int, int]], constrained: bool, kind: str, tokens: int, seed: int) -> None:
    base = MODELS[kind]()
    made = build_votes(base, prompts, constrained, seed)
    agree(base, made, micro_batch_tokens=tokens, optimizer_steps=1 + seed % 2)


def computed(kind: str, made: list[Sample], shared: bool, monkeypatch: pytest.MonkeyPatch) -> int:
    """Tokens that an update passes through the model."""
    base, seen = MODELS[kind](), []
    trainer = SampleTrainer(base, TOKENIZER, TrainerConfig(optimizer_steps=1))
    if not shared:
        trainer._attention = None
    base.model.embed_tokens.register_forward_hook(lambda _, given, __: seen.append(given[0].numel()))
    trainer.update(made)
    return sum(seen)


@pytest.mark.parametrize("kind", MODELS)
def test_a_shared_prompt_is_computed_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    base = MODELS[kind]()
    made = [s for seed in range(3) for s in build_votes(base, [(80, 4)], seed=seed)]

    unshared, shared = (computed(kind, made, how, monkeypatch) for how in (False, True))
    completions = sum(len(s.completion_ids) for s in made)
    assert unshared >= 12 * 80 + completions
    longest = max(len(joined([s for s in made if s.prompt_ids == t.prompt_ids])) for t in made)
    assert shared <= 3 * longest <= 3 * 80 + 3 * (4 * 5 + 3)
    assert unshared > 2.5 * shared


def test_unshared_rows_need_no_mask() -> None:
    base = build_llama()
    trainer = SampleTrainer(base, TOKENIZER, TrainerConfig(optimizer_steps=1))
    unshared, mixed = (build_votes(base, [(20, first), (20, 1), (30, 1)]) for first in (1, 4))
    masks = []
    base.model.register_forward_pre_hook(
        lambda _, __, given: masks.append(given.get("attention_mask")), with_kwargs=True
    )
    trainer.update(unshared)
    assert masks == [None]
    trainer.update(mixed)
    assert [None if mask is None else mask.dtype for mask in masks[1:]] == [torch.bool, None]


def test_who_sees_whom() -> None:
    def sample(prompt: list[int], size: int) -> Sample:
        return Sample(prompt, [9] * size, [1.0] * size, [1.0] * size, [-1.0] * size)

    row = joined([sample([5, 6, 7], 2), sample([5, 6, 7], 1), sample([5, 6, 8, 4], 1), sample([5, 6, 8, 4, 9, 3], 1)])
    assert row.ids == [5, 6, 7, 9, 7, 9, 9, 6, 8, 4, 9, 3, 9]
    assert [begin for begin, _ in row.places] == [3, 5, 10, 12]
    assert [len(sample) for _, sample in row.places] == [4, 5, 5, 7]
    positions, visible = layout([row], 15, torch.device("cpu"))
    assert positions[0, :13].tolist() == [0, 1, 2, 3, 2, 3, 4, 1, 2, 3, 4, 5, 6]
    expected = [
        *("1", "11", "111", "1111"),
        *("11001", "110011", "1100111"),  # after a copy of 7
        *("10000001", "100000011", "1000000111", "10000001111"),  # after a copy of 6
        *("100000011111", "1000000111111"),  # goes on where the sample before ends
    ]
    assert ["".join(str(int(x)) for x in line[: k + 1]) for k, line in enumerate(visible[0, :13])] == expected
    assert not visible[0].triu(1).any()
    assert visible[0].any(1).all(), "a token that sees nothing has no softmax"


@pytest.mark.parametrize("checkpointing", [False, True])
def test_adapters_and_checkpointing(checkpointing: bool) -> None:
    base = build_llama()
    made = build_votes(base, PROMPTS, constrained=False)
    results = []
    for attention in (None, 0.0):
        torch.manual_seed(0)
        model = get_peft_model(copy.deepcopy(base), LoraConfig(r=4, target_modules=["q_proj", "v_proj"]))
        with torch.no_grad():
            for name, weight in model.named_parameters():
                if "lora_B" in name:
                    weight.normal_(std=0.1)
        config = TrainerConfig(learning_rate=1e-3, optimizer_steps=1, epsilon=1e-4, checkpointing=checkpointing)
        trainer = SampleTrainer(model, TOKENIZER, config)
        assert trainer._attention is not None
        trainer._attention = attention
        results.append((trainer.update(made), {name: w.clone() for name, w in trainer.weights().items()}))
    same(results[0][0], results[1][0])
    for name, weight in results[0][1].items():
        torch.testing.assert_close(results[1][1][name], weight, atol=1e-5, rtol=0)


TWO_PROCESSES = """
import os
import sys
import accelerate
import torch
if "ACCELERATE_USE_FSDP" in os.environ:
    # Accelerate spreads models over accelerators only: it is told that these processors are some.
    accelerate.PartialState._prepare_backend = lambda *_: ("gloo", accelerate.DistributedType.MULTI_GPU)
    torch.distributed.init_process_group("gloo")
import test_shared_prompts as t
model = t.build_llama()
made = [t.build_votes(model, t.PROMPTS, seed=seed) for seed in (1, 2)]
trainer = t.SampleTrainer(model, t.TOKENIZER, t.TrainerConfig(**t.SHARED))
trainer._attention, trainer._restarts = 0.0, "RESTARTS" in os.environ
stats = [trainer.update(samples) for samples in made][-1]
if trainer.args.process_index == 0:
    found = {"model": trainer.weights(), "spread": trainer.sharded, "loss": stats.loss, "kl": stats.kl}
    torch.save(found, sys.argv[1])
torch.distributed.barrier()
torch.distributed.destroy_process_group()
os._exit(0)  # the work is done; PyTorch's gloo threads abort in about one of eight interpreter shutdowns
"""
FSDP2 = {
    "ACCELERATE_TORCH_DEVICE": "cpu",
    "ACCELERATE_USE_FSDP": "true",
    "FSDP_VERSION": "2",
    "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP",
    "FSDP_RESHARD_AFTER_FORWARD": "true",
}
SHARED = {"learning_rate": 1e-3, "epsilon": 1e-4, "micro_batch_tokens": 48, "optimizer_steps": 2, "beta": 0.05}


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "end_to_end"), [("ddp", False), ("fsdp2", False), ("ddp", True)])
def test_two_processes_equal_one_without_sharing(strategy: str, end_to_end: bool, tmp_path: Path) -> None:
    """Rows of several samples are dealt like others, also where a process gets a silent one."""
    script, result = tmp_path / "two.py", tmp_path / "two.pt"
    script.write_text(TWO_PROCESSES, encoding="utf-8")
    here = Path(__file__).parent
    more = {"PYTHONPATH": f"{here}:{here.parent}", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    if strategy == "fsdp2":
        more |= FSDP2
    if end_to_end:
        more["RESTARTS"] = "1"
    trainers.in_two_processes(script, result, **more)
    model = build_llama()
    made = [build_votes(model, PROMPTS, seed=seed) for seed in (1, 2)]
    trainer = SampleTrainer(model, TOKENIZER, TrainerConfig(**SHARED))
    trainer._attention = None
    stats = [trainer.update(samples) for samples in made][-1]
    both = torch.load(result, weights_only=True)
    assert both["spread"] == (strategy == "fsdp2")
    for name, weight in trainer.weights().items():
        torch.testing.assert_close(both["model"][name], weight, atol=2e-5, rtol=0)
    assert both["loss"] == pytest.approx(stats.loss, abs=1e-5)
    assert both["kl"] == pytest.approx(stats.kl, abs=1e-5)


def test_models_that_cannot_be_told_who_sees_whom() -> None:
    small = {**SIZES, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    assert attention_share(build_llama()) == 1 / 384
    assert attention_share(Qwen2ForCausalLM(Qwen2Config(**small))) == 1 / 384
    sliding = Qwen2Config(**small, use_sliding_window=True, sliding_window=4, max_window_layers=0)
    assert attention_share(Qwen2ForCausalLM(sliding)) is None
    assert attention_share(MistralForCausalLM(MistralConfig(**small, sliding_window=4))) is None
    gpt2 = GPT2Config(vocab_size=VOCAB, n_embd=32, n_layer=1, n_head=2, n_positions=64)
    assert attention_share(GPT2LMHeadModel(gpt2)) is None, "positions are learnt, not passed to its attention"
    eager = LlamaForCausalLM(LlamaConfig(**small, attn_implementation="eager"))
    assert attention_share(eager) is None
    made = build_votes(build_llama(), [(20, 4)])
    config = TrainerConfig(learning_rate=1e-3, optimizer_steps=1, epsilon=1e-4)
    torch.manual_seed(0)
    base = MistralForCausalLM(MistralConfig(**small, sliding_window=4)).eval()
    ours, golden = copy.deepcopy(base), copy.deepcopy(base)
    same(SampleTrainer(ours, TOKENIZER, config).update(made), PlainTrainer(golden, config).update(made))
    assert trainers.distance(ours, golden) < 1e-5


def build_turns(
    model: PreTrainedModel, episodes: int, history: int | None, turns: int = 6, seed: int = 0, noise: float = 0.4
) -> list[Sample]:
    """Samples of some episodes on one task."""
    rng = np.random.default_rng(seed)
    opening = rng.integers(2, VOCAB, 12).tolist()
    made = []
    for episode in range(episodes):
        advantages = (rng.normal(size=turns) * (rng.random(turns) < 0.8)).tolist()
        played = play(model, opening, history, turns, rng, noise)
        made += trajectory_samples(episode_of(*played), advantages, episode)
    return made


def play(
    model: PreTrainedModel, opening: list[int], history: int | None, turns: int, rng: np.random.Generator, noise: float
) -> tuple[PromptedTurn, ...]:
    """Turns as they are rendered with a window: the opening, a token a line, the last turns in full.

    Without a window as without thoughts: prompts hold the last half of each answer.
    """
    played: list[PromptedTurn] = []
    texts: list[list[int]] = []
    for number in range(turns):
        left = 0 if history is None else max(0, number - history)
        prompt = [*opening, *(5 + k for k in range(left)), *(token for text in texts[left:] for token in text), 3]
        answer = rng.integers(2, VOCAB, int(rng.integers(1, 7))).tolist()
        logprobs = [min(0.0, s + noise * rng.normal()) for s in trainers.score(model, prompt, answer, None)]
        played.append(PromptedTurn(prompt, answer, logprobs))
        kept = answer[len(answer) // 2 :] if history is None else answer
        texts.append([3, *kept, 4, *rng.integers(2, VOCAB, 4).tolist()])
    return tuple(played)


@pytest.mark.parametrize("history", [0, 2, 9])
def test_merged_turns_have_the_gradients_of_separate_ones(history: int) -> None:
    base = build_llama().double()
    rng = np.random.default_rng(0)
    turns, advantages = play(base, [7, 8, 9], history, 6, rng, 0.4), rng.normal(size=6).tolist()
    whole = episode_of(*turns)
    merged = trajectory_samples(whole, advantages)
    assert len(merged) == {0: 6, 2: 4, 9: 1}[history]
    separate = [
        answer_sample(turn.prompt_ids, turn.token_ids, turn.logprobs, None, advantage)
        for turn, advantage in zip(turns, advantages, strict=True)
    ]
    gradients = []
    for samples in (merged, separate):
        model = copy.deepcopy(base)
        plain = PlainTrainer(model, TrainerConfig(beta=0.05))
        torch.stack([plain._row(sample, *plain._before(sample))[0] for sample in samples]).sum().backward()
        gradients.append(torch.cat([weight.grad.flatten() for weight in model.parameters()]))
    assert gradients[1].norm() > 0.1
    assert (gradients[0] - gradients[1]).norm() <= 1e-5 * gradients[1].norm()


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("history", [None, 0, 2])
def test_turns_of_an_episode_are_computed_as_one_tree(kind: str, history: int | None) -> None:
    base = MODELS[kind]()
    made = build_turns(base, 3, history)
    agree(base, made, micro_batch_tokens=4096)
    for tokens in (60, 150):
        agree(base, made, micro_batch_tokens=tokens, optimizer_steps=2)
    tree = joined(made)
    assert len(tree) < sum(map(len, made)) / 1.3
    texts = {
        tuple(ids[:end]) for s in made for ids in [s.prompt_ids + s.completion_ids] for end in range(1, len(ids) + 1)
    }
    assert len(texts) <= len(tree) <= len(texts) + 2 * len(made), (
        "every prefix once, and at most a copy for each branch"
    )


@pytest.mark.slow
@given(
    history=st.one_of(st.none(), st.integers(0, 5)),
    episodes=st.integers(1, 3),
    turns=st.integers(1, 6),
    tokens=st.sampled_from([1, 50, 2048]),
    seed=st.integers(0, 99),
)
@settings(max_examples=12, deadline=None)
def test_random_episodes(history: int | None, episodes: int, turns: int, tokens: int, seed: int) -> None:
    base = MODELS["llama"]()
    if made := build_turns(base, episodes, history, turns, seed):
        agree(base, made, micro_batch_tokens=tokens, optimizer_steps=1 + seed % 2)


@given(
    prompts=st.lists(st.lists(st.integers(2, 4), min_size=1, max_size=9), min_size=1, max_size=9),
    seed=st.integers(0, 99),
)
def test_each_token_of_a_row_sees_its_own_sample(prompts: list[list[int]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    samples = []
    for prompt in prompts:
        size = int(rng.integers(1, 4))
        samples.append(Sample(prompt, rng.integers(2, 5, size).tolist(), [1.0] * size, [1.0] * size, [-1.0] * size))
    row = joined(samples)
    width = len(row) + 2
    positions, visible = (part[0] for part in layout([row], width, torch.device("cpu")))
    ids = row.ids
    assert len(ids) == len(row)
    for begin, sample in row.places:
        end = begin + len(sample.completion_ids)
        for column in range(begin - 1, end):
            seen = visible[column].nonzero()[:, 0].tolist()
            assert [ids[k] for k in seen] == (sample.prompt_ids + sample.completion_ids)[: len(seen)]
            assert len(seen) == len(sample.prompt_ids) + 1 + column - begin
            assert positions[seen].tolist() == list(range(len(seen)))
    assert visible.any(1).all()
