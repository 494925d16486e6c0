"""Keys of a whole run, and of its rollouts, its judge and its warm start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, field_validator, model_validator

from rlanything_agents.config.curriculum import CurriculumConfig
from rlanything_agents.config.engine import EngineConfig
from rlanything_agents.config.evaluation import EvaluationConfig
from rlanything_agents.config.feedback import PRESETS, FeedbackConfig
from rlanything_agents.config.model import (
    IMITATION,
    LARGE,
    WEIGHTS,
    AnyModel,
    CheckpointConfig,
    RewardModel,
    SharedConfig,
    SmallConfig,
    usual_rate,
)
from rlanything_agents.config.monitors import MonitorsConfig
from rlanything_agents.config.section import Positive, Section, Share
from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.config.workers import WorkersConfig
from rlanything_task_pools import UnknownName

__all__ = ["TRACKERS", "JudgeConfig", "RolloutConfig", "RunConfig", "WarmStartConfig"]

Tracker = Literal["tensorboard", "trackio", "wandb"]
TRACKERS: tuple[str, ...] = get_args(Tracker)
"""Names of the trackers, for the key ``trackers``; their packages have the same names."""
TRAINERS = {"policy": "policy_trainer", "reward_model": "judge_trainer"}
"""Model -> section of its updates."""


class WarmStartConfig(Section):
    """Supervised warm start: the policy imitates an exploring expert, the judge imitates noisy labels."""

    reuse: Path | None = None
    """Folder of another run whose warm start is reused, bit for bit; the other keys then have no effect."""
    demonstrations: Positive = 1000
    max_steps: Positive = 40
    """Maximum steps per demonstration; one that has not solved its task by then is dropped."""
    epochs: Positive = 6
    batch_size: Positive = 16
    learning_rate: Annotated[float, Field(gt=0)] | None = None
    """Peak learning rate; if None 2e-3 for a small model, 1e-5 for all weights of a checkpoint, 1e-4 for its
    adapters."""
    judge_steps: Positive = 5000
    judge_epochs: Positive = 2
    label_noise: Share = 0.15
    """Share of the judge's warm-start labels that are flipped."""
    mistakes: Share | None = None
    """Share of demonstrations with deliberate mistakes, where a domain has any; the domain's own share if None."""


