"""The two models of a run with their trainers, engines and chat templates."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from transformers import PreTrainedModel

from rlanything_agents.config import CheckpointConfig, RunConfig, SharedConfig
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.engines.chat import ChatGenerator
from rlanything_agents.engines.open import Serving, open_engine
from rlanything_agents.engines.scheduler import GPUScheduler
from rlanything_agents.engines.tinker import Adapter, TinkerService
from rlanything_agents.models.checkpoint import CheckpointError
from rlanything_agents.models.pretrained import (
    load_base,
    load_template,
    sharing_weights,
    trained,
    vocabulary_of,
    with_adapters,
)
from rlanything_agents.models.template import ChatTemplate
from rlanything_agents.reward_models.judge_model import JudgeModel
from rlanything_agents.rollout.copies import CopyWeights, Role, checkpoint_of
from rlanything_agents.rollout.environments import view_of
from rlanything_agents.rollout.renderer import Renderer
from rlanything_agents.rollout.rollout import Policy
from rlanything_agents.training.learner import Learner
from rlanything_agents.training.ranks.launch import launched
from rlanything_agents.training.tinker import TinkerLearner
from rlanything_agents.training.trainer import SampleTrainer
from rlanything_envs.llm.generator import TextGenerator

__all__ = ["Learners", "make_both"]


class Learners:
    """Policy and reward model of a run.

    Args:
        config: All settings.
        folder: Folder for small models, and for the weights that engines read; a temporary one until `close` if None.

    Attributes:
        both: Learners by role.
        policy: Learner of the policy.
        judge: Learner of the reward model.
        actor: Policy that samples answers with the current weights.
        judge_model: Language model of the reward model, with the current weights.
        scheduler: GPU scheduler: one engine is awake at a time, and none during an update. Beside engines of vLLM the
            optimizer state of a model that is not being updated sleeps too.

    Raises:
        CheckpointError: A checkpoint cannot be used.
        MissingExtra: A package that the adapters or the engine need is not installed.
        MissingKey, ServiceFailed: The service that trains the models has no key, or is out of reach.
        UnknownName: The domain is not installed, or has no such view.
    """

    def __init__(self, config: RunConfig, folder: Path | None = None) -> None:
        self._scratch: TemporaryDirectory[str] | None = None
        if folder is None:
            self._scratch = TemporaryDirectory(prefix="models-")
            folder = Path(self._scratch.name)
        self._service = TinkerService() if config.engine.kind == "tinker" else None
        if self._service is not None:
            self._service.connect()  # a missing key is known before anything is made
        self.both, checkpoints, templates = _begin(config, folder, self._service)
        self.policy, self.judge = self.both["policy"], self.both["judge"]
        self._engines: dict[Role, TextGenerator] = {
            role: open_engine(
                config.engine, role, learner.model, templates[role].tokenizer, folder, checkpoints[role].context
            )
            for role, learner in self.both.items()
        }
        self._served: dict[str, int] = {}
        self._kept: dict[Role, CopyWeights] = {}
        vllm = config.engine.kind in ("vllm", "vllm_server")
        phases: dict[str, object] = {f"update of {role}": one if vllm else None for role, one in self.both.items()}
        phases.update(policy=self._engines["policy"], judge=self._engines["judge"])
        self.scheduler = GPUScheduler(phases)
        for role, learner in self.both.items():
            learner.prepare = partial(self.scheduler.enter, f"update of {role}")
        policy, judge = (
            ChatGenerator(self._engines[role], templates[role], partial(self._ready, role)) for role in self.both
        )
        renderer = Renderer(templates["policy"], view_of(config), checkpoints["policy"], config.rollout.history)
        self.actor = Policy(policy, renderer)
        self.judge_model = JudgeModel(judge, templates["judge"], checkpoints["judge"])

    def _ready(self, role: Role) -> None:
        """Wake an engine, and load the current weights if it has older ones; one of `keeping` keeps what it has."""
        if role in self._kept:
            return
        learner = self.both[role]
        if learner.version != self._served.get(role, 0):
            learner.hand_over(self._engines[role])
            self._served[role] = learner.version
        self.scheduler.enter(role)

    def counted(self) -> dict[str, dict[str, int]]:
        """Tokens that the service of the models has read and written since the last call, as ``service``; empty without
        one."""
        return {} if self._service is None else {"service": self._service.counted()}

    def save(self, folder: Path) -> None:
        """Store both learners."""
        self.policy.save(folder / "policy")
        self.judge.save(folder / "judge")

    def load(self, folder: Path) -> None:
        """Restore both learners from a folder of `save`."""
        self.policy.load(folder / "policy")
        self.judge.load(folder / "judge")

    @contextmanager
    def keeping(self, role: Role) -> Iterator[None]:
        """Sample with the current weights within the block, while the model may be updated.

        This holds for the server of the role and for copies of the model, but not for an engine in this process.

        Raises:
            EngineFailed: The server does not load the weights.
        """
        self._kept[role] = self.for_copies(role)
        try:
            yield
        finally:
            del self._kept[role]

    def for_copies(self, role: Role) -> CopyWeights:
        """Current weights for a `ModelCopy`, or those that `keeping` keeps.

        Returns:
            Trained weights by name, on the CPU (all weights, or the adapters); or the reference to the weights of the
            model's server, where it has one.

        Raises:
            EngineFailed: The server does not load the weights.
        """
        engine = self._engines[role]
        if isinstance(engine, Serving):
            self._ready(role)
            return engine.serve()
        if role in self._kept:
            return self._kept[role]
        model = self.both[role].model
        return {
            name: weight.detach().to("cpu", copy=True) for name, weight in trained(model, model.state_dict()).items()
        }

    def close(self) -> None:
        """Close the engines, and delete the temporary folder."""
        try:
            self.scheduler.close()
        finally:
            if self._scratch is not None:
                self._scratch.cleanup()


def make_both(config: RunConfig) -> dict[Role, Learner]:
    """Learners of a run by role, without engines, for a following training process.

    Raises:
        CheckpointError: A checkpoint cannot be used.
        MissingExtra: A package that the adapters need is not installed.
        UnknownName: The domain is not installed, or has no such view.
    """
    with TemporaryDirectory(prefix="models-") as folder:  # small models are loaded into memory as a whole
        return _begin(config, Path(folder))[0]


def _begin(
    config: RunConfig, folder: Path, service: TinkerService | None = None
) -> tuple[dict[Role, Learner], dict[Role, CheckpointConfig], dict[Role, ChatTemplate]]:
    roles: tuple[Role, Role] = ("policy", "judge")
    checkpoints = {role: checkpoint_of(config, role, folder) for role in roles}
    templates = {role: load_template(checkpoints[role]) for role in roles}
    trainers = {"policy": config.policy_trainer, "judge": config.judge_trainer}
    seeds = {role: seed_of(config.seed, role, "trainer", 0) for role in roles}
    learners: dict[Role, Learner] = {}
    models = {"policy": config.policy, "judge": config.models["reward_model"]}
    for role in roles:
        if service is not None and isinstance(models[role], CheckpointConfig):
            if templates[role].images is not None:
                raise CheckpointError(f"{checkpoints[role].checkpoint} sees, and engine.kind tinker reads text alone")
            seed = seed_of(config.seed, role, "weights")
            adapter = Adapter(service, checkpoints[role], vocabulary_of(checkpoints[role]), seed)
            longest = checkpoints[role].max_tokens
            learners[role] = TinkerLearner(adapter, trainers[role], templates[role].tokenizer, seeds[role], longest)
    on_host = launched().strategy == "fsdp"
    bases = dict[Role, PreTrainedModel]()
    for role in roles:
        if role in learners:
            continue
        if role == "judge" and isinstance(config.reward_model, SharedConfig):
            bases[role] = sharing_weights(bases["policy"])
        else:
            bases[role] = load_base(checkpoints[role], templates[role].tokenizer, on_host=on_host)
    for role, base in bases.items():
        model = with_adapters(base, checkpoints[role], seed_of(config.seed, role, "weights"))
        settings, tokenizer = trainers[role], templates[role].tokenizer
        trainer = SampleTrainer(model, tokenizer, settings, seeds[role], checkpoints[role].max_tokens)
        learners[role] = Learner(model, trainer, settings, tokenizer)
    return learners, checkpoints, templates
