"""Checks of everything that would stop a run and can be known without weights, before it starts."""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from rlanything_agents.config import AnyModel, CheckpointConfig, Part, RunConfig, SharedConfig
from rlanything_agents.engines.shared_memory import LARGER, fits_in_memory, room
from rlanything_agents.models.checkpoint import check_attention, checkpoint_source
from rlanything_agents.models.precision import precision_of
from rlanything_agents.models.pretrained import load_template
from rlanything_agents.rollout.environments import check_eyes, make_envs
from rlanything_agents.runs.checkpoints import Checkpoints
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.preflight import check_ahead, collections_of
from rlanything_agents.runs.rewriting import check_rewriter
from rlanything_agents.tools.doctor import Finding
from rlanything_agents.tools.doctor.machine import human
from rlanything_agents.tools.planning.memory import NotEstimated, phases, planned
from rlanything_agents.training.ranks.launch import launched, obstacles
from rlanything_envs.errors import InfrastructureError, MissingExtra
from rlanything_task_pools import get_domain
from rlanything_verifiers.installed import install

__all__ = ["dry_run"]

EPISODES_DISK = 20_000
"""Bytes of an episode's compressed record; one of the quickstart takes about 2,000, longer thoughts take more."""


def dry_run(config: RunConfig, folder: RunFolder) -> Iterator[Finding]:
    """Findings of all checks of a run that is about to start; a failed check does not prevent the others.

    Nothing is downloaded or written, besides the cached conversion of a GGUF file, and no service gets a request.

    Args:
        config: All settings of the run.
        folder: Folder of the run, existing or not.
    """
    models = {key: model for key, model in config.models.items() if key == "policy" or config.queries_judge}
    checks: dict[str, Callable[[], Iterator[Finding]]] = {
        "extras": lambda: _extras(config, [model for model in models.values() if isinstance(model, CheckpointConfig)]),
        "domain": lambda: _tasks(config),
        "environment": lambda: _environment(config),
        "rewriter": lambda: _services(config),
        "ahead": lambda: _ahead(config),
        "processes": lambda: _processes(config),
        **{key: partial(_model, config, key, model) for key, model in models.items()},
        "memory": lambda: _memory(config, folder),
        "run folder": lambda: _folder(config, folder),
    }
    for topic, check in checks.items():
        try:
            yield from check()
        except (ValueError, LookupError, RuntimeError, ImportError, OSError) as error:
            if not isinstance(error, OSError) and not type(error).__module__.startswith("rlanything_"):
                raise
            yield Finding(topic, False, str(error))


def _extras(config: RunConfig, models: list[CheckpointConfig]) -> Iterator[Finding]:
    wanted: dict[str, list[str]] = {
        "train": ["torch", "transformers", "trl", *(["peft"] if any(model.lora for model in models) else [])],
        "llm": ["openai"] if config.curriculum.rewriter == "llm" else [],
        "vllm": ["vllm"] if config.engine.kind == "vllm" else [],
        "tinker": ["tinker"] if config.engine.kind == "tinker" else [],
        "quantized": ["bitsandbytes"] if any(model.quantization for model in models) else [],
        "trackers": list(config.trackers),
    }
    for extra, packages in wanted.items():
        absent = [name for name in packages if importlib.util.find_spec(name) is None]
        message = f"not installed: {', '.join(absent)}" if absent else ", ".join(packages)
        if packages:
            yield Finding(f"extra {extra}", not absent, message, install(extra))


def _tasks(config: RunConfig) -> Iterator[Finding]:
    domain, made = get_domain(config.domain), 0
    wanted: list[tuple[str, tuple[Part, ...], str]] = []
    taught = any(not isinstance(m, CheckpointConfig) or m.lessons for m in config.models.values())
    if config.curriculum.pool is None or taught:
        wanted.append(("curriculum.knobs", config.curriculum.knobs, "train"))
    wanted += [("evaluation.knobs", config.evaluation.knobs, split) for split in config.evaluation.generated]
    for key, split, part in ((key, split, part) for key, mixture, split in wanted for part in mixture):
        try:
            domain.generate(0, split=split, **part.knobs)
            made += 1
        except (ValueError, LookupError, TypeError) as error:
            yield Finding(key, False, f"{split}: {error}")
    for key, found in collections_of(config):
        refused = next((f"; {len(found.refused)} refused, as {text}" for text in found.refused.items()), "")
        yield Finding(key, None if refused else True, f"{len(found.tasks)} tasks{refused}")
    if made:
        yield Finding("tasks", True, f"{domain.name} made one of each of {made} kinds of the configuration")
    if config.curriculum.operators is not None:
        names = domain.with_operators(config.curriculum.operators).operators
        yield Finding("operators", True, ", ".join(names))


def _environment(config: RunConfig) -> Iterator[Finding]:
    domain = get_domain(config.domain)
    (env,) = make_envs(config, 1)
    policy = config.policy
    try:
        if not isinstance(policy, CheckpointConfig):
            check_eyes(env, sees=False)
        elif checkpoint_source(policy.checkpoint, precision_of(policy.dtype))[1]:
            check_eyes(env, load_template(policy).images is not None)
        _, info = env.reset(options={"task": domain.generate(0, **config.curriculum.knobs[0].knobs)})
        if info.get("outcome") == "error":
            raise InfrastructureError(f"{domain.env_id} could not begin an episode: {info}"[:300])
    finally:
        env.close()
    yield Finding("environment", True, f"{domain.env_id} begins an episode")


