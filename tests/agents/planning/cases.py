"""Small clusters and demands that can be worked out by hand."""

from typing import Any

from rlanything_agents.config.cluster import Assumptions, ClusterConfig
from rlanything_agents.planning.demand import Demand
from rlanything_agents.planning.published import published
from rlanything_agents.planning.sizes import ModelSize

SMALL = published("Qwen/Qwen2.5-0.5B")
TINY = published("Qwen/Qwen3-0.6B")
assert SMALL is not None
assert TINY is not None

KNOWN: dict[str, float] = {
    "success": 1.0,
    "won_length": 0.5,
    "prompt_tokens": 100.0,
    "observation_tokens": 10.0,
    "response_tokens": 20.0,
    "vote_tokens": 30.0,
    "rewrite_tokens": 50.0,
    "spread": 0.0,
    "asking": 1.0,
    "learning": 0.5,
    "cached": 1.0,
    "step_seconds": 0.25,
    "reset_seconds": 1.0,
    "vote_seconds": 0.0,
    "proof_seconds": 0.5,
    "bandwidth": 0.5,
    "prefill": 0.5,
    "training": 0.25,
    "overhead": 0.01,
    "switch_seconds": 3.0,
    "update_seconds": 2.0,
    "sync_rate": 10.0,
}
"""A value for every assumption; nothing is left to chance but the lengths of won episodes."""


def demand(**changes: Any) -> Demand:
    """Four groups of two episodes of one step each."""
    fields: dict[str, Any] = {
        "tasks": 4,
        "rollouts": 2,
        "max_steps": 1,
        "environments": 8,
        "votes": 2,
        "judges_steps": True,
        "judge_learns": True,
        "judge_samples": 10**6,
        "policy": SMALL,
        "judge": TINY,
        "rewriter": None,
        "rewrites": False,
        "service": False,
        "response_limit": 1000,
        "vote_limit": 1000,
        "context": 4096,
        "append_only": True,
    }
    return Demand(**{**fields, **changes})


def cluster(**changes: Any) -> ClusterConfig:
    """One node with one card."""
    return ClusterConfig(**{"nodes": 1, "gpus": 1, "card": "A100-80GB", "workers": 100, **changes})


def certain(**changes: float) -> Assumptions:
    """The known values as assumptions."""
    return Assumptions(**{name: (value, value) for name, value in {**KNOWN, **changes}.items()})


def shape(**changes: int) -> ModelSize:
    """A shape to count by hand."""
    fields: dict[str, Any] = {
        "name": "m",
        "source": "here",
        "hidden": 8,
        "layers": 2,
        "heads": 4,
        "kv_heads": 2,
        "head_dim": 2,
        "intermediate": 16,
        "vocabulary": 32,
    }
    return ModelSize(**{**fields, **changes})
