"""The keys of the machines a run is planned for; nothing that a run does depends on them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rlanything_agents.config.section import Positive, Section

__all__ = ["Assumptions", "Card", "ClusterConfig"]

Card = Literal["A100-40GB", "A100-80GB", "H100-80GB", "H200-141GB", "H20-96GB"]


Share = Annotated[float, Field(gt=0, le=1)]
Tokens = Annotated[float, Field(gt=0)]


class Assumptions(Section):
    """What a plan takes for granted. Each default is assumed: set what you know of your tasks."""

    success: Share = 0.45
    """Share of episodes that are solved. Between the bands of the curriculum, which holds it there."""
    solved_length: Share = 0.35
    """Length of a solved episode as a share of ``rollout.max_steps``; a failed one takes all steps."""
    prompt_tokens: Tokens | None = None
    """Of an episode's first prompt; 900 if None, 70 words of a model made from scratch."""
    observation_tokens: Tokens | None = None
    """By which a prompt grows in a step, besides the response; 70 if None, 9 words of a model made from scratch."""
    response_tokens: Tokens | None = None
    """Mean of a policy's response; a third of the most allowed if None."""
    vote_tokens: Tokens | None = None
    """Mean of a reward model's answer; a third of the most allowed if None."""
    rewritten: Share = 0.35
    """Share of groups whose task is to be rewritten: outside the band of the curriculum."""
    learning: Share = 0.55
    """Share of groups there is something to learn from: inside the bands of the feedback."""


class ClusterConfig(Section):
    """The machines that ``train --dry-run`` plans for."""

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
    offload: bool = False
    """Whether parameters and optimizer rest in the host's memory during an update."""
    assumptions: Assumptions = Assumptions()

    @property
    def all_gpus(self) -> int:
        """GPUs of all nodes."""
        return self.nodes * self.gpus
