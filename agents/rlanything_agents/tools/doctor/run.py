"""Checks of a run folder: damaged files, and where the run would continue. Nothing in it is changed or trusted."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import ValidationError

from rlanything_agents.config import RunConfig
from rlanything_agents.config.trainer import MOST_SAMPLER_RATIO
from rlanything_agents.runs.folder import RunFolder, RunFolderError
from rlanything_agents.runs.manifest import damage
from rlanything_agents.runs.stored.episodes import read_episodes
from rlanything_agents.runs.stored.folder import MAX_JSON
from rlanything_agents.training.update import AT_SERVICE, OPTIMIZER
from rlanything_envs.llm.errors import GeneratorError
from rlanything_envs.llm.log import read_log
from rlanything_envs.osworld.desktop.doctor import Finding
from rlanything_task_pools import PoolError, TaskPool
from rlanything_task_pools.file import POOL_FILE
from rlanything_task_pools.verify import verify_pool
from rlanything_verifiers.plain_file import read_plain

__all__ = ["examine_run"]

MODELS = ("policy", "judge")
ADAPTERS = "adapter_"
"""Prefix of the files of a model of which only adapters are trained."""
FIRST = f"{OPTIMIZER}/shard-00001-model-00001-of-00001.safetensors"
"""The file of every optimizer state of a small model."""
AGAIN = "none is needed: the command of this run does the stage again"
TAKEN = "none is needed: the command of this run takes the rows of its checkpoint"


def examine_run(path: Path, *, proofs: bool = False) -> Iterator[Finding]:
    """Check every file of a run.

    Args:
        path: The folder.
        proofs: Also replay the proof of every task of the pool.

    Raises:
        RunFolderError: The folder is not that of a run.
    """
    folder = RunFolder(path)
    if not (path / "config.json").exists():
        raise RunFolderError(f"{path} is not a run folder: it has no config.json")
    config = _object(path / "config.json")
    yield from _config(config)
    yield from _versions(path)
    yield from _stages(folder)
    rows, findings = _metrics(folder)
    yield from findings
    yield from _health(rows)
    yield from _trajectories(folder, len(rows))
    yield from _prompts(folder.prompts)
    whole = []
    for _, checkpoint in reversed(folder.checkpoints.stored()):
        found = list(_checkpoint(checkpoint))
        yield from found
        if all(finding.good for finding in found):
            whole.append(checkpoint)
    yield from _sampled(folder, whole)
    if folder.pool.exists():
        yield from _pool(folder.pool, POOL_FILE, proofs)
    yield _continuing(folder, config, rows)


def _object(path: Path) -> dict[str, Any] | str:
    """JSON object of a file, or the reason why it has none."""
    try:
        content = read_plain(path, MAX_JSON + 1)
        value = json.loads(content) if len(content) <= MAX_JSON else None
    except (OSError, ValueError, RecursionError) as error:
        return f"cannot be read: {error}"
    return value if isinstance(value, dict) else "does not hold a JSON object"


def _config(config: dict[str, Any] | str) -> Iterator[Finding]:
    if isinstance(config, str):
        yield Finding("config.json", False, config, "restore it from a copy, or begin again with --restart")
        return
    try:
        settings = RunConfig.model_validate(config)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        message = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        yield Finding("config.json", False, message, "the version of the library that wrote it is in versions.json")
        return
    message = f"{settings.name}: {settings.domain}, seed {settings.seed}, {settings.iterations} iterations at most"
    yield Finding("config.json", True, message)


def _versions(path: Path) -> Iterator[Finding]:
    from rlanything_agents.runs.summary import installed_versions

    stored = _object(path / "versions.json")
    if isinstance(stored, str):
        yield Finding("versions.json", None, stored, "it is written again when the run goes on")
        return
    now = installed_versions()
    different = [f"{name} {was} (here {here})" for name, here in now.items() if (was := stored.get(name, here)) != here]
    if different:
        message = f"written with {', '.join(different)}"
        yield Finding("versions.json", None, message, "with other versions a run goes on, but not bit for bit")
    else:
        yield Finding("versions.json", True, "the versions installed here")


def _stages(folder: RunFolder) -> Iterator[Finding]:
    stages = folder.path / "stages"
    for file in sorted(stages.glob("*.json")):
        found = _object(file)
        broken = found if isinstance(found, str) else None
        yield Finding(f"stages/{file.name}", broken is None, broken or "done", AGAIN if broken else "")
        own: list[Finding] = []
        if file.stem == "warm_start" and isinstance(found, dict):  # a model that imitated nothing has no weights there
            taught = [role for role in MODELS if found.get(f"{role}_losses")]
            own = list(_models(stages / file.stem, f"stages/{file.stem}", taught))
        yield from _with_changes(stages / file.stem, f"stages/{file.stem}", own, AGAIN)


def _with_changes(place: Path, topic: str, found: list[Finding], remedy: str) -> Iterator[Finding]:
    """Findings of a folder, with those about files that differ from its manifest."""
    changed = {f"{topic}/{file}": what for file, what in damage(place).items()}
    for finding in found:
        if finding.topic not in changed or finding.good is False:
            yield replace(finding, remedy=finding.remedy or remedy) if finding.good is False else finding
            changed.pop(finding.topic, None)
    for file, what in changed.items():
        yield Finding(file, False, what, remedy)


def _metrics(folder: RunFolder) -> tuple[list[dict[str, Any]], list[Finding]]:
    """Consecutive metrics rows from the first one, and the findings about the file."""
    name = folder.metrics.name
    if not folder.metrics.exists():
        return [], [Finding(name, None, "no iteration is done yet")]
    rows: list[dict[str, Any]] = []
    try:
        lines = read_plain(folder.metrics, MAX_JSON).split(b"\n")
    except OSError as error:
        return [], [Finding(name, False, str(error))]
    cut = bool(lines.pop())
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict) or row.get("iteration") != number:
            message = f"line {number} is not the row of iteration {number}"
            return rows, [Finding(name, False, message, TAKEN)]
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
        except RunFolderError as error:
            broken = True
            yield Finding(f"trajectories/{name}", False, str(error), "nothing reads it but reports and exports")
    if not broken:
        yield Finding("trajectories", True, f"{episodes} episodes in {len(found)} files")


def _prompts(path: Path) -> Iterator[Finding]:
    """Whether the log of a rewriter's language model can be read, where there is one."""
    if not path.exists():
        return
    try:
        records = [record.finish_reason for record in read_log(path)]
    except (GeneratorError, OSError) as error:
        yield Finding(path.name, False, str(error), "cut the file before that line: missing requests are sent again")
        return
    yield Finding(path.name, True, f"{len(records)} answers, {records.count('error')} of them failures")


