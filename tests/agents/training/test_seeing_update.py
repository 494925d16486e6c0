"""Updates on samples with images: TRL's trainer and the plain one come to the same weights."""

import copy

import pytest
import torch
from seeing import model_and_template, screen

from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models.checkpoint import CheckpointError
from rlanything_agents.models.image_reader import vision_weights
from rlanything_agents.training.audit import rescored
from rlanything_agents.training.plain import PlainTrainer
from rlanything_agents.training.ranks.packing import packed, unpacked
from rlanything_agents.training.samples import Sample, answer_sample
from rlanything_agents.training.trainer import SampleTrainer
from rlanything_envs.llm.generator import SamplingParams, SeenPrompt


def samples(model: object, template: object) -> list[Sample]:
    contents = [(screen(0, 200, 90), "one", screen(1)), ("text alone",), (screen(2), "another, and longer")]
    prompts = [
        SeenPrompt.of(
            template.prompt([{"role": "user", "content": parts}]), [part for part in parts if not isinstance(part, str)]
        )
        for parts in contents
    ]
    answers = TransformersGenerator(model, template.tokenizer).generate(prompts, SamplingParams(9, seed=1, n=2))
    return [
        answer_sample(
            list(prompt),
            one.token_ids,
            one.logprobs,
            one.allowed,
            1.0 if number else -0.5,
            prompt.images if isinstance(prompt, SeenPrompt) else (),
        )
        for prompt, both in zip(prompts, answers, strict=True)
        for number, one in enumerate(both)
    ]


@pytest.mark.parametrize("frozen", [True, False])
def test_both_trainers_come_to_the_same_weights(frozen: bool) -> None:
    model, template = model_and_template(freeze_vision=frozen)
    rows, before = samples(model, template), copy.deepcopy(model.state_dict())
    config = TrainerConfig(learning_rate=1e-3, optimizer_steps=2, recompute=True, micro_batch_tokens=300)
    plain = PlainTrainer(copy.deepcopy(model), config)
    trainer = SampleTrainer(model, template.tokenizer, config)
    one, other = trainer.update(rows), plain.update(rows)
    assert one.loss == pytest.approx(other.loss, abs=1e-5)
    assert one.sampler_ratio == pytest.approx(1.0, abs=1e-3)
    for name, weight in model.state_dict().items():
        assert torch.allclose(weight, plain.model.state_dict()[name], atol=2e-5), name
    moved = [name for name, weight in vision_weights(model) if not torch.equal(weight, before[name])]
    assert bool(moved) is not frozen
    assert not torch.equal(model.get_input_embeddings().weight, before["model.language_model.embed_tokens.weight"])


@pytest.mark.parametrize("freeze", [True, False])
def test_adapters_and_checkpointed_passes_too(freeze: bool) -> None:
    model, template = model_and_template(freeze_vision=freeze, lora={"rank": 2})
    rows = samples(model, template)
    config = TrainerConfig(learning_rate=1e-3, optimizer_steps=2, checkpointing=True)
    plain = PlainTrainer(copy.deepcopy(model), config)
    trainer = SampleTrainer(model, template.tokenizer, config)
    one, other = trainer.update(rows), plain.update(rows)
    assert one.loss == pytest.approx(other.loss, abs=1e-5)
    moved = {name for name, weight in trainer.weights().items() if weight.any() and ".lora_B." in name}
    assert any(".language_model." in name for name in moved)
    assert any(".visual." in name for name in moved) is not freeze
    for name, weight in trainer.weights().items():
        assert torch.allclose(weight, plain.model.state_dict()[name], atol=2e-5), name
    again = samples(model, template)
    assert rescored(model, again).largest < 1e-4, "the engine samples with the adapters"


def test_samples_of_other_processes_keep_their_images() -> None:
    model, template = model_and_template()
    rows = samples(model, template)
    again = unpacked(packed(rows))
    assert again == rows
    assert again[0].images[0] is again[1].images[0], "an image is stored once"
    assert rescored(model, again).largest < 1e-4


def test_a_model_that_reads_text_alone_refuses_them() -> None:
    model, template = model_and_template()
    rows = samples(model, template)
    del model.image_reader
    with pytest.raises(CheckpointError, match="reads text alone"):
        rescored(model, rows)
