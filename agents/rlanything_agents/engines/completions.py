"""Checks of the ids and log-probabilities that an engine returns, against the request.

An engine is another program, often on another machine. Impossible ids and log-probabilities would corrupt the training
without a sign, so they become a completion with ``finish_reason="error"``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, Literal

from transformers import PreTrainedTokenizerBase

from rlanything_agents.engines.choices import FormTokens
from rlanything_envs.llm.choices import Form, pattern
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams, cut_at_stop
from rlanything_envs.llm.wire import check_prompt

__all__ = ["CompletionReader", "token_prompts"]

_LEAST, _MOST = -9000.0, 1e-3
"""Range of a log-probability: vLLM's server writes -9999 for minus infinity, which is never sampled, and rounding may
put a token of probability 1 slightly above 0."""


def token_prompts(prompts: Sequence[Prompt], vocabulary: int) -> list[list[int]]:
    """Check prompts of token ids, and return them as lists.

    Raises:
        ValueError: A prompt is empty, is a chat, or holds an id that the model does not have.
    """
    checked: list[list[int]] = []
    for at, prompt in enumerate(prompts):
        ids: Any = check_prompt(prompt, at)
        if not isinstance(ids[0], int):
            raise ValueError(f"prompt {at}: an engine reads token ids; render chats with `ChatTemplate` first")
        if max(ids) >= vocabulary:
            raise ValueError(f"prompt {at}: id {max(ids)} is beyond the model's {vocabulary} tokens")
        checked.append(ids)
    return checked


class CompletionReader:
    """Reader of the ids and log-probabilities that an engine returns, as completions.

    Args:
        tokenizer: Tokenizer of the model; it decodes the text, and the engine's own text is ignored.
        vocabulary: Number of ids of the model.

    Raises:
        ValueError: The tokenizer has no end of sequence.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, vocabulary: int) -> None:
        if tokenizer.eos_token_id is None:
            raise ValueError("the tokenizer has no end of sequence: set its eos_token")
        self.tokenizer, self.vocabulary = tokenizer, vocabulary
        self.end = int(tokenizer.eos_token_id)
        self._forms = FormTokens(tokenizer)
        self._expression = lru_cache(maxsize=2**10)(self._written)

    def read(
        self, prompt: list[int], ids: Any, logprobs: Any, reason: Any, params: SamplingParams, version: int
    ) -> Completion:
        """Check sampled ids and make a completion of them, or an error completion that names the fault.

        Args:
            prompt: Ids of the prompt.
            ids: Sampled ids as the engine returned them, the end of sequence included; untrusted.
            logprobs: Log-probability of each id; untrusted.
            reason: The engine's reason for the end of the completion; untrusted.
            params: Parameters of this prompt alone.
            version: Version of the weights.
        """
        if fault := self._fault(ids, logprobs, reason, params):
            return self.error(prompt, f"MalformedAnswer: {fault}", version)
        ended = ids[-1] == self.end
        written = ids[:-1] if ended else ids
        text, stopped = cut_at_stop(str(self.tokenizer.decode(written)), params.stop)
        finish: Literal["stop", "length"] = "stop" if ended or stopped or reason == "stop" else "length"
        values, allowed = [float(value) for value in logprobs], None
        if params.choices and params.choices[0] is not None and self.expression(params) is not None:
            allowed = self._forms.allowed(params.choices[0], ids)
            values = [0.0 if one and len(one) == 1 else value for one, value in zip(allowed, values, strict=True)]
        return Completion(text, finish, prompt, list(ids), values, version, allowed=allowed)

    def expression(self, params: SamplingParams) -> str | None:
        """Regular expression for vLLM's structured outputs, from the form of one prompt's parameters.

        vLLM matches an expression with the tokens' own texts, one after the other. A tokenizer of whole words has no
        decoder that would put blanks between them, so the expression has none either.

        Returns:
            The expression; None if the completion is free, or if it has to be: where a word begins with another one,
            as ``12`` with ``1``, vLLM may choose the shorter one and find no token to go on with.
        """
        form = params.choices[0] if params.choices else None
        return None if form is None else self._expression(form)

    def _written(self, form: Form) -> str | None:
        """See `expression`; computed once for a form, as many completions have the same."""
        if self.tokenizer.backend_tokenizer.decoder is not None:
            return pattern(form)
        used: set[str] = set()

        def written(text: str) -> str:
            ids = self.tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
            words: list[str] = self.tokenizer.convert_ids_to_tokens(ids)
            used.update(words)
            return "".join(words)

        expression = pattern(form, written)
        return None if used & self._extended else expression

    @cached_property
    def _extended(self) -> frozenset[str]:
        """Words that begin with another word of the vocabulary."""
        words = self.tokenizer.get_vocab()
        return frozenset(word for word in words if any(word[:at] in words for at in range(1, len(word))))

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
        if not all(type(value) in (int, float) and _LEAST < value <= _MOST for value in logprobs):
            return "the engine returned what is no log-probability"
        return ""
