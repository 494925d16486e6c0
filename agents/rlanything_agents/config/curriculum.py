"""Keys of the curriculum: the task pool, and the rewriter that adapts its tasks."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from rlanything_agents.config.section import ANY, Mixture, Positive, Section, Share

__all__ = ["CurriculumConfig", "LLMConfig"]


class LLMConfig(Section):
    """Service of the language model that rewrites tasks; prompts and answers are logged in the run folder."""

    base_url: str
    """Address of an OpenAI-compatible service, such as ``http://localhost:8000/v1``."""
    model: str
    api_key_env: str | None = None
    """Environment variable that holds the key; None for services without one."""
    budget: Positive | None = None
    """Maximum tokens of all prompts and answers of the run together; None for no limit."""
    attempts: Positive = 3
    """Proposals requested before a rewrite is given up."""
    max_tokens: Positive = 2048
    """Maximum new tokens per answer."""
    temperature: Annotated[float, Field(gt=0)] = 1.0
    on_failure: Annotated[Literal["wait", "degrade", "stop"], Field(exclude=True)] = "degrade"
    """Reaction to a service that is down, refuses or gives unusable answers. ``wait``: wait for it, and end the run
    after a quarter of an hour. ``degrade``: rewrite nothing for the rest of the iteration, and try again in the next.
    ``stop``: end the run. The same command continues a run that has ended. This key does not define a run and is
    not stored with it."""


class CurriculumConfig(Section):
    """Task pool, and rules by which its tasks adapt to the policy."""

    pool: Annotated[str, Field(min_length=1)] | None = None
    """Folder or file of tasks, in place of generated ones, in a form that the domain imports: official ALFWorld games,
    coding problems, task files of OSWorld; or a pool. The run's pool gets ``pool_size`` of them, drawn by its seed.
    ``$NAME`` stands for an environment variable."""
    pool_size: Positive = 64
    rewriter: Literal["scripted", "llm", "fresh"] | None = "scripted"
    """Source of the tasks that replace those outside the band: the domain's own rewrites, those of a language model, or
    ``fresh``, a control: a new task of the pool's source, drawn with its knobs or from its folder, which takes the slot
    without a trial and is its new root. None: the tasks stay as they are."""
    llm: LLMConfig | None = None
    summariser: Literal["rewriter", "judge", "scripted"] | None = None
    """Who summarises the episodes for the rewriter, from the steps and the reasons of the reward model's votes: the
    language model of ``llm``; the reward model itself, before it is updated; or patterns in the record. None: the
    rewriter where it is a language model, else a pretrained reward model with ``feedback: paper`` or ``reference``,
    else patterns. A summary that is empty, too long, an echo of its prompt or an order is replaced by the scripted
    one; the metrics (``summaries``) count both."""
    operators: tuple[str, ...] | None = None
    """Rewrite operators of the domain to enable; the domain's default set if None."""
    acceptance: Literal["paper", "reference", "recommended", "always"] = "recommended"
    """Rule for candidates; ``always`` needs no trial."""
    rejected: Literal["learn", "drop"] = "learn"
    """Whether both models learn from the group with which a candidate is rejected. ``drop``: no, as in the paper, where
    such a task never joins the others, and in the released code."""
    band: tuple[Share, Share] = (0.2, 0.8)
    """Success rates outside this band trigger an easier or a harder rewrite (paper: alpha_low, alpha_high)."""
    knobs: Mixture = ANY
    """Knobs of the generator of the tasks of the warm start, and of the pool where it has no folder."""

    @property
    def adapt(self) -> bool:
        """Whether tasks change at all."""
        return self.rewriter is not None

    @property
    def rewrites(self) -> bool:
        """Whether tasks are rewritten, rather than kept or replaced by fresh ones."""
        return self.rewriter not in (None, "fresh")

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
        if self.summariser == "rewriter" and self.rewriter != "llm":
            raise ValueError(
                f"summariser `rewriter` is the language model of the rewriter, and the rewriter is {self.rewriter!r}: "
                "choose rewriter llm, or the summariser judge or scripted"
            )
        return self
