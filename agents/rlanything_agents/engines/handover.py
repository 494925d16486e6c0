"""Check of a hand-over of weights: an engine's log-probabilities against those of the trainer's own forward pass.

An engine loads weights by code of its own, which may skip a layer, keep a packed copy of an old one, or read another
folder. It then samples from another model than the trained one, and nothing else would show it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from rlanything_agents.models.image_reader import image_reader
from rlanything_envs.llm.errors import RunMustStop
from rlanything_envs.llm.generator import Completion, SamplingParams, SeenPrompt
from rlanything_envs.message import Image

__all__ = ["BOUNDS", "PROBE_PARAMS", "Reference", "WeightsDiffer", "evaluating", "reset_with_retries"]

PROBES, LENGTH = 8, 12
"""Probes of a check and tokens of each: too short for a block of vLLM's prefix cache, so that each is computed."""

PICTURE = Image(np.random.default_rng(0).integers(256, size=(64, 96, 3), dtype=np.uint8))
"""Image of the probe of a model that sees."""

PROBE_PARAMS = SamplingParams(1, seed=0)
"""Parameters of the check: one token after each probe, drawn from the whole distribution."""

BOUNDS = {"float32": 0.01, "bfloat16": 0.5, "float16": 0.25}
"""Greatest difference of a log-probability (natural) by precision of the weights. Two correct implementations differ by
rounding, which is some 3e-5 for SmolLM2-135M in float32 on a processor."""

_PATIENCE_S, _PAUSE_S, _LONGEST_S = 60.0, 0.05, 2.0


class WeightsDiffer(RunMustStop):
    """Engine that computes with other weights than the trainer after a hand-over; nothing is sampled from it."""


class Reference:
    """Log-probabilities of the token after each of a few fixed prompts, by a model's own forward pass.

    The prompts are random ids, the same for all models with as many ids; one more has an image, where the model sees.

    Args:
        model: Trained model of transformers or PEFT; its mode of each module is restored.

    Attributes:
        prompts: The probes, `PROBES` lists of `LENGTH` ids, and perhaps one with an image.
        bound: Greatest difference that counts as rounding.
    """

    def __init__(self, model: Any) -> None:
        vocabulary = int(model.get_input_embeddings().weight.shape[0])
        probes: list[list[int]] = np.random.default_rng(0).integers(vocabulary, size=(PROBES, LENGTH)).tolist()
        reader = image_reader(model)
        if reader is not None:  # a placeholder stands for an image, or for nothing
            probes = [[token if token != reader.token_id else 0 for token in probe] for probe in probes]
        self.prompts: list[list[int] | SeenPrompt] = [*probes]
        self._dtype = str(model.dtype).removeprefix("torch.")
        self.bound = BOUNDS[self._dtype]
        with evaluating(model), torch.no_grad():
            logits = model(torch.tensor(probes, device=model.device), use_cache=False).logits[:, -1]
            if reader is not None:
                seen = SeenPrompt(reader.expanded([*probes[0], reader.token_id, *probes[1]], [PICTURE]), (PICTURE,))
                ids = torch.tensor([seen.ids], device=model.device)
                last = model(ids, **reader.inputs(ids, seen.images), use_cache=False).logits[:, -1]
                self.prompts, logits = [*probes, seen], torch.cat([logits, last])
            self._logprobs = logits.float().log_softmax(-1).cpu()

    def check(self, completions: Sequence[Sequence[Completion]], engine: str, version: int) -> None:
        """Compare an engine's completions of the prompts with the reference.

        Args:
            completions: One completion of one token for each prompt.
            engine: Name of the engine in a message.
            version: Version of the weights.

        Raises:
            WeightsDiffer: A log-probability differs by more than the bound, or a completion failed.
        """
        both = []
        for (sample,), expected in zip(completions, self._logprobs, strict=True):
            if not sample.token_ids or sample.logprobs is None:
                raise WeightsDiffer(
                    f"{engine}: the weights of version {version} could not be checked: {sample.error}: see its log"
                )
            both.append((sample.token_ids[0], sample.logprobs[0], float(expected[sample.token_ids[0]])))
        worst = max(abs(theirs - ours) for _, theirs, ours in both)
        if worst <= self.bound:
            return
        shown = "; ".join(f"token {token}: {theirs:.4f} and {ours:.4f}" for token, theirs, ours in both)
        raise WeightsDiffer(
            f"{engine} has other weights than the trainer after the hand-over of version {version}: log-probabilities "
            f"differ by up to {worst:.4f} ({self._dtype}: at most {self.bound:g}). Engine and trainer after "
            f"{len(both)} probes: {shown}. Nothing was sampled from these weights; the last checkpoint is good. Use "
            "another version of the engine, or engine.kind transformers"
        )


def reset_with_retries(reset: Callable[[], bool], patience_s: float = _PATIENCE_S) -> bool:
    """Reset a prefix cache; vLLM refuses while requests or transfers hold blocks, and callers may try again.

    Args:
        reset: Resets the cache, and returns whether it is reset.
        patience_s: Maximum seconds of all attempts together.

    Returns:
        Whether the cache is reset.
    """
    end, pause = time.monotonic() + patience_s, _PAUSE_S
    while not reset():
        if time.monotonic() + pause > end:
            return False
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_S)
    return True


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Turn dropout off within the block, and restore the mode of each module after it."""
    training = [module for module in model.modules() if module.training]
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True
