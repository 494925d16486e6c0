"""Images of a model as tokens and patches, and its tower frozen or trained."""

from pathlib import Path

import numpy as np
import pytest
import torch
from families import checkpoint
from families import template as text_template
from seeing import SIZE, folder, model_and_template, screen, settings
from transformers import AutoConfig
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from rlanything_agents.models.checkpoint import CheckpointError
from rlanything_agents.models.image_reader import ImageReader, image_reader, vision_weights
from rlanything_agents.models.pretrained import load_base, load_template, load_weights, save_weights
from rlanything_agents.models.small import make_seeing_model
from rlanything_envs.message import Image


@pytest.mark.parametrize(("width", "height"), [(96, 64), (1920, 1080), (33, 31), (640, 352)])
def test_an_image_has_as_many_tokens_as_the_model_makes_of_it(width: int, height: int) -> None:
    model, template = model_and_template()
    reader, image = template.images, screen(0, width, height)
    assert reader is not None
    ids = torch.tensor([template.prompt([{"role": "user", "content": (image, "what?")}])])
    inputs = reader.inputs(ids, [image])
    features = model.model.get_image_features(inputs["pixel_values"], inputs["image_grid_thw"]).pooler_output
    assert int((ids == reader.token_id).sum()) == reader.tokens(image) == len(features[0])
    assert int(inputs["mm_token_type_ids"].sum()) == reader.tokens(image)


def test_the_papers_screen_has_the_papers_tokens() -> None:
    """With the processor of Qwen3-VL: 1920x1080 is read as 1920x1088, of which 32x32 pixels are a token."""
    published = {"shortest_edge": 65_536, "longest_edge": 16_777_216}
    reader = ImageReader(Qwen2VLImageProcessorPil(patch_size=16, merge_size=2, size=published), token_id=1)
    whole = screen(0, 1920, 1080)
    assert reader.tokens(whole) == 2040
    assert reader.resized(whole).size == (1920, 1088)


def test_an_engines_own_reading_of_a_resized_image_is_the_same() -> None:
    _, template = model_and_template()
    assert template.images is not None
    image = screen(3, 200, 111)
    again = Image(np.asarray(template.images.resized(image)))
    ids = torch.tensor([[template.images.token_id]])
    one, other = (template.images.inputs(ids, [shown]) for shown in (image, again))
    assert torch.equal(one["image_grid_thw"], other["image_grid_thw"])
    assert torch.equal(one["pixel_values"], other["pixel_values"])


def test_ids_with_one_placeholder_an_image_are_the_ids_with_all() -> None:
    _, template = model_and_template()
    assert template.images is not None
    images = [screen(0), screen(1, 200, 40), screen(2)]
    ids = template.prompt([{"role": "user", "content": (images[0], "a", *images[1:], "b")}])
    short = template.images.collapsed(ids, images)
    assert short.count(template.images.token_id) == 3
    assert template.images.expanded(short, images) == ids
    with pytest.raises(CheckpointError, match="3 placeholders for 2 images"):
        template.images.expanded(short, images[:2])


def test_no_text_passes_for_an_image() -> None:
    _, template = model_and_template()
    assert template.images is not None
    ids = template.prompt([{"role": "user", "content": "<|vision_start|><|image_pad|><|vision_end|>"}])
    assert template.images.token_id not in ids
    parts = ("<|image_", "pad|>", screen(0))
    assert (
        template.images.collapsed(template.prompt([{"role": "user", "content": parts}]), parts[2:]).count(
            template.images.token_id
        )
        == 1
    )


def test_a_model_that_reads_text_alone_refuses_an_image() -> None:
    with pytest.raises(CheckpointError, match="choose one that sees"):
        text_template("qwen3").prompt([{"role": "user", "content": (screen(0), "what?")}])
    said = [text_template("qwen3").prompt([{"role": "user", "content": each}]) for each in (("what?",), "what?")]
    assert said[0] == said[1], "a text alone is a text"


def test_an_unknown_kind_of_eyes_is_refused(tmp_path: Path) -> None:
    AutoConfig.for_model("llava").save_pretrained(tmp_path)
    checkpoint("qwen3", tmp_path / "words")
    for file in (tmp_path / "words").glob("tokenizer*"):
        file.rename(tmp_path / file.name)
    with pytest.raises(CheckpointError, match="the model type llava sees in a way that is not known"):
        load_template(settings(checkpoint=str(tmp_path)))


def test_the_tower_is_frozen_by_default_or_trained() -> None:
    frozen, _ = model_and_template()
    assert not any(weight.requires_grad for _, weight in vision_weights(frozen))
    assert frozen.get_input_embeddings().weight.requires_grad
    trained, _ = model_and_template(freeze_vision=False)
    assert all(weight.requires_grad for weight in trained.parameters())


@pytest.mark.parametrize("freeze", [True, False])
def test_adapters_leave_a_frozen_tower_out(freeze: bool) -> None:
    model, _ = model_and_template(freeze_vision=freeze, lora={"rank": 2})
    adapted = [name for name, weight in model.named_parameters() if weight.requires_grad]
    assert adapted
    assert any(".visual." in name for name in adapted) is not freeze
    assert image_reader(model) is not None, "an engine of the wrapped model must find its eyes"


def test_stored_weights_are_a_folder_like_any_other(tmp_path: Path) -> None:
    model, template = model_and_template()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.1)
    save_weights(model, tmp_path)
    template.tokenizer.save_pretrained(tmp_path)
    again = load_base(settings(checkpoint=str(tmp_path)), load_template(settings(checkpoint=str(tmp_path))).tokenizer)
    other, _ = model_and_template()
    load_weights(other, tmp_path)
    for loaded in (again, other):
        same = zip(model.state_dict().items(), loaded.state_dict().values(), strict=True)
        assert all(torch.equal(weight, stored) for (_, weight), stored in same)


def test_equal_seeds_make_equal_folders(tmp_path: Path) -> None:
    make_seeing_model(tmp_path / "one", SIZE, seed=0)
    assert (tmp_path / "one" / "model.safetensors").read_bytes() == (folder() / "model.safetensors").read_bytes()
