"""Samples as a few tensors, for other processes: exact and fast to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
import torch

from rlanything_agents.training.samples import Allowed, Sample
from rlanything_envs.message import Image

__all__ = ["packed", "unpacked"]

COLUMNS = ("weights", "advantages", "logprobs")
FREE = -1
"""Index of a position at which every token was allowed."""
NO_STEP = -1
"""Index of the step of a token that was not sampled."""


def packed(samples: Sequence[Sample]) -> dict[str, torch.Tensor]:
    """Pack samples into tensors: their lengths, all their tokens in one tensor, and each set of allowed tokens and each
    image once, as its PNG."""
    pngs = [image.png for sample in samples for image in sample.images]
    files = {png: number for number, png in enumerate(dict.fromkeys(pngs))}
    choices = [choice for sample in samples for choice in sample.allowed or ()]
    table: dict[Allowed, int] = {}
    own = {id(choice): choice for choice in choices if choice is not None}  # many positions share one tuple
    rows = {key: table.setdefault(choice, len(table)) for key, choice in own.items()}
    chosen = [FREE if choice is None else rows[id(choice)] for choice in choices]
    columns = [[*chain.from_iterable(getattr(s, name) for s in samples)] for name in COLUMNS]
    return {
        "lengths": _whole(
            [
                [
                    len(s.prompt_ids),
                    len(s.completion_ids),
                    s.allowed is not None,
                    -1 if s.episode is None else s.episode,
                    s.steps is not None,
                    len(s.images),
                ]
                for s in samples
            ],
            (-1, 6),
        ),
        "steps": _whole([NO_STEP if step is None else step for s in samples for step in s.steps or ()]),
        "ids": _whole([*chain.from_iterable([*s.prompt_ids, *s.completion_ids] for s in samples)]),
        "columns": torch.from_numpy(np.array(columns, dtype=np.float64)),
        "chosen": _whole(chosen),
        "choices": _whole([*chain.from_iterable(table)]),
        "choice_lengths": _whole([len(choice) for choice in table]),
        "images": _whole([files[png] for png in pngs]),
        "pngs": torch.frombuffer(bytearray(b"".join(files)), dtype=torch.uint8) if files else torch.empty(0),
        "png_lengths": _whole([len(png) for png in files]),
    }


def unpacked(tensors: Mapping[str, Any]) -> list[Sample]:
    """Unpack the samples of `packed`.

    Raises:
        TrainingError: No model can have produced such samples.
    """
    ends = np.cumsum(tensors["choice_lengths"].numpy())
    table = [tuple(part.tolist()) for part in np.split(tensors["choices"].numpy(), ends[:-1])] if len(ends) else []
    ids, chosen = tensors["ids"].numpy(), tensors["chosen"].numpy()
    weights, advantages, logprobs = tensors["columns"].numpy()
    step_of_token = tensors["steps"].tolist()
    ends = np.cumsum(tensors["png_lengths"].numpy())
    pngs = np.split(tensors["pngs"].numpy(), ends[:-1]) if len(ends) else []
    pictures = [Image(png.tobytes()) for png in pngs]
    seen = iter(tensors["images"].tolist())
    samples, token, place, bound, stepped = [], 0, 0, 0, 0
    for prompt, completion, constrained, episode, several, images in tensors["lengths"].tolist():
        part = slice(place, place + completion)
        steps = step_of_token[stepped : stepped + completion] if several else None
        choices = chosen[bound : bound + completion].tolist() if constrained else None
        samples.append(
            Sample(
                prompt_ids=ids[token : token + prompt].tolist(),
                completion_ids=ids[token + prompt : token + prompt + completion].tolist(),
                weights=weights[part].tolist(),
                advantages=advantages[part].tolist(),
                logprobs=logprobs[part].tolist(),
                allowed=None if choices is None else [None if k == FREE else table[k] for k in choices],
                episode=None if episode < 0 else episode,
                steps=None if steps is None else [None if step == NO_STEP else step for step in steps],
                images=tuple(pictures[number] for number in islice(seen, images)),
            )
        )
        token, place = token + prompt + completion, place + completion
        bound += completion if constrained else 0
        stepped += completion if several else 0
    return samples


def _whole(numbers: Sequence[Any], shape: tuple[int, ...] = (-1,)) -> torch.Tensor:
    return torch.from_numpy(np.array(numbers, dtype=np.int64).reshape(shape))
