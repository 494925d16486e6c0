"""A learner: its memory, and what is stored of it."""

from functools import partial
from pathlib import Path

import pytest
import torch
from transformers import PreTrainedModel

from rlanything_agents.config import SmallConfig
from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.engines.scheduler import GPUScheduler
from rlanything_agents.models.small import small_model, word_tokenizer
from rlanything_agents.training.learner import Learner
from rlanything_agents.training.samples import Sample
from rlanything_agents.training.trainer import SampleTrainer

WORDS = word_tokenizer([f"w{number}" for number in range(12)])
SAMPLES = [Sample([1], [k, k + 1], [1.0, 1.0], [1.0, -1.0], [-5.0, -5.0]) for k in range(3, 9)]


def learner(**settings: object) -> Learner:
    size = SmallConfig(hidden_size=16, layers=1)
    model = small_model(WORDS, size, seed=4)
    config = TrainerConfig.model_validate({"learning_rate": 1e-2, **settings})
    return Learner(model, SampleTrainer(model, WORDS, config), config, WORDS)


def flat(model: PreTrainedModel) -> torch.Tensor:
    return torch.cat([weight.detach().flatten() for weight in model.parameters()]).clone()


def test_optimizers_rest_while_others_need_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    learners, rested = {"one": learner(), "other": learner()}, list[str]()
    phases = GPUScheduler({"rollouts": None, **learners})
    for name, made in learners.items():
        monkeypatch.setattr(made.trainer, "rest", partial(rested.append, name))
        made.prepare = partial(phases.enter, name)
    phases.enter("rollouts")
    assert rested == [], "there is nothing to move yet"
    for made in learners.values():
        made.update(SAMPLES, 1.0)
    assert rested == ["one"]
    for _ in range(2):
        phases.enter("rollouts")
        assert rested == ["one", "other"]
    learners["one"].update(SAMPLES, 1.0)
    assert rested == ["one", "other"]


def test_a_restored_learner_goes_on_as_the_stored_one(tmp_path: Path) -> None:
    one, other = learner(), learner()
    one.update(SAMPLES, 1.0)
    one.save(tmp_path)
    other.load(tmp_path)
    for made in (one, other):
        made.update(SAMPLES, 1.0)
    assert torch.equal(flat(one.model), flat(other.model))