def _checkpoint(checkpoint: Path) -> Iterator[Finding]:
    topic = f"checkpoints/{checkpoint.name}"
    found = list(_models(checkpoint, topic))
    found += _pool(checkpoint / POOL_FILE, f"{topic}/{POOL_FILE}", proofs=False)
    yield from _with_changes(checkpoint, topic, found, "")


def _models(place: Path, topic: str, roles: Sequence[str] = MODELS) -> Iterator[Finding]:
    """Weights and learners of models; one finding where all are good."""
    problems: list[Finding] = []
    tensors = 0
    for role in roles:
        if (place / role / AT_SERVICE).is_file():
            continue
        adapters = (place / role / f"{ADAPTERS}config.json").exists()
        settings = f"{ADAPTERS}config.json" if adapters else "config.json"
        weights = [file.name for file in sorted((place / role).glob("*.safetensors"))] or ["model.safetensors"]
        weights += [f"{OPTIMIZER}/{file.name}" for file in sorted((place / role / OPTIMIZER).glob("*"))] or [FIRST]
        checks = [(settings, _settings), *((name, _weights) for name in weights)]
        for name, check in checks:
            file = place / role / name
            try:
                if not file.is_file():
                    raise ValueError("missing")
                tensors += check(file)
            except Exception as error:  # of any library that reads the file
                message = str(error).splitlines()[0][:300] if str(error) else type(error).__name__
                problems.append(Finding(f"{topic}/{role}/{name}", False, message))
    if problems:
        yield from problems
    elif roles:
        away = [role for role in roles if (place / role / AT_SERVICE).is_file()]
        service = f"; those of {' and '.join(away)} are at the Tinker service" if away else ""
        yield Finding(topic, True, f"{tensors} tensors of {' and '.join(roles)}, with their optimizers{service}")


def _sampled(folder: RunFolder, whole: list[Path]) -> Iterator[Finding]:
    """Log-probabilities of the last update's samples, against those of the weights that it began with."""
    from rlanything_agents.training.audit import SAMPLED, read_samples

    for checkpoint in whole[-1:]:
        before = folder.checkpoints.folder(int(checkpoint.name) - 1)
        if int(checkpoint.name) == 1:
            before = folder.path / "stages" / "warm_start"
        lost = damage(before)
        for role in MODELS:
            file, weights = checkpoint / role / SAMPLED, before / role
            topic = f"checkpoints/{checkpoint.name}/{role}/{SAMPLED}"
            if not file.is_file() or (weights / AT_SERVICE).is_file():
                continue
            if not weights.is_dir() or lost:
                yield Finding(topic, None, f"not computed again: the weights in {weights} are not kept, or damaged")
                continue
            try:
                yield _compared(topic, read_samples(file), weights)
            except Exception as error:  # of any library that reads the weights
                message = str(error).splitlines()[0][:300] if str(error) else type(error).__name__
                yield Finding(topic, False, message, "nothing but this audit reads the file")


