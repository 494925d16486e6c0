"""Weights in transit from a trainer to an engine: numbered folders, of which the newest is current.

An engine loads a folder, never a module: it runs in its own process, perhaps on another machine, and may have to
load the same weights again after it slept or restarted. Where trainer and engine are on one machine, the folders lie in
its shared memory; else, and where there is no room for them, on the disk.
"""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerBase

from rlanything_agents.engines.handover import Reference
from rlanything_agents.engines.shared_memory import LARGER, SharedFolder, fits_in_memory, lies_in_memory
from rlanything_agents.models.image_reader import ImageReader, image_reader

__all__ = ["Weights"]

logger = logging.getLogger(__name__)

_WEIGHT_FILES = (".safetensors", ".json", ".jinja")


class Weights:
    """Weights of one model for its engine: all of them, or adapters on a frozen base.

    Adapters are handed over as adapters. If they were merged into bfloat16 weights, rounding would lose most of the
    changes of a small learning rate, and the engine would sample from another model than the trained one.

    Args:
        folder: Scratch folder of this object alone; emptied on construction.
        model: Model of transformers or PEFT.
        tokenizer: Tokenizer of the model, stored in the scratch folder too.
        same_machine: Whether the engine can read this machine's shared memory; the scratch folder is for what does not
            fit there.
    """

    def __init__(
        self, folder: Path, model: Any, tokenizer: PreTrainedTokenizerBase, *, same_machine: bool = True
    ) -> None:
        self.folder = folder.resolve()
        self.version = 0
        self.reference: Reference | None = None
        """Log-probabilities that an engine must have with the newest weights; None for weights from a folder, and
        before the first `path`."""
        self._model = model
        self._tokenizer = tokenizer
        self._written = 0
        self._path: Path | None = None
        self._same_machine = same_machine
        self._memory: SharedFolder | None = None
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def adapters(self) -> bool:
        """Whether only adapters change and the base is frozen."""
        return hasattr(self._model, "peft_config")

    @property
    def images(self) -> ImageReader | None:
        """How the model reads images; None for one that reads text alone."""
        return image_reader(self._model)

    @property
    def rank(self) -> int:
        """Rank of the adapters."""
        return max(int(config.r) for config in self._model.peft_config.values())

    @property
    def base(self) -> str:
        """Folder or hub name of the checkpoint that the adapters belong to.

        Raises:
            ValueError: The model does not record its checkpoint.
        """
        names = {config.base_model_name_or_path for config in self._model.peft_config.values()}
        (name,) = names if len(names) == 1 else (None,)
        if not name:
            raise ValueError("the model's adapters do not say which checkpoint they belong to: load it from a folder")
        return str(Path(name).resolve()) if Path(name).is_dir() else str(name)

    @property
    def dtype(self) -> str:
        """Precision of the model's weights, such as ``bfloat16``."""
        return str(self._model.dtype).removeprefix("torch.")

    @property
    def vocabulary(self) -> int:
        """Number of ids of the model."""
        return int(self._model.get_input_embeddings().weight.shape[0])

    @property
    def tokenizer_folder(self) -> Path:
        """Folder with the tokenizer."""
        folder = self.folder / "tokenizer"
        if not folder.is_dir():
            self._tokenizer.save_pretrained(folder)
        return folder

    def path(self) -> Path:
        """Folder of the newest weights; without a `put` before, the model's current weights are stored first."""
        if self._path is None:
            self.put(self._model, self.version)
        assert self._path is not None  # nosec B101 # for the type checker: put() has set it
        return self._path

    def put(self, source: Any, version: int) -> None:
        """Store weights as the newest ones.

        Args:
            source: Model, or folder that a model was saved to for this: it may be deleted, and its files must not be
                changed.
            version: Version of the weights.

        Raises:
            ValueError: The folder holds adapters instead of whole weights, whole weights instead of adapters, or
                neither.
            OSError: The weights cannot be written.
        """
        files = self._files(source) if isinstance(source, Path) else []
        path = self._place(self._size(source, files)) / f"weights-{self._written:06d}"
        self._written += 1
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        try:
            for file in files:
                try:  # what lies in shared memory takes no room twice
                    os.link(file, path / file.name)
                except OSError:
                    shutil.copyfile(file, path / file.name)
            if not files:
                # Embeddings have no adapters; to find that out peft would ask the hub.
                source.save_pretrained(path, **({"save_embedding_layers": False} if self.adapters else {}))
            self._store_reader(path)
            reference = None if isinstance(source, Path) else Reference(source)
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise
        self._path, self.version, self.reference = path, version, reference

    def prune(self) -> None:
        """Delete all weights but the newest, which the engine has loaded."""
        for place in (self.folder, self._memory and self._memory.path):
            for old in place.glob("weights-*") if place else ():
                if old != self._path:
                    shutil.rmtree(old, ignore_errors=True)

    def clear(self) -> None:
        """Delete everything; the model's own weights are the newest ones again."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._free_memory()
        self._path = None

    def leave_memory(self) -> bool:
        """Move the newest weights to the disk, where all later ones go too: the engine cannot read shared memory.

        Returns:
            Whether they were in shared memory.

        Raises:
            OSError: The weights cannot be written.
        """
        self._same_machine = False
        inside = self._path is not None and self._memory is not None and self._path.parent == self._memory.path
        if inside:
            assert self._path is not None  # nosec B101 # for the type checker
            self._path = Path(shutil.copytree(self._path, self.folder / self._path.name, dirs_exist_ok=True))
        self._free_memory()
        return inside

    def _store_reader(self, path: Path) -> None:
        """Store how a model reads images beside its weights, where vLLM looks for it, with the tokenizer."""
        if self.images is not None and not self.adapters:
            self.images.save(path)
            self._tokenizer.save_pretrained(path)

    def _place(self, size: int) -> Path:
        """Folder for new weights of some bytes."""
        if not self._same_machine:
            return self.folder
        if not fits_in_memory(size) and self._memory is not None:  # not beside the old ones, which are in their place
            if self._path is not None and self._path.parent == self._memory.path:
                self._path = None
            self._free_memory()
        if not fits_in_memory(size):
            if self._path is None or self._path.parent != self.folder:  # once, not at each update
                message = "weights of %.1f GB go through the disk: shared memory has no room for them (%s)"
                logger.warning(message, size / 1e9, LARGER)
            return self.folder
        if self._memory is None:
            self._memory = SharedFolder()
        return self._memory.path

    def _size(self, source: Any, files: list[Path]) -> int:
        if files:
            return 0 if lies_in_memory(files[0]) else sum(file.stat().st_size for file in files)
        weights = (weight for weight in source.parameters() if weight.requires_grad or not self.adapters)
        return sum(weight.numel() * weight.element_size() for weight in weights)

    def _files(self, source: Path) -> list[Path]:
        if (source / "adapter_config.json").is_file() != self.adapters:
            raise ValueError(f"{source}: expected {'adapters' if self.adapters else 'all weights, not adapters'}")
        files = [file for file in source.iterdir() if file.is_file() and file.suffix in _WEIGHT_FILES]
        if not any(file.suffix == ".safetensors" for file in files):
            raise ValueError(f"{source}: no weights in it (*.safetensors)")
        return files

    def _free_memory(self) -> None:
        memory, self._memory = self._memory, None
        if memory is not None:
            memory.close()
