"""What an engine says it sampled, held to what it was asked for.

An engine is another program, often on another machine. Ids and log-probabilities that cannot be true would be learned
from without anybody noticing, so that they become a completion with ``finish_reason="error"``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from transformers import PreTrainedTokenizerBase

from rlanything_agents.engines.choices import FormTokens
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams, cut_at_stop
from rlanything_envs.llm.wire import check_prompt

__all__ = ["Sampled", "token_prompts"]

_LEAST, _MOST = -9000.0, 1e-3
"""Of a log-probability: vLLM's server writes -9999 for minus infinity, which nobody samples, and rounding may leave a
certain token a hair above 0."""


def token_prompts(prompts: Sequence[Prompt], vocabulary: int) -> list[list[int]]:
    """The prompts as lists of ids.

    Raises:
        ValueError: One is empty, a chat, or holds an id that the model does not have.
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


class Sampled:
    """Makes completions of what an engine returns.

    Args:
        tokenizer: Of the model; texts are decoded with it, whatever text the engine sends along.
        vocabulary: How many ids the model has.

    Raises:
        ValueError: The tokenizer has no end of sequence.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, vocabulary: int) -> None:
        if tokenizer.eos_token_id is None:
            raise ValueError("the tokenizer has no end of sequence: set its eos_token")
        self.tokenizer, self.vocabulary = tokenizer, vocabulary
        self.end = int(tokenizer.eos_token_id)
        self._forms = FormTokens(tokenizer)

    def completion(
        self, prompt: list[int], ids: Any, logprobs: Any, reason: Any, params: SamplingParams, version: int
    ) -> Completion:
        """What was sampled, or an error that says why it cannot have been.

        Args:
            prompt: Ids that were asked to be continued.
            ids: Sampled ids as the engine gave them, the end of sequence included.
            logprobs: One for each id.
            reason: Why it ended.
            params: What was asked for of this prompt alone.
            version: Of the weights.
        """
        if fault := self._fault(ids, logprobs, reason, params):
            return self.error(prompt, f"MalformedAnswer: {fault}", version)
        ended = ids[-1] == self.end
        written = ids[:-1] if ended else ids
        text, stopped = cut_at_stop(str(self.tokenizer.decode(written)), params.stop)
        finish: Literal["stop", "length"] = "stop" if ended or stopped or reason == "stop" else "length"
        values, allowed = [float(value) for value in logprobs], None
        if params.choices and params.choices[0] is not None:
            allowed = self._forms.allowed(params.choices[0], ids)
            values = [0.0 if one and len(one) == 1 else value for one, value in zip(allowed, values, strict=True)]
        return Completion(text, finish, prompt, list(ids), values, version, allowed=allowed)

    def error(self, prompt: list[int], message: str, version: int) -> Completion:
        """A completion that nobody wrote."""
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
