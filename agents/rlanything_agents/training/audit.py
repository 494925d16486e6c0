"""Audit of updates: a few samples of each are kept with their log-probabilities and allowed sets, and scored again.

A file of samples holds tensors alone (safetensors), so reading it runs no code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from rlanything_agents.models.image_reader import image_inputs
from rlanything_agents.training.constrained import constrained
from rlanything_agents.training.errors import TrainingError
from rlanything_agents.training.ranks.packing import packed, unpacked
from rlanything_agents.training.samples import Sample, check_vocabulary, unknown_tokens

__all__ = ["SAMPLED", "Difference", "kept", "read_samples", "rescored", "store_samples"]

SAMPLED = "audit.samples"
"""Name of a model's samples in its folder of a checkpoint. They are safetensors, but other programs take each file of
that ending for weights."""
KEPT = 8
"""Samples of an update that are kept."""
MOST_TOKENS, MOST_BYTES = 2**15, 2**23
"""Maximum tokens of the samples that are kept, and maximum bytes of a file that is read."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference between recorded log-probabilities and those of given weights, in nats.

    Attributes:
        samples: Number of samples.
        tokens: Number of their tokens that have a weight.
        mean: Mean difference.
        largest: Largest difference.
        unknown: Tokens that were left out because it is unknown what was allowed.
    """

    samples: int
    tokens: int
    mean: float
    largest: float
    unknown: int


def kept(samples: Sequence[Sample]) -> list[Sample]:
    """Samples to keep of an update: a few, evenly spread, that are small together."""
    found, room = list[Sample](), MOST_TOKENS
    for sample in samples[:: max(1, len(samples) // KEPT)][:KEPT]:
        if (room := room - len(sample)) < 0:
            break
        found.append(sample)
    return found


def store_samples(samples: Sequence[Sample], file: Path) -> None:
    """Store samples; of sets that would make the file too large none is stored, and no sample from there on.

    Raises:
        OSError: The file cannot be written.
    """
    samples = list(samples)
    while samples:
        tensors = packed(samples)
        if sum(tensor.nbytes for tensor in tensors.values()) < MOST_BYTES // 2:
            save_file(tensors, file)
            return
        samples.pop()


def read_samples(file: Path) -> list[Sample]:
    """Read the samples of `store_samples`, from a file that is not trusted.

    Raises:
        TrainingError: The file is too large, or holds something else.
        OSError: The file cannot be read.
    """
    if file.stat().st_size > MOST_BYTES:
        raise TrainingError(f"{file.stat().st_size} bytes; samples of an update have {MOST_BYTES} at most")
    try:
        with safe_open(file, framework="pt") as stored:
            return unpacked({name: stored.get_tensor(name) for name in stored.keys()})  # noqa: SIM118
    except TrainingError:
        raise
    except (SafetensorError, KeyError, IndexError, TypeError, ValueError, RuntimeError) as error:
        raise TrainingError(f"it holds no samples ({type(error).__name__}: {str(error)[:200]})") from None


@torch.no_grad()
def rescored(model: Any, samples: Sequence[Sample]) -> Difference:
    """Compare the log-probabilities of samples with those of a model's own forward pass.

    Raises:
        TrainingError: A token is outside of the model's vocabulary.
    """
    check_vocabulary(samples, model.config.get_text_config().vocab_size)
    away = [torch.zeros(0)]
    for sample in samples:
        places = [at for at, weight in enumerate(sample.weights) if weight]
        if not places:
            continue
        ids = torch.tensor([sample.prompt_ids + sample.completion_ids], device=model.device)
        logits = (
            model(ids, use_cache=False, **image_inputs(model, ids, sample.images))
            .logits[0, len(sample.prompt_ids) - 1 : -1]
            .float()
        )
        at = torch.tensor(places, device=model.device)
        allowed = [None if sample.allowed is None else sample.allowed[place] for place in places]
        ours, _ = constrained(logits[at], ids[0, len(sample.prompt_ids) :][at], allowed)
        away.append((ours.cpu() - torch.tensor(sample.logprobs)[places]).abs())
    every = torch.cat(away)
    mean, largest = (float(every.mean()), float(every.max())) if len(every) else (0.0, 0.0)
    return Difference(len(samples), len(every), mean, largest, unknown_tokens(samples))
