"""The keys of the curriculum."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from rlanything_agents.config.section import ANY, Mixture, Positive, Section, Share

__all__ = ["CurriculumConfig", "LLMConfig"]


class LLMConfig(Section):
    """The service that writes rewrites; prompts and answers are logged in the run folder."""

    base_url: str
    """Address of an OpenAI-compatible interface, such as ``http://localhost:8000/v1``."""
    model: str
    api_key_env: str | None = None
    """Environment variable that holds the key; None for services without one."""
    budget: Positive | None = None
    """Most tokens, read and written together, over the whole run; None for no limit."""
    attempts: Positive = 3
    """Proposals asked for before a request is given up."""
    max_tokens: Positive = 2048
    """Most new tokens of an answer."""
    temperature: Annotated[float, Field(gt=0)] = 1.0
    on_failure: Annotated[Literal["wait", "degrade", "stop"], Field(exclude=True)] = "degrade"
    """While the service is down, refuses or answers nonsense: ``wait`` for it, and end the run if that takes longer
    than ``patience``; ``degrade``: no rewriting for the rest of the iteration, and a new try in the next; ``stop`` the
    run. An ended run goes on by the same command. How a service is waited for is no part of what a run is: this key
    and the next are not stored with it."""
    patience: Annotated[float, Field(gt=0, allow_inf_nan=False, exclude=True)] = 900.0
    """Most seconds for one request with all its tries, and for the waiting."""


class CurriculumConfig(Section):
    """The task pool and how its tasks adapt."""

    pool_size: Positive = 64
    adapt: bool = True
    rewriter: Literal["scripted", "llm"] = "scripted"
    llm: LLMConfig | None = None
    operators: tuple[str, ...] | None = None
    """The domain's rewrite operators to enable; those of the domain's own choice if None."""
    roots: Share = 0.0
    """Share of every batch that is played on the pool's original tasks."""
    step_back: bool = False
    """Whether a mastered easier task gives way to the task it was made from."""
    acceptance: Literal["paper", "reference", "default"] = "paper"
    scheduler: Literal["published", "uniform", "learnability"] = "published"
    band: tuple[Share, Share] = (0.2, 0.8)
    """Success outside this band asks for an easier or a harder task (paper: alpha_low, alpha_high)."""
    knobs: Mixture = ANY
    """What the pool's tasks are made of."""

    @field_validator("band")
    @classmethod
    def _ordered(cls, band: tuple[float, float]) -> tuple[float, float]:
        if not band[0] < band[1]:
            raise ValueError(f"the lower bound {band[0]} must be below the upper bound {band[1]}")
        return band

    @model_validator(mode="after")
    def _the_rewriter_has_a_service(self) -> CurriculumConfig:
        if self.rewriter == "llm" and self.llm is None:
            raise ValueError("the rewriter `llm` needs a section `llm` with base_url and model")
        return self
