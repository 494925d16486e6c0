"""Checks of everything that would stop a run and can be known without weights, before it starts."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

from rlanything_agents.config import AnyModel, CheckpointConfig, Part, RunConfig, SharedConfig
from rlanything_agents.models.checkpoint import CheckpointError, check_attention, checkpoint_source
from rlanything_agents.models.precision import precision_of
from rlanything_agents.runs.checkpoints import Checkpoints
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.preflight import check_ahead, collections_of
from rlanything_agents.runs.rewriting import check_rewriter
from rlanything_agents.tools.doctor import Finding
from rlanything_agents.tools.planning.memory import Phase, UnknownSize, human, phases, planned
from rlanything_agents.training.ranks.launch import launched, obstacles
from rlanything_envs.errors import InfrastructureError, MissingExtra
from rlanything_task_pools import get_domain

__all__ = ["DryRun"]

EPISODES_DISK = 20_000
"""Bytes of an episode's compressed record; one of the quickstart takes about 2,000, longer thoughts take more."""


class DryRun:
    """Checks of a run that is about to start; nothing is downloaded or written, besides the cached conversion of a GGUF
    file, and no service gets a request.

    Args:
        config: All settings of the run.
        folder: Folder of the run, existing or not.
    """

    def __init__(self, config: RunConfig, folder: RunFolder) -> None:
        self.config = config
        self.folder = folder
        models: list[tuple[str, AnyModel]] = [("policy", config.policy)]
        self.models = models + [("reward_model", config.reward_model)] * config.queries_judge
        self.memory: tuple[Phase, ...] = ()
        """Memory of each phase, set by `findings` where the shapes of the models are known."""

    def findings(self) -> Iterator[Finding]:
        """Findings of all checks, in order; a failed check does not prevent the others."""
        checks: dict[str, Callable[[], Iterator[Finding]]] = {
            "extras": self._extras,
            "domain": self._tasks,
            "environment": self._environment,
            "rewriter": self._rewriter,
            "keys": self._keys,
            "ahead": self._ahead,
            "processes": self._processes,
            "models": self._models,
            "memory": self._memory,
            "run folder": self._folder,
        }
        for topic, check in checks.items():
            try:
                yield from check()
            except (ValueError, LookupError, RuntimeError, ImportError, OSError) as error:
                if not isinstance(error, OSError) and not type(error).__module__.startswith("rlanything_"):
                    raise
                yield Finding(topic, False, str(error))

    def _extras(self) -> Iterator[Finding]:
        config, models = self.config, [model for _, model in self.models if isinstance(model, CheckpointConfig)]
        optims = (config.policy_trainer.optim, config.judge_trainer.optim)
        wanted: dict[str, list[str]] = {
            "train": ["torch", "transformers", "trl", *(["peft"] if any(model.lora for model in models) else [])],
            "llm": ["openai"] if config.curriculum.rewriter == "llm" else [],
            "vllm": ["vllm"] if config.engine.kind == "vllm" else [],
            "quantized": ["bitsandbytes"]
            if "adamw_bnb_8bit" in optims or any(model.quantization for model in models)
            else [],
            "trackers": list(config.trackers),
        }
        for extra, packages in wanted.items():
            if absent := [name for name in packages if importlib.util.find_spec(name) is None]:
                remedy = f"pip install 'rlanything-envs[{extra}]'"
                yield Finding(f"extra {extra}", False, f"not installed: {', '.join(absent)}", remedy)
            elif packages:
                yield Finding(f"extra {extra}", True, ", ".join(f"{name} {version(name)}" for name in packages))

    def _tasks(self) -> Iterator[Finding]:
        config = self.config
        domain, made = get_domain(config.domain), 0
        wanted: list[tuple[str, tuple[Part, ...], str]] = []
        if config.curriculum.pool is None:
            wanted.append(("curriculum.knobs", config.curriculum.knobs, "train"))
        if any(not isinstance(m, CheckpointConfig) or m.lessons for m in (config.policy, config.reward_model)):
            wanted.append(("warm_start.knobs", config.warm_start.knobs, "train"))
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

    def _environment(self) -> Iterator[Finding]:
        from rlanything_agents.rollout.environments import make_envs

        config, domain = self.config, get_domain(self.config.domain)
        try:
            (env,) = make_envs(config, 1)
        except (TypeError, LookupError) as error:
            yield Finding("environment", False, f"{domain.env_id}: {error}", "correct the section `environment`")
            return
        try:
            _, info = env.reset(options={"task": domain.generate(0, **config.curriculum.knobs[0].knobs)})
            if info.get("outcome") == "error":
                raise InfrastructureError(f"{domain.env_id} could not begin an episode: {info}"[:300])
        finally:
            env.close()
        yield Finding("environment", True, f"{domain.env_id} begins an episode")

    def _rewriter(self) -> Iterator[Finding]:
        config = self.config.curriculum
        if not config.adapt or not config.rewrites:
            yield Finding("rewriter", True, "none: tasks are not rewritten")
            return
        check_rewriter(config)
        llm = config.llm if config.rewriter == "llm" else None
        yield Finding("rewriter", True, f"{llm.model} at {llm.base_url} (not asked)" if llm else config.rewriter)

    def _keys(self) -> Iterator[Finding]:
        for role in ("policy", "judge"):
            if (server := self.config.engine.server(role)) is None:
                continue
            if server.api_key_env and not os.environ.get(server.api_key_env):
                yield Finding(f"engine.{role}", False, f"${server.api_key_env} is not set", "put the key there")
            else:
                yield Finding(f"engine.{role}", True, f"{server.model} at {server.base_url} (not asked)")

    def _ahead(self) -> Iterator[Finding]:
        if self.config.rollout.ahead:
            check_ahead(self.config)
            who = "workers play" if self.config.workers else "the server of the policy plays"
            yield Finding("ahead", True, f"{who} the next iteration during updates, one update off-policy")

    def _processes(self) -> Iterator[Finding]:
        launch, trainers = launched(), {"policy_trainer": self.config.policy_trainer}
        if self.config.judge.learns:
            trainers["judge_trainer"] = self.config.judge_trainer
        for key, trainer in trainers.items():
            if trainer.world_size not in (1, launch.size):
                message = f"{key}.world_size is {trainer.world_size}, here is {launch.size} training process"
                remedy = f"torchrun --nproc_per_node, or --set {key}.world_size={launch.size}"
                yield Finding("processes", None, message, remedy)
        for obstacle in obstacles(self.config, launch):
            yield Finding("processes", False, obstacle)
        if launch.size > 1:
            yield Finding("processes", True, f"{launch.size} train together; this one leads, and does all else")

    def _models(self) -> Iterator[Finding]:
        for key, model in self.models:
            if not isinstance(model, CheckpointConfig) or isinstance(model, SharedConfig):
                shared = isinstance(model, SharedConfig)
                yield Finding(key, True, "adapters on the policy's base" if shared else "made from scratch")
                continue
            try:
                check_attention(model.checkpoint, model.attention)
            except MissingExtra as error:
                yield Finding(f"{key}.attention", False, str(error))
            try:
                source, local = checkpoint_source(model.checkpoint, precision_of(model.dtype))
            except CheckpointError as error:
                yield Finding(key, False, str(error), "organisation/name, or a folder")
                continue
            if local:
                yield _checkpoint_folder(key, Path(source), model)
            else:
                yield Finding(key, None, f"{source}: a name on the hub; its weights are fetched when the run starts")

    def _memory(self) -> Iterator[Finding]:
        """Whether every phase has enough memory, and the disk room for checkpoints and records."""
        config = self.config
        try:
            models = planned(config)
        except UnknownSize as error:
            yield Finding("memory", None, f"not estimated: {error}", "hf download NAME config.json")
            return
        self.memory = tuple(phases(config, models))
        for phase in self.memory:
            fits = phase.limit is None or phase.total <= phase.limit
            parts = ", ".join(f"{name} {human(size)}" for name, size in phase.parts.items() if size)
            limit = "" if phase.limit is None else f" of {human(phase.limit)}"
            remedy = "" if fits else "a smaller model or context, `lora`, `checkpointing: true`, or FSDP2 on more GPUs"
            yield Finding(f"memory: {phase.name}", fits, f"{human(phase.total)}{limit}: {parts}; {phase.note}", remedy)
        parent = _nearest(self.folder.path)
        episodes = config.iterations * (1 + config.rollout.refill) * config.rollout.tasks * config.rollout.rollouts
        need = sum(model.stored for model in models) * (Checkpoints.KEPT + 1) + episodes * EPISODES_DISK
        free = shutil.disk_usage(parent).free
        message = f"{human(need)} for checkpoints and records, {human(free)} free in {parent}"
        yield Finding("disk", free >= need, message, "" if free >= need else "make room, or another --out")

    def _folder(self) -> Iterator[Finding]:
        path, parent = self.folder.path, _nearest(self.folder.path)
        if (path / "config.json").exists():
            if self.folder.config() != self.config.model_dump(mode="json"):
                remedy = "another `name`, or start over with --restart"
                yield Finding("run folder", False, f"{path} holds another run", remedy)
                return
            found = self.folder.checkpoints.latest()
            yield Finding("run folder", True, f"{path}: resumes after iteration {found[0] if found else 0}")
            return
        try:
            with tempfile.TemporaryFile(dir=parent):
                pass
        except OSError as error:
            yield Finding("run folder", False, f"{parent} cannot be written to: {error.strerror}", "another --out")
            return
        yield Finding("run folder", True, f"{path} will be made")


def _checkpoint_folder(key: str, folder: Path, model: CheckpointConfig) -> Finding:
    absent = [pattern for pattern in ("config.json", "*.safetensors") if not any(folder.glob(pattern))]
    if not any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer.model", "vocab.json")):
        absent.append("tokenizer.json")
    if absent:
        remedy = "the folder must hold what save_pretrained writes, of model and tokenizer"
        return Finding(key, False, f"{folder}: no {', no '.join(absent)}", remedy)
    from rlanything_agents.models.pretrained import load_template

    load_template(model)
    size = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    return Finding(key, True, f"{folder}: {human(size)} of weights, a tokenizer that can chat")


def _nearest(path: Path) -> Path:
    """The path itself, or its nearest existing parent."""
    return next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())
