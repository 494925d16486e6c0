"""Plan of a run before it starts: models, memory, tokens and steps, and the place of each phase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from rlanything_agents.config import RunConfig
from rlanything_agents.config.cluster import ClusterConfig
from rlanything_agents.tools.planning.demand import Demand
from rlanything_agents.tools.planning.footprint import Memory, memory_of
from rlanything_agents.tools.planning.memory import optimizer_state
from rlanything_agents.tools.planning.models import PlannedModel, planned_models
from rlanything_agents.training.ranks.launch import planned

__all__ = ["Place", "RunPlan", "Work", "plan_run"]


@dataclass(frozen=True, slots=True)
class Work:
    """An amount of an iteration: the expectation under the assumptions, and the maximum (None: no bound known)."""

    what: str
    expected: float
    most: float | None


@dataclass(frozen=True, slots=True)
class Place:
    """Place of a phase: where it runs."""

    phase: str
    where: str


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Plan of a run."""

    models: tuple[PlannedModel, ...]
    memory: tuple[Memory, ...]
    work: tuple[Work, ...]
    places: tuple[Place, ...]
    checkpoint: float
    """Bytes of a stored checkpoint."""

    def to_dict(self) -> dict[str, object]:
        """The plan as plain data."""
        return {
            "models": [
                {
                    "role": model.role,
                    "name": model.size.name,
                    "source": model.size.source,
                    "parameters": model.size.parameters,
                    "trained": model.trained,
                    "weights_bytes": model.weights,
                    "shares_weights": model.shared,
                    "cache_bytes_per_token": model.size.cache_bytes(model.width),
                }
                for model in self.models
            ],
            "memory": [{**asdict(row), "total": row.total, "fits": row.fits} for row in self.memory],
            "work": [asdict(row) for row in self.work],
            "places": [asdict(row) for row in self.places],
            "checkpoint_bytes": self.checkpoint,
        }


def plan_run(config: RunConfig) -> RunPlan:
    """Plan a run.

    Raises:
        UnknownSize: The size of a model is not known here.
        UnknownView: The domain has no words for a small model.
    """
    models = planned_models(config)
    demand = _demand(config, models)
    return RunPlan(
        models=tuple(models),
        memory=memory_of(config, models, demand),
        work=tuple(_work(config, demand)),
        places=tuple(_places(config, models)),
        checkpoint=sum(_stored(model) for model in models),
    )


def _demand(config: RunConfig, models: list[PlannedModel]) -> Demand:
    by_role = {model.role: model for model in models}
    policy, judge = by_role["policy"], by_role.get("reward model")
    vote_limit = judge.limit if judge else 0
    assumed = (config.cluster or ClusterConfig()).assumptions
    short = config.view == "short"
    return Demand(
        tasks=config.rollout.tasks,
        refill=config.rollout.refill,
        rollouts=config.rollout.rollouts,
        max_steps=config.rollout.max_steps,
        votes=config.judge.votes if judge else 0,
        judges_steps=_judges_steps(config.domain),
        judge_learns=config.judge.learns,
        judge_samples=config.judge.steps,
        response_limit=policy.limit,
        vote_limit=vote_limit,
        context=policy.context,
        append_only=policy.append_only,
        success=assumed.success,
        solved_length=assumed.solved_length,
        prompt_tokens=assumed.prompt_tokens or (70.0 if short else 900.0),
        observation_tokens=assumed.observation_tokens or (9.0 if short else 70.0),
        response_tokens=assumed.response_tokens or policy.limit / 3,
        vote_tokens=assumed.vote_tokens or vote_limit / 3,
        learning=assumed.learning,
        history=config.rollout.history,
    )


def _judges_steps(domain: str) -> bool:
    """Whether the domain's reward model judges steps."""
    from rlanything_agents.domains.supervision import StepSupervision, get_supervision

    return isinstance(get_supervision(domain), StepSupervision)


def _work(config: RunConfig, demand: Demand) -> Iterator[Work]:
    steps, answers, most = demand.steps, demand.answers, demand.most_steps
    rewritten = (config.cluster or ClusterConfig()).assumptions.rewritten if config.curriculum.rewrites else 0.0
    batches, most_batches = demand.batches, 1 + demand.refill
    yield Work("episodes", batches * demand.episodes, most_batches * demand.episodes)
    yield Work("environment steps", steps, most)
    yield Work("tokens the policy writes", steps * demand.response_tokens, most * demand.response_limit)
    yield Work("answers of the reward model", answers, demand.most_votes)
    yield Work("tokens the reward model writes", answers * demand.vote_tokens, demand.most_votes * demand.vote_limit)
    yield Work("tokens the policy learns from", demand.trained_tokens, None)
    yield Work("tokens the reward model learns from", demand.judge_trained_tokens, None)
    yield Work("tasks to rewrite", batches * demand.tasks * rewritten, most_batches * demand.tasks if rewritten else 0)
    yield Work("environment steps of the run", steps * config.iterations, config.env_steps)


def _places(config: RunConfig, models: list[PlannedModel]) -> Iterator[Place]:
    cluster, rollout = config.cluster, config.rollout
    environments = rollout.environments or rollout.tasks * rollout.rollouts
    if cluster is None:
        here = f"this machine, torch on {config.threads} threads"
        yield Place("environments", f"this machine: {environments}, {rollout.threads or 1} at once")
        yield Place("policy and reward model", here)
        yield Place("updates", here)
    else:
        cards = f"{cluster.nodes} nodes x {cluster.gpus} {cluster.card}"
        workers = cluster.workers * cluster.nodes
        yield Place("environments", f"{environments} on {cluster.nodes} nodes, {workers} workers")
        for model in models:
            parallel = cluster.policy_parallel if model.role == "policy" else cluster.judge_parallel
            yield Place(f"{model.role} writes", f"{cluster.all_gpus // parallel} engines of {parallel} GPUs: {cards}")
        offload = ", parameters and optimizer in host memory" if cluster.offload else ""
        launch = planned(config)
        split = "each has a part of the model (FSDP2)" if launch.strategy == "fsdp" else "each has the whole model"
        yield Place("updates", f"{launch.size} processes, one model after the other; {split}{offload}")
    if config.curriculum.rewrites:
        llm = config.curriculum.llm
        known = any(model.role == "rewriter" for model in models)
        where = "a script, no model"
        if config.curriculum.rewriter == "llm" and llm:
            where = f"{llm.model} at {llm.base_url}" + " (planned on these GPUs)" * (known and cluster is not None)
        yield Place("rewriting", where)


def _stored(model: PlannedModel) -> float:
    """Bytes of a model in a checkpoint: weights or adapters, and the optimizer's state of the trained parameters."""
    if model.role == "rewriter":
        return 0.0
    if model.adapters:
        return 4 * model.trained + optimizer_state(model.size, 4, model.trained, model.optim)
    state = optimizer_state(model.size, model.width, optim=model.optim) if model.trained else 0.0
    return model.weights + state
