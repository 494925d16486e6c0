"""Updates at the Tinker service, on the stand-in for its SDK: the weights are those of `PlainTrainer`."""

import copy
import math
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")
sys.path.append(str(Path(__file__).parents[1] / "engines"))
from small_models import make_small, scored  # noqa: E402
from stand_in_tinker import APIConnectionError, stand_in  # noqa: E402

from rlanything_agents.config import CheckpointConfig  # noqa: E402
from rlanything_agents.config.trainer import TrainerConfig  # noqa: E402
from rlanything_agents.engines.tinker import Adapter, ServiceFailed  # noqa: E402
from rlanything_agents.models.checkpoint import CheckpointError  # noqa: E402
from rlanything_agents.training.errors import TrainingError  # noqa: E402
from rlanything_agents.training.imitation import Row, fit  # noqa: E402
from rlanything_agents.training.plain import PlainTrainer  # noqa: E402
from rlanything_agents.training.samples import Sample  # noqa: E402
from rlanything_agents.training.tinker import TinkerTrainer  # noqa: E402
from rlanything_envs.llm.errors import RunMustStop  # noqa: E402

torch.set_num_threads(1)
CONFIG = CheckpointConfig(checkpoint="a/base", lora={"rank": 4})
CLIENTS = "create_lora_training_client"


def made_samples(model, count=6, away=0.3):
    """Rows of several lengths, whose recorded log-probabilities are some way off the model's."""
    rng, found = np.random.default_rng(0), []
    for number in range(count):
        prompt, ids = ([int(token) for token in rng.integers(5, 15, size)] for size in (2 + number, 3 + number % 3))
        logprobs = np.minimum(0, np.array(scored(model, prompt, ids)) + rng.normal(0, away, len(ids)))
        weights = [1 / (len(ids) - 1)] * len(ids)
        weights[1], logprobs[1] = 0.0, 0.0
        found.append(
            Sample(prompt, ids, weights, [float(rng.normal())] * len(ids), [float(value) for value in logprobs])
        )
    return found


def trainer_on(model, config, averages=False):
    service, fake = stand_in(model, averages=averages)
    trainer = TinkerTrainer(Adapter(service, CONFIG, model.config.vocab_size, 0), config, 3, 10)
    return trainer, fake


def weights_of(model):
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


SETTINGS = [
    {},
    {"loss": "dapo", "clip_high": 0.28, "optimizer_steps": 1},
    {"loss": "dr_grpo", "recompute": True},
    {"importance_sampling_mode": "token_truncate"},
    {"importance_sampling_mode": "token_mask", "clip": 0.1},
]


@pytest.mark.parametrize("averages", [False, True])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_an_update_is_that_of_plain_pytorch(settings, averages):
    config = TrainerConfig(learning_rate=0.01, **({"optimizer_steps": 3} | settings))
    model = make_small()
    samples = made_samples(model)
    plain = PlainTrainer(copy.deepcopy(model), config, 3, 10)
    trainer, _ = trainer_on(model, config, averages)
    for _ in range(2):
        expected, found = plain.update(samples, 0.5), trainer.update(samples, 0.5)
    assert torch.allclose(weights_of(trainer.adapter.client.model), weights_of(plain.model), atol=2e-5)
    for name in (
        "loss",
        "kl",
        "clip_fraction",
        "sampler_kl",
        "sampler_chi2",
        "sampler_ratio",
        "corrected",
        "grad_norm",
    ):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=2e-3, abs=1e-5), name
    assert (found.rows, found.tokens, found.optimizer_steps) == (
        expected.rows,
        expected.tokens,
        expected.optimizer_steps,
    )


def test_imitation_is_that_of_fit():
    model, settings = make_small(), {"epochs": 2, "batch_size": 2, "learning_rate": 0.01, "seed": 5}
    rows = [
        Row([5, 6, 7, 8], [False, False, True, True]),
        Row([9, 5, 6], [False, True, True]),
        Row([7, 7], [False, True]),
    ]
    local = copy.deepcopy(model)
    trainer, _ = trainer_on(model, TrainerConfig())
    assert trainer.imitate(rows, **settings) == pytest.approx(fit(local, rows, **settings), rel=1e-4)
    assert torch.allclose(weights_of(trainer.adapter.client.model), weights_of(local), atol=2e-5)


