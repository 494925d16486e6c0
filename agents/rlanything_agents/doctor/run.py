"""What of a run folder is whole, and from where the run would go on. Nothing in the folder is changed or believed."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rlanything_agents.run_folder import RunFolder, RunFolderError
from rlanything_agents.stored.episodes import EpisodesError, read_episodes
from rlanything_envs.osworld.desktop.doctor import Finding

__all__ = ["examine_run"]

MODELS = ("policy", "judge")
LEARNER = frozenset({"trainer", "average", "averaged"})
"""Keys of a stored learner."""


def examine_run(path: Path, *, proofs: bool = False) -> Iterator[Finding]:
    """Look at every file of a run.

    Args:
        path: The folder.
        proofs: Also play the proof of every task of the pool.

    Raises:
        RunFolderError: It is not the folder of a run.
    """
    folder = RunFolder(path)
    if not (path / "config.json").exists():
        raise RunFolderError(f"{path} is not a run folder: it has no config.json")
    config = _object(path / "config.json")
    yield from _config(config, path)
    yield from _versions(path)
    yield from _stages(path)
    rows, findings = _metrics(folder)
    yield from findings
    yield from _trajectories(folder, len(rows))
    whole = []
    for checkpoint in sorted(folder.checkpoints.glob("[0-9]*")):
        found = list(_checkpoint(checkpoint, proofs=False))
        yield from found
        if all(finding.good for finding in found):
            whole.append(checkpoint)
    if folder.pool.exists():
        yield from _pool(folder.pool, "pool.sqlite", proofs)
    yield _continuing(folder, config, rows, whole)


def _object(path: Path) -> dict[str, Any] | str:
    """A JSON object, or why there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        return f"cannot be read: {error}"
    return value if isinstance(value, dict) else "does not hold a JSON object"


def _config(config: dict[str, Any] | str, path: Path) -> Iterator[Finding]:
    from pydantic import ValidationError

    from rlanything_agents.config import RunConfig

    if isinstance(config, str):
        yield Finding("config.json", False, config, "restore it from a copy, or begin anew with --restart")
        return
    try:
        settings = RunConfig.model_validate(config)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        said = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        yield Finding("config.json", False, said, "the version of the library that wrote it is in versions.json")
        return
    said = f"{settings.name}: {settings.domain}, seed {settings.seed}, {settings.iterations} iterations at most"
    yield Finding("config.json", True, said)


def _versions(path: Path) -> Iterator[Finding]:
    from rlanything_agents.summary import installed_versions

    stored = _object(path / "versions.json")
    if isinstance(stored, str):
        yield Finding("versions.json", None, stored, "it is written anew when the run goes on")
        return
    now = installed_versions()
    different = [f"{name} {stored.get(name)} (here {here})" for name, here in now.items() if stored.get(name) != here]
    if different:
        said = f"written with {', '.join(different)}"
        yield Finding("versions.json", None, said, "with other versions a run goes on, but not bit for bit")
    else:
        yield Finding("versions.json", True, "the versions installed here")


def _stages(path: Path) -> Iterator[Finding]:
    stages = path / "stages"
    for file in sorted(stages.glob("*.json")):
        found = _object(file)
        broken = found if isinstance(found, str) else None
        remedy = f"delete {file}: the stage is done again" if broken else ""
        yield Finding(f"stages/{file.name}", broken is None, broken or "done", remedy)
    if (stages / "warm_start.json").exists():
        yield from _models(stages / "warm_start", "stages/warm_start")


def _metrics(folder: RunFolder) -> tuple[list[dict[str, Any]], list[Finding]]:
    """The rows, as far as they follow each other, and what there is to say of the file."""
    name = folder.metrics.name
    if not folder.metrics.exists():
        return [], [Finding(name, None, "no iteration is done yet")]
    rows: list[dict[str, Any]] = []
    try:
        lines = folder.metrics.read_bytes().split(b"\n")
    except OSError as error:
        return [], [Finding(name, False, str(error))]
    cut = bool(lines.pop())
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict) or row.get("iteration") != number:
            said = f"line {number} is not the row of iteration {number}"
            return rows, [Finding(name, False, said, f"cut the file before line {number} and delete later checkpoints")]
        rows.append(row)
    if cut:
        return rows, [Finding(name, None, f"{len(rows)} iterations, and a row cut short", "resuming leaves it out")]
    return rows, [Finding(name, True, f"{len(rows)} iterations")]


def _trajectories(folder: RunFolder, iterations: int) -> Iterator[Finding]:
    found = {file.name: file for file in folder.trajectories.glob("*.jsonl.gz")}
    wanted = [f"{k:04d}.jsonl.gz" for k in range(1, iterations + 1)]
    episodes = 0
    broken = False
    for name in sorted({*wanted, *found}):
        if name not in found:
            broken = True
            yield Finding(f"trajectories/{name}", False, "missing", "nothing reads it but reports and exports")
            continue
        try:
            episodes += sum(1 for _ in read_episodes(found[name]))
        except EpisodesError as error:
            broken = True
            yield Finding(f"trajectories/{name}", False, str(error), "nothing reads it but reports and exports")
    if not broken:
        yield Finding("trajectories", True, f"{episodes} episodes in {len(found)} files")


