"""Each loss and each correction by hand: a model that gives each of 50 tokens the same probability, and ratios of
choice.

Three answers, of 2, 1 and 3 tokens, in two rows. A ratio is the trainer's probability, 1/50, over the recorded one:

| answer | advantage | ratios | clipped to 0.8..1.2 times the advantage |
|---|---|---|---|
| 1 | 1 | 1.5, 0.9 | 1.2, 0.9 |
| 2 | -2 | 0.5 | -1.6 |
| 3 | 1 | 1.1, 1.0, 1.3 | 1.1, 1.0, 1.2 |
"""

import math

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")
from test_trainer import VOCAB, build_model, build_tokenizer, build_trajectories, rows, score  # noqa: E402

from rlanything_agents.config.trainer import TrainerConfig  # noqa: E402
from rlanything_agents.training.aggregation import aggregated, answers_of  # noqa: E402
from rlanything_agents.training.errors import TrainingError  # noqa: E402
from rlanything_agents.training.plain import PlainTrainer  # noqa: E402
from rlanything_agents.training.samples import Sample  # noqa: E402
from rlanything_agents.training.trainer import SampleTrainer  # noqa: E402

torch.set_num_threads(1)

ENGINES = {"trl": SampleTrainer, "plain": lambda model, _, *settings: PlainTrainer(model, *settings)}


def recorded(*ratios):
    return [-math.log(VOCAB) - math.log(ratio) for ratio in ratios]


def samples():
    return [
        Sample(
            prompt_ids=[3, 4],
            completion_ids=[5, 9, 6, 7],  # the second one is a forced token inside the first answer
            weights=[0.5, 0.0, 0.5, 1.0],
            advantages=[1.0, 0.0, 1.0, -2.0],
            logprobs=[*recorded(1.5), 0.0, *recorded(0.9, 0.5)],
            steps=[0, None, 0, 1],
        ),
        Sample([8], [10, 11, 12], [1 / 3] * 3, [1.0] * 3, recorded(1.1, 1.0, 1.3)),
    ]


def updated(engine, made=None, **settings):
    """Statistics of one optimizer step on a model of equal probabilities."""
    model = build_model(tie_word_embeddings=False)
    with torch.no_grad():
        model.lm_head.weight.zero_()
    trainer = ENGINES[engine](model, build_tokenizer(), TrainerConfig(optimizer_steps=1, **settings), 0, 10)
    return trainer.update(made or samples())


