"""The update of a vision-language model: that of every other model, with images in the forward pass."""

from __future__ import annotations

import torch
from transformers import PreTrainedModel

from rlanything_agents.osworld.vlm.transcript import VisualSample
from rlanything_agents.plain import PlainTrainer
from rlanything_agents.sample import Sample

__all__ = ["VisualTrainer"]


class VisualTrainer(PlainTrainer):
    """Trains on `VisualSample` rows; the vision tower learns unless its parameters are frozen."""

    def _logits(self, model: PreTrainedModel, sample: Sample) -> torch.Tensor:
        if not isinstance(sample, VisualSample):
            return super()._logits(model, sample)
        logits: torch.Tensor = model(**sample.inputs(model.device)).logits[0]
        return logits