def _checkpoint(checkpoint: Path, *, proofs: bool) -> Iterator[Finding]:
    topic = f"checkpoints/{checkpoint.name}"
    yield from _models(checkpoint, topic)
    yield from _pool(checkpoint / "pool.sqlite", f"{topic}/pool.sqlite", proofs)


def _models(place: Path, topic: str) -> Iterator[Finding]:
    """Weights and learners of both models; one line where all is well."""
    problems: list[Finding] = []
    tensors = 0
    for role in MODELS:
        for name, check in (("config.json", _settings), ("model.safetensors", _weights), ("learner.pt", _learner)):
            file = place / role / name
            try:
                if not file.is_file():
                    raise ValueError("missing")
                tensors += check(file)
            except Exception as error:  # of whatever library reads it
                said = str(error).splitlines()[0][:300] if str(error) else type(error).__name__
                problems.append(Finding(f"{topic}/{role}/{name}", False, said))
    if problems:
        yield from problems
    else:
        yield Finding(topic, True, f"{tensors} tensors of {' and '.join(MODELS)}, with their optimizers")


def _settings(file: Path) -> int:
    if isinstance(found := _object(file), str):
        raise ValueError(found)
    return 0


def _weights(file: Path) -> int:
    """Read every tensor of a file; safetensors holds no code."""
    import torch
    from safetensors import safe_open

    with safe_open(file, framework="pt") as tensors:
        names = list(tensors.keys())
        for name in names:
            if not torch.isfinite(tensors.get_tensor(name)).all():
                raise ValueError(f"{name} holds numbers that are not finite")
    return len(names)


def _learner(file: Path) -> int:
    """Read optimizer and average; tensors and plain data only, nothing else is unpickled."""
    import torch

    try:
        state = torch.load(file, weights_only=True, map_location="cpu")
    except pickle.UnpicklingError:
        raise ValueError("more than tensors and plain data are in it; it is not loaded") from None
    if not isinstance(state, Mapping) or LEARNER - set(state):
        raise ValueError("it is not the state of a learner")
    return 0


def _pool(path: Path, topic: str, proofs: bool) -> Iterator[Finding]:
    """A copy of the pool is looked at, so that nothing is migrated and a run that goes on is not waited for."""
    from rlanything_task_pools import PoolError, TaskPool
    from rlanything_task_pools.verify import verify_pool

    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "pool.sqlite"
        try:
            _copied(path, copy)
            with TaskPool.open(copy) as pool:
                problems = [f"{problem.where}: {problem.what}" for problem in verify_pool(pool, replay=proofs)]
                counts = {} if problems else pool.counts()
        except (sqlite3.DatabaseError, PoolError, OSError) as error:
            problems = [str(error).replace(str(copy), str(path))]
        if problems:
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            yield Finding(topic, False, f"{problems[0][:300]}{more}", f"rlanything pool verify {path}")
        else:
            said = f"{counts['slots']} slots, {counts['tasks']} tasks, {counts['outcomes']} outcomes"
            yield Finding(topic, True, f"{said}{', every proof played' if proofs else ''}")


def _copied(path: Path, copy: Path) -> None:
    if not path.is_file():
        raise OSError("missing")
    # Only the log of a run that goes on has to be read too; without it nothing is made beside the file.
    live = path.with_name(f"{path.name}-wal").exists() and os.access(path.parent, os.W_OK)
    mode = "mode=ro" if live else "immutable=1"
    with (
        closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?{mode}", uri=True)) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)


def _continuing(
    folder: RunFolder, config: dict[str, Any] | str, rows: list[dict[str, Any]], whole: list[Path]
) -> Finding:
    """From where the same command would go on."""
    topic = "resume"
    newest = folder.latest_checkpoint() if folder.checkpoints.is_dir() else None
    if isinstance(config, str):
        return Finding(topic, False, "it cannot be told without config.json", "begin anew with --restart")
    if folder.summary.exists() and not isinstance(_object(folder.summary), str):
        return Finding(topic, True, f"the run has ended after {len(rows)} iterations")
    if newest is None:
        stages = [name for name in ("warm_start", "before") if (folder.path / "stages" / f"{name}.json").exists()]
        return Finding(topic, True, f"before the first iteration, with {' and '.join(stages) or 'nothing'} done")
    done, path = newest
    if path not in whole:
        older = [other for other in whole if int(other.name) < done]
        if older:
            remedy = f"delete {path}: the run goes on after iteration {int(older[-1].name)}"
            return Finding(topic, False, f"checkpoint {path.name} is broken, {older[-1].name} is whole", remedy)
        return Finding(topic, False, "no checkpoint is whole", f"delete {folder.checkpoints}: the loop begins anew")
    if len(rows) < done:
        said = f"checkpoint {path.name} is whole, but metrics.jsonl has {len(rows)} iterations"
        return Finding(topic, False, said, "restore metrics.jsonl from a copy, or begin anew with --restart")
    lost = len(rows) - done
    return Finding(topic, True, f"after iteration {done}" + (f"; {lost} later one(s) are played again" if lost else ""))
