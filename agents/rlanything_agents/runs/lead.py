"""The process that leads: its trainers have the others do each step with them."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch
from transformers import PreTrainedModel

from rlanything_agents.config import RunConfig
from rlanything_agents.runs.learners import Learners
from rlanything_agents.runs.stopping import RunStopped
from rlanything_agents.training.learner import Learner
from rlanything_agents.training.ranks.channel import ProcessLost, Ranks, noticing_loss
from rlanything_agents.training.ranks.launch import RanksError, launched, must_be_trainable
from rlanything_agents.training.ranks.packing import packed
from rlanything_agents.training.samples import Sample
from rlanything_agents.training.update import Trainer, UpdateStats

__all__ = ["LeadingTrainer", "check_launch", "leading"]


class LeadingTrainer:
    """The trainer of a model that several processes train; a `Trainer` for the one that leads.

    Args:
        role: Of the model.
        learner: Its own trainer does the work here.
        ranks: All processes.
    """

    def __init__(self, role: str, learner: Learner, ranks: Ranks) -> None:
        self._role, self._learner, self._ranks = role, learner, ranks
        self._trainer: Trainer = learner.trainer
        self._sent: int | None = None

    def update(self, samples: Sequence[Sample], rate: float = 1.0, steps: int | None = None) -> UpdateStats:
        """Train on the samples, each process on its share of every micro-batch; see `Trainer`."""
        with noticing_loss():
            self._order("update", samples=packed(samples), rate=rate, steps=steps)
            stats = self._trainer.update(samples, rate, steps)
        # The others have taken the same steps: theirs is the version that the learner will count next.
        self._sent = self._learner.version + bool(stats.optimizer_steps)
        return stats

    def set_anchor(self, model: PreTrainedModel) -> None:
        """Hold the models of all processes near what they are now."""
        with noticing_loss():
            self._order("hold")
        self._trainer.set_anchor(model)

    @property
    def sharded(self) -> bool:
        """Whether the model is spread over the processes by now."""
        return self._trainer.sharded

    def weights(self) -> dict[str, torch.Tensor]:
        """What is trained of the model, by name."""
        return self._trainer.weights()

    def state_dict(self) -> dict[str, Any]:
        """Of all processes, where the model is spread over them; else of this one, for the others have the same."""
        if not self.sharded:
            return self._trainer.state_dict()
        with noticing_loss():
            self._order("state")
            return self._trainer.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state in all processes; only this one needs to have read it."""
        told = {**state, "optimizer": {}} if self._ranks.spreads and state["optimizer"] else dict(state)
        with noticing_loss():
            self._order("load", state=told)
        self._trainer.load_state_dict(state)

    def _order(self, do: str, **what: Any) -> None:
        """Say what is done next, and give out the weights if they are not those the others have."""
        stale = self._sent != self._learner.version and not self.sharded
        self._ranks.send({"do": do, "role": self._role, "weights": stale, **what})
        if stale:
            self._ranks.share(self._learner.model)
            self._sent = self._learner.version


@contextmanager
def leading(config: RunConfig, learners: Learners, ranks: Ranks | None) -> Iterator[None]:
    """Within the block the models are trained by all processes; afterwards the others end.

    If the block ends with an error the others are told nothing: they notice when this process ends.

    Args:
        config: Of the run.
        learners: Made by this process; their trainers are replaced.
        ranks: All processes; None or one alone changes nothing.

    Raises:
        RanksError: Others could not make the models.
        RunStopped: A process is lost, or the launcher ends this one.
    """
    if ranks is None or ranks.size == 1:
        yield
        return
    with _asked_to_end_once():
        try:
            ranks.send(config.model_dump(mode="json"))
            if failed := [(number, said) for number, said in enumerate(ranks.report()) if said]:
                number, said = failed[0]
                raise RanksError(f"training process {number} of {ranks.size}: {said}")
            for role, learner in learners.both.items():
                learner.trainer = LeadingTrainer(role, learner, ranks)
            yield
            ranks.send({"do": "end"})
        except ProcessLost as error:
            raise RunStopped(f"{LOST} ({error})", RunStopped.TRY_LATER) from error


LOST = (
    "a training process is lost, and its launcher ends all of them. Nothing that was stored is lost: the same command "
    "goes on from the last checkpoint"
)


@contextmanager
def _asked_to_end_once() -> Iterator[None]:
    """Signals to end become errors, so that what is open is closed; only the first one counts.

    A launcher whose processes do not all live asks the rest to end, and one that is interrupted passes that on: a
    process in its terminal gets it twice.
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
        for number in before:  # this process is about to end: it says why first
            signal.signal(number, signal.SIG_IGN)
        raise
    for number, handler in before.items():
        signal.signal(number, handler)


def check_launch(config: RunConfig, ranks: Ranks | None) -> None:
    """Whether a run can be trained as its processes were launched.

    Raises:
        RanksError: It cannot, or there are several that know nothing of each other.
    """
    launch = launched()
    if ranks is None and launch.size > 1:
        raise RanksError(
            f"{launch.size} processes have been launched, and each would be a run of its own: use `rlanything train`, "
            "or let one of them lead (rlanything_agents.training.ranks)"
        )
    must_be_trainable(config, launch)
