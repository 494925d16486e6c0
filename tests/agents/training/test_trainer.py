"""The TRL engine against the plain one, and the traps of training on samples.

Traps met when TRL was tried out, and the test that stands on each:

* the last, ragged micro-batch must not weigh more: ``test_micro_batches_do_not_change_the_update``
* end-of-sequence equal to padding must keep its loss: ``test_padding_id_inside_a_completion_is_trained``
* padding on one side and position ids: ``test_absolute_positions``, ``test_layouts_agree``
* a beta in TRL's arguments reloads a reference model: ``test_engines_agree[kl]`` (there is none to load)
* bf16, gradient checkpointing, dropout, learning-rate schedule, printing: ``test_quiet_and_constant``
* two trainers in one process: ``test_two_trainers_side_by_side``
* seeds set by the constructor: ``test_random_states_are_left_alone``
* several processes: ``test_two_processes_equal_one``
* a process whose share of a micro-batch has nothing to learn: ``test_rows_of_which_nothing_was_sampled``
* TRL stays out of light imports: ``test_light_modules_do_not_import_torch``
* ``use_cache`` set to false for good: ``test_model_generates_as_before``
* ``forward`` patched on the instance: ``test_deep_copy_is_independent``
* a KL term multiplied by the probability ratio by default: ``test_layouts_agree``

Chat templates and the default ``top_k`` of generation cannot reach this module: samples are token ids with the
log-probabilities they were sampled at.
"""

