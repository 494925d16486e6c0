"""The supervised warm start (SFT), the first stage of a run."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rlanything_agents.config import CheckpointConfig
from rlanything_agents.config.model import IMITATION, usual_rate
from rlanything_agents.runs.folder import RunFolder, RunFolderError
from rlanything_agents.runs.parts import RunParts
from rlanything_agents.runs.storage import storing
from rlanything_agents.training.imitation import Row
from rlanything_agents.training.learner import Learner

__all__ = ["warm_start"]

SMALL_RATE = 2e-3
"""Peak learning rate of a model of random weights."""

SHARED = ("domain", "policy", "reward_model")
"""Sections that a run must share with the run whose warm start it reuses."""


def warm_start(parts: RunParts) -> None:
    """Train both models on the demonstrations of their domain, or adopt the warm start of another run.

    A pretrained checkpoint is trained only where its ``lessons`` are on.

    Raises:
        RunFolderError: The other run has no finished warm start, or another domain, model or vocabulary.
    """
    settings = parts.config.warm_start
    if parts.folder.stage("warm_start") is None:
        if settings.reuse is not None:
            _adopt(parts, RunFolder(settings.reuse))
        else:
            parts.folder.finish_stage("warm_start", _train(parts))
    for role, learner in _trained_learners(parts):
        learner.load(parts.folder.folder("warm_start") / role)


def _adopt(parts: RunParts, source: RunFolder) -> None:
    ours, theirs = parts.config.model_dump(mode="json"), source.config()
    if different := [key for key in SHARED if theirs.get(key) != ours[key]]:
        raise RunFolderError(
            f"warm_start.reuse: the run in {source.path} has another {', '.join(different)}: make these sections alike"
        )
    taught = theirs["judge"].get("answers", "votes")
    if parts.config.judge.answers != taught and "judge" in dict(_trained_learners(parts)):
        raise RunFolderError(f"warm_start.reuse: the reward model in {source.path} was taught judge.answers {taught}")
    if (result := source.stage("warm_start")) is not None and result.get("vocabulary") != _fingerprint(parts):
        raise RunFolderError(
            f"warm_start.reuse: the models in {source.path} were taught another vocabulary than that of "
            f"{parts.config.domain!r} now: run that warm start again"
        )
    if result is not None and not all(result.get(f"{role}_losses") for role, _ in _trained_learners(parts)):
        raise RunFolderError(
            f"warm_start.reuse: the run in {source.path} taught no reward model, which this feedback reads: take a run "
            "whose feedback reads votes"
        )
    parts.folder.adopt_stage(source, "warm_start")


def _trained_learners(parts: RunParts) -> list[tuple[str, Learner]]:
    """Roles and learners that have a warm start.

    A reward model that nothing reads has none, as with ``feedback: outcome``.
    """
    config = parts.config
    models = {"policy": config.policy}
    if config.queries_judge or config.summariser == "judge":
        models["judge"] = config.models["reward_model"]
    learners = {"policy": parts.learners.policy, "judge": parts.learners.judge}
    return [
        (role, learners[role])
        for role, model in models.items()
        if (model.lessons if isinstance(model, CheckpointConfig) else config.view == "short")
    ]


def _train(parts: RunParts) -> dict[str, Any]:
    settings, start = parts.config.warm_start, time.perf_counter()
    result: dict[str, Any] = {"demonstrations": 0, "policy_losses": [], "judge_losses": []}
    for role, learner in _trained_learners(parts):
        lessons = parts.supervision.lessons
        rows = lessons.policy(parts) if role == "policy" else lessons.judge(parts)
        if role == "policy":
            result["demonstrations"] = len(rows)
        epochs = settings.epochs if role == "policy" else settings.judge_epochs
        result[f"{role}_losses"] = _fit(parts, role, learner, rows, epochs)
    for role, learner in _trained_learners(parts):
        shutil.rmtree(place := parts.folder.folder("warm_start") / role, ignore_errors=True)  # a save that was cut off
        learner.save(place)
    for role in ("policy", "judge"):
        _kept(parts, role).unlink(missing_ok=True)
    seconds = time.perf_counter() - start
    return {**result, "vocabulary": _fingerprint(parts), "seconds": seconds, **parts.learners.counted()}


def _fit(parts: RunParts, role: str, learner: Learner, rows: Sequence[Row], epochs: int) -> list[float]:
    settings = parts.config.warm_start
    steps = epochs * -(-len(rows) // settings.batch_size)
    policy = role == "policy"
    trainer = parts.config.policy_trainer if policy else parts.config.judge_trainer
    usual = usual_rate(parts.config.models["policy" if policy else "reward_model"])
    kept = _kept(parts, role)
    with parts.reporter.stage(f"Warm start, {role}", steps) as stage, storing(kept):
        return learner.imitate(
            rows,
            epochs=epochs,
            batch_size=settings.batch_size,
            learning_rate=settings.learning_rate or (SMALL_RATE if usual is None else IMITATION * usual),
            seed=parts.seed(role, "fit"),
            micro_batch_tokens=trainer.micro_batch_tokens,
            warmup=0.05 if usual is None else 0.1,
            checkpointing=trainer.checkpointing,
            progress=lambda step, _, loss: stage.reach(step, f"loss {loss:.3f}"),
            kept=kept,
        )


def _kept(parts: RunParts, role: str) -> Path:
    """File of an unfinished fit, beside the role's folder."""
    return parts.folder.folder("warm_start") / f"{role}.pt"


def _fingerprint(parts: RunParts) -> str:
    """Hash of the vocabulary, which gives every token id its meaning."""
    words = sorted(parts.actor.renderer.template.tokenizer.get_vocab().items())
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()[:16]
