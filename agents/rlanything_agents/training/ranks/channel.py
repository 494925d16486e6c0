"""Messages between training processes, besides gradients."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from accelerate import PartialState
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from rlanything_agents.training.errors import TrainingError
from rlanything_agents.training.ranks.launch import launched

__all__ = ["ProcessLost", "Ranks"]

UPDATE = timedelta(minutes=30)
"""Maximum time that a process waits for another within an update."""
ROLLOUT = timedelta(days=365)
"""Maximum time that the followers wait for the leader, which plays, judges and stores between updates."""
PIECE = 2**28
"""Maximum bytes of one broadcast."""
REPORT = 1000
"""Maximum bytes of a report."""


class ProcessLost(RuntimeError):
    """Another training process has ended, or the connection to it has broken."""


class Ranks:
    """Training processes of a run, seen from one of them.

    Values travel over a separate gloo group: waiting there takes no processor time, does not time out in practice,
    and fails at once when the other process ends. ``torch.load`` reads them with ``weights_only``, as checkpoints: it
    makes plain values and tensors only.

    Attributes:
        number: Rank of this process; 0 is the leader.
        size: Number of processes.
        sharded: Whether each process has only a part of the models.
    """

    def __init__(self) -> None:
        self.sharded = bool(launched().strategy)
        self.number, self.size = dist.get_rank(), dist.get_world_size()
        self._group = dist.new_group(backend="gloo", timeout=ROLLOUT)

    @classmethod
    def join(cls) -> Ranks:
        """Connect to the other processes, and select the GPU of this process.

        All processes call this once, before they make a model.

        Raises:
            TrainingError: The processes cannot connect.
        """
        launch = launched()
        try:
            if launch.restart:
                # The store of the launcher outlives its processes: under the same keys they would find the addresses of
                # those that have ended, and wait for them.
                store, number, size = next(rendezvous("env://"))
                store = PrefixStore(f"restart-{launch.restart}", store)
                backend = "nccl" if torch.cuda.is_available() else "gloo"
                dist.init_process_group(backend, store=store, rank=number, world_size=size, timeout=UPDATE)
            PartialState(cpu=not torch.cuda.is_available(), timeout=UPDATE)
            ranks = cls()
        except (RuntimeError, ValueError, ImportError) as error:
            raise TrainingError(
                f"training process {launch.number} of {launch.size} cannot meet the others: {error}"
            ) from error
        return ranks

    def send(self, value: Any) -> None:
        """Send a value to all followers.

        Args:
            value: Numbers, texts, lists, dictionaries, and tensors in them.

        Raises:
            ProcessLost: A follower has ended.
        """
        buffer = io.BytesIO()
        torch.save(value, buffer)
        with detecting_loss():
            self._broadcast(torch.tensor([buffer.tell()]))
            self._broadcast(torch.frombuffer(buffer.getbuffer(), dtype=torch.uint8))

    def receive(self) -> Any:
        """Wait for the next value from the leader, with its tensors on the CPU.

        Raises:
            ProcessLost: The leader has ended.
        """
        length = torch.zeros(1, dtype=torch.int64)
        with detecting_loss():
            self._broadcast(length)
            data = torch.empty(int(length), dtype=torch.uint8)
            self._broadcast(data)
        return torch.load(io.BytesIO(data.numpy().tobytes()), weights_only=True, map_location="cpu")

    def report(self, text: str = "") -> list[str]:
        """Gather one text from each process at the leader; all processes call this together.

        Args:
            text: Report of this process, cut to `REPORT` bytes; may be empty.

        Returns:
            The reports in the order of the ranks; empty in a follower.

        Raises:
            ProcessLost: Another process has ended.
        """
        own = torch.zeros(REPORT, dtype=torch.uint8)
        data = text.encode()[:REPORT]
        own[: len(data)] = torch.tensor([*data], dtype=torch.uint8)
        reports = [torch.empty_like(own) for _ in range(self.size)] if self.number == 0 else None
        with detecting_loss():
            dist.gather(own, reports, group=self._group)
        return [bytes(report.tolist()).rstrip(b"\0").decode(errors="replace") for report in reports or ()]

    def share(self, model: torch.nn.Module) -> None:
        """Broadcast the leader's trained weights to all processes."""
        for weight in model.parameters():
            if weight.requires_grad:
                waiting = weight.device.type == "cpu"  # for its shards: NCCL sends from GPUs only
                dist.broadcast(weight.detach(), 0, group=self._group if waiting else None)

    def _broadcast(self, tensor: torch.Tensor) -> None:
        for piece in torch.split(tensor, PIECE):
            dist.broadcast(piece, 0, group=self._group)


@contextmanager
def detecting_loss() -> Iterator[None]:
    """Raise `ProcessLost` where the connection to another process breaks within a block."""
    try:
        yield
    except RuntimeError as error:
        # gloo has no exception class of its own: its messages begin with the name of its source file.
        if isinstance(error, dist.DistError) or "gloo" in str(error):
            raise ProcessLost(str(error).splitlines()[0][:300]) from error
        raise
