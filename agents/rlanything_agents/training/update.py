"""What an update is asked for and what it reports; light (no torch), so that it can be read anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rlanything_agents.training.samples import Sample

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel


@dataclass(frozen=True, slots=True)
class UpdateStats:
    """What one update did. Means over tokens use the samples' weights.

    Attributes:
        loss: Mean over the optimizer steps of the exact weighted mean loss of each.
        grad_norm: Mean over the optimizer steps of the gradient norm before clipping.
        kl: Mean k3 estimate of the KL divergence to the policy before the update, per token, measured as the
            steps went on (so 0 in the first one).
        clip_fraction: Share of tokens whose ratio was clipped.
        entropy: Mean entropy of the next-token distribution (over the allowed tokens), in nats.
        optimizer_steps: Optimizer steps taken; 0 = there was nothing to learn from.
        rows: Samples seen.
        step_samples: Sum of all weights = number of (prompt, response) step samples.
        tokens: Tokens of all rows, padding not counted.
        seconds: Wall-clock time.
        anchor_kl: Mean k3 estimate of the KL divergence to the anchor, per token; 0 where there is no anchor.
    """

    loss: float
    grad_norm: float
    kl: float
    clip_fraction: float
    entropy: float
    optimizer_steps: int
    rows: int
    step_samples: float
    tokens: int
    seconds: float
    anchor_kl: float = 0.0


class Trainer(Protocol):
    """A model with its optimizer: fed samples, it takes a few steps and reports."""

    def update(self, samples: Sequence[Sample], rate: float = 1.0, steps: int | None = None) -> UpdateStats:
        """Train on the samples in place.

        Args:
            samples: What to learn from.
            rate: Share of the peak learning rate.
            steps: Optimizer steps of this update; ``config.optimizer_steps`` where it is None.
        """

    def set_anchor(self, model: PreTrainedModel) -> None:
        """Copy the model that ``config.anchor`` holds the trained one to."""

    @property
    def sharded(self) -> bool:
        """Whether the model is spread over several processes by now, so that its module can neither write nor be
        stored."""
        ...

    def weights(self) -> dict[str, torch.Tensor]:
        """What is trained of the model, by name."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Everything but the model's weights that the next update depends on."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`."""


class TrainingError(RuntimeError):
    """An update that cannot go on; the message names the cause and the remedy."""
