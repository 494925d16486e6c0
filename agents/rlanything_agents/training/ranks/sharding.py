"""Weights of a model that is sharded over the training processes (FSDP2), and the optimizer state of any model on disk.

An optimizer state is a flat table of tensors, such as ``lm_head.weight.exp_avg``. ``torch.distributed.checkpoint``
stores it as safetensors: each process writes and reads what it holds, and any number of processes can read what any
other number has written. Weights of lower precision are sharded as float32 master weights; the table has them as the
entry ``master``, as that of `MasterAdamW` in a single process.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from safetensors import SafetensorError
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from torch.distributed.tensor import DTensor

from rlanything_agents.models.checkpoint import CheckpointError
from rlanything_agents.training.errors import TrainingError
from rlanything_agents.training.ranks.channel import ProcessLost, detecting_loss
from rlanything_agents.training.ranks.launch import launched

__all__ = ["average_gradients", "optimizer_state", "read_state", "restore", "whole_weights", "write_state"]

PART = 2**32
"""Maximum bytes of a file, summed over the processes: each has a second copy of its part while it writes it."""


def average_gradients(model: torch.nn.Module) -> None:
    """Average the gradients of a replicated model over the processes."""
    for weight in model.parameters():
        if weight.grad is not None:
            dist.all_reduce(weight.grad)
            weight.grad /= dist.get_world_size()


def whole_weights(shards: Mapping[str, torch.Tensor], dtype: torch.dtype | None = None) -> dict[str, torch.Tensor]:
    """Gather weights by name, on the CPU of the first process; empty in the others. All processes call it together.

    Args:
        shards: Weights of a sharded model, as its ``state_dict``.
        dtype: Precision to round them to, before they are gathered; None leaves them as they are.
    """
    whole: dict[str, torch.Tensor] = {}
    for name, weight in shards.items():
        if isinstance(weight, DTensor):  # shards in the host's memory travel as those of a GPU
            moved: Any = weight.to(weight.device_mesh.device_type, dtype or weight.dtype)
            weight = moved.full_tensor()
        if dist.get_rank() == 0:
            whole[name] = weight.to("cpu", dtype or weight.dtype)
    return whole


def optimizer_state(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, *, masters: bool = False
) -> dict[str, torch.Tensor]:
    """Optimizer state of a model as a table; the tensors are those of the optimizer, shards where the model is sharded.

    Args:
        model: The model.
        optimizer: Optimizer of its weights.
        masters: Whether the weights are shards of float32 master weights.
    """
    state: dict[str, torch.Tensor] = {}
    for name, weight in _learning(model, optimizer).items():
        entries = {**optimizer.state.get(weight, {}), **({"master": weight.detach()} if masters else {})}
        state |= {f"{name}.{entry}": value for entry, value in entries.items()}
    return state


def restore(model: torch.nn.Module, optimizer: torch.optim.Optimizer, state: Mapping[str, torch.Tensor]) -> None:
    """Load a table of `optimizer_state` into an optimizer; other keys than those of weights are ignored.

    Raises:
        ValueError: The table is that of another model.
    """
    learning = _learning(model, optimizer)
    number = {name: place for place, name in enumerate(learning)}
    entries: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in state.items():
        name, _, entry = key.rpartition(".")
        if not name or (entry == "master" and isinstance(value, DTensor)):  # the weight itself, see `read_state`
            continue
        if name not in learning or (value.ndim and value.shape != learning[name].shape):
            raise ValueError(f"{key} of {list(value.shape)} is of another model")
        entries.setdefault(number[name], {})[entry] = value
    if entries:
        optimizer.load_state_dict({"state": entries, "param_groups": optimizer.state_dict()["param_groups"]})


def write_state(folder: Path, state: Mapping[str, torch.Tensor], *, together: bool = False) -> None:
    """Store a table.

    Args:
        folder: An existing folder.
        state: The table.
        together: Whether all processes call this, each with its shards; otherwise this process stores all of it alone.

    Raises:
        TrainingError: The folder is not there in another process: its machine has another file system.
        OSError: It cannot be written.
    """
    files, number, size = dict[str, int](), 1, 0
    for name, value in state.items():
        size += value.numel() * value.element_size()
        if size > PART and files:
            number, size = number + 1, value.numel() * value.element_size()
        files[name] = number
    writer = _Writer(str(folder), files, save_distributed=True)
    with _first_failure():
        save(dict(state), storage_writer=writer, process_group=_gloo() if together else None, no_dist=not together)


def read_state(
    folder: Path, shards: Mapping[str, torch.Tensor] | None = None, *, only: str = ""
) -> dict[str, torch.Tensor]:
    """Read a table of `write_state`.

    Args:
        folder: The folder.
        shards: Weights by name of a sharded model. All processes call this together then, and each reads the part of
            each tensor that it holds of the weight; the entries ``master`` become the weights themselves.
        only: End of the keys that are read.

    Raises:
        CheckpointError: Files are missing or broken, or are those of another model.
    """
    reader = HuggingFaceStorageReader(str(folder))
    state: dict[str, torch.Tensor] = {}
    try:
        table: dict[str, Any] = reader.read_metadata().state_dict_metadata
        for key, stored in table.items():
            name, _, entry = key.rpartition(".")
            if sum(chunk.sizes.numel() for chunk in stored.chunks) != stored.size.numel():
                raise ValueError(f"parts of {key} are missing")
            if not key.endswith(only):
                continue
            if shards is None or not len(stored.size):
                state[key] = torch.empty(stored.size, dtype=stored.properties.dtype)
            else:
                weight = shards[name].detach()
                state[key] = weight if entry == "master" else torch.zeros_like(weight)
        if not state and not only.startswith("."):
            raise ValueError("nothing is in it")
        if not state:
            return state
        group = None if shards is None else _gloo()
        with detecting_loss(), _first_failure():
            load(state, storage_reader=reader, process_group=group, no_dist=shards is None)
    except ProcessLost:
        raise
    except (
        OSError,
        ValueError,
        LookupError,
        ArithmeticError,
        TypeError,
        RuntimeError,
        AssertionError,
        SafetensorError,
    ) as error:
        raise CheckpointError(
            f"{folder} holds no optimizer state of this model ({type(error).__name__}: {str(error)[:200]}): go back a "
            "checkpoint"
        ) from error
    return state


class _Writer(HuggingFaceStorageWriter):
    """Writer into a folder that the first process has made."""

    def prepare_local_plan(self, plan: Any) -> Any:
        """Raise in all processes where one does not see the folder, instead of making another one there."""
        if not Path(self.path).is_dir():
            raise TrainingError(
                f"training process {launched().number} does not see {self.path}: each writes its part of a "
                "checkpoint (FSDP), so --out must be a folder that all machines share"
            )
        return super().prepare_local_plan(plan)


@contextmanager
def _first_failure() -> Iterator[None]:
    """Raise the error of the first process that failed, in all of them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch.distributed is disabled", category=UserWarning)
        try:
            yield
        except CheckpointException as error:
            _, (cause, _) = min(error.failures.items(), key=lambda item: item[0])
            raise cause from error


@functools.cache
def _gloo() -> dist.ProcessGroup:
    """Group in which plans are exchanged: on processors, whatever the models are on."""
    group: dist.ProcessGroup = dist.new_group(backend="gloo")
    return group


def _learning(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, torch.nn.Parameter]:
    """Weights of an optimizer by name, in its order."""
    names = {id(weight): name for name, weight in model.named_parameters()}
    return {names[id(weight)]: weight for group in optimizer.param_groups for weight in group["params"]}