class RolloutConfig(Section):
    """Rollouts of an iteration: ``tasks`` groups of ``rollouts`` episodes of at most ``max_steps``."""

    tasks: Positive = 16
    rollouts: Annotated[int, Field(ge=2)] = 8
    max_steps: Positive = 30
    history: Annotated[int, Field(ge=0)] | None = None
    """Turns that a prompt of the policy holds in full before the latest message. Each earlier turn is one short line:
    its action and the first line of the result, without thoughts or screen. Fewer turns and lines where more would not
    fit the context. A model that sees reads the screens of these turns and the latest one: 2 keeps the last three.
    None: the whole transcript, and an episode that outgrows the context is cut off."""
    temperature: Annotated[float, Field(gt=0)] = 1.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Sample from the most probable tokens that together reach this probability (released code: 0.95), in evaluations
    too. Recorded log-probabilities stay those of the whole distribution, which is what the trainer scores."""
    stop: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Texts that end an answer, in evaluations too. The action is read from the text before; the tokens of the stop
    text were sampled, so they stay in the transcript and are learnt."""
    constrained: bool = True
    """Whether to sample only tokens of an answer that the environment admits (a listed command, a program of the
    language)."""
    environments: Positive | None = None
    """Number of environments, where each is costly, such as a real desktop; one per episode of an iteration if None."""
    ahead: bool = False
    """Whether workers, or the server of the policy, play the first batch of the next iteration while the models are
    updated: its episodes are those of the policy before the update, and its tasks are drawn without the outcomes of
    this iteration."""
    threads: Positive | None = None
    """Environments that step in parallel, where a step waits for a sandbox or another machine; one after another if
    None."""
    deadline: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Maximum seconds per episode; one that takes longer ends before its next turn. It has failed where its own steps
    took at least half of them: set it well above what honest steps take. Elsewhere it waited for the engine or for
    other episodes and has no outcome, as with any other failure of the infrastructure: the tokens of an agent have
    separate limits, ``max_tokens`` and ``context``."""
    screenshots: Annotated[int, Field(ge=0, exclude=True)] = 0
    """Number of environments that keep a small picture of the screen after each turn, where a domain has a screen;
    about 20 KB each. This option does not define a run and is not stored with it."""


class JudgeConfig(Section):
    """Votes on steps, and training of the reward model."""

    votes: Annotated[int, Field(ge=0, le=32)] = 3
    """Votes on each step, or unit tests for each task where the reward model writes unit tests. 0: it is neither asked
    nor trained."""
    answers: Literal["votes", "forecasts"] = "votes"
    """``votes``: 1 or -1 for each step (paper). ``forecasts``: the reward model reads an episode as one transcript, and
    after each step writes a short reason and the chance of success, in ten bins; it is rewarded by the Brier score."""
    temperature: Annotated[float, Field(gt=0)] = 1.0
    constrained: bool = True
    """Whether an engine samples only answers that can be read: a reason on one line and the score in its box, or
    thoughts on one line and a unit test. A model that thinks (``thinking``) is never constrained."""
    scope: Literal["all", "useful"] = "useful"
    """``useful``: judge only groups whose votes can reach a model, those inside the bands of accuracy (the silent ones
    where they count, and all where a judge whose answers are free learns the format), and, where tasks adapt, those
    whose task is rewritten, since the rewriter reads what the votes blame. The models learn the same in less time."""
    train: bool | None = None
    """Whether the reward model is trained; where the policy learns from its votes if None."""
    steps: Positive = 256
    """Maximum judged steps that train the judge in one iteration."""


class RunConfig(Section):
    """Settings of a whole run."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    """Name of the run and of its folder."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """Seed of all randomness: the same seed, configuration and machine give the same run."""
    threads: Positive = 2
    """Threads of torch."""
    domain: str = "alfworld"
    """Name of an installed domain; small models need a domain whose environment has a short view."""
    iterations: Positive = 32
    """Maximum number of iterations."""
    env_steps: Positive | None = None
    """Maximum number of environment steps. The run ends with the iteration in which its episodes, those on candidates
    included, reach this number."""
    environment: dict[str, Any] | None = None
    """Arguments of the environment. The key ``view`` (``full`` or ``short``) selects a view of it (see
    `rlanything_envs.views`); its default is short for a small policy and full otherwise."""
    policy: AnyModel = SmallConfig()
    reward_model: RewardModel = SmallConfig(layers=2)
    engine: EngineConfig = EngineConfig()
    warm_start: WarmStartConfig = WarmStartConfig()
    rollout: RolloutConfig = RolloutConfig()
    judge: JudgeConfig = JudgeConfig()
    feedback: FeedbackConfig = PRESETS["recommended"]
    """The name of a preset, or keys that differ from ``paper``; without it, the preset ``recommended``: outcomes alone,
    since no arm with a reward model has trained a better policy yet."""
    policy_trainer: TrainerConfig = TrainerConfig(
        learning_rate=3e-4, betas=(0.9, 0.99), warmup_updates=3, schedule="linear"
    )
    """Keys that are left out have these values, but ``learning_rate``: 3e-4 for a small model, 1e-6 for all weights of
    a checkpoint (as published), 1e-5 for its adapters."""
    judge_trainer: TrainerConfig = TrainerConfig(learning_rate=2e-4)
    """As ``policy_trainer``; the learning rate of a small model is 2e-4."""
    large_rates: bool = False
    """Allow learning rates of a checkpoint above twenty times its defaults; without it they are an error."""
    curriculum: CurriculumConfig = CurriculumConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    monitors: Annotated[MonitorsConfig, Field(exclude=True)] = MonitorsConfig()
    """Limits of a healthy run; like the trackers they are not stored."""
    workers: Annotated[WorkersConfig | None, Field(exclude=True)] = None
    """Rollout workers; None plays in the main process. Not stored, because a run may continue with other
    workers."""
    trackers: Annotated[tuple[Tracker, ...], Field(exclude=True)] = ()
    """Trackers that show the curves besides the report. They do not define a run: it may continue with other trackers,
    and they are not stored with it."""

    def used(self, rows: Sequence[Mapping[str, Any]]) -> float:
        """Share of the budget that the iterations of these metrics rows have used; the run is over from 1 on."""
        share = len(rows) / self.iterations
        return share if self.env_steps is None else max(share, sum(row["env_steps"] for row in rows) / self.env_steps)

    @property
    def models(self) -> dict[str, AnyModel]:
        """Models by their keys; a reward model with ``base: policy`` has everything that it shares."""
        judge = self.reward_model
        if isinstance(judge, SharedConfig):
            assert isinstance(self.policy, CheckpointConfig)  # nosec B101 # see the validator
            judge = judge.on(self.policy)
        return {"policy": self.policy, "reward_model": judge}

    @property
    def view(self) -> str:
        """Name of the view of the environments."""
        small = isinstance(self.policy, SmallConfig)
        return str((self.environment or {}).get("view", "short" if small else "full"))

    @property
    def environment_arguments(self) -> dict[str, Any]:
        """Arguments of the environment without the view."""
        return {name: value for name, value in (self.environment or {}).items() if name != "view"}

    @property
    def judge_learns(self) -> bool:
        """Whether there is a reward model that is trained."""
        train = self.feedback.reads_votes if self.judge.train is None else self.judge.train
        return train and self.judge.votes > 0

    @property
    def queries_judge(self) -> bool:
        """Whether the run queries the reward model: an update of the policy or of the reward model depends on votes."""
        return (self.feedback.reads_votes or self.judge_learns) and self.judge.votes > 0

    @property
    def summariser(self) -> Literal["rewriter", "judge", "scripted"]:
        """Who summarises episodes for the rewriter; see ``curriculum.summariser``."""
        settings = self.curriculum
        if settings.summariser is not None or not settings.rewrites:
            return settings.summariser or "scripted"
        if settings.rewriter == "llm":
            return "rewriter"
        published = self.feedback in (PRESETS["paper"], PRESETS["reference"])
        return "judge" if published and not isinstance(self.reward_model, SmallConfig) else "scripted"

    @model_validator(mode="before")
    @classmethod
    def _updates_keep_their_defaults(cls, tree: Any) -> Any:
        """Keys that a trainer's section leaves out are those of the section's default, the rate that of the model."""
        if not isinstance(tree, Mapping):
            return tree
        found = dict(tree)
        for key, trainer in TRAINERS.items():
            given, rate = tree.get(trainer), usual_rate(tree.get(key))
            if given is None or isinstance(given, Mapping):
                usual = {} if rate is None else {"learning_rate": rate}
                found[trainer] = cls.model_fields[trainer].default.model_dump() | usual | dict(given or {})
        return found

    @model_validator(mode="before")
    @classmethod
    def _a_service_trains_adapters(cls, tree: Any) -> Any:
        """With the engine ``tinker``: adapters where nothing is said about them, and answers that are free."""
        if not isinstance(tree, Mapping) or not isinstance(engine := tree.get("engine"), (Mapping, EngineConfig)):
            return tree
        if dict(engine).get("kind") != "tinker":
            return tree
        found = dict(tree)
        for key in TRAINERS:
            model = dict(given) if isinstance(given := found.get(key), (Mapping, Section)) else {}
            if "checkpoint" in model and model.get("lora") is None:
                found[key] = {**model, "lora": {}}
            section = "rollout" if key == "policy" else "judge"
            if ("checkpoint" in model or "base" in model) and isinstance(settings := found.get(section, {}), Mapping):
                found[section] = {"constrained": False, **settings}
        return found

    @model_validator(mode="after")
    def _a_service_can_train_it(self) -> RunConfig:
        if self.engine.kind != "tinker":
            return self
        if not isinstance(self.policy, CheckpointConfig):
            raise ValueError(
                "engine.kind tinker trains a base model of the service: name it in policy.checkpoint, such as "
                "Qwen/Qwen3-8B; a small model has random weights of this run"
            )
        for key, sampled in (("policy", self.rollout), ("reward_model", self.judge)):
            model, trainer, section = self.models[key], getattr(self, TRAINERS[key]), TRAINERS[key]
            if not isinstance(model, CheckpointConfig):
                continue
            name = "rollout" if key == "policy" else "judge"
            wrong = {
                f"{key}.quantization": model.quantization is not None,
                f"{name}.constrained": sampled.constrained,
                f"{section}.beta": trainer.beta > 0,
                f"{section}.fresh_optimizer": trainer.fresh_optimizer,
            }
            if name_of := next((name for name, is_wrong in wrong.items() if is_wrong), None):
                raise ValueError(f"{name_of} has no counterpart at the service of engine.kind tinker: leave it out")
            if (sampled.temperature, getattr(sampled, "top_p", 1.0)) != (1.0, 1.0) and not trainer.recomputes:
                raise ValueError(
                    f"{name}.temperature and {name}.top_p other than 1 with engine.kind tinker: services differ in "
                    f"whether they report log-probabilities before or after them: set {section}.recompute to true"
                )
        if self.workers is not None:
            raise ValueError("workers with engine.kind tinker: one process has the session: leave them out")
        return self

    @model_validator(mode="after")
    def _a_shared_base_is_frozen(self) -> RunConfig:
        if isinstance(self.reward_model, SharedConfig):
            if not isinstance(self.policy, CheckpointConfig) or self.policy.lora is None:
                raise ValueError(
                    "reward_model.base: policy shares the frozen weights of the policy, and without policy.lora they "
                    "are trained: set policy.checkpoint and policy.lora, or give reward_model a checkpoint"
                )
            self.reward_model.on(self.policy)
        return self

    @model_validator(mode="after")
    def _large_rates_are_meant(self) -> RunConfig:
        imitated = self.warm_start.learning_rate
        for key, trainer in TRAINERS.items():
            model = self.models[key]
            usual, rates = usual_rate(model), list[tuple[str, float, float]]()
            if usual is None or self.large_rates:
                continue
            if key == "policy" or self.judge_learns:
                rates.append((f"{trainer}.learning_rate", getattr(self, trainer).learning_rate, usual))
            if imitated is not None and isinstance(model, CheckpointConfig) and model.lessons:
                rates.append(("warm_start.learning_rate", imitated, IMITATION * usual))
            what = "all weights" if usual == WEIGHTS else "adapters"
            for name, rate, most in rates:
                if rate > LARGE * most * (1 + 1e-9):
                    raise ValueError(
                        f"{name} {rate:g} is more than {LARGE} times {most:g}, which is usual for {what} of a "
                        f"checkpoint ({key}): lower it, or set large_rates to true if it is meant, as for a model of "
                        "some hundred million parameters"
                    )
        return self

    @field_validator("feedback", mode="before")
    @classmethod
    def _preset(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return FeedbackConfig.preset(value)
        except UnknownName as error:
            raise ValueError(str(error)) from error

    @model_validator(mode="after")
    def _groups_fit_the_pool(self) -> RunConfig:
        if self.rollout.tasks > self.curriculum.pool_size:
            raise ValueError(
                f"rollout.tasks ({self.rollout.tasks}) is larger than "
                f"curriculum.pool_size ({self.curriculum.pool_size}): a batch draws distinct slots"
            )
        return self

    @model_validator(mode="after")
    def _small_models_read_short_texts(self) -> RunConfig:
        for key, model in self.models.items():
            if isinstance(model, SmallConfig) and self.view != "short" and (key == "policy" or self.queries_judge):
                raise ValueError(
                    f"{key} is a small model, whose words are those of the short view: set environment.view to short, "
                    f"or give {key} a checkpoint"
                )
        return self

    @model_validator(mode="after")
    def _a_summariser_writes_sentences(self) -> RunConfig:
        if self.summariser == "judge" and isinstance(self.reward_model, SmallConfig):
            raise ValueError(
                "curriculum.summariser judge: a small reward model knows the words of the short view alone and writes "
                "no sentences: give reward_model a checkpoint, or choose another summariser"
            )
        return self

    @model_validator(mode="after")
    def _another_program_plays_ahead(self) -> RunConfig:
        if not self.rollout.ahead:
            return self
        if self.engine.kind == "vllm":
            raise ValueError(
                "rollout.ahead plays during updates, and an engine inside this process (engine.kind vllm) cannot: "
                "start a server and choose vllm_server"
            )
        if self.engine.server("policy") is not None and self.engine.sleeps:
            raise ValueError(
                "rollout.ahead plays during updates, while engine.sleep puts the server of the policy to sleep: leave "
                "one of them out"
            )
        if self.rollout.screenshots:
            raise ValueError(
                "rollout.screenshots keeps the screens of one iteration at a time: leave out rollout.ahead"
            )
        return self

    @model_validator(mode="after")
    def _an_engine_has_the_trained_weights(self) -> RunConfig:
        served = {"policy": self.engine.policy, "reward_model": self.engine.judge}
        for key, model in self.models.items():
            if not isinstance(model, CheckpointConfig) or model.quantization is None:
                continue
            if self.engine.kind == "vllm" or served[key] is not None:
                raise ValueError(
                    f"{key}.quantization {model.quantization} with engine.kind {self.engine.kind}: the engine would "
                    "sample from the weights as they are stored, not from those that are trained on. Set engine.kind "
                    f"to transformers, or leave {key}.quantization out"
                )
        return self

    @model_validator(mode="after")
    def _a_server_has_one_base(self) -> RunConfig:
        policy, judge = self.engine.policy, self.engine.judge
        if policy is None or judge is None or not self.queries_judge:
            return self
        if policy.base_url.rstrip("/") == judge.base_url.rstrip("/"):
            if not isinstance(self.reward_model, SharedConfig):
                raise ValueError(
                    f"engine.policy and engine.judge are one server ({policy.base_url}), which has one base: give each "
                    "its own, or set lora of policy and reward_model.base: policy"
                )
            if self.engine.sleeps:
                raise ValueError(
                    f"engine.sleep puts servers to sleep in turn, and engine.policy and engine.judge are one "
                    f"({policy.base_url}): leave engine.sleep out"
                )
        return self

    @model_validator(mode="after")
    def _workers_fit_the_engine(self) -> RunConfig:
        if self.workers is None:
            return self
        if self.rollout.screenshots:
            raise ValueError("rollout.screenshots keeps screens of this process's environments: leave out workers")
        if self.engine.kind == "vllm":
            raise ValueError(
                "workers cannot share an engine inside this process: with engine.kind vllm leave them out, or start "
                "servers and choose vllm_server"
            )
        if self.engine.on and self.engine.sleeps and self.workers.judge != "after":
            raise ValueError(
                f"engine.sleep lets one server be awake at a time, workers.judge {self.workers.judge} needs both: "
                "choose after, or leave engine.sleep out"
            )
        return self