def _services(config: RunConfig) -> Iterator[Finding]:
    """The rewriter, and the services of models; none of them is asked anything."""
    curriculum = config.curriculum
    if curriculum.rewrites:
        check_rewriter(curriculum)
        llm = curriculum.llm if curriculum.rewriter == "llm" else None
        yield Finding("rewriter", True, f"{llm.model} at {llm.base_url}" if llm else str(curriculum.rewriter))
    for role in ("policy", "judge"):
        if server := config.engine.server(role):
            yield Finding(f"engine.{role}", True, f"{server.model} at {server.base_url}")


def _ahead(config: RunConfig) -> Iterator[Finding]:
    if config.rollout.ahead:
        check_ahead(config)
        yield Finding("ahead", True, "the next iteration is played during updates, one update off-policy")


def _processes(config: RunConfig) -> Iterator[Finding]:
    launch = launched()
    for obstacle in obstacles(config, launch):
        yield Finding("processes", False, obstacle)
    if launch.size > 1:
        yield Finding("processes", True, f"{launch.size} train together; this one leads, and does all else")


def _model(config: RunConfig, key: str, model: AnyModel) -> Iterator[Finding]:
    shared = key == "reward_model" and isinstance(config.reward_model, SharedConfig)
    if shared or not isinstance(model, CheckpointConfig):
        yield Finding(key, True, "adapters on the policy's base" if shared else "made from scratch")
        return
    if config.engine.kind == "tinker":
        rank = model.lora.rank if model.lora else 0
        message = f"an adapter of rank {rank} on {model.checkpoint} at the service; its tokenizer is read here"
        yield Finding(key, True, message)
        return
    try:
        check_attention(model.checkpoint, model.attention)
    except MissingExtra as error:
        yield Finding(f"{key}.attention", False, str(error))
    source, local = checkpoint_source(model.checkpoint, precision_of(model.dtype))
    if not local:
        yield Finding(key, None, f"{source}: a name on the hub; its weights are fetched when the run starts")
        return
    absent = [pattern for pattern in ("config.json", "*.safetensors") if not any(Path(source).glob(pattern))]
    if not any((Path(source) / name).is_file() for name in ("tokenizer.json", "tokenizer.model", "vocab.json")):
        absent.append("tokenizer.json")
    if absent:
        remedy = "the folder must hold what save_pretrained writes, of model and tokenizer"
        yield Finding(key, False, f"{source}: no {', no '.join(absent)}", remedy)
        return
    load_template(model)
    size = sum(file.stat().st_size for file in Path(source).glob("*.safetensors"))
    yield Finding(key, True, f"{source}: {human(size)} of weights, a tokenizer that can chat")


def _memory(config: RunConfig, folder: RunFolder) -> Iterator[Finding]:
    """Whether every phase has enough memory, and the disk room for checkpoints and records."""
    try:
        models = planned(config)
    except NotEstimated as error:
        yield Finding("memory", None, f"not estimated: {error}", "hf download NAME config.json")
        return
    for phase in phases(config, models):
        fits = phase.limit is None or phase.total <= phase.limit
        parts = ", ".join(f"{name} {human(size)}" for name, size in phase.parts.items() if size)
        limit = "" if phase.limit is None else f" of {human(phase.limit)}"
        remedy = "" if fits else "a smaller model or context, `lora`, `checkpointing: true`, or FSDP2 on more GPUs"
        yield Finding(f"memory: {phase.name}", fits, f"{human(phase.total)}{limit}: {parts}; {phase.note}", remedy)
    for model in models:
        if (trainer := model.trainer) is not None and model.context > trainer.micro_batch_tokens:
            row = model.learns(trainer, 0.0, None, model.context).parts["micro-batch"]
            message = (
                f"{trainer.micro_batch_tokens:,}; a prompt with its answer may have {model.context:,} (`context`): a "
                f"longer row than a micro-batch is a separate pass, with up to {human(row)} of activations and logits"
            )
            remedy = "a lower `context`, or as many tokens; `checkpointing: true` keeps fewer activations"
            yield Finding(f"{model.role}_trainer.micro_batch_tokens", None, message, remedy)
    handed = [model.handed for model in models if model.asked and config.engine.kind.startswith("vllm")]
    transit = sum(handed) + (max(handed, default=0.0) if launched().strategy == "fsdp" else 0.0)
    inside = fits_in_memory(transit)
    if handed:
        message = f"{human(transit)} of weights on their way to vLLM, {human(room() or 0)} free in /dev/shm"
        remedy = "" if inside else f"{LARGER}: they go through the disk after each update otherwise"
        yield Finding("shared memory", inside or None, message, remedy)
    parent = _nearest(folder.path)
    episodes = config.iterations * config.rollout.tasks * config.rollout.rollouts
    need = sum(model.stored for model in models) * (Checkpoints.KEPT + 1) + episodes * EPISODES_DISK
    need += 0.0 if inside else transit
    free = shutil.disk_usage(parent).free
    message = f"{human(need)} for checkpoints and records, {human(free)} free in {parent}"
    yield Finding("disk", free >= need, message, "" if free >= need else "make room, or another --out")


def _folder(config: RunConfig, folder: RunFolder) -> Iterator[Finding]:
    path, parent = folder.path, _nearest(folder.path)
    if (path / "config.json").exists() and folder.belongs_to(config.model_dump(mode="json")):
        found = folder.checkpoints.latest()
        yield Finding("run folder", True, f"{path}: resumes after iteration {found[0] if found else 0}")
        return
    try:
        with tempfile.TemporaryFile(dir=parent):
            pass
    except OSError as error:
        yield Finding("run folder", False, f"{parent} cannot be written to: {error.strerror}", "another --out")
        return
    yield Finding("run folder", True, f"{path} will be made")


def _nearest(path: Path) -> Path:
    """The path itself, or its nearest existing parent."""
    return next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())
