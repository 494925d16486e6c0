"""Weights on their way from a trainer to an engine: numbered folders, the newest of which counts.

An engine reads a folder, never a module: it runs in a process of its own, perhaps on another machine, and may have to
read the same weights again after it slept or was started anew.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerBase

__all__ = ["Weights"]

_WEIGHT_FILES = (".safetensors", ".json", ".jinja")


class Weights:
    """The weights of one model for its engine: all of them, or adapters on a base that stays as it is.

    Adapters are handed over as adapters. Merged into weights of bfloat16 most of what a small learning rate changes
    would be rounded away, and the engine would sample from another model than the one that is trained.

    Args:
        folder: Scratch space of this object alone; emptied at once.
        model: A transformers model, or a PEFT one.
        tokenizer: Its tokenizer, stored beside it.
    """

    def __init__(self, folder: Path, model: Any, tokenizer: PreTrainedTokenizerBase) -> None:
        self.folder = folder.resolve()
        self.version = 0
        self._model = model
        self._tokenizer = tokenizer
        self._written = 0
        self._path: Path | None = None
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def adapters(self) -> bool:
        """Whether the base stays and adapters change."""
        return hasattr(self._model, "peft_config")

    @property
    def rank(self) -> int:
        """Of the adapters."""
        return max(int(config.r) for config in self._model.peft_config.values())

    @property
    def base(self) -> str:
        """Folder or name of what the adapters belong to.

        Raises:
            ValueError: The model does not say what it was loaded from.
        """
        names = {config.base_model_name_or_path for config in self._model.peft_config.values()}
        (name,) = names if len(names) == 1 else (None,)
        if not name:
            raise ValueError("the model's adapters do not say which checkpoint they belong to: load it from a folder")
        return str(Path(name).resolve()) if Path(name).is_dir() else str(name)

    @property
    def dtype(self) -> str:
        """Of the model's weights, such as ``bfloat16``."""
        return str(self._model.dtype).removeprefix("torch.")

    @property
    def vocabulary(self) -> int:
        """How many ids the model has."""
        return int(self._model.get_input_embeddings().weight.shape[0])

    @property
    def tokenizer_folder(self) -> Path:
        """A folder with the tokenizer."""
        folder = self.folder / "tokenizer"
        if not folder.is_dir():
            self._tokenizer.save_pretrained(folder)
        return folder

    def path(self) -> Path:
        """The folder of the newest weights; until there were any, the model's own of this moment."""
        if self._path is None:
            self.put(self._model, self.version)
        assert self._path is not None  # nosec B101 # for the type checker: put() has set it
        return self._path

    def put(self, source: Any, version: int) -> None:
        """Take over weights.

        Args:
            source: A model, or a folder that one was saved to; it is copied, so that it may go.
            version: Their number.

        Raises:
            ValueError: The folder holds adapters where weights are wanted, or the other way round.
            OSError: They cannot be written.
        """
        path = self.folder / f"weights-{self._written:06d}"
        self._written += 1
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        try:
            if isinstance(source, Path):
                self._copy(source, path)
            else:
                source.save_pretrained(path)
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise
        self._path, self.version = path, version

    def prune(self) -> None:
        """Delete all weights but the newest: the engine has read them."""
        for old in self.folder.glob("weights-*"):
            if old != self._path:
                shutil.rmtree(old, ignore_errors=True)

    def clear(self) -> None:
        """Delete everything; the model's own weights count again."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._path = None

    def _copy(self, source: Path, path: Path) -> None:
        if (source / "adapter_config.json").is_file() != self.adapters:
            raise ValueError(f"{source}: expected {'adapters' if self.adapters else 'all weights, not adapters'}")
        files = [file for file in source.iterdir() if file.is_file() and file.suffix in _WEIGHT_FILES]
        if not any(file.suffix == ".safetensors" for file in files):
            raise ValueError(f"{source}: no weights in it (*.safetensors)")
        for file in files:
            shutil.copyfile(file, path / file.name)
