"""What a source of text has to offer to act, judge or rewrite in a loop.

Token ids in, token ids out: text that a model is to learn from is never tokenised a second time. A source
that cannot return the exact ids it sampled (most services behind HTTP) says so with ``trainable = False``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from rlanything_envs.llm.choices import Form

__all__ = ["Completion", "Messages", "Prompt", "SamplingParams", "TextGenerator", "cut_at_stop"]

Messages = Sequence[Mapping[str, str]]
"""A chat: mappings with ``role`` and ``content``."""

Prompt = Messages | list[int]
"""A chat, or the token ids of a prompt."""


_OF_PROMPTS = ("n", "seeds", "choices", "form", "keys", "first")


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How to sample.

    Attributes:
        max_tokens: Most tokens per completion.
        temperature: Divides the logits, positive.
        top_p: Keep the most probable tokens that together reach this probability; 1 keeps all.
        top_k: Keep this many most probable tokens; 0 keeps all.
        n: Completions per prompt.
        stop: Texts that end a completion and are cut off from its text (its tokens keep them).
        seed: Seed; None draws one.
        seeds: One for each prompt, in place of ``seed``: what comes of a prompt then depends on no other prompt.
        choices: For each prompt the form that its completions have, or None where they are free; empty if all are.
            Sampling is from the allowed tokens only, and log-probabilities are those among them.
        form: The form of all completions, in place of ``choices``.
        keys: For each prompt the conversation that it continues: an engine may keep what it computed for a key, and
            read only what is new of a prompt that begins with what it read and wrote last. A hint: what comes of a
            prompt does not depend on it.
        first: Number of the first prompt, where these are a part of all that ``seed`` is for: a source that names
            chance by a prompt's place then answers in parts as it would have answered at once.

    Raises:
        ValueError: A value is out of range.
    """

    max_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    n: int = 1
    stop: tuple[str, ...] = ()
    seed: int | None = None
    seeds: tuple[int, ...] = ()
    choices: tuple[Form | None, ...] = ()
    form: Form | None = None
    keys: tuple[int, ...] = ()
    first: int = 0

    def __post_init__(self) -> None:
        checks = {
            "max_tokens": self.max_tokens >= 1,
            "temperature": self.temperature > 0,
            "top_p": 0 < self.top_p <= 1,
            "top_k": self.top_k >= 0,
            "n": self.n >= 1,
            "first": self.first >= 0,
        }
        for name, good in checks.items():
            if not good:
                raise ValueError(f"SamplingParams.{name} is out of range: {getattr(self, name)}")

    @property
    def settings(self) -> dict[str, Any]:
        """All but which and how many completions these are for."""
        named = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in named.items() if name not in _OF_PROMPTS}

    def each(self, prompts: int) -> list[SamplingParams]:
        """These parameters for each prompt of a call alone: with its own seed, form and key, where there are some.

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
            ValueError: Names the list.
        """
        for name in ("seeds", "choices", "keys"):
            if (given := getattr(self, name)) and len(given) != prompts:
                raise ValueError(f"{len(given)} {name} for {prompts} prompts")


@dataclass(frozen=True, slots=True)
class Completion:
    """One completion of one prompt.

    Attributes:
        text: What was written, without the end-of-sequence token.
        finish_reason: ``stop`` at the end of sequence or a stop text, ``length`` at the limit, ``error`` if
            the source failed.
        prompt_ids: Tokens of the prompt, or None where the source hides them.
        token_ids: Sampled tokens, the end of sequence included, or None.
        logprobs: Natural-log probability of each sampled token at temperature 1, over the allowed tokens where it had
            a choice of them and over the whole vocabulary elsewhere, or None.
        weights_version: Version of the weights that wrote it, or None.
        error: What failed, where ``finish_reason`` is ``error``: the machinery, never the model.
        allowed: For each token the ids that it was chosen from, ascending; None for a token that was free. One id
            alone was forced: it was not sampled, and its log-probability is 0. None if all tokens were free.
    """

    text: str
    finish_reason: Literal["stop", "length", "error"]
    prompt_ids: list[int] | None = None
    token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    weights_version: int | None = None
    error: str | None = None
    allowed: list[tuple[int, ...] | None] | None = None


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
        """Take over the weights of a model or of a checkpoint folder."""
        ...

    def close(self) -> None:
        """Free what the source holds."""
        ...


def cut_at_stop(text: str, stop: Sequence[str]) -> tuple[str, bool]:
    """``text`` up to the first of the stop texts, and whether there was one.

    >>> cut_at_stop("Thought: go. Action: look", ["Action:", "Observation:"])
    ('Thought: go. ', True)
    """
    ends = [at for end in stop if (at := text.find(end)) >= 0]
    return (text[: min(ends)], True) if ends else (text, False)
