"""The keys of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, field_validator, model_validator

from rlanything_agents.config.cluster import ClusterConfig
from rlanything_agents.config.corrupt import CorruptConfig
from rlanything_agents.config.curriculum import CurriculumConfig
from rlanything_agents.config.engine import EngineConfig
from rlanything_agents.config.evaluation import EvaluationConfig
from rlanything_agents.config.feedback import FeedbackConfig, UnknownPreset
from rlanything_agents.config.model import AnyModel, CheckpointConfig, SmallConfig
from rlanything_agents.config.monitors import MonitorsConfig
from rlanything_agents.config.section import ANY, Mixture, Positive, Section, Share
from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.config.workers import WorkersConfig

__all__ = ["TRACKERS", "JudgeConfig", "RolloutConfig", "RunConfig", "WarmStartConfig"]

Tracker = Literal["tensorboard", "trackio", "wandb"]
TRACKERS: tuple[str, ...] = get_args(Tracker)
"""Names of the trackers, as ``trackers`` takes them; also their packages'."""


class WarmStartConfig(Section):
    """Supervised start of the policy from an exploring expert, and of the judge from noisy labels."""

    reuse: Path | None = None
    """Folder of another run whose warm start is taken over, bit for bit; the other keys then have no effect."""
    knobs: Mixture = ANY
    """What the demonstrated games are made of, and those the judge's first lessons are played on."""
    demonstrations: Positive = 1000
    max_steps: Positive = 40
    """A demonstration that has not won by then is dropped."""
    epochs: Positive = 6
    batch_size: Positive = 16
    learning_rate: Annotated[float, Field(gt=0)] = 2e-3
    judge_steps: Positive = 5000
    judge_epochs: Positive = 2
    label_noise: Share = 0.15
    """Share of the judge's warm-start labels that are flipped."""
    mistakes: Share | None = None
    """Share of demonstrations that show something wrong, where a domain can; its own share if None."""


class RolloutConfig(Section):
    """How trajectories are collected: ``tasks`` groups of ``rollouts`` episodes of at most ``max_steps``."""

    tasks: Positive = 16
    rollouts: Annotated[int, Field(ge=2)] = 8
    max_steps: Positive = 30
    temperature: Annotated[float, Field(gt=0)] = 1.0
    constrained: bool = True
    """Sample only tokens that continue what the environment admits (a command it lists, a program of the language)."""
    environments: Positive | None = None
    """Environments that are there at once, where each is costly, such as a real desktop; one an episode of an iteration
    if None."""
    threads: Positive | None = None
    """Environments that step at once, where a step waits for a sandbox or another machine; one by one if None."""
    screenshots: Annotated[int, Field(ge=0, exclude=True)] = 0
    """In so many environments a small picture of the screen is kept after each turn, where a domain has one; some 20 KB
    each. Who looks at a run is no part of what it is: the option is not stored with it."""


class JudgeConfig(Section):
    """Where the votes on steps come from."""

    source: Literal["generative", "oracle"] = "generative"
    """``generative``: the reward model. ``oracle``: the planner's labels, for measuring what a perfect judge would
    be worth; no model is asked and none is trained."""
    votes: Annotated[int, Field(ge=1, le=32)] = 3
    """Votes on each step; unit tests for each task, where the reward model writes those."""
    temperature: Annotated[float, Field(gt=0)] = 1.0
    scope: Literal["all", "useful"] = "all"
    """``useful``: only groups whose votes can teach anybody are judged, those inside the bands of accuracy (and the
    silent ones where they count): the same learning for less time, and shorter critiques for a rewriter."""
    train: bool = True
    steps: Positive = 256
    """At most this many judged steps train the judge in one iteration."""
    warmup: Annotated[int, Field(ge=0)] = 0
    """In the first so many iterations the judge learns and the policy does not. They count in the budget."""

    @property
    def learns(self) -> bool:
        """Whether there is a reward model that is trained."""
        return self.train and self.source == "generative"

    @model_validator(mode="after")
    def _someone_warms_up(self) -> JudgeConfig:
        if self.warmup and not self.learns:
            raise ValueError(f"warmup {self.warmup} needs a judge that learns: train true and source generative")
        return self


