"""What training processes say to each other besides gradients."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from accelerate import PartialState

from rlanything_agents.training.ranks.launch import RanksError, launched

__all__ = ["ProcessLost", "Ranks"]

UPDATE = timedelta(minutes=30)
"""Most time that one process waits for another within an update."""
ROLLOUT = timedelta(days=365)
"""Most time that those who follow wait for the one that leads: it plays, asks judges, and stores."""
PIECE = 2**28
"""Bytes that are sent at once."""
REPORT = 1000
"""Bytes of what a process that follows reports."""


class ProcessLost(RuntimeError):
    """Another training process has ended, or the network to it."""


class Ranks:
    """The training processes of a run, seen from one of them.

    Values travel over a group of their own on gloo: waiting there takes no processor time, never ends by itself, and
    fails at once when the other process ends. They are read by torch's restricted reader, as checkpoints are: it makes
    plain values and tensors, and nothing else.

    Attributes:
        number: Of this process; 0 leads.
        size: How many there are.
        spreads: Whether each is to have only a part of the models.
    """

    def __init__(self) -> None:
        self.spreads = bool(launched().strategy)
        self.number, self.size = dist.get_rank(), dist.get_world_size()
        self._group = dist.new_group(backend="gloo", timeout=ROLLOUT)

    @classmethod
    def join(cls) -> Ranks:
        """Meet the others; all processes call this once, before any model is made. CUDA then means this one's card.

        Raises:
            RanksError: They cannot meet.
        """
        launch = launched()
        try:
            PartialState(cpu=not torch.cuda.is_available(), timeout=UPDATE)
            ranks = cls()
        except (RuntimeError, ValueError, ImportError) as error:
            raise RanksError(
                f"training process {launch.number} of {launch.size} cannot meet the others: {error}"
            ) from error
        return ranks

    def send(self, value: Any) -> None:
        """To all that follow: numbers, texts, lists, dictionaries and tensors in them.

        Raises:
            ProcessLost: One of them has ended.
        """
        buffer = io.BytesIO()
        torch.save(value, buffer)
        with noticing_loss():
            self._broadcast(torch.tensor([buffer.tell()]))
            self._broadcast(torch.frombuffer(buffer.getbuffer(), dtype=torch.uint8))

    def receive(self) -> Any:
        """What the one that leads sends next.

        Raises:
            ProcessLost: It has ended.
        """
        length = torch.zeros(1, dtype=torch.int64)
        with noticing_loss():
            self._broadcast(length)
            data = torch.empty(int(length), dtype=torch.uint8)
            self._broadcast(data)
        return torch.load(io.BytesIO(data.numpy().tobytes()), weights_only=True, map_location="cpu")

    def report(self, text: str = "") -> list[str]:
        """Each says something, or nothing; the one that leads hears it, in their order."""
        own = torch.zeros(REPORT, dtype=torch.uint8)
        words = text.encode()[:REPORT]
        own[: len(words)] = torch.tensor([*words], dtype=torch.uint8)
        heard = [torch.empty_like(own) for _ in range(self.size)] if self.number == 0 else None
        with noticing_loss():
            dist.gather(own, heard, group=self._group)
        return [bytes(said.tolist()).rstrip(b"\0").decode(errors="replace") for said in heard or ()]

    def share(self, model: torch.nn.Module) -> None:
        """Give the trained weights of the one that leads to all."""
        for weight in model.parameters():
            if weight.requires_grad:
                dist.broadcast(weight.detach(), 0)

    def _broadcast(self, tensor: torch.Tensor) -> None:
        for piece in torch.split(tensor, PIECE):
            dist.broadcast(piece, 0, group=self._group)


@contextmanager
def noticing_loss() -> Iterator[None]:
    """Within the block a connection to another process that breaks is a `ProcessLost`."""
    try:
        yield
    except RuntimeError as error:
        # gloo raises no class of its own: what it says begins with the file that says it.
        if isinstance(error, dist.DistError) or "gloo" in str(error):
            raise ProcessLost(str(error).splitlines()[0][:300]) from error
        raise
