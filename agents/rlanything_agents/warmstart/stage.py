"""The warm start as the first stage of a run."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from typing import Any

from rlanything_agents.dialect import Dialect
from rlanything_agents.learners import Learner
from rlanything_agents.run_folder import RunFolder, RunFolderError
from rlanything_agents.run_parts import RunParts
from rlanything_agents.warmstart.fit import Row, fit

__all__ = ["warm_start"]

SHARED = ("domain", "policy", "reward_model")
"""Sections that a run must have in common with one whose weights it takes over."""


def warm_start(parts: RunParts) -> None:
    """Teach both models the lessons of their domain, or take over what another run was taught.

    Raises:
        RunFolderError: The other run has no finished warm start, or one of models of another size or language.
    """
    settings = parts.config.warm_start
    if parts.folder.stage("warm_start") is None:
        if settings.reuse is not None:
            _adopt(parts, RunFolder(settings.reuse))
        else:
            parts.folder.finish_stage("warm_start", _teach(parts))
    parts.learners.load(parts.folder.folder("warm_start"))
    parts.learners.hold()


def _adopt(parts: RunParts, source: RunFolder) -> None:
    ours, theirs = parts.config.model_dump(mode="json"), source.config()
    if different := [key for key in SHARED if theirs.get(key) != ours[key]]:
        raise RunFolderError(
            f"warm_start.reuse: the run in {source.path} has another {', '.join(different)}: make these sections alike"
        )
    result = source.stage("warm_start")
    if result is not None and result.get("vocabulary") != _fingerprint(parts.dialect):
        raise RunFolderError(
            f"warm_start.reuse: the models in {source.path} were taught another vocabulary than that of "
            f"{parts.config.domain!r} now: run that warm start again"
        )
    parts.folder.adopt_stage(source, "warm_start")


def _teach(parts: RunParts) -> dict[str, Any]:
    settings, start = parts.config.warm_start, time.perf_counter()
    weights = parts.folder.folder("warm_start")
    lessons = parts.dialect.lessons
    rows = lessons.policy(parts)
    policy_losses = _fit(parts, "policy", parts.learners.policy, rows, settings.epochs)
    judge_losses = _fit(parts, "judge", parts.learners.judge, lessons.judge(parts), settings.judge_epochs)
    parts.learners.save(weights)
    return {
        "demonstrations": len(rows),
        "policy_losses": policy_losses,
        "judge_losses": judge_losses,
        "vocabulary": _fingerprint(parts.dialect),
        "seconds": time.perf_counter() - start,
    }


def _fit(parts: RunParts, role: str, learner: Learner, rows: Sequence[Row], epochs: int) -> list[float]:
    settings = parts.config.warm_start
    steps = epochs * -(-len(rows) // settings.batch_size)
    with parts.reporter.stage(f"Warm start, {role}", steps) as stage:
        return fit(
            learner.model,
            rows,
            epochs=epochs,
            batch_size=settings.batch_size,
            learning_rate=settings.learning_rate,
            seed=parts.seed(role, "fit"),
            progress=lambda step, _, loss: stage.reach(step, f"loss {loss:.3f}"),
        )


def _fingerprint(dialect: Dialect) -> str:
    """Names the meaning of every token id."""
    words = sorted(dialect.tokenizer.get_vocab().items())
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()[:16]
