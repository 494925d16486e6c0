"""Keys of the machines that a run is planned for; the run itself does not depend on them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rlanything_agents.config.section import Positive, Section

__all__ = ["Assumptions", "Card", "ClusterConfig"]

Card = Literal["A100-40GB", "A100-80GB", "H100-80GB", "H200-141GB", "H20-96GB"]


Share = Annotated[float, Field(gt=0, le=1)]
Tokens = Annotated[float, Field(gt=0)]


class Assumptions(Section):
    """Assumptions of a plan. The defaults are guesses: replace those that you have measured on your tasks."""

    success: Share = 0.45
    """Share of episodes that are solved; the default lies within the curriculum's band, which holds success there."""
    solved_length: Share = 0.35
    """Length of a solved episode as a share of ``rollout.max_steps``; a failed one takes all steps."""
    prompt_tokens: Tokens | None = None
    """Tokens of an episode's first prompt; if None 900, or 70 words for a model made from scratch."""
    observation_tokens: Tokens | None = None
    """Tokens that a step adds to the prompt besides the response; if None 70, or 9 words for a model made from
    scratch."""
    response_tokens: Tokens | None = None
    """Mean tokens of a policy's response; a third of the limit if None."""
    vote_tokens: Tokens | None = None
    """Mean tokens of a reward model's answer; a third of the limit if None."""
    rewritten: Share = 0.35
    """Share of groups whose task is to be rewritten: outside the band of the curriculum."""
    learning: Share = 0.55
    """Share of groups that the models learn from: inside the bands of the feedback."""


class ClusterConfig(Section):
    """Machines that ``train --dry-run`` plans for."""

    nodes: Positive = 1
    gpus: Annotated[int, Field(ge=1, le=64)] = 8
    """GPUs of a node. Leave out the section ``cluster`` for machines without a GPU."""
    card: Card = "H100-80GB"
    """Kind of all GPUs."""
    workers: Positive = 64
    """Environments of a node that step at once; limited by its processor cores or virtual machines."""
    policy_parallel: Positive = 1
    """GPUs of one engine of the policy (tensor parallel)."""
    judge_parallel: Positive = 1
    """GPUs of one engine of the reward model and of the rewriter."""
    memory_share: Annotated[float, Field(gt=0, le=1)] = 0.85
    """Share of a card's memory that an engine may take."""
    offload: bool = False
    """Whether parameters and optimizer state are offloaded to the host's memory during an update."""
    assumptions: Assumptions = Assumptions()

    @property
    def all_gpus(self) -> int:
        """GPUs of all nodes."""
        return self.nodes * self.gpus