def _compared(topic: str, samples: list[Any], weights: Path) -> Finding:
    from transformers import AutoConfig

    from rlanything_agents.models.pretrained import model_class
    from rlanything_agents.training.audit import rescored

    kind = model_class(AutoConfig.from_pretrained(weights, local_files_only=True, trust_remote_code=False))
    options = {"local_files_only": True, "use_safetensors": True, "dtype": "auto"}
    model = kind.from_pretrained(weights, trust_remote_code=False, **options)
    found = rescored(model.eval(), samples)
    good = math.exp(min(found.largest, 700.0)) <= MOST_SAMPLER_RATIO
    message = (
        f"log-probabilities of {found.tokens} tokens of {found.samples} samples, computed again, differ by "
        f"{found.mean:.2g} on average and {found.largest:.2g} at most; {found.unknown} tokens have unknown sets"
    )
    remedy = "sampler and trainer computed different quantities: docs/howto/losses.md#sampler-and-trainer"
    return Finding(topic, good, message, "" if good else remedy)


def _settings(file: Path) -> int:
    if isinstance(found := _object(file), str):
        raise ValueError(found)
    return 0


def _weights(file: Path) -> int:
    """Check every tensor of a safetensors file, which holds no code; returns their number."""
    import torch
    from safetensors import safe_open

    with safe_open(file, framework="pt") as tensors:
        names = list(tensors.keys())
        for name in names:
            if not torch.isfinite(tensors.get_tensor(name)).all():
                raise ValueError(f"{name} holds numbers that are not finite")
    return len(names)


def _pool(path: Path, topic: str, proofs: bool) -> Iterator[Finding]:
    """Check a copy of the pool, so that a running training is not blocked."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / POOL_FILE
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
            message = f"{counts['slots']} slots, {counts['tasks']} tasks, {counts['outcomes']} outcomes"
            yield Finding(topic, True, f"{message}{', every proof played' if proofs else ''}")


def _copied(path: Path, copy: Path) -> None:
    if not path.is_file():
        raise OSError("missing")
    # The write-ahead log of a running training must be read too; without one, no file is created in the folder.
    live = path.with_name(f"{path.name}-wal").exists() and os.access(path.parent, os.W_OK)
    mode = "mode=ro" if live else "immutable=1"
    with (
        closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?{mode}", uri=True)) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)


def _continuing(folder: RunFolder, config: dict[str, Any] | str, rows: list[dict[str, Any]]) -> Finding:
    """Iteration from which the same command would continue."""
    topic = "resume"
    stored = folder.checkpoints.stored()
    if isinstance(config, str):
        return Finding(topic, False, "it is unknown without config.json", "restore it, or begin again with --restart")
    if folder.summary.exists() and not isinstance(_object(folder.summary), str):
        return Finding(topic, True, f"the run has ended after {len(rows)} iterations")
    if not stored:
        stages = [name for name in ("warm_start", "before") if (folder.path / "stages" / f"{name}.json").exists()]
        return Finding(topic, True, f"before the first iteration, with {' and '.join(stages) or 'nothing'} done")
    try:
        found = folder.checkpoints.latest()
    except RunFolderError as error:
        message, _, remedy = str(error).partition(": restore")
        return Finding(topic, False, message, f"restore{remedy}")
    done, _ = found or stored[0]
    passed = [other.name for number, other in stored if number > done]
    lost = max(len(rows), stored[0][0]) - done
    message = f"after iteration {done}" + (f"; {lost} later one(s) are played again" if lost > 0 else "")
    if passed:
        return Finding(topic, None, f"{message}, for checkpoint {' and '.join(passed)} is damaged", "none is needed")
    return Finding(topic, True, message)


def _health(rows: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """One finding per signature with alarms in these untrusted metrics, or one that there was none."""
    from rlanything_agents.runs.monitors import health

    if not rows:
        return
    try:
        found = [line for line in health(rows) if line.said]
    except (TypeError, ValueError, AttributeError, KeyError, ArithmeticError) as error:
        yield Finding("health", None, f"the metrics are not those of a run ({type(error).__name__})")
        return
    for line in found:
        remedy = f"{line.meaning}: look at the report, or at `rlanything view`"
        yield Finding("health", None, f"iterations {line.when}: {line.name}: {line.said}", remedy)
    if not found:
        yield Finding("health", True, "no monitor has raised an alarm")
