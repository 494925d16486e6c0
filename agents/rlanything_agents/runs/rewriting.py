"""The rewriter a configuration asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rlanything_agents.config import CurriculumConfig, LLMConfig
from rlanything_envs.curriculum import LLMRewriter, Rewriter, ScriptedRewriter
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

__all__ = ["check_rewriter", "open_rewriter", "service_of"]

LONGEST_SILENCE_S = 300.0
"""Most seconds that a service may take to begin its answer, however patient one is."""


def check_rewriter(config: CurriculumConfig) -> None:
    """Whether a rewriter could be opened; nothing is sent, read or written.

    Raises:
        MissingExtra: The package ``openai`` is not installed.
        MissingKey: The environment variable of the service's key is unset.
    """
    if config.rewriter == "llm" and config.llm is not None:
        OpenAIGenerator(_endpoint(config.llm))


@contextmanager
def open_rewriter(config: CurriculumConfig, log: Path, say: Callable[[str], None] | None = None) -> Iterator[Rewriter]:
    """A rewriter for the time of a loop.

    Args:
        config: Uses ``rewriter``, ``operators`` and ``llm``.
        log: Where a language model's prompts and answers are written. What is in it already is not asked again, so a
            resumed run takes the course it would have taken, and it counts in the budget.
        say: Is told while a service is waited for, or gone on without; the text holds what the service wrote.

    Raises:
        MissingExtra: The package ``openai`` is not installed.
        MissingKey: The environment variable of the service's key is unset.
    """
    if config.rewriter == "llm" and config.llm is not None:
        settings = config.llm
        params = SamplingParams(settings.max_tokens, temperature=settings.temperature)
        with _generator(settings, log) as generator:
            patient = PatientGenerator(generator, settings.on_failure, patience_s=settings.patience, say=say)
            yield LLMRewriter(
                patient, settings.model, attempts=settings.attempts, operators=config.operators, params=params
            )
    else:
        yield ScriptedRewriter(operators=config.operators)


def service_of(rewriter: Rewriter) -> PatientGenerator | None:
    """The service that a rewriter depends on; None for one that needs none."""
    found = getattr(rewriter, "generator", None)
    return found if isinstance(found, PatientGenerator) else None


def _endpoint(config: LLMConfig) -> Endpoint:
    return Endpoint(
        model=config.model,
        base_url=config.base_url,
        key_env=config.api_key_env,
        read_timeout_s=min(LONGEST_SILENCE_S, config.patience),
    )


def _generator(config: LLMConfig, log: Path) -> OpenAIGenerator:
    return OpenAIGenerator(
        _endpoint(config),
        retries=Retries(total_s=config.patience),
        budget=Budget(max_tokens=config.budget, spent=usage_of(log)),
        log=PromptLog(log),
        # An iteration that went on without the service has to do so again; elsewhere what failed is asked again.
        recorded=RecordedAnswers(log, failures=config.on_failure == "degrade"),
    )
