"""Shapes that can be worked out by hand."""

from typing import Any

from rlanything_agents.tools.planning.sizes import ModelSize


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
