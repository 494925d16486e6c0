"""The interface of text generators, which act, judge or rewrite in a loop.

Token ids in, token ids out: text that a model is trained on is never tokenised a second time. A generator that
cannot return the exact ids it sampled (most services behind HTTP) has ``trainable = False``.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from rlanything_envs.llm.choices import Form, fitted
from rlanything_envs.message import Image

__all__ = ["Completion", "Messages", "Prompt", "SamplingParams", "SeenPrompt", "TextGenerator", "cut_at_stop"]

Messages = Sequence[Mapping[str, Any]]
"""A chat: mappings with ``role`` and ``content``, a text or a tuple of texts and images (`rlanything_envs.message`)."""


@dataclass(frozen=True)
class SeenPrompt(Sequence[int]):
    """Token ids of a prompt with images.

    Attributes:
        ids: The ids, with as many placeholders of each image as it has tokens.
        images: The images, in the order of their placeholders.
    """

    ids: list[int]
    images: tuple[Image, ...]

    @classmethod
    def of(cls, ids: list[int], images: Sequence[Image]) -> list[int] | SeenPrompt:
        """The prompt of these ids: the ids alone where there are no images."""
        return cls(ids, tuple(images)) if images else ids

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, at: Any) -> Any:
        return self.ids[at]


Prompt = Messages | list[int] | SeenPrompt
"""A chat, or the token ids of a prompt, with its images where it has some."""


PER_PROMPT = ("seeds", "choices", "keys")
"""Sampling parameters with one entry for each prompt of a call."""
_OF_PROMPTS = (*PER_PROMPT, "n", "schema", "first", "odds")


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """Sampling parameters.

    Attributes:
        max_tokens: Maximum tokens per completion.
        temperature: Divides the logits; 0 takes the most probable token.
        top_p: Keep the most probable tokens that together reach this probability; 1 keeps all. Like the temperature it
            changes what is sampled, not the log-probabilities of a completion.
        n: Completions per prompt.
        stop: Texts that end a completion and are cut off from its text (its tokens keep them).
        seed: Seed of the call; None draws one.
        seeds: A seed for each prompt, in place of ``seed``: its completions then depend on no other prompt.
        choices: For each prompt the form of its completions, or None where they are free; empty if all are free. Only
            allowed tokens are sampled, and log-probabilities are normalised over them. Free text in a form is cut to
            ``max_tokens``, see `choices.fitted`.
        schema: JSON schema of all completions. Services get it as ``response_format``, engines as the form of
            `schema.form_of_schema`; services that know neither ignore it.
        keys: For each prompt the key of the conversation that it continues: an engine may cache its state for a key,
            and read only the new tokens of a prompt that begins with the cached ones. A hint, without effect on
            completions.
        first: Index of the first prompt, where the call is a chunk of a larger batch with one ``seed``: a generator
            that derives its random numbers from a prompt's index then answers in chunks as it would answer the batch.
        odds: Report the probabilities of all allowed ids where these are at most so many; see `Completion.odds`.

    Raises:
        ValueError: A value is out of range.
    """

    max_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    n: int = 1
    stop: tuple[str, ...] = ()
    seed: int | None = None
    seeds: tuple[int, ...] = ()
    choices: tuple[Form | None, ...] = ()
    schema: Mapping[str, Any] | None = None
    keys: tuple[int, ...] = ()
    first: int = 0
    odds: int = 0

    def __post_init__(self) -> None:
        rules = {
            "max_tokens": (self.max_tokens >= 1, "at least 1"),
            "temperature": (self.temperature >= 0, "at least 0"),
            "top_p": (0 < self.top_p <= 1, "above 0 and at most 1"),
            "n": (self.n == 1 or (self.n > 1 and self.temperature > 0), "1, or more at a temperature above 0"),
            "stop": (all(self.stop), "without an empty text"),
            "first": (self.first >= 0, "at least 0"),
            "seed": ((self.seed or 0) >= 0, "at least 0"),
            "seeds": (min(self.seeds, default=0) >= 0, "at least 0"),
        }
        for name, (good, rule) in rules.items():
            if not good:
                raise ValueError(f"SamplingParams.{name} must be {rule}, not {getattr(self, name)!r}")

    @property
    def settings(self) -> dict[str, Any]:
        """All parameters, the seed included, but ``n``, ``first``, forms, and the lists with an entry per prompt."""
        named = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in named.items() if name not in _OF_PROMPTS}

    def each(self, prompts: int) -> list[SamplingParams]:
        """The parameters of each prompt of a call alone, with its own seed, form and key where these are set.

        Raises:
            ValueError: There are ``seeds``, ``choices`` or ``keys``, but not one for each prompt.
        """
        self.check(prompts)
        if not (self.seeds or self.choices or self.keys):
            return [self] * prompts
        return [
            replace(
                self,
                seed=self.seeds[at] if self.seeds else self.seed,
                seeds=(),
                choices=self.choices[at : at + 1],
                keys=self.keys[at : at + 1],
            )
            for at in range(prompts)
        ]

    def check(self, prompts: int) -> None:
        """Refuse lists that do not have one entry for each prompt of a call.

        Raises:
            ValueError: A list has another length; the message names it.
        """
        for name in PER_PROMPT:
            if (given := getattr(self, name)) and len(given) != prompts:
                raise ValueError(f"{len(given)} {name} for {prompts} prompts")

    def forms(self, prompts: int) -> Sequence[Form | None]:
        """The form of each prompt's completions, cut to ``max_tokens``; None where they are free."""
        forms = self.choices or (None,) * prompts
        return [None if form is None else fitted(form, self.max_tokens) for form in forms]

    @property
    def own_form(self) -> Form | None:
        """The form of the parameters of one prompt alone (see `each` and `forms`)."""
        return self.forms(1)[0]


