"""Base class and shared types of all sections of a configuration."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Positive = Annotated[int, Field(gt=0)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class Section(BaseModel):
    """Group of keys; unknown keys are errors, and values are frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Part(Section):
    """Share of the tasks, with the knobs of the domain's generator for them."""

    share: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    """Weight relative to the other parts."""
    knobs: dict[str, Any] = Field(default_factory=dict)


def _one_part(value: Any) -> Any:
    return ({"knobs": value},) if isinstance(value, dict) else value


Mixture = Annotated[tuple[Part, ...], BeforeValidator(_one_part), Field(min_length=1)]
"""Knobs of the domain's generator (``{kinds: [heat]}``), or several sets of knobs with their shares
(``[{share: 3, knobs: {kinds: [simple]}}, {share: 1, knobs: {kinds: [heat]}}]``)."""
ANY: tuple[Part, ...] = (Part(),)
"""One part without knobs: the domain's own mixture."""