import copy
import dataclasses
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")
from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: E402
from transformers import (  # noqa: E402
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from rlanything_agents.config.trainer import TrainerConfig  # noqa: E402
from rlanything_agents.training.constrained import constrained  # noqa: E402
from rlanything_agents.training.errors import TrainingError  # noqa: E402
from rlanything_agents.training.plain import PlainTrainer  # noqa: E402
from rlanything_agents.training.samples import Sample, answer_sample, step_weights  # noqa: E402
from rlanything_agents.training.trainer import SampleTrainer  # noqa: E402
from rlanything_envs.llm.errors import RunMustStop  # noqa: E402

torch.set_num_threads(1)  # the models are tiny, and idle threads spin when cores are shared

VOCAB = 50
PAD, EOS = 0, 1


def build_model(seed=0, **changes):
    torch.manual_seed(seed)
    config = {
        "vocab_size": VOCAB,
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 1,
        "head_dim": 16,
        "max_position_embeddings": 256,
        "tie_word_embeddings": True,
        "initializer_range": 0.15,
        "pad_token_id": PAD,
        "eos_token_id": EOS,
        "bos_token_id": 2,
    }
    return Qwen3ForCausalLM(Qwen3Config(**config | changes)).eval()


def build_tokenizer():
    words = {"<pad>": PAD, "<eos>": EOS, "<bos>": 2} | {f"w{i}": i for i in range(3, VOCAB)}
    core = Tokenizer(models.WordLevel(words, unk_token="w3"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="<eos>", bos_token="<bos>", unk_token="w3"
    )


@pytest.fixture(scope="module")
def tokenizer():
    return build_tokenizer()


def score(model, prompt, completion, allowed, temperature=1.0):
    with torch.no_grad():
        logits = model(torch.tensor([prompt + completion])).logits[0, len(prompt) - 1 : -1] / temperature
    for t, choice in enumerate(allowed or []):
        if choice is not None:
            keep = torch.full((logits.shape[1],), -torch.inf)
            keep[list(choice)] = 0.0
            logits[t] += keep
    return logits.log_softmax(-1)[torch.arange(len(completion)), torch.tensor(completion)].tolist()


def build_trajectories(model, count=11, seed=0, constrained=True, noise=0.0):
    """Random transcripts, scored by the model; noise in the stored log-probabilities makes ratios clip."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        prompt = rng.integers(2, VOCAB, rng.integers(1, 9)).tolist()
        completion, steps, allowed = [], [], []
        for step in range(int(rng.integers(1, 5))):
            for _ in range(int(rng.integers(1, 4))):
                choice = tuple(sorted(set(rng.integers(0, VOCAB, 5).tolist())))
                free = not constrained or rng.random() < 0.3
                completion.append(int(rng.integers(0, VOCAB) if free else rng.choice(choice)))
                allowed.append(None if free else choice)
                steps.append(step)
            for _ in range(int(rng.integers(0, 6))):  # environment text
                completion.append(int(rng.integers(2, VOCAB)))
                allowed.append(None)
                steps.append(None)
        advantages = rng.normal(size=step + 1)
        advantages[rng.random(step + 1) < 0.2] = 0.0
        if not advantages.any():
            advantages[0] = 1.0
        weights, token_advantages = step_weights(steps, advantages)
        scores = score(model, prompt, completion, allowed)
        logprobs = [min(0.0, s + noise * rng.normal()) if w else 0.0 for s, w in zip(scores, weights, strict=True)]
        choices = allowed if constrained else None
        sample = Sample(prompt, completion, weights, token_advantages, logprobs, choices, steps=steps)
        made.append((sample, steps))
    return made


def rows(trajectories):
    return [sample for sample, _ in trajectories]


def step_rows(trajectories):
    """The paper's layout: a sample for each step, with all tokens before it in its prompt."""
    made = []
    for sample, steps in trajectories:
        for step in dict.fromkeys(s for s in steps if s is not None):
            begin, end = steps.index(step), len(steps) - steps[::-1].index(step)
            names = ("completion_ids", "weights", "advantages", "logprobs", "allowed")
            columns = [getattr(sample, name) for name in names]
            if any(sample.weights[begin:end]):
                ids = sample.prompt_ids + sample.completion_ids[:begin]
                made.append(Sample(ids, *(column and column[begin:end] for column in columns)))
    return made


def distance(a, b):
    with torch.no_grad():
        return max(float((x - y).abs().max()) for x, y in zip(a.parameters(), b.parameters(), strict=True))


CASES = {
    "constrained": {"constrained": True},
    "free": {"constrained": False},
    "clipped": {"constrained": True, "noise": 0.5},
    "clipped-free": {"constrained": False, "noise": 0.5},
    "kl": {"constrained": True, "noise": 0.3, "beta": 0.05},
    "kl-free": {"constrained": False, "noise": 0.3, "beta": 0.05},
    "dapo": {"constrained": True, "noise": 0.5, "loss": "dapo", "clip_high": 0.28, "beta": 0.05},
    "dr_grpo-free": {"constrained": False, "noise": 0.5, "loss": "dr_grpo"},
    "token-mask": {"constrained": True, "noise": 0.5, "loss": "dapo", "importance_sampling_mode": "token_mask"},
}


AGREE = ("grad_norm", "kl", "clip_fraction", "entropy", "step_samples")
LAYOUTS = [rows, step_rows]
BY_ALL = ("kl", "dr_grpo-free")
"""The cases that the quick tests compute with every layout."""


@pytest.mark.parametrize(
    ("layout", "case"),
    [
        pytest.param(how, case, marks=() if how is LAYOUTS[0] or case in BY_ALL else pytest.mark.slow)
        for how in LAYOUTS
        for case in CASES
    ],
)
def test_engines_agree(tokenizer, case, layout, monkeypatch):
    for module in ("plain", "mismatch"):
        monkeypatch.setattr(f"rlanything_agents.training.{module}.MOST_IMPORTANCE", 1.4)
    options = dict(CASES[case])
    constrained, noise = options.pop("constrained"), options.pop("noise", 0.0)
    # an epsilon above rounding: Adam would otherwise blow noise in vanishing gradients up to whole steps
    config = TrainerConfig(learning_rate=1e-3, micro_batch_tokens=64, epsilon=1e-5, **options)
    base = build_model()
    made = build_trajectories(base, constrained=constrained, noise=noise)
    ours, golden = copy.deepcopy(base), copy.deepcopy(base)
    trainer, plain = SampleTrainer(ours, tokenizer, config), PlainTrainer(golden, config)
    for rate in (1.0, 0.25):
        a, b = trainer.update(layout(made), rate), plain.update(layout(made), rate)
        assert a.loss == pytest.approx(b.loss, abs=1e-5)
        for name in (*AGREE, "sampler_kl", "sampler_chi2", "sampler_ratio", "corrected"):
            assert getattr(a, name) == pytest.approx(getattr(b, name), rel=1e-3, abs=1e-5), name
        assert (a.rows, a.tokens, a.optimizer_steps) == (b.rows, b.tokens, b.optimizer_steps)
    assert config.recomputes or a.clip_fraction > 0.05
    assert (a.corrected > 0.05) == (config.importance_sampling_mode is not None)
    assert a.optimizer_steps == 4
    assert distance(ours, golden) < 1e-4
    assert distance(ours, base) > 1e-3


def test_what_comes_after_the_last_weight_changes_nothing(tokenizer):
    """A long lost episode whose last steps teach nothing is read only as far as it teaches."""
    config, base = TrainerConfig(learning_rate=1e-3, epsilon=1e-5), build_model()
    made = rows(build_trajectories(base, noise=0.3))
    tail = [5, 9, 30, 12, 7]
    longer = [
        Sample(
            s.prompt_ids,
            s.completion_ids + tail,
            s.weights + [0.0] * 5,
            s.advantages + [0.0] * 5,
            s.logprobs + [0.0] * 5,
            s.allowed + [None] * 5,
        )
        for s in made
    ]
    models, stats = [copy.deepcopy(base), copy.deepcopy(base)], []
    for model, samples in zip(models, (made, longer), strict=True):
        stats.append(SampleTrainer(model, tokenizer, config).update(samples))
    assert stats[0].loss == stats[1].loss
    assert distance(*models) == 0.0
    assert stats[1].tokens == stats[0].tokens + 5 * len(made), "what was played is counted, not what was computed"


def test_weights_below_one_are_exact(tokenizer):
    """TRL clamps its divisor to at least 1; tiny weights must not meet that clamp."""
    base = build_model()
    made = rows(build_trajectories(base, noise=0.3, count=3))
    small = [
        Sample(s.prompt_ids, s.completion_ids, [w * 1e-3 for w in s.weights], s.advantages, s.logprobs, s.allowed)
        for s in made
    ]
    losses = []
    for samples in (made, small):
        trainer = SampleTrainer(copy.deepcopy(base), tokenizer, TrainerConfig(optimizer_steps=1))
        losses.append(trainer.update(samples).loss)
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_padding_id_inside_a_completion_is_trained(tokenizer):
    """The masks come from lengths: a sampled token with the padding id, or the end token, keeps its loss."""
    base = build_model()
    completion = [5, PAD, EOS]
    logprobs = score(base, [3, 4], completion, None)
    model = copy.deepcopy(base)
    long = Sample([3, 4], [7] * 9, [1 / 9] * 9, [0.0] * 9, score(base, [3, 4], [7] * 9, None))
    for token in range(3):
        weights = [float(t == token) for t in range(3)]
        sample = Sample([3, 4], completion, weights, [1.0] * 3, logprobs)
        model = copy.deepcopy(base)
        SampleTrainer(model, tokenizer, TrainerConfig(optimizer_steps=1)).update([sample, long])
        after = score(model, [3, 4], completion, None)
        assert after[token] > logprobs[token] + 1e-3


def test_absolute_positions(tokenizer):
    """Prompts of different length in one micro-batch: no padding in front of anything."""
    torch.manual_seed(0)
    base = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=VOCAB, n_embd=32, n_layer=2, n_head=2, n_positions=64, resid_pdrop=0, embd_pdrop=0,
            attn_pdrop=0, initializer_range=0.3, bos_token_id=2, eos_token_id=EOS, pad_token_id=PAD,
        )
    )  # fmt: skip
    made = rows(build_trajectories(base, count=6, constrained=False))
    config = TrainerConfig(learning_rate=1e-3, optimizer_steps=1)
    model, golden = copy.deepcopy(base), copy.deepcopy(base)
    stats = SampleTrainer(model, tokenizer, config).update(made)
    PlainTrainer(golden, config).update(made)
    assert stats.kl == pytest.approx(0.0, abs=1e-6)
    # not the weights: the gradient of a key bias is rounding noise, which Adam turns into steps
    ids = torch.tensor([[3, 4, 5]])
    assert float((model(ids).logits - golden(ids).logits).detach().abs().max()) < 1e-4
    assert float((model(ids).logits - base(ids).logits).detach().abs().max()) > 1e-2


