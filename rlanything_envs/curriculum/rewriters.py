"""Rewriters by name."""

from __future__ import annotations

from collections.abc import Iterable

from rlanything_envs.curriculum.fresh_rewriter import FreshRewriter
from rlanything_envs.curriculum.llm_rewriter import LLMRewriter
from rlanything_envs.curriculum.rewriter import Rewriter
from rlanything_envs.curriculum.scripted_rewriter import ScriptedRewriter
from rlanything_envs.errors import CurriculumError
from rlanything_envs.llm.generator import TextGenerator

__all__ = ["REWRITERS", "GeneratorNeeded", "UnknownRewriter", "get_rewriter"]

REWRITERS = ("scripted", "llm", "fresh")
"""Names that `get_rewriter` accepts."""


class UnknownRewriter(CurriculumError):
    """There is no rewriter of this name."""


class GeneratorNeeded(CurriculumError):
    """The rewriter ``"llm"`` was named without a text generator."""


def get_rewriter(
    rewriter: str | Rewriter,
    *,
    generator: TextGenerator | None = None,
    operators: Iterable[str] | None = None,
) -> Rewriter:
    """The rewriter of a name; a rewriter object is returned as it is.

    Args:
        rewriter: ``"scripted"``, ``"llm"``, ``"fresh"``, or a rewriter.
        generator: text generator of ``"llm"``.
        operators: the domain's rewrite operators to enable, except for ``"fresh"``; the domain's defaults if None.

    Raises:
        UnknownRewriter: there is no rewriter of this name; the message lists them.
        GeneratorNeeded: ``"llm"`` without a generator.
    """
    if not isinstance(rewriter, str):
        return rewriter
    if rewriter == "scripted":
        return ScriptedRewriter(operators=operators)
    if rewriter == "llm":
        if generator is None:
            raise GeneratorNeeded(
                "the rewriter 'llm' needs a source of text: pass LLMRewriter(generator), or choose 'scripted'"
            )
        return LLMRewriter(generator, operators=operators)
    if rewriter == "fresh":
        return FreshRewriter()
    raise UnknownRewriter(f"unknown rewriter {rewriter!r}; choose from {', '.join(sorted(REWRITERS))}")
