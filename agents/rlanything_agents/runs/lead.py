"""The leading training process: its trainers send each step as a command to the other processes."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from rlanything_agents.config import RunConfig
from rlanything_agents.runs.learners import Learners
from rlanything_agents.runs.stopping import RunStopped
from rlanything_agents.training.errors import TrainingError
from rlanything_agents.training.learner import Learner
from rlanything_agents.training.ranks.channel import ProcessLost, Ranks, detecting_loss
from rlanything_agents.training.ranks.launch import launched, must_be_trainable
from rlanything_agents.training.ranks.packing import packed
from rlanything_agents.training.samples import Sample
from rlanything_agents.training.trainer import SampleTrainer
from rlanything_agents.training.update import UpdateStats

__all__ = ["LeadingTrainer", "check_launch", "leading"]


class LeadingTrainer:
    """`Trainer` of the leading process for a model that several processes train.

    Args:
        role: Role of the model.
        learner: Learner of the model, whose own trainer does this process's share.
        ranks: All training processes.
    """

    def __init__(self, role: str, learner: Learner, ranks: Ranks) -> None:
        self._role, self._learner, self._ranks = role, learner, ranks
        self._trainer: SampleTrainer = learner.trainer  # type: ignore[assignment]
        self._sent: int | None = None

    def update(self, samples: Sequence[Sample], rate: float = 1.0) -> UpdateStats:
        """Train on the samples, each process on its share of every micro-batch; see `Trainer`."""
        with detecting_loss():
            self._command("update", samples=packed(samples), rate=rate)
            stats = self._trainer.update(samples, rate)
        # The other processes took the same steps, so they hold the version that the learner counts next.
        self._sent = self._learner.version + bool(stats.optimizer_steps)
        return stats

    @property
    def sharded(self) -> bool:
        """Whether the model is sharded over the processes."""
        return self._trainer.sharded

    def weights(self) -> dict[str, torch.Tensor]:
        """Trained weights of the model, by name."""
        return self._trainer.weights()

    def save(self, folder: Path) -> None:
        """Store the state: each process its part of that of a sharded model, else this one its own, equal in all."""
        with detecting_loss():
            if self.sharded:
                self._command("save", folder=str(folder.resolve()))
            self._trainer.save(folder)

    def load(self, folder: Path) -> None:
        """Load a state in all processes: each reads its part of that of a sharded model, else only this one reads."""
        self._trainer.load(folder.resolve())
        with detecting_loss():
            if self._ranks.sharded:
                self._command("load", folder=str(folder.resolve()))
            else:
                self._command("restore", state=self._trainer.state_dict())

    def rest(self) -> None:
        """Move the optimizer state of all processes to their host's memory until the next update."""
        with detecting_loss():
            self._ranks.send({"do": "rest", "role": self._role, "weights": False})
        self._trainer.rest()

    def _command(self, do: str, **arguments: Any) -> None:
        """Send a command to the other processes, and the weights if theirs are of another version."""
        stale = self._sent != self._learner.version and not self.sharded
        self._ranks.send({"do": do, "role": self._role, "weights": stale, **arguments})
        if stale:
            self._ranks.share(self._learner.model)
            self._sent = self._learner.version


@contextmanager
def leading(config: RunConfig, learners: Learners, ranks: Ranks | None) -> Iterator[None]:
    """Train the models with all processes within the block; the other processes end after it.

    No command is sent after an error in the block: the other processes notice when this process ends.

    Args:
        config: All settings.
        learners: Learners of this process; their trainers are replaced.
        ranks: All training processes; None or a single one changes nothing.

    Raises:
        TrainingError: Another process could not make the models.
        RunStopped: A process is lost, or the launcher ends this one.
    """
    if ranks is None or ranks.size == 1:
        yield
        return
    with _first_signal_only():
        try:
            ranks.send(config.model_dump(mode="json"))
            if failed := [(number, error) for number, error in enumerate(ranks.report()) if error]:
                number, message = failed[0]
                raise TrainingError(f"training process {number} of {ranks.size}: {message}")
            for role, learner in learners.both.items():
                learner.trainer = LeadingTrainer(role, learner, ranks)
            yield
            ranks.send({"do": "end"})
        except ProcessLost as error:
            raise RunStopped(f"{LOST} ({error})", RunStopped.TRY_LATER) from error


LOST = (
    "a training process is lost, and its launcher ends all of them. Nothing that was stored is lost: the same command "
    "resumes from the last checkpoint"
)


@contextmanager
def _first_signal_only() -> Iterator[None]:
    """Turn the first SIGTERM or SIGINT into an exception, so that open resources are closed, and ignore later ones.

    A launcher ends the remaining processes when one is lost, and forwards an interrupt: a process in its terminal gets
    the interrupt twice.
    """

    def once(error: BaseException) -> Callable[[int, FrameType | None], None]:
        def handle(number: int, frame: FrameType | None) -> None:
            for other in before:
                signal.signal(other, signal.SIG_IGN)
            raise error

        return handle

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    signal.signal(signal.SIGTERM, once(RunStopped(LOST, RunStopped.TRY_LATER)))
    signal.signal(signal.SIGINT, once(KeyboardInterrupt()))
    try:
        yield
    except BaseException:
        for number in before:  # this process is about to end, and reports the error first
            signal.signal(number, signal.SIG_IGN)
        raise
    for number, handler in before.items():
        signal.signal(number, handler)


def check_launch(config: RunConfig, ranks: Ranks | None) -> None:
    """Check that a run can be trained by the processes that were launched.

    Raises:
        TrainingError: It cannot, or several processes were launched and none of them leads.
    """
    launch = launched()
    if ranks is None and launch.size > 1:
        raise TrainingError(
            f"{launch.size} processes have been launched, and each would be a separate run: use `rlanything train`, "
            "or let one of them lead (rlanything_agents.training.ranks)"
        )
    must_be_trainable(config, launch)