def test_log_probabilities_far_from_zero_at_unsampled_tokens(tokenizer):
    """exp(-logprob) of improbable environment text overflows; neither ratio nor KL may see it."""
    base = build_model(initializer_range=3.0)
    made = rows(build_trajectories(base, constrained=False))
    for sample in made:
        sample.logprobs[:] = [lp if w else -200.0 for lp, w in zip(sample.logprobs, sample.weights, strict=True)]
    assert min(min(score(base, s.prompt_ids, s.completion_ids, None)) for s in made) < -100
    stats = SampleTrainer(base, tokenizer, TrainerConfig(learning_rate=1e-5, beta=0.1)).update(made)
    assert np.isfinite(stats.loss)
    assert np.isfinite(stats.kl)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("fresh", [False, True])
def test_resumed_run_equals_straight_run(tokenizer, fresh, dtype, tmp_path):
    config = TrainerConfig(learning_rate=1e-3, optimizer_steps=3, fresh_optimizer=fresh)
    base = build_model().to(getattr(torch, dtype))
    made = [rows(build_trajectories(base, seed=s)) for s in (1, 2, 3)]
    straight, broken = copy.deepcopy(base), copy.deepcopy(base)
    trainer = SampleTrainer(straight, tokenizer, config)
    for samples in made:
        trainer.update(samples)

    first = SampleTrainer(broken, tokenizer, config)
    first.update(made[0])
    first.save(tmp_path)
    saved = copy.deepcopy(broken.state_dict())
    resumed = build_model(seed=99).to(base.dtype)
    resumed.load_state_dict(saved)
    torch.manual_seed(1234)
    second = SampleTrainer(resumed, tokenizer, config)
    second.load(tmp_path)
    for samples in made[1:]:
        second.update(samples)
    assert distance(straight, resumed) == 0.0
    wrong = SampleTrainer(copy.deepcopy(base), tokenizer, config)
    wrong.model.load_state_dict(saved)
    wrong.update(made[1])
    wrong.update(made[2])
    assert distance(straight, wrong.model) > 0.0


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_an_optimizer_that_rests_goes_on(tokenizer, dtype, monkeypatch):
    made = rows(build_trajectories(build_model()))
    config = TrainerConfig(learning_rate=1e-3, optimizer_steps=2)
    trainers = [SampleTrainer(build_model().to(getattr(torch, dtype)), tokenizer, config) for _ in range(2)]
    for _ in range(3):
        for trainer in trainers:
            trainer.update(made)
        trainers[0].rest()
    assert distance(trainers[0].model, trainers[1].model) == 0.0
    monkeypatch.setattr("rlanything_agents.training.trainer.HOST", torch.device("meta"))
    trainers[1].rest()
    state = trainers[1].state_dict()
    away = {key.rpartition(".")[2]: value.device.type for key, value in state.items() if key != "updates"}
    rounded = {"master": "meta"} if dtype == "bfloat16" else {}
    assert away == {"step": "cpu", "exp_avg": "meta", "exp_avg_sq": "meta", **rounded}
    assert {weight.device.type for weight in trainers[1].model.parameters()} == {"cpu"}


