"""Checks of a run before PyTorch and TRL are imported, which takes ten seconds; this module imports neither."""

from __future__ import annotations

from collections.abc import Iterator

from rlanything_agents.config import ConfigError, RunConfig
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.rewriting import check_rewriter
from rlanything_task_pools import get_domain
from rlanything_task_pools.collection import Collection, read_collection
from rlanything_task_pools.errors import PoolError

__all__ = ["check_ahead", "collections_of", "preflight"]


def preflight(config: RunConfig, folder: RunFolder, *, restart: bool = False) -> None:
    """Check that a run's tasks, rewriter and folder can be used; nothing is written.

    Args:
        config: All settings.
        folder: Folder of the run, existing or not.
        restart: Whether the content of the folder will be deleted, so that it may belong to another run.

    Raises:
        ConfigError: Nothing plays while the models are updated, as ``rollout.ahead`` demands, or a folder of tasks has
            none, or too few.
        UnknownName: The domain is not installed.
        ValueError: The domain rejects its knobs or operators.
        MissingKey, MissingExtra: The service of an LLM rewriter cannot be used.
        RunFolderError: The folder belongs to another run.
    """
    check_ahead(config)
    domain = get_domain(config.domain)
    settings = [(config.curriculum.knobs, "train")]
    settings += [(config.evaluation.knobs, split) for split in config.evaluation.generated]
    for mixture, split in settings:
        for part in mixture:
            domain.generate(0, split=split, **part.knobs)
    for _ in collections_of(config):
        pass
    if config.curriculum.operators is not None:
        domain.with_operators(config.curriculum.operators)
    check_rewriter(config.curriculum)
    if not restart:
        folder.belongs_to(config.model_dump(mode="json"))


def check_ahead(config: RunConfig) -> None:
    """Check that another program than this one plays, where a run plays ahead.

    `RunConfig` itself cannot check it: workers are not stored with a run.

    Raises:
        ConfigError: This process would play with the weights that it updates.
    """
    if config.rollout.ahead and config.workers is None and config.engine.server("policy") is None:
        raise ConfigError(
            "rollout.ahead plays during updates, and this process can only do one of both: add workers (--workers "
            "2), or choose engine.kind vllm_server with a server of the policy"
        )


def collections_of(config: RunConfig) -> Iterator[tuple[str, Collection]]:
    """Yield the folders of tasks of a run by the key that names each.

    Raises:
        ConfigError: There is no task, or fewer than the pool needs.
    """
    named = {"curriculum.pool": config.curriculum.pool} if config.curriculum.pool else {}
    named |= {f"evaluation.pools.{panel}": source for panel, source in config.evaluation.pools.items()}
    for key, source in named.items():
        try:
            found = read_collection(config.domain, source)
        except PoolError as error:
            raise ConfigError(f"{key}: {error}") from error
        if key == "curriculum.pool" and len(found.tasks) < config.curriculum.pool_size:
            raise ConfigError(
                f"{key}: {source} has {len(found.tasks)} tasks ({len(found.refused)} refused) for "
                f"{config.curriculum.pool_size} slots: set curriculum.pool_size to {len(found.tasks)} or less"
            )
        yield key, found
