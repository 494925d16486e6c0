"""The rewriter a configuration asks for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rlanything_agents.config import CurriculumConfig, LLMConfig
from rlanything_envs.curriculum import LLMRewriter, Rewriter, ScriptedRewriter
from rlanything_envs.llm import Budget, Endpoint, OpenAIGenerator, PromptLog, RecordedAnswers, SamplingParams, usage_of

__all__ = ["open_rewriter"]


@contextmanager
def open_rewriter(config: CurriculumConfig, log: Path) -> Iterator[Rewriter]:
    """A rewriter for the time of a loop.

    Args:
        config: Uses ``rewriter``, ``operators`` and ``llm``.
        log: Where a language model's prompts and answers are written. What is in it already is not asked again, so a
            resumed run takes the course it would have taken, and it counts in the budget.

    Raises:
        MissingExtra: The package ``openai`` is not installed.
        MissingKey: The environment variable of the service's key is unset.
    """
    if config.rewriter == "llm" and config.llm is not None:
        with _generator(config.llm, log) as generator:
            params = SamplingParams(config.llm.max_tokens, temperature=config.llm.temperature)
            yield LLMRewriter(generator, attempts=config.llm.attempts, operators=config.operators, params=params)
    else:
        yield ScriptedRewriter(operators=config.operators)


def _generator(config: LLMConfig, log: Path) -> OpenAIGenerator:
    return OpenAIGenerator(
        Endpoint(model=config.model, base_url=config.base_url, key_env=config.api_key_env),
        budget=Budget(max_tokens=config.budget, spent=usage_of(log)),
        log=PromptLog(log),
        recorded=RecordedAnswers(log),
    )