def test_state_before_the_first_update(tokenizer, tmp_path):
    trainer = SampleTrainer(build_model(), tokenizer, TrainerConfig())
    other = SampleTrainer(build_model(), tokenizer, TrainerConfig())
    trainer.save(tmp_path)
    other.load(tmp_path)
    made = rows(build_trajectories(build_model()))
    assert trainer.update(made).loss == other.update(made).loss


def test_optimizer_is_kept_or_fresh(tokenizer):
    made = rows(build_trajectories(build_model()))
    steps = {}
    for fresh in (False, True):
        trainer = SampleTrainer(build_model(), tokenizer, TrainerConfig(fresh_optimizer=fresh, optimizer_steps=2))
        for _ in range(3):
            trainer.update(made)
        steps[fresh] = {int(value) for key, value in trainer.state_dict().items() if key.endswith(".step")}
    assert steps == {False: {6}, True: {2}}


def test_fresh_moments_keep_the_steps_of_rounded_weights(tokenizer):
    """Steps smaller than the distance of bfloat16 numbers add up over updates, each of which starts its moments."""
    config = TrainerConfig(learning_rate=2e-5, optimizer_steps=1, fresh_optimizer=True)
    model = build_model().bfloat16()
    before, trainer = model.model.norm.weight.detach().clone(), SampleTrainer(model, tokenizer, config)
    made = rows(build_trajectories(build_model()))
    for _ in range(5):
        trainer.update(made)
    norm = trainer.state_dict()["model.norm.weight.master"]
    assert torch.equal(model.model.norm.weight, before)  # 1, whose neighbours are 0.004 and 0.008 away
    assert (norm - 1).abs().max() == pytest.approx(5 * 2e-5, rel=0.05)