def test_a_restored_adapter_takes_the_same_course(tmp_path):
    model, config = make_small(), TrainerConfig(learning_rate=0.01)
    samples = made_samples(model)
    trainer, fake = trainer_on(model, config)
    trainer.update(samples)
    trainer.save(tmp_path)
    trainer.update(samples)
    again, other = trainer_on(make_small(1), config)
    other.stored = fake.stored
    again.load(tmp_path)
    again.update(samples)
    assert torch.equal(weights_of(again.adapter.client.model), weights_of(trainer.adapter.client.model))
    assert other.requests[0].startswith("restore tinker://run/weights/update-000001")
    both = 2 * sum(map(len, samples))  # and the row that shows whether the service averages
    assert both < trainer.adapter.service.counted()["trained"] <= both + max(map(len, samples))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"path": "/etc/passwd", "updates": 1}', '{"path": "tinker://a", "updates": "1"}', "\xff"]
)
def test_a_damaged_state_names_its_file(tmp_path, text):
    (tmp_path / "tinker.json").write_text(text, encoding="latin-1")
    with pytest.raises(CheckpointError, match=r"tinker\.json: names no checkpoint"):
        trainer_on(make_small(), TrainerConfig())[0].load(tmp_path)


def changed(change):
    def broken(response):
        if hasattr(response, "loss_fn_outputs"):
            response.loss_fn_outputs = change(response.loss_fn_outputs)
        return response

    return broken


BROKEN = [
    lambda rows: rows[:-1],
    lambda rows: None,
    lambda rows: [{}] * len(rows),
    lambda rows: [{"logprobs": [math.nan] * 500}] * len(rows),
    lambda rows: [{"logprobs": SimpleNamespace(data=row["logprobs"].data[:-1])} for row in rows],
    lambda rows: [{"logprobs": {"data": [math.nan] * len(row["logprobs"].data)}} for row in rows],
    lambda rows: [{"logprobs": {"data": ["a"] * len(row["logprobs"].data)}} for row in rows],
    lambda rows: [{"logprobs": {"data": [2.0] * len(row["logprobs"].data)}} for row in rows],
]


@pytest.mark.parametrize("change", BROKEN)
def test_outputs_that_are_no_logprobs_take_no_step(change):
    model = make_small()
    trainer, fake = trainer_on(model, TrainerConfig())
    fake.broken = changed(change)
    with pytest.raises(ServiceFailed, match="Tinker"):
        trainer.update(made_samples(model))
    assert "optim_step" not in fake.requests


def test_a_sampler_with_other_weights_stops_the_first_update():
    trainer, fake = trainer_on(make_small(), TrainerConfig())
    samples = made_samples(make_small(2), away=0.0)
    trainer.update([])  # of an iteration that teaches nothing
    with pytest.raises(RunMustStop, match=r"differs .* by a factor of"):
        trainer.update(samples)
    assert "optim_step" not in fake.requests


def test_an_outage_during_an_update_is_typed():
    model = make_small()
    trainer, fake = trainer_on(model, TrainerConfig())

    def lost(response):
        raise APIConnectionError("Connection error.")

    fake.broken = lost
    with pytest.raises(ServiceFailed, match=r"Tinker, forward: APIConnectionError.*TINKER_BASE_URL"):
        trainer.update(made_samples(model))


def test_constrained_answers_are_refused():
    model = make_small()
    sample = Sample([5], [6, 7], [0.5, 0.5], [1.0, 1.0], [-1.0, -1.0], allowed=[(6, 7), None])
    with pytest.raises(TrainingError, match="free answers"):
        trainer_on(model, TrainerConfig())[0].update([sample])
