"""The keys of the machines a run is planned for; nothing that a run does depends on them."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from rlanything_agents.config.section import Positive, Section

__all__ = ["Assumptions", "Card", "ClusterConfig", "Range"]

Card = Literal["A100-40GB", "A100-80GB", "H100-80GB", "H200-141GB", "H20-96GB"]


def _pair(value: Any) -> Any:
    return (value, value) if isinstance(value, int | float) else value


def _ordered(value: tuple[float, float]) -> tuple[float, float]:
    low, high = value
    if not (math.isfinite(high) and 0 <= low <= high):
        raise ValueError(f"[{low}, {high}] is no range: two numbers from 0, the lower one first")
    return value


def _share(value: tuple[float, float]) -> tuple[float, float]:
    if value[0] <= 0 or value[1] > 1:
        raise ValueError(f"[{value[0]}, {value[1]}] is no range of shares: above 0, at most 1")
    return value


Range = Annotated[tuple[float, float], BeforeValidator(_pair), AfterValidator(_ordered)]
"""A number that is known, or the lowest and the highest it may be: each simulated iteration draws its own."""
Shares = Annotated[Range, AfterValidator(_share)]


class Assumptions(Section):
    """What a forecast takes for granted. Every default says where it is from; ``assumed`` is nobody's measurement."""

    success: Shares = (0.3, 0.7)
    """Share of episodes that are won. Between the bands of the curriculum, which holds it there."""
    won_length: Shares = (0.2, 0.6)
    """Mean length of a won episode as a share of ``rollout.max_steps``, single ones uniform from half of it to half
    more; a lost one takes all steps. Assumed."""
    prompt_tokens: Range | None = None
    """Of an episode's first prompt; 500 to 1,500 if None, 30 to 150 words of a model made from nothing. Assumed."""
    observation_tokens: Range | None = None
    """By which a prompt grows in a step, besides the response; 30 to 150 if None, 4 to 20 words of a model made from
    nothing. Assumed."""
    response_tokens: Range | None = None
    """Mean of a policy's response; a fifth to a half of the most allowed if None. Assumed."""
    vote_tokens: Range | None = None
    """Mean of a reward model's answer; a fifth to a half of the most allowed if None. Assumed."""
    rewrite_tokens: Range = (500.0, 2000.0)
    """Mean of a language model's proposal of a task. Assumed."""
    spread: Range = 0.5, 0.5
    """Standard deviation of a response's length over its mean (log-normal). Assumed."""
    asking: Shares = (0.2, 0.6)
    """Share of groups that ask for another task: outside the band of the curriculum. Assumed."""
    learning: Shares = (0.4, 0.8)
    """Share of groups there is something to learn from: inside the bands of the feedback. Assumed."""
    cached: Shares = (0.5, 0.95)
    """Share of the prompt of the step before that an engine still has in its prefix cache. Assumed."""
    step_seconds: Range = (0.0, 0.1)
    """An environment's step. Measure yours: ``rlanything plan --measure``."""
    reset_seconds: Range = (0.0, 1.0)
    """An environment's reset. Measure yours, as above."""
    vote_seconds: Range = (0.0, 0.0)
    """Work on a worker that an answer of the reward model brings, such as running a unit test on all programs."""
    proof_seconds: Range = (0.0001, 0.3)
    """Proof that a proposed task can be solved: 0.02 ms for AlfWorld (``python -m benchmarks.alfworld``), some 0.2 s
    for programs (4 to 5 verified tasks a second)."""
    bandwidth: Shares = (0.5, 0.8)
    """Share of a card's memory bandwidth that decoding reaches. Assumed."""
    prefill: Shares = (0.3, 0.6)
    """Share of a card's bf16 peak that reading a prompt reaches. Pope et al. 2022 (arXiv 2211.05102) report up to 0.76
    for PaLM 540B at large batches; smaller models and batches reach less. Range assumed."""
    training: Shares = (0.15, 0.45)
    """Share of the peak that an update reaches. PaLM reports 0.46 (arXiv 2204.02311, table 3) for a run that does
    nothing else; short ragged samples and full sharding over nodes reach less. Range assumed."""
    overhead: Range = (0.004, 0.015)
    """Seconds of a decoding step besides reading memory and computing: scheduling, launches, exchange between the cards
    of an engine. Assumed."""
    switch_seconds: Range = (2.0, 15.0)
    """From one awake engine to another on the same cards: one gives up its memory, the next takes its weights from
    the host. Assumed."""
    update_seconds: Range = (5.0, 30.0)
    """An update's fixed cost: gathering samples, bringing parameters and moments onto the cards. Assumed."""
    sync_rate: Range = (2.0, 20.0)
    """Gigabytes a second at which an updated model's weights reach an engine. Assumed."""


class ClusterConfig(Section):
    """The machines of `rlanything plan` and ``train --dry-run``."""

    nodes: Positive = 1
    gpus: Annotated[int, Field(ge=1, le=64)] = 8
    """Of a node. A machine without any has no section ``cluster``."""
    card: Card = "H100-80GB"
    """Kind of all GPUs."""
    workers: Positive = 64
    """Environments of a node that step at once: processor cores, or virtual machines."""
    policy_parallel: Positive = 1
    """GPUs of one engine of the policy (tensor parallel)."""
    judge_parallel: Positive = 1
    """GPUs of one engine of the reward model and of the rewriter."""
    memory_share: Annotated[float, Field(gt=0, le=1)] = 0.85
    """Share of a card's memory that an engine may take."""
    sequences: Positive = 256
    """Most sequences an engine writes at once."""
    offload: bool = False
    """Whether parameters and optimizer rest in the host's memory during an update."""
    assumptions: Assumptions = Assumptions()

    @property
    def all_gpus(self) -> int:
        """GPUs of all nodes."""
        return self.nodes * self.gpus
