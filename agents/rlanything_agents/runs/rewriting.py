"""Rewriter, summariser and curriculum of a run, as its configuration names them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rlanything_agents.config import CurriculumConfig, LLMConfig, RunConfig
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.rollout.tasks import GeneratedMixture
from rlanything_agents.runs.background import BackgroundRewriter
from rlanything_envs.curriculum import Curriculum, FreshRewriter, LLMRewriter, LLMSummariser, Rewriter, ScriptedRewriter
from rlanything_envs.llm import (
    Budget,
    Endpoint,
    OpenAIGenerator,
    PatientGenerator,
    PromptLog,
    RecordedAnswers,
    Retries,
    SamplingParams,
    usage_of,
)
from rlanything_envs.sources import GivenTasks, TaskSource
from rlanything_task_pools import Domain, TaskPool
from rlanything_task_pools.collection import read_collection

if TYPE_CHECKING:
    from rlanything_agents.reward_models.judge_model import JudgeModel

__all__ = ["check_rewriter", "make_curriculum", "make_summariser", "open_rewriter", "service_of"]

CHARACTERS = 3
"""Characters of a prompt for each token of a reward model's context; English text has some four."""
PATIENCE_S = 900.0
"""Maximum seconds for one request to a service with all its attempts, and for waiting for it."""
SILENCE_S = 300.0
"""Maximum seconds that a service may take to begin its answer."""


def check_rewriter(config: CurriculumConfig) -> None:
    """Check that a rewriter can be opened; nothing is sent, read or written.

    Raises:
        MissingExtra: The package ``openai`` is not installed.
        MissingKey: The environment variable of the service's key is unset.
    """
    if config.rewriter == "llm" and config.llm is not None:
        OpenAIGenerator(_endpoint(config.llm))


@contextmanager
def open_rewriter(config: CurriculumConfig, log: Path, say: Callable[[str], None] | None = None) -> Iterator[Rewriter]:
    """Open a rewriter for the time of a loop.

    Args:
        config: Settings of the curriculum: ``rewriter``, ``operators``, ``llm``, and for fresh tasks ``pool`` and
            ``knobs`` are used.
        log: File of a language model's prompts and answers. A prompt in it is answered from it, so that a resumed run
            repeats its course, and its tokens count in the budget.
        say: Called with a message while the run waits for a service or continues without it; the message quotes the
            service, so it is untrusted.

    Raises:
        MissingExtra: The package ``openai`` is not installed.
        MissingKey: The environment variable of the service's key is unset.
    """
    if config.rewriter == "llm" and config.llm is not None:
        settings = config.llm
        params = SamplingParams(settings.max_tokens, temperature=settings.temperature)
        with _generator(settings, log) as generator:
            patient = PatientGenerator(generator, settings.on_failure, patience_s=PATIENCE_S, say=say)
            yield LLMRewriter(
                patient, settings.model, attempts=settings.attempts, operators=config.operators, params=params
            )
    elif config.rewriter == "fresh":
        yield FreshRewriter(partial(_source, config))
    else:
        yield ScriptedRewriter(operators=config.operators)


def service_of(rewriter: Rewriter) -> PatientGenerator | None:
    """The service that a rewriter depends on; None for a rewriter without one."""
    found = getattr(rewriter, "generator", None)
    return found if isinstance(found, PatientGenerator) else None


def make_summariser(config: RunConfig, rewriter: Rewriter, judge: JudgeModel) -> LLMSummariser | None:
    """The language model that summarises episodes for the rewriter; None where the summaries are scripted.

    Args:
        config: All settings.
        rewriter: The open rewriter.
        judge: The reward model.
    """
    service = service_of(rewriter)
    if config.summariser == "rewriter" and service is not None and config.curriculum.llm is not None:
        llm = config.curriculum.llm
        params = SamplingParams(llm.max_tokens, temperature=llm.temperature, seed=seed_of(config.seed, "summary"))
        return LLMSummariser(service, params, name=llm.model)
    if config.summariser == "judge":
        own = judge.config
        params = SamplingParams(own.max_tokens, temperature=0.7, seed=seed_of(config.seed, "summary"))
        name, room = f"reward model {own.checkpoint}"[:200], max(256, own.context - own.max_tokens)
        return LLMSummariser(judge.generator, params, name=name, characters=CHARACTERS * room)
    return None


def make_curriculum(config: RunConfig, pool: TaskPool, rewriter: Rewriter) -> Curriculum:
    """The curriculum of a run.

    Args:
        config: All settings.
        pool: The tasks.
        rewriter: The open rewriter; one that depends on a service works in the background.
    """
    settings = config.curriculum
    return Curriculum(
        pool,
        rewriter if service_of(rewriter) is None else BackgroundRewriter(rewriter),
        settings.acceptance,
        band=settings.band,
        rollouts=config.rollout.rollouts,
        seed=config.seed,
    )


def _source(config: CurriculumConfig, domain: Domain) -> TaskSource:
    """The source of the pool's tasks."""
    if config.pool is not None:
        return GivenTasks(read_collection(domain.name, config.pool).tasks)
    return GeneratedMixture(domain, config.knobs)


def _endpoint(config: LLMConfig) -> Endpoint:
    return Endpoint(model=config.model, base_url=config.base_url, key_env=config.api_key_env, read_timeout_s=SILENCE_S)


def _generator(config: LLMConfig, log: Path) -> OpenAIGenerator:
    return OpenAIGenerator(
        _endpoint(config),
        retries=Retries(total_s=PATIENCE_S),
        budget=Budget(max_tokens=config.budget, spent=usage_of(log)),
        log=PromptLog(log),
        # An iteration that went on without the service must repeat that; otherwise a failed request is sent again.
        recorded=RecordedAnswers(log, failures=config.on_failure == "degrade"),
    )