def test_random_states_are_left_alone(tokenizer):
    model = build_model()
    made = rows(build_trajectories(model))
    draws = []
    for work in (False, True):
        torch.manual_seed(7)
        np.random.seed(7)
        random.seed(7)
        if work:
            SampleTrainer(model, tokenizer, TrainerConfig(), seed=3).update(made)
        draws.append((float(torch.rand(1)), float(np.random.rand()), random.random()))
    assert draws[0] == draws[1]


def test_two_trainers_side_by_side(tokenizer, monkeypatch):
    """A policy and a reward model interleaved in one process learn what each would learn alone."""
    monkeypatch.setattr("rlanything_agents.training.trainer.MOST_SAMPLER_RATIO", np.inf)
    made = rows(build_trajectories(build_model()))
    alone = []
    for seed in (0, 5):
        model = build_model(seed)
        trainer = SampleTrainer(model, tokenizer, TrainerConfig(), seed)
        for _ in range(2):
            trainer.update(made)
        alone.append(model)
    both = [build_model(0), build_model(5)]
    trainers = [
        SampleTrainer(model, tokenizer, TrainerConfig(), seed) for model, seed in zip(both, (0, 5), strict=True)
    ]
    for _ in range(2):
        for trainer in trainers:
            trainer.update(made)
    assert [distance(a, b) for a, b in zip(alone, both, strict=True)] == [0.0, 0.0]


def test_probabilities_over_many_few_and_all_tokens(monkeypatch):
    """Large sets are masked, small ones gathered, with the same numbers."""
    rng = np.random.default_rng(0)
    logits, tokens = torch.tensor(rng.normal(size=(6, 60)), dtype=torch.float32), torch.tensor([3, 3, 4, 5, 50, 7])
    large, other = tuple(range(0, 60, 3)), tuple(range(60))
    allowed = [large, None, (4, 9), other, (2, 50), None]
    allowed[0] = allowed[3] = tuple(sorted({*large, 5}))
    for many in (3, 1024):
        monkeypatch.setattr("rlanything_agents.training.constrained.MANY", many)
        logps, entropies = constrained(logits, tokens, allowed)
        for row, token, may, logp, entropy in zip(logits, tokens, allowed, logps, entropies, strict=True):
            own = row[list(may or other)].log_softmax(0)
            assert float(logp) == pytest.approx(float(own[list(may or other).index(int(token))]), abs=1e-5)
            assert float(entropy) == pytest.approx(float(-(own.exp() * own).sum()), abs=1e-5)


def test_samples_of_another_sampler_stop_the_first_update(tokenizer):
    model = build_model()
    made = rows(build_trajectories(model))

    def sampled(by):
        """The samples, with log-probabilities that are lower by so much."""
        lower = [[lp - by * bool(w) for lp, w in zip(s.logprobs, s.weights, strict=True)] for s in made]
        return [dataclasses.replace(s, logprobs=logprobs) for s, logprobs in zip(made, lower, strict=True)]

    most, less = sampled(3.1), sampled(2.9)
    before = copy.deepcopy(model)
    trainer = SampleTrainer(model, tokenizer, TrainerConfig(optimizer_steps=1))
    trainer.update([])  # of an iteration that teaches nothing
    with pytest.raises(RunMustStop, match=r"by a factor of 22\.2, at most 20"):
        trainer.update(most)
    assert distance(model, before) == 0.0
    assert trainer.updates == 1
    recomputing = SampleTrainer(model, tokenizer, TrainerConfig(optimizer_steps=1, recompute=True))
    with pytest.raises(RunMustStop):
        recomputing.update(most)
    assert distance(model, before) == 0.0
    assert trainer.update(less).sampler_ratio == pytest.approx(np.exp(2.9), rel=1e-3)
    assert trainer.update(most).sampler_ratio > 20, "later samples may be those of older weights"


