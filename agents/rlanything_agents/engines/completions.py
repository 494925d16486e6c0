"""Checks of the ids and log-probabilities that an engine returns, against the request.

An engine is another program, often on another machine. Impossible ids and log-probabilities would corrupt the training
without a sign, so they become a completion with ``finish_reason="error"``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any, Literal

from transformers import PreTrainedTokenizerBase

from rlanything_agents.engines.choices import literal_encoder
from rlanything_agents.engines.spellings import Spellings
from rlanything_agents.models.image_reader import ImageReader
from rlanything_envs.llm.choices import Form, OneOf, Prose, Repeat, Then, pattern
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams, SeenPrompt, cut_at_stop
from rlanything_envs.llm.wire import check_prompt
from rlanything_envs.message import Image

__all__ = ["LEAST", "CompletionReader", "banned", "images_of_prompts", "token_prompts"]

LEAST, _MOST = -9000.0, 1e-3
"""Range of a log-probability: vLLM's server writes -9999 for minus infinity, which is never sampled, and rounding may
put a token of probability 1 slightly above 0."""


def token_prompts(prompts: Sequence[Prompt], vocabulary: int) -> list[list[int]]:
    """Check prompts of token ids, and return their ids as lists.

    Raises:
        ValueError: A prompt is empty, is a chat, or holds an id that the model does not have.
    """
    checked: list[list[int]] = []
    for at, prompt in enumerate(prompts):
        ids: Any = check_prompt(prompt.ids if isinstance(prompt, SeenPrompt) else prompt, at)
        if not isinstance(ids[0], int):
            raise ValueError(f"prompt {at}: an engine reads token ids; render chats with `ChatTemplate` first")
        if max(ids) >= vocabulary:
            raise ValueError(f"prompt {at}: id {max(ids)} is beyond the model's {vocabulary} tokens")
        checked.append(ids)
    return checked


def images_of_prompts(prompts: Sequence[Prompt], reader: ImageReader | None) -> list[tuple[Image, ...]]:
    """Images of each prompt.

    Raises:
        ValueError: A prompt has images, and the model reads text alone.
    """
    images = [prompt.images if isinstance(prompt, SeenPrompt) else () for prompt in prompts]
    if any(images) and reader is None:
        raise ValueError("a prompt holds an image, and the model reads text alone")
    return images


def banned(reader: ImageReader | None) -> dict[int, float] | None:
    """``logit_bias`` of a request: no answer has the placeholder of an image, where a trainer would look for one.

    vLLM adds it after it has computed the log-probabilities.
    """
    return None if reader is None else {reader.token_id: -100.0}


class CompletionReader:
    """Reader of the ids and log-probabilities that an engine returns, as completions.

    Args:
        tokenizer: Tokenizer of the model; it decodes the text, and the engine's own text is ignored.
        vocabulary: Number of ids of the model.
        stops: Further ids that the engine lets follow a complete form, such as those of a checkpoint's
            ``generation_config.json``. It gives them a share of the probability there, and `bias` keeps it from
            sampling them.

    Raises:
        ValueError: The tokenizer has no end of sequence.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, vocabulary: int, stops: Iterable[int] = ()) -> None:
        if tokenizer.eos_token_id is None:
            raise ValueError("the tokenizer has no end of sequence: set its eos_token")
        self.tokenizer, self.vocabulary = tokenizer, vocabulary
        self.end = int(tokenizer.eos_token_id)
        self.stops = frozenset(stops) - {self.end}
        self._written = lru_cache(maxsize=2**10)(self._write)

    def read(
        self,
        prompt: list[int],
        ids: Any,
        logprobs: Any,
        reason: Any,
        params: SamplingParams,
        version: int,
        tops: Sequence[Mapping[int, float]] = (),
    ) -> Completion:
        """Check sampled ids and make a completion of them, or an error completion that names the fault.

        Args:
            prompt: Ids of the prompt.
            ids: Sampled ids as the engine returned them, the end of sequence included; untrusted.
            logprobs: Log-probability of each id; untrusted.
            reason: The engine's reason for the end of the completion; untrusted.
            params: Parameters of this prompt alone.
            version: Version of the weights.
            tops: For each id the log-probabilities of the most probable ids in its place, where ``odds`` asks for them.
        """
        if fault := self._fault(ids, logprobs, reason, params):
            return self.error(prompt, f"MalformedAnswer: {fault}", version)
        ended = ids[-1] == self.end
        written = ids[:-1] if ended else ids
        text, stopped = cut_at_stop(str(self.tokenizer.decode(written)), params.stop)
        finish: Literal["stop", "length"] = "stop" if ended or stopped or reason == "stop" else "length"
        values = [float(value) for value in logprobs]
        allowed: list[tuple[int, ...] | None] | None = None
        odds = None
        if (form := self._form(params)) is not None:
            sets = self.spellings.allowed(form, ids)
            values = [value if len(one) > 1 else 0.0 for one, value in zip(sets, values, strict=True)]
            allowed = [*sets]
            odds = _odds(sets, tops, params.odds) if params.odds else None
        return Completion(text, finish, prompt, list(ids), values, version, allowed=allowed, odds=odds)

    def expression(self, params: SamplingParams) -> str | None:
        """Regular expression for vLLM's structured outputs, from the form of one prompt's parameters.

        vLLM matches an expression with the tokens' own texts, one after the other. A tokenizer of whole words has no
        decoder that would put blanks between them, so the expression has none either.

        Returns:
            The expression; None if the completion is free, or if it has to be: where a word begins with another one,
            as ``12`` with ``1``, vLLM may choose the shorter one and find no token to go on with.
        """
        return None if (form := self._form(params)) is None else pattern(form)

    def _form(self, params: SamplingParams) -> Form | None:
        """Form of one prompt's completions as vLLM gets it, None where they are free."""
        return None if (form := params.own_form) is None else self._written(form)

    @cached_property
    def spellings(self) -> Spellings:
        """Ids that vLLM allows."""
        return Spellings(self.tokenizer, {self.end, *self.stops})

    @cached_property
    def _encode(self) -> Callable[[str], list[int]]:
        return literal_encoder(self.tokenizer)

    def _write(self, form: Form) -> Form | None:
        """The form in the tokens' own texts, see `expression`."""
        if self.tokenizer.backend_tokenizer.decoder is not None:
            return form
        used: set[str] = set()

        def written(form: Form) -> Form:
            if isinstance(form, str):
                words: list[str] = self.tokenizer.convert_ids_to_tokens(self._encode(form))
                used.update(words)
                return "".join(words)
            if isinstance(form, OneOf):
                return OneOf(tuple(map(written, form.options)))
            if isinstance(form, Then):
                return Then(tuple(map(written, form.parts)))
            return form if isinstance(form, Prose) else _repeated(form, written(form.part))

        found = written(form)
        return None if used & self._extended else found

    @cached_property
    def _extended(self) -> frozenset[str]:
        """Words that begin with another word of the vocabulary."""
        words = self.tokenizer.get_vocab()
        return frozenset(word for word in words if any(word[:at] in words for at in range(1, len(word))))

    @property
    def bias(self) -> dict[int, float]:
        """``logit_bias`` of requests with a form: a form ends with the end of sequence alone.

        vLLM adds it after it has computed the log-probabilities.
        """
        return dict.fromkeys(sorted(self.stops), -100.0)

    def error(self, prompt: list[int], message: str, version: int) -> Completion:
        """Make an empty completion with ``finish_reason="error"`` and this message."""
        return Completion("", "error", prompt, weights_version=version, error=message)

    def _fault(self, ids: Any, logprobs: Any, reason: Any, params: SamplingParams) -> str:
        if reason not in ("stop", "length"):
            return f"the engine ended a completion with {str(reason)[:50]!r}"
        if not isinstance(ids, list) or not ids or not all(type(token) is int for token in ids):
            return "the engine returned no token ids"
        if not 0 <= min(ids) <= max(ids) < self.vocabulary:
            return f"the engine returned an id beyond the model's {self.vocabulary} tokens"
        if len(ids) > params.max_tokens:
            return f"the engine returned {len(ids)} tokens, of at most {params.max_tokens}"
        if self.end in ids[:-1]:
            return "the engine wrote on after the end of sequence"
        if reason == "stop" and ids[-1] != self.end and not params.stop:
            return "the engine stopped without the end of sequence"
        if not isinstance(logprobs, list) or len(logprobs) != len(ids):
            return "the engine returned no log-probability for each token"
        if not all(type(value) in (int, float) and LEAST < value <= _MOST for value in logprobs):
            return "the engine returned a value that is not a log-probability"
        return ""


def _odds(
    sets: Sequence[tuple[int, ...]], tops: Sequence[Mapping[int, float]], most: int
) -> dict[int, tuple[float, ...]]:
    """Probabilities of the allowed ids in each place that has at most so many, as far as the engine reported them."""
    odds = {}
    for place, (allowed, top) in enumerate(zip(sets, tops, strict=False)):
        if 1 < len(allowed) <= most and all(token in top for token in allowed):
            shares = [math.exp(min(0.0, top[token])) for token in allowed]
            if total := sum(shares):
                odds[place] = tuple(share / total for share in shares)
    return odds


def _repeated(form: Repeat, part: Form) -> Form:
    return replace(form, part=part) if part != "" else ""
