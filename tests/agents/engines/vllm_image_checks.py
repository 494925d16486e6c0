"""Models that see in the real vLLM, on a processor, in an environment of its own (`test_vllm_real.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from seeing import screen
from vllm_models import SIZE, TOLERANCE, VLLM
from vllm_served import serving, training

from rlanything_agents.config import CheckpointConfig
from rlanything_agents.config.engine import ServerConfig
from rlanything_agents.engines.handover import WeightsDiffer
from rlanything_agents.engines.vllm import EngineFailed, VLLMGenerator
from rlanything_agents.engines.vllm_client import ServedGenerator
from rlanything_agents.engines.vllm_server import VLLMServerGenerator
from rlanything_agents.models.image_reader import image_inputs, vision_weights
from rlanything_agents.models.pretrained import load_model, load_template
from rlanything_agents.models.small import make_seeing_model
from rlanything_agents.models.template import ChatTemplate
from rlanything_envs.llm import SamplingParams
from rlanything_envs.llm.choices import OneOf
from rlanything_envs.llm.generator import SeenPrompt, TextGenerator
from rlanything_envs.message import Image, Part


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, ChatTemplate]:
    folder = tmp_path_factory.mktemp("seeing")
    make_seeing_model(folder, SIZE, seed=0)
    config = CheckpointConfig(checkpoint=str(folder), dtype="float32", max_tokens=16, context=512, freeze_vision=False)
    template = load_template(config)
    return load_model(config, template.tokenizer, seed=0), template


@pytest.fixture(scope="module", params=["in this process", "server"])
def generator(
    request: pytest.FixtureRequest, made: tuple[Any, ChatTemplate], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[VLLMGenerator | VLLMServerGenerator]:
    model, template = made
    folder = tmp_path_factory.mktemp("engine")
    if request.param == "server":
        server = training(model.name_or_path, "policy", folder / "log", more=("--enable-scale-out",))
        config = ServerConfig(base_url=server.base_url, model="policy")
        with serving(server), VLLMServerGenerator(config, model, template.tokenizer, folder / "policy") as client:
            yield client
        return
    engine = VLLMGenerator(model, template.tokenizer, VLLM, folder / "policy")
    yield engine
    engine.close()


def prompts(template: ChatTemplate) -> list[list[int] | SeenPrompt]:
    """Several images in a prompt, sizes that are resized, one without an image, and equal ids with other images."""
    contents: list[tuple[Part, ...]] = [
        (screen(0, 200, 90), "what is this?", screen(1)),
        ("no picture, but a text",),
        (screen(2, 40, 300), "x"),
        (screen(3), "same ids"),
        (screen(4), "same ids"),
    ]
    return [
        SeenPrompt.of(
            template.prompt([{"role": "user", "content": parts}]), [part for part in parts if isinstance(part, Image)]
        )
        for parts in contents
    ]


def is_from(made: tuple[Any, ChatTemplate], generator: TextGenerator, version: int) -> None:
    """Assert that samples have the log-probabilities that the model itself gives them."""
    model, template = made
    asked = prompts(template)
    answers = generator.generate(asked, SamplingParams(12, n=2, seed=5))
    for prompt, samples in zip(asked, answers, strict=True):
        images = prompt.images if isinstance(prompt, SeenPrompt) else ()
        assert len(samples) == 2
        for sample in samples:
            assert not sample.error
            assert sample.prompt_ids == list(prompt)
            assert sample.weights_version == version
            assert sample.token_ids
            ids = torch.tensor([[*prompt, *sample.token_ids]])
            with torch.no_grad():
                logits = model(ids, **image_inputs(model, ids, images), use_cache=False).logits[0, len(prompt) - 1 : -1]
            own = logits.log_softmax(-1).gather(1, torch.tensor(sample.token_ids)[:, None])[:, 0]
            assert sample.logprobs == pytest.approx(own.tolist(), abs=TOLERANCE)


def hand_over(model: Any, generator: VLLMGenerator | VLLMServerGenerator, version: int) -> None:
    generator.update_weights(model, version)
    generator.wake()  # a server takes them at its next use


def test_samples_are_those_of_the_model(
    made: tuple[Any, ChatTemplate], generator: VLLMGenerator | VLLMServerGenerator
) -> None:
    is_from(made, generator, 0)


def test_new_weights_arrive_with_the_tower(
    made: tuple[Any, ChatTemplate], generator: VLLMGenerator | VLLMServerGenerator
) -> None:
    model, _ = made
    torch.manual_seed(1)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.02 * torch.randn_like(weight))
    generator.update_weights(model, 1)
    is_from(made, generator, 1)


def test_a_tower_that_was_not_handed_over_is_noticed(
    made: tuple[Any, ChatTemplate],
    generator: VLLMGenerator | VLLMServerGenerator,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """The probe with an image has another probability, though those of text are right."""
    model, _ = made
    store = model.save_pretrained
    before = {name: weight.clone() for name, weight in vision_weights(model)}
    with torch.no_grad():
        for _, weight in vision_weights(model):
            weight.add_(0.1 * torch.randn_like(weight))

    def without_tower(folder: Path, **options: Any) -> None:
        state = {
            name: before.get(name, weight) for name, weight in model.state_dict().items() if name != "lm_head.weight"
        }
        store(folder, state_dict=state, **options)

    monkeypatch.setattr(model, "save_pretrained", without_tower)
    with pytest.raises(WeightsDiffer):
        hand_over(model, generator, 2)
    monkeypatch.undo()
    hand_over(model, generator, 3)
    is_from(made, generator, 3)


def test_other_processes_see_through_the_same_server(
    made: tuple[Any, ChatTemplate], generator: VLLMGenerator | VLLMServerGenerator
) -> None:
    _, template = made
    if isinstance(generator, VLLMGenerator):
        return
    config = ServerConfig(base_url=generator.endpoint.base_url, model="policy")
    with ServedGenerator(config, template.tokenizer, template.images) as other:
        other.take(generator.serve())
        is_from(made, other, generator.version)
    seen = prompts(template)
    forms = SamplingParams(12, n=2, seed=5, choices=(OneOf(("left", "right")),) * len(seen))
    for samples in generator.generate(seen, forms):
        assert {sample.text for sample in samples} <= {"left", "right"}


def test_a_server_that_reads_no_images_is_refused(made: tuple[Any, ChatTemplate], tmp_path: Path) -> None:
    model, template = made
    server = training(model.name_or_path, "policy", tmp_path / "log")
    config = ServerConfig(base_url=server.base_url, model="policy")
    with (
        serving(server),
        VLLMServerGenerator(config, model, template.tokenizer, tmp_path / "policy") as client,
        pytest.raises(EngineFailed, match="start it with --enable-scale-out"),
    ):
        client.wake()
