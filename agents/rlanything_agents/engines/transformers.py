"""Text from a transformers model in this process: batched, with the prompt read once for all its completions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from rlanything_agents.engines.decoder import open_decoder
from rlanything_agents.engines.sampling import LaneNoise, sample_tokens
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams

__all__ = ["TransformersGenerator"]


class TransformersGenerator:
    """Samples from a causal language model, which it shares with its trainer.

    Args:
        model: Any decoder-only model of full attention.
        tokenizer: Its tokenizer; chats need its chat template.
        batch_size: Most prompts (times ``n``) decoded at once.
    """

    trainable = True

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, batch_size: int = 768) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.batch_size = batch_size
        self.version = 0
        self._end = tokenizer.eos_token_id
        self._text = lru_cache(maxsize=4096)(self._decode)  # short answers repeat

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """``params.n`` completions for each prompt, in the order of the prompts.

        Raises:
            ValueError: A prompt is empty, a chat is given and the tokenizer has no chat template, or there is not one
                seed for each prompt.
        """
        if params.seeds and len(params.seeds) != len(prompts):
            raise ValueError(f"{len(params.seeds)} seeds for {len(prompts)} prompts")
        seed = int(np.random.default_rng().integers(2**63)) if params.seed is None else params.seed
        ids = [self._prompt_ids(prompt) for prompt in prompts]
        size = max(1, self.batch_size // params.n)
        completions: list[list[Completion]] = []
        for at in range(0, len(ids), size):
            own = replace(params, seeds=params.seeds[at : at + size], first=params.first + at)
            completions += self._batch(ids[at : at + size], own, seed)
        return completions

    def update_weights(self, source: PreTrainedModel | Path, version: int) -> None:
        """Copy the weights of another model, or of a folder; the model's own weights need no copying."""
        if isinstance(source, Path):
            source = type(self.model).from_pretrained(source)
        if source is not self.model:
            self.model.load_state_dict(source.state_dict())
        self.version = version

    def close(self) -> None:
        """Nothing to free: the model belongs to its owner."""

    def _prompt_ids(self, prompt: Prompt) -> list[int]:
        if prompt and isinstance(prompt[0], int):
            return list(prompt)  # type: ignore[arg-type]
        if not prompt:
            raise ValueError("a prompt needs at least one token or message")
        ids = self.tokenizer.apply_chat_template(list(prompt), add_generation_prompt=True, return_dict=True)
        return list(ids["input_ids"])

    def _batch(self, prompts: list[list[int]], params: SamplingParams, seed: int) -> list[list[Completion]]:
        n = params.n
        drafts = [_Draft() for _ in range(len(prompts) * n)]
        block = min(params.max_tokens, 512)
        if params.seeds:
            seeds = [own for own in params.seeds for _ in range(n)]
            noise = LaneNoise(seeds, [*range(n)] * len(prompts), block)
        else:
            noise = LaneNoise(seed, range(params.first * n, params.first * n + len(drafts)), block)
        with open_decoder(self.model, len(prompts)) as decoder:
            logits = decoder.append(np.arange(len(prompts)), prompts)
            rows, at = np.arange(len(drafts)), np.arange(len(prompts)).repeat(n)  # drafts, and the logits of each
            lanes = np.arange(len(prompts))  # of the decoder, for each row of the logits
            while True:
                places = torch.from_numpy(at).to(logits.device)
                barred = _bar(logits, params)[places]
                tokens, _ = sample_tokens(barred, [None] * len(rows), noise.draw(rows), params.temperature)
                logprobs = logits.log_softmax(-1)[places, tokens].tolist()
                for row, token, logprob in zip(rows, tokens, logprobs, strict=True):
                    self._extend(drafts[row], token, logprob, params)
                live = np.array([drafts[row].finish_reason is None for row in rows])
                if not live.any():
                    break
                # Drafts of one prompt that have written the same so far share a lane.
                grown = lanes[at[live]] * logits.shape[1] + np.array(tokens)[live]
                grown, at = np.unique(grown, return_inverse=True)
                rows, lanes, new = rows[live], grown // logits.shape[1], grown % logits.shape[1]
                if len(np.unique(lanes)) < len(lanes) or 2 * len(lanes) < len(decoder.lengths):
                    decoder.keep(lanes)
                    lanes = np.arange(len(lanes))
                logits = decoder.append(lanes, new[:, None].tolist())
        return [
            [draft.completion(prompt, self.version) for draft in drafts[i * n : (i + 1) * n]]
            for i, prompt in enumerate(prompts)
        ]

    def _decode(self, ids: tuple[int, ...]) -> str:
        return str(self.tokenizer.decode(list(ids)))

    def _extend(self, draft: _Draft, token: int, logprob: float, params: SamplingParams) -> None:
        draft.ids.append(token)
        draft.logprobs.append(logprob)
        ended = token == self._end
        if ended or params.stop or len(draft.ids) == params.max_tokens:
            draft.text = self._text(tuple(draft.ids[: len(draft.ids) - ended]))
            cut = min((at for stop in params.stop if (at := draft.text.find(stop)) >= 0), default=-1)
            draft.text = draft.text[:cut] if cut >= 0 else draft.text
            if ended or cut >= 0:
                draft.finish_reason = "stop"
            elif len(draft.ids) == params.max_tokens:
                draft.finish_reason = "length"


@dataclass(eq=False)
class _Draft:
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    text: str = ""
    finish_reason: Literal["stop", "length"] | None = None

    def completion(self, prompt: list[int], version: int) -> Completion:
        reason = self.finish_reason or "length"
        return Completion(self.text, reason, prompt, self.ids, self.logprobs, version)


def _bar(logits: torch.Tensor, params: SamplingParams) -> torch.Tensor:
    """Logits of shape (n, vocabulary) with what ``top_k`` and ``top_p`` exclude at minus infinity."""
    if params.top_k and params.top_k < logits.shape[-1]:
        least = logits.topk(params.top_k).values[:, -1:]
        logits = logits.masked_fill(logits < least, float("-inf"))
    if params.top_p < 1:
        ordered, order = (logits / params.temperature).softmax(-1).sort(-1, descending=True)
        beyond = (ordered.cumsum(-1) - ordered) >= params.top_p
        logits = logits.masked_fill(beyond.scatter(1, order, beyond), float("-inf"))
    return logits
