"""A following training process: it makes the two models, then executes the commands of the leading process."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers.utils import logging as transformers_logging

from rlanything_agents.config import RunConfig
from rlanything_agents.models.checkpoint import CheckpointError
from rlanything_agents.rollout.copies import Role
from rlanything_agents.runs.learners import make_both
from rlanything_agents.runs.stopping import RunStopped
from rlanything_agents.training.errors import TrainingError
from rlanything_agents.training.learner import Learner
from rlanything_agents.training.ranks.channel import ProcessLost, Ranks, detecting_loss
from rlanything_agents.training.ranks.packing import unpacked
from rlanything_envs.llm.errors import RunMustStop

__all__ = ["execute", "follow"]


def follow() -> int:
    """Execute the commands of the leading process until it ends the run.

    Nothing is printed: the leading process reports errors of models and updates, and the end of the run.

    Returns:
        The exit code of this process.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the leading process gets it as well, and ends the others
    warnings.simplefilter("ignore")
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        with detecting_loss():
            ranks = Ranks.join()
            learners = _prepare(ranks)
            while (command := ranks.receive())["do"] != "end":
                execute(command, learners[command["role"]], ranks)
    except (TrainingError, RunMustStop, CheckpointError):
        return 2
    except (ProcessLost, OSError):
        return RunStopped.TRY_LATER
    return 0


def _prepare(ranks: Ranks) -> Mapping[Role, Learner]:
    """Make both learners, with the initial weights and trainers of the leading process."""
    config = RunConfig.model_validate(ranks.receive())
    torch.set_num_threads(config.threads)
    try:
        learners = make_both(config)
    except (ValueError, LookupError, RuntimeError, ImportError, OSError) as error:
        ranks.report(f"{type(error).__name__}: {error}")
        raise TrainingError("the models cannot be made") from error
    ranks.report()
    return learners


def execute(command: Mapping[str, Any], learner: Learner, ranks: Ranks) -> None:
    """Execute a command of the leading process on a learner; see `lead.LeadingTrainer`."""
    if command["weights"]:
        ranks.share(learner.model)
    match command["do"]:
        case "update":
            learner.trainer.update(unpacked(command["samples"]), command["rate"])
        case "save":
            learner.trainer.save(Path(command["folder"]))
        case "rest":
            learner.trainer.rest()
        case "load":
            learner.trainer.load(Path(command["folder"]))
        case "restore":
            learner.trainer.load_state_dict(command["state"])  # type: ignore[attr-defined]
