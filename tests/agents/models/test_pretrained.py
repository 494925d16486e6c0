"""Checkpoints as people have them: loaded, adapted, stored, and refused in words."""

import json
import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from families import checkpoint, tokenizer
from safetensors.torch import load_file, save_file

from rlanything_agents.config import CheckpointConfig
from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.models.checkpoint import CheckpointError
from rlanything_agents.models.master_weights import MasterAdamW
from rlanything_agents.models.pretrained import load_model, load_template, load_weights, save_weights
from rlanything_agents.training.learner import Learner
from rlanything_agents.training.samples import Sample
from rlanything_agents.training.trainer import SampleTrainer

LORA = {"rank": 2}
SAMPLES = [Sample([1, 2], [k, k + 1], [0.5, 0.5], [1.0, 1.0], [-6.0, -6.0]) for k in range(3, 9)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoint("qwen3", tmp_path_factory.mktemp("models") / "qwen3")


def config(path: Path | str, **settings: Any) -> CheckpointConfig:
    return CheckpointConfig.model_validate({"checkpoint": str(path), "dtype": "float32", "context": 4096, **settings})


def learner(path: Path, **settings: Any) -> Learner:
    wanted = config(path, **settings)
    words = load_template(wanted).tokenizer
    model = load_model(wanted, words, seed=3)
    trainer = TrainerConfig(learning_rate=1e-2)
    return Learner(model, SampleTrainer(model, words, trainer), trainer, words)


def weights(model: Any) -> dict[str, torch.Tensor]:
    return {name: weight.detach().clone() for name, weight in model.state_dict().items()}


def test_the_tokenizer_ends_where_the_template_ends_a_turn(tmp_path: Path) -> None:
    template = load_template(config(checkpoint("llama3", tmp_path)))
    assert tokenizer("llama3").init_kwargs["eos_token"] == "<|end_of_text|>"
    assert template.tokenizer.eos_token_id == template.end_id
    assert template.tokenizer.pad_token_id == template.end_id


def broken(source: Path, target: Path, **changes: Any) -> Path:
    """A copy with changed keys in its JSON files; files that are None are taken away."""
    shutil.copytree(source, target)
    for name, change in changes.items():
        file = target / name.replace("__", ".")
        if change is None:
            file.unlink()
        elif isinstance(change, bytes):
            file.write_bytes(change)
        else:
            file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    return target


@pytest.mark.parametrize(
    ("changes", "settings", "said"),
    [
        ({"chat_template__jinja": None}, {}, "has no chat template: use an instruction-tuned checkpoint"),
        ({"tokenizer__json": b"{"}, {}, "the tokenizer cannot be loaded"),
        ({"config__json": b"[]"}, {}, "cannot be loaded"),
        ({"config__json": {"model_type": "unheard_of"}}, {}, "cannot be loaded"),
        (
            {
                "config__json": {
                    "model_type": "own",
                    "auto_map": {"AutoConfig": "own.C", "AutoModelForCausalLM": "own.M"},
                }
            },
            {},
            "cannot be loaded",
        ),
        ({"config__json": {"vision_config": {}}}, {}, "sees in a way that is not known here"),
        ({"model__safetensors": b"no weights"}, {}, "the model cannot be loaded"),
        ({"model__safetensors": None}, {}, "the model cannot be loaded"),
        ({}, {"context": 5000}, "reads at most 4096 tokens: lower `context` from 5000"),
    ],
)
def test_what_cannot_be_used_is_refused_in_words(
    folder: Path, tmp_path: Path, changes: dict[str, Any], settings: dict[str, Any], said: str
) -> None:
    path = broken(folder, tmp_path / "broken", **changes)
    if "model__safetensors" in changes:
        torch.save({"a": torch.ones(1)}, path / "pytorch_model.bin")  # never read
    wanted = config(path, **settings)
    with pytest.raises(CheckpointError, match=said) as caught:
        load_model(wanted, load_template(wanted).tokenizer, seed=0)
    assert str(path) in str(caught.value)


def test_another_models_tokenizer_is_refused(tmp_path: Path) -> None:
    path = checkpoint("qwen2.5", tmp_path)
    words = deepcopy(tokenizer("qwen2.5"))
    words.add_tokens([f"extra{number}" for number in range(99)])
    with pytest.raises(CheckpointError, match=r"has \d+ tokens, the model \d+: they do not belong together"):
        load_model(config(path), words, seed=0)


@pytest.mark.parametrize(
    "name", ["/absent", "./absent", "../a/b", "a b", "a/b/c", "https://a/b", "a\0", "x" * 5000 + "/"]
)
def test_what_is_neither_folder_nor_name_is_refused(name: str) -> None:
    with pytest.raises(CheckpointError, match="no such folder, and it is not a name on the hub"):
        load_template(config(name))


def test_a_hub_that_is_out_of_reach_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(CheckpointError, match=r"nobody/nothing.*download it first"):
        load_template(config("nobody/nothing"))


@pytest.mark.parametrize("lora", [None, LORA])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_stored_model_goes_on_bit_for_bit(
    folder: Path, tmp_path: Path, lora: dict[str, Any] | None, dtype: str
) -> None:
    one, other = (learner(folder, lora=lora, dtype=dtype) for _ in range(2))
    start = weights(one.model)
    one.update(SAMPLES, 1.0)
    one.save(tmp_path)
    other.load(tmp_path)
    for made in (one, other):
        made.update(SAMPLES, 1.0)
    ours, theirs = weights(one.model), weights(other.model)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    changed = {name for name in ours if not torch.equal(ours[name], start[name])}
    assert changed
    if lora is None:
        assert load_file(tmp_path / "model.safetensors")
    else:
        assert all("lora_" in name for name in changed)
        assert not (tmp_path / "model.safetensors").exists()
        assert (tmp_path / "adapter_model.safetensors").stat().st_size < 20_000


def test_what_was_stored_of_a_run_is_a_checkpoint_itself(folder: Path, tmp_path: Path) -> None:
    made = learner(folder)
    made.save(tmp_path)
    again = learner(tmp_path)
    assert all(torch.equal(a, b) for a, b in zip(made.model.parameters(), again.model.parameters(), strict=True))


def test_adapters_of_a_run_are_a_checkpoint_on_their_base(folder: Path, tmp_path: Path) -> None:
    made = learner(folder, lora=LORA)
    made.update(SAMPLES, 1.0)
    made.save(tmp_path)
    again = load_model(config(tmp_path), load_template(config(tmp_path)).tokenizer, seed=0)
    ids = torch.arange(20)[None]
    with torch.no_grad():
        torch.testing.assert_close(again(ids).logits, made.model(ids).logits)


def test_weights_of_another_model_are_refused(folder: Path, tmp_path: Path) -> None:
    whole = load_model(config(folder), tokenizer("qwen3"), seed=0)
    adapted = load_model(config(folder, lora=LORA), tokenizer("qwen3"), seed=0)
    save_weights(load_model(config(folder, lora={"rank": 4}), tokenizer("qwen3"), seed=0), tmp_path / "other")
    checkpoint("qwen3", tmp_path / "wider", hidden=64)
    (tmp_path / "empty").mkdir()
    for model, name in [(adapted, "other"), (whole, "wider"), (whole, "empty"), (adapted, "wider"), (whole, "other")]:
        with pytest.raises(CheckpointError, match=f"{name}: no weights of this model"):
            load_weights(model, tmp_path / name)


def test_missing_weights_are_refused(folder: Path, tmp_path: Path) -> None:
    """transformers would leave them random."""
    adapted = load_model(config(folder, lora=LORA), tokenizer("qwen3"), seed=0)
    save_weights(adapted, tmp_path / "adapters")
    kept = dict(list(load_file(tmp_path / "adapters/adapter_model.safetensors").items())[:1])
    save_file(kept, tmp_path / "adapters/adapter_model.safetensors")
    shutil.copytree(folder, tmp_path / "whole")
    stored = load_file(folder / "model.safetensors")
    lost = [name for name in stored if name.endswith("up_proj.weight")]
    left = {name: weight for name, weight in stored.items() if name not in lost}
    save_file(left, tmp_path / "whole/model.safetensors", {"format": "pt"})
    with pytest.raises(CheckpointError, match=rf"{len(lost)} weights are missing, such as model.*up_proj"):
        load_model(config(tmp_path / "whole"), tokenizer("qwen3"), seed=0)
    whole = load_model(config(folder), tokenizer("qwen3"), seed=0)
    for model, name in ((adapted, "adapters"), (whole, "whole")):
        with pytest.raises(CheckpointError, match=r"no weights of this model \(ValueError: \d+ weights are missing"):
            load_weights(model, tmp_path / name)


def test_attention_is_chosen(folder: Path) -> None:
    words, ids = tokenizer("qwen3"), torch.arange(2, 12)[None]
    models = {kind: load_model(config(folder, attention=kind), words, seed=0) for kind in ("auto", "sdpa", "eager")}
    assert [model.config._attn_implementation for model in models.values()] == ["sdpa", "sdpa", "eager"]
    with torch.no_grad():
        one, _, other = (model(ids).logits for model in models.values())
    assert torch.allclose(one, other, atol=1e-4)
    assert not torch.backends.cuda.cudnn_sdp_enabled()  # it plans each new length


def test_small_steps_of_rounded_weights_add_up() -> None:
    torch.manual_seed(0)
    low = torch.nn.Parameter(torch.randn(50).bfloat16())
    plain = torch.nn.Parameter(low.detach().clone())
    exact = torch.nn.Parameter(low.detach().float())
    options = {"lr": 1e-5, "weight_decay": 0.0}
    ours, rounded, wanted = (
        MasterAdamW([low], **options),
        torch.optim.AdamW([plain], **options),
        torch.optim.AdamW([exact], **options),
    )
    start = low.detach().clone()
    for step in range(400):
        if step == 200:  # stored and restored on the way
            state, ours = ours.state_dict(), MasterAdamW([low], **options)
            ours.load_state_dict(state)
        for weight, optimizer in ((low, ours), (plain, rounded), (exact, wanted)):
            weight.grad = torch.ones_like(weight, dtype=weight.grad_dtype)
            optimizer.step()
            optimizer.zero_grad()
    assert low.dtype == torch.bfloat16
    assert torch.equal(low, exact.bfloat16())
    assert (low != start).float().mean() > 0.5
    assert (plain != start).float().mean() < (low != start).float().mean()


def test_gradients_of_rounded_weights_add_up() -> None:
    """A sum of 512 gradients is as exact as its terms; a bfloat16 sum stops growing at some 256 times a term."""
    low, plain = (torch.nn.Parameter(torch.ones(50, dtype=torch.bfloat16)) for _ in range(2))
    optimizer = MasterAdamW([low], lr=1e-3)
    terms = torch.linspace(0.5, 2.0, 50).bfloat16()
    for _ in range(512):
        for weight in (low, plain):
            (weight * terms).sum().backward()
    assert plain.grad is not None
    assert low.grad is not None
    assert torch.equal(low.grad, 512 * terms.float())
    assert (plain.grad.float() / low.grad).min() <= 0.5
    optimizer.step()
    (low * terms).sum().backward()  # the step neither loses the precision of gradients nor keeps one
    assert torch.equal(low.grad, terms.float())


def test_moments_are_forgotten_and_masters_are_not() -> None:
    low = torch.nn.Parameter(torch.ones(3, dtype=torch.bfloat16))
    optimizer = MasterAdamW([low], lr=1e-5, weight_decay=0.0)
    for number in range(1, 4):
        low.grad = torch.ones(3)
        optimizer.forget_moments()
        optimizer.step()
        assert optimizer.state[low]["step"] == 1
        assert torch.allclose(optimizer.state[low]["master"], torch.full((3,), 1 - number * 1e-5), atol=1e-7)
    assert torch.equal(low, torch.ones(3, dtype=torch.bfloat16))