def test_tokens_whose_set_is_unknown_weigh_nothing_and_are_counted(tokenizer, monkeypatch):
    monkeypatch.setattr("rlanything_agents.training.trainer.MOST_SAMPLER_RATIO", np.inf)
    model = build_model()
    ids, logprobs = [5, 6, 7], [-1.0, -800.0, -800.0]
    sample = answer_sample([3, 4], ids, logprobs, [None, (), ()], 1.0)
    assert sample.weights == [1.0, 0.0, 0.0]
    free = answer_sample([3, 4], ids[:1], logprobs[:1], None, 1.0)
    config = TrainerConfig(optimizer_steps=1)
    both = [copy.deepcopy(model) for _ in range(2)]
    trl, plain = (SampleTrainer(both[0], tokenizer, config), PlainTrainer(both[1], config))
    first, second = trl.update([sample]), plain.update([sample])
    assert (first.unknown, second.unknown) == (2, 2)
    assert np.isfinite(first.loss)
    assert distance(*both) < 1e-4
    assert SampleTrainer(copy.deepcopy(model), tokenizer, config).update([free]).loss == pytest.approx(first.loss)


def test_quiet_and_constant(tokenizer, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    model = build_model()
    made = rows(build_trajectories(model))
    trainer = SampleTrainer(model, tokenizer, TrainerConfig())
    for _ in range(3):
        trainer.update(made)
        assert trainer.lr_scheduler.get_last_lr() == [3e-4, 3e-4]
    args = trainer.args
    assert not any((args.bf16, args.fp16, args.gradient_checkpointing, args.disable_dropout))
    assert trainer.ref_model is None
    assert capfd.readouterr().out == ""
    assert not list(tmp_path.iterdir())
    assert not model.training
    assert not trainer._metrics["train"]


def test_model_generates_as_before(tokenizer):
    model = build_model()
    ids = torch.tensor([[3, 4, 5]])
    before = model.generate(ids, do_sample=False, max_new_tokens=8)
    trainer = SampleTrainer(model, tokenizer, TrainerConfig())
    assert model.config.use_cache
    assert torch.equal(model.generate(ids, do_sample=False, max_new_tokens=8), before)
    trainer.update(rows(build_trajectories(model)))
    assert model.config.use_cache
    assert "forward" not in model.__dict__


def test_deep_copy_is_independent(tokenizer):
    """A snapshot of the policy keeps its own weights although TRL patches the model it trains."""
    model = build_model()
    trainer = SampleTrainer(model, tokenizer, TrainerConfig(learning_rate=1e-2))
    ids = torch.tensor([[3, 4, 5]])
    before = model(ids).logits
    snapshot = copy.deepcopy(model)
    trainer.update(rows(build_trajectories(model)))
    assert torch.equal(snapshot(ids).logits, before)
    assert not torch.equal(model(ids).logits, before)


def test_the_rate_scales_every_step(tokenizer):
    base = build_model()
    moved = []
    for rate in (1.0, 0.1):
        model = copy.deepcopy(base)
        # In AdamW's first step the update is the rate times the sign of the gradient, whatever its size.
        config = TrainerConfig(learning_rate=1e-3, optimizer_steps=1)
        SampleTrainer(model, tokenizer, config).update(rows(build_trajectories(base, constrained=True)), rate)
        moved.append(distance(model, base))
    assert moved[1] == pytest.approx(0.1 * moved[0], rel=1e-3)


def test_rate_of_a_run():
    plain, shaped = TrainerConfig(), TrainerConfig(warmup_updates=4, schedule="linear")
    assert [plain.rate(k, (k - 1) / 10) for k in (1, 5, 10)] == [1.0, 1.0, 1.0]
    assert [shaped.rate(k, (k - 1) / 10) for k in (1, 2, 4, 10)] == pytest.approx([0.25, 0.5 * 0.9, 0.7, 0.1])


def test_nothing_to_learn(tokenizer):
    model = build_model()
    trainer = SampleTrainer(model, tokenizer, TrainerConfig())
    silent = Sample([3], [4, 5], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    for samples in ([], [silent]):
        stats = trainer.update(samples)
        assert (stats.optimizer_steps, stats.rows, stats.loss) == (0, 0, 0.0)
    assert distance(model, build_model()) == 0.0


def test_not_a_number_is_refused(tokenizer):
    model = build_model()
    made = rows(build_trajectories(model))
    with torch.no_grad():
        model.lm_head.weight[3, 0] = torch.nan
    with pytest.raises(TrainingError, match=r"loss is nan in optimizer step 1 of update 1"):
        SampleTrainer(model, tokenizer, TrainerConfig()).update(made)


def test_foreign_tokens_are_refused(tokenizer):
    bad = Sample([3], [VOCAB], [1.0], [1.0], [-1.0])
    with pytest.raises(TrainingError, match=f"sample 0: token id {VOCAB} is outside the vocabulary of {VOCAB}"):
        SampleTrainer(build_model(), tokenizer, TrainerConfig()).update([bad])


TWO_PROCESSES = """
import os
import sys
import test_trainer as t
results = {}
for name, settings in t.IN_TWO.items():
    trainer, stats = t.two_updates(settings)
    results[name] = {"model": trainer.model.state_dict(), "stats": t.dataclasses.asdict(stats)}
results["masters"] = t.masters(t.two_updates(t.ROUNDED)[0])
if trainer.args.process_index == 0:
    t.torch.save(results, sys.argv[1])
t.torch.distributed.barrier()
t.torch.distributed.destroy_process_group()
os._exit(0)  # the work is done; PyTorch's gloo threads abort in about one of eight interpreter shutdowns
"""
SHARED = {"learning_rate": 1e-3, "epsilon": 1e-5, "micro_batch_tokens": 64, "beta": 0.05}
IN_TWO = {
    "as sampled": SHARED,
    "corrected": SHARED | {"importance_sampling_mode": "token_truncate"},
    "tokens": SHARED | {"loss": "dapo", "recompute": True},
}
ROUNDED = SHARED | {"clip": 0.99}
"""Settings of a bfloat16 model: no ratio is clipped, as rounding would decide which."""


def two_updates(settings):
    """Trainer of a small model, in bfloat16 for `ROUNDED`, and the statistics of the last of its two updates."""
    model = build_model().to(torch.bfloat16 if settings is ROUNDED else torch.float32)
    trainer = SampleTrainer(model, build_tokenizer(), TrainerConfig(**settings))
    for seed in (1, 2):
        stats = trainer.update(rows(build_trajectories(build_model(), seed=seed, noise=0.3)))
    return trainer, stats


def masters(trainer):
    """Float32 master weights of a trainer as one vector."""
    return torch.cat([value.flatten() for key, value in trainer.state_dict().items() if key.endswith(".master")])


def in_two_processes(script, result, **more):
    """Run a script that leaves a result, with more in its environment."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", script, result]
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parent), "CUDA_VISIBLE_DEVICES": "", **more}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.slow
def test_two_processes_equal_one(tmp_path):
    script, result = tmp_path / "two.py", tmp_path / "two.pt"
    script.write_text(TWO_PROCESSES, encoding="utf-8")
    in_two_processes(script, result)
    both, other = torch.load(result, weights_only=True), build_model(1)
    for name, settings in IN_TWO.items():
        trainer, stats = two_updates(settings)
        other.load_state_dict(both[name]["model"])
        assert distance(trainer.model, other) < 1e-4, name
        assert distance(trainer.model, build_model()) > 1e-3, name
        expected = dataclasses.asdict(stats) | {"seconds": both[name]["stats"]["seconds"]}
        assert both[name]["stats"] == pytest.approx(expected, rel=1e-4, abs=1e-5), name
    weights = sorted(build_model().bfloat16().parameters(), key=lambda weight: weight.ndim < 2)  # with decay first
    ours = masters(two_updates(ROUNDED)[0])
    moved = ours - torch.cat([weight.detach().float().flatten() for weight in weights])
    assert (ours - both["masters"]).norm() < 0.1 * moved.norm()


def test_light_modules_do_not_import_torch():
    code = (
        "import sys, rlanything_agents, rlanything_agents.feedback, rlanything_agents.training.samples, "
        "rlanything_agents.training.update as _; "
        "sys.exit(', '.join({'torch', 'trl', 'transformers'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