@dataclass(frozen=True, slots=True)
class Completion:
    """One completion of one prompt.

    Attributes:
        text: The text, without the end-of-sequence token.
        finish_reason: ``stop`` at the end of sequence or a stop text, ``length`` at the limit, ``error`` if
            the source failed.
        prompt_ids: Token ids of the prompt, or None where the generator does not return them.
        token_ids: Sampled token ids, the end of sequence included, or None.
        logprobs: Natural-log probability of each sampled token at temperature 1, over the allowed tokens where it was
            constrained and over the whole vocabulary elsewhere (tokens that ``top_p`` left out included),
            or None.
        weights_version: Version of the weights that sampled it, or None.
        error: The failure, where ``finish_reason`` is ``error``: of the infrastructure, never of the model.
        allowed: For each token the ids that it was chosen from, ascending; None for a free token. A single id was
            forced: it was not sampled, and its log-probability is 0. No ids: it is unknown what was allowed, and
            nothing can learn from the token. None if all tokens were free.
        odds: Where `SamplingParams.odds` asks for them: position of a token -> probability at temperature 1 of each of
            its allowed ids, in their order. None from a source that does not report them.
    """

    text: str
    finish_reason: Literal["stop", "length", "error"]
    prompt_ids: list[int] | None = None
    token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    weights_version: int | None = None
    error: str | None = None
    allowed: list[tuple[int, ...] | None] | None = None
    odds: Mapping[int, tuple[float, ...]] | None = None


class Locked:
    """Base of objects that threads share: a lock, of which a copy in another process has its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())


class TextGenerator(Protocol):
    """A source of completions."""

    @property
    def trainable(self) -> bool:
        """Whether completions carry the exact ids and log-probabilities they were sampled with."""
        ...

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """``params.n`` completions for each prompt, in the order of the prompts."""
        ...

    def update_weights(self, source: Any | Path, version: int) -> None:
        """Load the weights of a model or of a checkpoint folder."""
        ...

    def close(self) -> None:
        """Free the generator's resources."""
        ...


def cut_at_stop(text: str, stop: Sequence[str]) -> tuple[str, bool]:
    """``text`` up to the first of the stop texts, and whether there was one.

    >>> cut_at_stop("Thought: go. Action: look", ["Action:", "Observation:"])
    ('Thought: go. ', True)
    """
    ends = [at for end in stop if (at := text.find(end)) >= 0]
    return (text[: min(ends)], True) if ends else (text, False)
