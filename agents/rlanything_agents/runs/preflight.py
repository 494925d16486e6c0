"""Checks of a run before PyTorch and TRL are imported, which takes ten seconds; this module imports neither."""

from __future__ import annotations

from rlanything_agents.config import RunConfig
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.rewriting import check_rewriter
from rlanything_task_pools import get_domain

__all__ = ["preflight"]


def preflight(config: RunConfig, folder: RunFolder, *, restart: bool = False) -> None:
    """Check that a run's tasks, rewriter and folder can be used; nothing is written.

    Args:
        config: All settings.
        folder: Folder of the run, existing or not.
        restart: Whether the content of the folder will be deleted, so that it may belong to another run.

    Raises:
        UnknownDomain: The domain is not installed.
        ValueError: The domain rejects its knobs or operators.
        MissingKey, MissingExtra: The service of an LLM rewriter cannot be used.
        RunFolderError: The folder belongs to another run.
    """
    domain = get_domain(config.domain)
    settings = [(config.warm_start.knobs, "train"), (config.curriculum.knobs, "train")]
    settings += [(config.evaluation.knobs, split) for split in config.evaluation.panels]
    for mixture, split in settings:
        for part in mixture:
            domain.generate(0, split=split, **part.knobs)
    if config.curriculum.operators is not None:
        domain.with_operators(config.curriculum.operators)
    check_rewriter(config.curriculum)
    if not restart:
        folder.belongs_to(config.model_dump(mode="json"))
