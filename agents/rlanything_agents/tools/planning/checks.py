"""Checks of everything that would stop a run and can be known without weights, before it starts."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rlanything_agents.config import AnyModel, CheckpointConfig, Part, RunConfig, SharedConfig
from rlanything_agents.models.checkpoint import CheckpointError, check_attention, checkpoint_source
from rlanything_agents.models.precision import precision_of
from rlanything_agents.runs.checkpoints import Checkpoints
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.preflight import check_ahead, collections_of
from rlanything_agents.tools.doctor import Finding
from rlanything_agents.tools.planning.plan import RunPlan, plan_run
from rlanything_agents.tools.planning.show import human
from rlanything_agents.training.ranks.launch import launched, obstacles, planned
from rlanything_envs.errors import MissingExtra

__all__ = ["DryRun"]

EPISODES_DISK = 20_000
"""Bytes of an episode's compressed record; one of the quickstart takes about 2,000, longer thoughts take more."""

Check = Callable[[], Iterator[Finding]]


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
        self.plan: RunPlan | None = None
        """Plan of the run, set by `findings`."""

    def findings(self) -> Iterator[Finding]:
        """Findings of all checks, in order; a failed check does not prevent the others."""
        checks: tuple[tuple[str, Check], ...] = (
            ("extras", self._extras),
            ("domain", self._tasks),
            ("environment", self._environment),
            ("rewriter", self._rewriter),
            ("keys", self._keys),
            ("engines", self._engines),
            ("ahead", self._ahead),
            ("processes", self._processes),
            ("models", self._models),
            ("plan", self._plan),
            ("run folder", self._folder),
            ("disk", self._disk),
        )
        for topic, check in checks:
            try:
                yield from check()
            except (ValueError, LookupError, RuntimeError, ImportError, OSError) as error:
                if not isinstance(error, OSError) and not type(error).__module__.startswith("rlanything_"):
                    raise
                yield Finding(topic, False, str(error))

    def _extras(self) -> Iterator[Finding]:
        """Whether the packages of this configuration are installed."""
        config = self.config
        wanted = {"train": ["torch", "transformers", "trl"]}
        if config.curriculum.rewriter == "llm":
            wanted["llm"] = ["openai"]
        if any(isinstance(m, CheckpointConfig) and m.lora for m in (config.policy, config.reward_model)):
            wanted["train"].append("peft")
        if self.config.engine.kind == "vllm":
            wanted["vllm"] = ["vllm"]
        trainers = (config.policy_trainer, config.judge_trainer)
        if any(trainer.optim == "adamw_bnb_8bit" for trainer in trainers) or any(
            isinstance(m, CheckpointConfig) and m.quantization for m in (config.policy, config.reward_model)
        ):
            wanted["quantized"] = ["bitsandbytes"]
        for tracker in config.trackers:
            wanted.setdefault("trackers", []).append(tracker)
        for extra, packages in wanted.items():
            absent = [name for name in packages if importlib.util.find_spec(name) is None]
            if absent:
                remedy = f"pip install 'rlanything-envs[{extra}]'"
                yield Finding(f"extra {extra}", False, f"not installed: {', '.join(absent)}", remedy)
            else:
                yield Finding(f"extra {extra}", True, ", ".join(f"{name} {_version(name)}" for name in packages))

    def _tasks(self) -> Iterator[Finding]:
        """Whether the domain generates tasks with these knobs, and has the operators."""
        from rlanything_task_pools import get_domain

        config = self.config
        domain = get_domain(config.domain)
        wanted: list[tuple[str, tuple[Part, ...], str]] = []
        if config.curriculum.pool is None:
            wanted.append(("curriculum.knobs", config.curriculum.knobs, "train"))
        if any(not isinstance(m, CheckpointConfig) or m.lessons for m in (config.policy, config.reward_model)):
            wanted.append(("warm_start.knobs", config.warm_start.knobs, "train"))
        wanted += [("evaluation.knobs", config.evaluation.knobs, split) for split in config.evaluation.generated]
        made = 0
        for key, mixture, split in wanted:
            for part in mixture:
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
        """Whether the environment can be made and begins an episode."""
        from rlanything_agents.rollout.environments import make_envs
        from rlanything_envs.errors import InfrastructureError
        from rlanything_task_pools import get_domain

        config, domain = self.config, get_domain(self.config.domain)
        knobs = config.curriculum.knobs[0].knobs
        try:
            (env,) = make_envs(config, 1)
        except (TypeError, LookupError) as error:
            yield Finding("environment", False, f"{domain.env_id}: {error}", "correct the section `environment`")
            return
        try:
            _, info = env.reset(options={"task": domain.generate(0, split="train", **knobs)})
            if info.get("outcome") == "error":
                raise InfrastructureError(f"{domain.env_id} could not begin an episode: {info}"[:300])
        finally:
            env.close()
        yield Finding("environment", True, f"{domain.env_id} begins an episode")

    def _rewriter(self) -> Iterator[Finding]:
        """Whether the rewriter can be opened: its packages, its key."""
        from rlanything_agents.runs.rewriting import check_rewriter

        config = self.config.curriculum
        if not config.adapt:
            yield Finding("rewriter", True, "none: tasks stay as they are")
            return
        if not config.rewrites:
            yield Finding("rewriter", True, "none: fresh tasks take the place of those outside the band")
            return
        check_rewriter(config)
        llm = config.llm
        message = f"{llm.model} at {llm.base_url} (not asked)" if config.rewriter == "llm" and llm else config.rewriter
        yield Finding("rewriter", True, message)

    def _keys(self) -> Iterator[Finding]:
        """Whether the keys of the models' servers are set."""
        engine = self.config.engine
        for role, server in (("policy", engine.policy), ("judge", engine.judge)):
            if server is not None and server.api_key_env and not os.environ.get(server.api_key_env):
                yield Finding(f"engine.{role}", False, f"${server.api_key_env} is not set", "put the key there")
            elif server is not None:
                yield Finding(f"engine.{role}", True, f"{server.model} at {server.base_url} (not asked)")

    def _engines(self) -> Iterator[Finding]:
        """Whether the engines of the section ``cluster`` are as large as those that will run."""
        engine, cluster = self.config.engine, self.config.cluster
        if engine.kind != "vllm" or cluster is None:
            return
        size = engine.tensor_parallel_size
        for key, cards in (("policy_parallel", cluster.policy_parallel), ("judge_parallel", cluster.judge_parallel)):
            if cards != size:
                message = (
                    f"cluster.{key} is {cards}, and an engine of this run has {size} (engine.tensor_parallel_size)"
                )
                yield Finding("engines", None, message, "the forecast is of other machines than those of the run")

    def _ahead(self) -> Iterator[Finding]:
        """Whether another program plays while the models are updated."""
        if self.config.rollout.ahead:
            check_ahead(self.config)
            who = "workers play" if self.config.workers else "the server of the policy plays"
            yield Finding("ahead", True, f"{who} the next iteration during updates, one update off-policy")

    def _processes(self) -> Iterator[Finding]:
        """Whether the training processes match the configuration, and can train these models.

        Without a launcher the processes are those that the section ``cluster`` is for.
        """
        launch, cluster = planned(self.config), self.config.cluster
        if launch.size > launched().size:
            fsdp = launch.strategy == "fsdp"
            each = "share each model (FSDP2)" if fsdp else "each have both models (DDP)"
            message = f"planned for {launch.size} training processes that {each}"
            remedy = (
                f"accelerate launch --config_file configs/accelerate/{'fsdp2' if fsdp else 'ddp'}.yaml "
                f"--num_processes {launch.size} -m rlanything_agents train"
            )
            yield Finding("processes", None, message, remedy)
        if cluster is not None and cluster.offload != launch.offload:
            message = (
                f"cluster.offload is {str(cluster.offload).lower()}, and fsdp_offload_params of the launcher is not"
            )
            yield Finding("processes", None, message, "the forecast is of other settings than those of the run")
        trainers = {"policy_trainer": self.config.policy_trainer}
        if self.config.judge.learns:
            trainers["judge_trainer"] = self.config.judge_trainer
        for key, trainer in trainers.items():
            if trainer.world_size not in (1, launch.size):
                message = f"{key}.world_size is {trainer.world_size}, here is {launch.size} training process"
                remedy = f"torchrun --nproc_per_node, or --set {key}.world_size={launch.size}"
                yield Finding("processes", None, message, remedy)
        for obstacle in obstacles(self.config, launch):
            yield Finding("processes", False, obstacle)
        if launched().size > 1:
            yield Finding("processes", True, f"{launch.size} train together; this one leads, and does all else")

    def _models(self) -> Iterator[Finding]:
        """Whether the checkpoints exist and can be used, as far as that is known without weights."""
        models: list[tuple[str, AnyModel]] = [("policy", self.config.policy)]
        if self.config.queries_judge:
            models.append(("reward_model", self.config.reward_model))
        for key, model in models:
            if not isinstance(model, CheckpointConfig):
                yield Finding(key, True, "made from scratch")
                continue
            if isinstance(model, SharedConfig):
                yield Finding(key, True, "adapters on the policy's base, which is in memory once")
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
                yield from _checkpoint_folder(key, Path(source), model)
            else:
                yield Finding(key, None, f"{source}: a name on the hub; its weights are fetched when the run starts")

    def _plan(self) -> Iterator[Finding]:
        """Whether every phase has enough memory."""
        self.plan = plan = plan_run(self.config)
        where = "a card" if self.config.cluster else "this machine"
        for model in plan.models:
            if model.size.vision:
                message = f"{model.size.name} reads pictures; the loop trains models that read text"
                yield Finding(model.role, False, message, "use a model of text")
        for row in plan.memory:
            limit = "" if row.limit is None else f" of {human(row.limit)} of {where}"
            remedy = "" if row.fits else "more cards, a shorter context, `checkpointing: true`, or a smaller model"
            yield Finding(f"memory: {row.phase}", row.fits, f"{human(row.total)}{limit}; {row.note}", remedy)

    def _folder(self) -> Iterator[Finding]:
        """Whether the run can begin or continue in its folder."""
        path = self.folder.path
        if (path / "config.json").exists():
            if self.folder.config() != self.config.model_dump(mode="json"):
                yield Finding(
                    "run folder", False, f"{path} holds another run", "another `name`, or start over with --restart"
                )
                return
            found = self.folder.checkpoints.latest()
            yield Finding("run folder", True, f"{path}: goes on after iteration {found[0] if found else 0}")
            return
        parent = _nearest(path)
        if not parent.is_dir():
            yield Finding("run folder", False, f"{parent} is no folder", "another --out")
            return
        try:
            with tempfile.TemporaryFile(dir=parent):
                pass
        except OSError as error:
            yield Finding("run folder", False, f"{parent} cannot be written to: {error.strerror}", "another --out")
            return
        yield Finding("run folder", True, f"{path} will be made")

    def _disk(self) -> Iterator[Finding]:
        """Whether the disk has room for checkpoints and records."""
        if self.plan is None:
            return
        config, path = self.config, self.folder.path.absolute()
        parent = _nearest(path)
        episodes = config.iterations * (1 + config.rollout.refill) * config.rollout.tasks * config.rollout.rollouts
        need = self.plan.checkpoint * (Checkpoints.KEPT + 1) + episodes * EPISODES_DISK
        free = shutil.disk_usage(parent).free
        message = f"{human(need)} for checkpoints and records, {human(free)} free in {parent}"
        yield Finding("disk", free >= need, message, "" if free >= need else "make room, or another --out")


def _checkpoint_folder(key: str, folder: Path, model: CheckpointConfig) -> Iterator[Finding]:
    absent = [name for name in ("config.json",) if not (folder / name).is_file()]
    if not any(folder.glob("*.safetensors")):
        absent.append("*.safetensors")
    if not any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer.model", "vocab.json")):
        absent.append("tokenizer.json")
    if absent:
        remedy = "the folder must hold what save_pretrained writes, of model and tokenizer"
        yield Finding(key, False, f"{folder}: no {', no '.join(absent)}", remedy)
        return
    from rlanything_agents.models.pretrained import load_template

    load_template(model)
    size = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    yield Finding(key, True, f"{folder}: {human(size)} of weights, a tokenizer that can chat")


def _nearest(path: Path) -> Path:
    """The path itself, or its nearest existing parent."""
    return next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "of unknown version"