LOSSES = {
    "grpo": ({}, -(1.05 - 1.6 + 1.1) / 3),
    "dapo": ({"loss": "dapo"}, -(2.1 - 1.6 + 3.3) / 6),
    "dr_grpo": ({"loss": "dr_grpo"}, -(2.1 - 1.6 + 3.3) / 30),
    "clip_high": ({"clip_high": 0.5}, -((1.5 + 0.9) / 2 - 1.6 + (1.1 + 1.0 + 1.3) / 3) / 3),
    # the trainer's own log-probabilities: all ratios are 1
    "recompute": ({"recompute": True}, -(1 - 2 + 1) / 3),
    "recompute, dapo": ({"recompute": True, "loss": "dapo"}, -(2 - 2 + 3) / 6),
    # k3 of ln 1.5, ln 0.9 | ln 0.5 | ln 1.1, 0, ln 1.3, of the new policy to the old: 1/r - 1 + ln r
    "kl": ({"beta": 1.0}, -0.55 / 3 + ((0.0721318 + 0.0057506) / 2 + 0.3068528 + (0.0044011 + 0 + 0.0315951) / 3) / 3),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", LOSSES)
def test_a_loss_by_hand(engine, case):
    settings, expected = LOSSES[case]
    assert updated(engine, **settings).loss == pytest.approx(expected, abs=2e-6)


CORRECTIONS = {
    # mode: corrected gains of the three answers, share of tokens above the bound
    "token_truncate": (((1.4 + 0.9) / 2, -1.0, 3.4 / 3), 1 / 6),
    "token_mask": ((0.9 / 2, -1.0, 3.4 / 3), 1 / 6),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CORRECTIONS)
def test_a_correction_by_hand(engine, case, monkeypatch):
    """With the trainer's own log-probabilities the ratio of the update is 1, and what is left is the correction."""
    gains, outside = CORRECTIONS[case]
    for module in ("plain", "mismatch"):
        monkeypatch.setattr(f"rlanything_agents.training.{module}.MOST_IMPORTANCE", 1.4)
    stats = updated(engine, importance_sampling_mode=case)
    assert stats.loss == pytest.approx(-sum(gains) / 3, abs=2e-6)
    assert stats.corrected == pytest.approx(outside, abs=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("recompute", [False, True])
def test_the_mismatch_is_measured(engine, recompute):
    stats = updated(engine, recompute=recompute)
    # r - 1 - ln r and (r - 1)**2
    kl = ((0.0945349 + 0.0053605) / 2 + 0.1931472 + (0.0046898 + 0 + 0.0376357) / 3) / 3
    assert stats.sampler_kl == pytest.approx(kl, abs=1e-6)
    assert stats.sampler_chi2 == pytest.approx(((0.25 + 0.01) / 2 + 0.25 + (0.01 + 0 + 0.09) / 3) / 3, abs=1e-6)
    assert stats.sampler_ratio == pytest.approx(2.0, abs=1e-5), "the largest factor is that of 0.5, downwards"
    assert (stats.clip_fraction > 0) != recompute


@pytest.mark.parametrize("engine", ENGINES)
def test_impossible_differences_stay_finite(engine, monkeypatch):
    monkeypatch.setattr("rlanything_agents.training.trainer.MOST_SAMPLER_RATIO", math.inf)
    far = [Sample([3], [5], [1.0], [1.0], [-800.0]), Sample([3], [6], [1.0], [-1.0], [0.0])]
    stats = updated(engine, far, importance_sampling_mode="token_truncate")
    assert math.isfinite(stats.loss)
    assert math.isfinite(stats.sampler_chi2)
    assert stats.sampler_ratio == pytest.approx(math.exp(20.0), rel=1e-5)


def test_old_log_probabilities_are_those_before_all_steps():
    """The third optimizer step still measures its ratio against the policy before the first."""
    model = build_model()
    made = rows(build_trajectories(model, noise=0.0))
    results = []
    for recompute in (False, True):
        config = TrainerConfig(learning_rate=1e-2, optimizer_steps=3, recompute=recompute, epsilon=1e-5)
        results.append(SampleTrainer(build_model(), build_tokenizer(), config).update(made))
    assert results[0].kl > 1e-3
    assert results[1].kl == pytest.approx(results[0].kl, rel=1e-3)
    assert results[1].loss == pytest.approx(results[0].loss, abs=1e-5)


def test_tokens_of_answers():
    first, second = samples()
    assert answers_of(first) == [0, -1, 0, 1]
    assert answers_of(second) == [0, 0, 0]
    counted, divisor = aggregated([first, second], "dapo", 10)
    assert [sample.weights for sample in counted] == [[1.0, 0.0, 1.0, 1.0], [1.0] * 3]
    assert divisor == 6.0
    silent = Sample([1], [2, 3], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    assert aggregated([silent], "dapo", 10)[0][0].weights == [0.0, 0.0]


def test_steps_have_one_entry_per_token():
    with pytest.raises(TrainingError, match="steps has 1 entries for 2 completion tokens"):
        Sample([1], [2, 3], [1.0, 0.0], [1.0, 1.0], [-1.0, 0.0], steps=[0])


def test_scores_at_temperature_one_are_recorded():
    """What the hand-worked numbers rest on: the score of a token is that of the model over its whole vocabulary."""
    model = build_model(tie_word_embeddings=False)
    with torch.no_grad():
        model.lm_head.weight.zero_()
    assert score(model, [3], [5, 6], None) == pytest.approx(recorded(1.0, 1.0))


@pytest.mark.parametrize("engine", ENGINES)
def test_gradients_of_answers_make_up_that_of_an_update(engine, monkeypatch):
    """Minus the sum of advantage times gradient over the answers, divided by their number: the loss has this gradient
    where ratios are 1, which the trainer's own log-probabilities make them.
    """
    made = samples()
    model = build_model(tie_word_embeddings=False)
    plain = PlainTrainer(model, TrainerConfig())
    parts = [plain.answer_gradients(sample) for sample in made]
    assert [part.shape[0] for part in parts] == [2, 1]
    advantages = [torch.tensor([1.0, -2.0]), torch.tensor([1.0])]
    expected = -sum(advantage @ part for advantage, part in zip(advantages, parts, strict=True)) / 3
    mixed = plain.answer_gradients(made[0], torch.tensor([[1.0, -2.0], [0.0, 1.0]]))
    assert torch.allclose(mixed[0], advantages[0] @ parts[0], atol=1e-5)
    assert torch.allclose(mixed[1], parts[0][1], atol=1e-6)

    before = torch.cat([weight.detach().flatten().clone() for weight in model.parameters()])
    settings = {"recompute": True, "optimizer_steps": 1, "learning_rate": 1e3, "epsilon": 1e4}
    for module in ("plain", "grpo_settings"):
        monkeypatch.setattr(f"rlanything_agents.training.{module}.MAX_GRAD_NORM", 1e9)
    ENGINES[engine](model, build_tokenizer(), TrainerConfig(betas=(0.0, 0.0), **settings)).update(made)
    after = torch.cat([weight.detach().flatten() for weight in model.parameters()])
    # With so large an epsilon a step of AdamW is the rate over epsilon times the gradient.
    assert torch.allclose((before - after) * 10, expected, atol=1e-3 * float(expected.abs().max()))