class RunConfig(Section):
    """A whole run."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    """Of the run and of its folder."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """Of everything random in the run: same seed, same configuration and same machine, same run."""
    threads: Positive = 2
    """Of torch."""
    domain: str = "alfworld"
    """Name of an installed domain; small models need one whose environment has a short view."""
    iterations: Positive = 32
    """At most this many."""
    env_steps: Positive | None = None
    """The loop ends with the iteration in which its episodes, those on candidates included, reach so many steps."""
    environment: dict[str, Any] | None = None
    """Arguments of the environment; ``view``, ``full`` or ``short``, is how it is read and written (see
    `rlanything_envs.views`): short for a small policy, else full, where it is left out."""
    policy: AnyModel = SmallConfig()
    reward_model: AnyModel = SmallConfig(layers=2)
    engine: EngineConfig = EngineConfig()
    warm_start: WarmStartConfig = WarmStartConfig()
    rollout: RolloutConfig = RolloutConfig()
    judge: JudgeConfig = JudgeConfig()
    feedback: FeedbackConfig = FeedbackConfig()
    policy_trainer: TrainerConfig = TrainerConfig(
        learning_rate=3e-4, betas=(0.9, 0.99), warmup_updates=3, schedule="linear"
    )
    judge_trainer: TrainerConfig = TrainerConfig(learning_rate=2e-4)
    curriculum: CurriculumConfig = CurriculumConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    corrupt: CorruptConfig = CorruptConfig()
    monitors: Annotated[MonitorsConfig, Field(exclude=True)] = MonitorsConfig()
    """From where on something counts as going wrong. As with trackers, it is not stored."""
    workers: Annotated[WorkersConfig | None, Field(exclude=True)] = None
    """Who plays, if not the process of the loop; not stored, as the number of workers may change."""
    cluster: Annotated[ClusterConfig | None, Field(exclude=True)] = None
    """The machines that a plan is made for (``train --dry-run``); a run itself takes no notice of
    it, and it is not stored."""
    trackers: Annotated[tuple[Tracker, ...], Field(exclude=True)] = ()
    """Where the curves are shown besides the report. Who watches a run is no part of what it is: a run may be continued
    with other trackers, and they are not stored with it."""

    def used(self, rows: Sequence[Mapping[str, Any]]) -> float:
        """Share of the budget that the iterations of these metrics rows have used up; from 1 on the run is over."""
        share = len(rows) / self.iterations
        return share if self.env_steps is None else max(share, sum(row["env_steps"] for row in rows) / self.env_steps)

    @property
    def view(self) -> str:
        """How environments are read and written."""
        small = isinstance(self.policy, SmallConfig)
        return str((self.environment or {}).get("view", "short" if small else "full"))

    @property
    def environment_arguments(self) -> dict[str, Any]:
        """Arguments of the environment without the view."""
        return {name: value for name, value in (self.environment or {}).items() if name != "view"}

    @property
    def votes_wanted(self) -> bool:
        """Whether anything depends on votes."""
        return self.feedback.lam != 0 or self.judge.learns

    @property
    def judge_is_asked(self) -> bool:
        """Whether the reward model has a part in the run."""
        return self.votes_wanted and self.judge.source == "generative"

    @field_validator("feedback", mode="before")
    @classmethod
    def _preset(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return FeedbackConfig.preset(value)
        except UnknownPreset as error:
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
        for key, model in (("policy", self.policy), ("reward_model", self.reward_model)):
            if isinstance(model, SmallConfig) and self.view != "short" and (key == "policy" or self.judge_is_asked):
                raise ValueError(
                    f"{key} is a small model, whose words are those of the short view: set environment.view to short, "
                    f"or give {key} a checkpoint"
                )
        return self

    @model_validator(mode="after")
    def _an_engine_holds_an_episode(self) -> RunConfig:
        limit = self.engine.max_model_len
        for key, model in (("policy", self.policy), ("reward_model", self.reward_model)):
            if limit is not None and isinstance(model, CheckpointConfig) and limit < model.context:
                raise ValueError(
                    f"engine.max_model_len ({limit}) is less than {key}.context ({model.context}): the engine would "
                    f"refuse what still fits the context. Set {key}.context={limit}, or max_model_len higher"
                )
        return self

    @model_validator(mode="after")
    def _workers_play_by_themselves(self) -> RunConfig:
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

    @model_validator(mode="after")
    def _the_policy_comes_to_learn(self) -> RunConfig:
        if self.judge.warmup >= self.iterations:
            raise ValueError(
                f"judge.warmup ({self.judge.warmup}) leaves the policy none of the {self.iterations} iterations"
            )
        return self
