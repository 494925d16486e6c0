"""Generator on a transformers model in this process: batched, with a key-value cache across turns and prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from rlanything_agents.engines.batching import Batches, common_prefix, shared_prefixes
from rlanything_agents.engines.cache import GROUPED_ATTENTION, RaggedDecoder
from rlanything_agents.engines.choices import FormTokens, Place
from rlanything_agents.engines.completions import images_of_prompts
from rlanything_agents.engines.handover import BOUNDS, evaluating
from rlanything_agents.engines.sampling import NoiseStreams, sample_tokens
from rlanything_agents.models.checkpoint import CheckpointError, brief
from rlanything_agents.models.image_reader import image_reader
from rlanything_agents.models.pretrained import load_weights
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams, SeenPrompt
from rlanything_envs.message import Image

__all__ = ["TransformersGenerator"]

TOKENS = 2**17
"""Maximum tokens of a batch: 0.13 GB of keys and values for a model of 0.8 M parameters, 7.5 GB for Qwen2.5-7B in
bfloat16."""

TAIL = 8
"""More tokens at the end of a completion than a stop text has bytes, in which the text is looked for: a decoder may
change the first ones of a piece, such as the rest of a character."""

SHARED = 32
"""Fewest tokens of a prefix that is read once for several prompts of a batch."""


class TransformersGenerator:
    """Generator that samples from a causal language model, which it shares with the trainer.

    All completions of a prompt share its cached keys and values. Between calls the generator keeps the cache of
    conversations (``SamplingParams.keys``, with one completion per prompt) until `sleep`, while the weights stay the
    same and the next call continues them: the model reads only the new part of a prompt that begins with its
    conversation. A prompt with images is read whole: with a window the first of its screens changes in each turn.

    With ``SamplingParams.choices`` a forced token (the only allowed id) is written without the model, which reads it
    together with the next sampled token.

    Args:
        model: Decoder-only model, or one that sees and was loaded with its `ImageReader`. The probabilities of one
            that reads text alone are compared with those of its own forward pass, on a short text.
        tokenizer: Tokenizer of the model; chats need its chat template.
        tokens: Maximum tokens of a batch, prompts and completions together, which bounds the memory of its cache; the
            cache of conversations has the same bound.

    Raises:
        CheckpointError: They differ, or the model has a form of attention or of positions that this engine lacks.
    """

    trainable = True

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, tokens: int = TOKENS) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.tokens = tokens
        self.version = 0
        self._end = tokenizer.eos_token_id
        self._forms = FormTokens(tokenizer)
        self._text = lru_cache(maxsize=4096)(lambda ids: str(tokenizer.decode(list(ids))))  # short answers repeat
        self._kept: _Kept | None = None
        reader = image_reader(model)
        self._reader = reader
        self._ids = model.get_input_embeddings().weight.shape[0]
        self._sampled = None if reader is None else _all_but(reader.token_id, model)
        if reader is None and (reason := _lacking(model)):
            raise CheckpointError(f"{type(model).__name__}: {reason}; take engine.kind vllm")

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """Sample ``params.n`` completions for each prompt, in the order of the prompts.

        Raises:
            ValueError: A prompt is empty, holds an id that the model does not have or an image that it cannot see, or
                is a chat and the tokenizer has no chat template; a form holds the end of sequence; or there is not one
                seed, form or key for each prompt.
        """
        params.check(len(prompts))
        seed = int(np.random.default_rng().integers(2**63)) if params.seed is None else params.seed
        ids = [self.prompt_ids(prompt) for prompt in prompts]
        if (last := max(map(max, ids), default=0)) >= self._ids:
            raise ValueError(f"a prompt holds the id {last}, and the model has {self._ids}")
        images = images_of_prompts(prompts, self._reader)
        if any(images):
            params = replace(params, keys=())
        starts = self._starts(params, len(prompts))
        kept, self._kept = self._kept, None
        held: dict[int, tuple[int, int]] = {}
        if kept is not None and params.keys and params.n == 1 and kept.weights == self._weights():
            held = kept.held(ids, params.keys)
        completions: list[list[Completion]] = [[] for _ in prompts]
        for places in self._places(ids, params, held):
            drafts = [_Draft(self, params, starts[at]) for at in places for _ in range(params.n)]
            batch = _Batch(self.model, [ids[at] for at in places], drafts, params, [images[at] for at in places])
            batch.run(self._noise(places, params, seed), kept if held else None, [held.get(at) for at in places])
            if params.keys and params.n == 1 and self._kept is None:
                self._kept = batch.kept([params.keys[at] for at in places], self._weights())
            held = {}
            for number, at in enumerate(places):
                own = drafts[number * params.n : (number + 1) * params.n]
                completions[at] = [draft.completion(ids[at], self.version) for draft in own]
        return completions

    def update_weights(self, source: PreTrainedModel | Path, version: int) -> None:
        """Copy the weights of another model or of a folder; weights of the generator's own model are not copied.

        Raises:
            CheckpointError: The folder holds no weights, or those of another model.
        """
        if isinstance(source, Path):
            load_weights(self.model, source)
        elif source is not self.model:
            self.model.load_state_dict(source.state_dict())
        self.version, self._kept = version, None

    def sleep(self) -> None:
        """Drop the cache of conversations; the model belongs to its owner."""
        self._kept = None

    def wake(self) -> None:
        """Do nothing: the next call reads its prompts whole."""

    close = sleep

    def text(self, ids: Sequence[int]) -> str:
        """Decode ids to text."""
        return self._text(tuple(ids))

    def prompt_ids(self, prompt: Prompt) -> list[int]:
        """Token ids of a prompt; a chat is rendered, ids are copied.

        Raises:
            ValueError: The prompt is empty, or it is a chat and the tokenizer has no chat template.
        """
        if isinstance(prompt, SeenPrompt):
            return prompt.ids
        if prompt and isinstance(prompt[0], int):
            return list(prompt)  # type: ignore[arg-type]
        if not prompt:
            raise ValueError("a prompt needs at least one token or message")
        ids = self.tokenizer.apply_chat_template(list(prompt), add_generation_prompt=True, return_dict=True)
        return list(ids["input_ids"])

    def _starts(self, params: SamplingParams, prompts: int) -> list[Place | None]:
        """First place of the form of each prompt, None for a free prompt; prompts often share a form."""
        forms = params.forms(prompts)
        known: dict[int, Place | None] = {id(None): None}
        for form in forms:
            if id(form) not in known and form is not None:
                known[id(form)] = self._forms.start(form)
        return [known[id(form)] for form in forms]

    def batches(self, params: SamplingParams) -> Batches:
        """Rule by which `generate` cuts prompts into batches.

        A chunk of prompts that ends at the end of a batch gets the same completions as in one call for all prompts.
        """
        return Batches(self.tokens, params.n, params.max_tokens)

    def _places(
        self, ids: Sequence[list[int]], params: SamplingParams, held: dict[int, tuple[int, int]]
    ) -> list[list[int]]:
        """Places of the prompts of each batch; prompts that continue a cached conversation come first."""
        batches, groups = self.batches(params), list[list[int]]()
        for at in (*held, *(at for at in range(len(ids)) if at not in held)):
            if batches.begins(len(ids[at])) or not groups:
                groups.append([])
            groups[-1].append(at)
        return [sorted(places) for places in groups]

    def _noise(self, places: Sequence[int], params: SamplingParams, seed: int) -> NoiseStreams:
        block, drafts = min(params.max_tokens, 512), range(params.n)
        if params.seeds:
            return NoiseStreams([params.seeds[at] for at in places for _ in drafts], [*drafts] * len(places), block)
        return NoiseStreams(seed, [(params.first + at) * params.n + draft for at in places for draft in drafts], block)

    def _weights(self) -> tuple[tuple[int, int], ...]:
        """Fingerprint that changes when a trainer changes the weights, even without a call of `update_weights`.

        A fused optimizer of PyTorch leaves no trace: after its steps `update_weights` must be called.
        """
        weights: Iterator[torch.Tensor] = self.model.parameters()
        return tuple((one.data_ptr(), -1 if one.is_inference() else one._version) for one in weights)


def _lacking(model: PreTrainedModel) -> str:
    """What this engine lacks for a model; empty if nothing."""
    try:
        settings = model.get_decoder().config
        rope = getattr(settings, "rope_parameters", None) or {}
        kinds = {each.get("rope_type") for each in (rope, *rope.values()) if isinstance(each, dict)}
        if kinds & {"longrope", "dynamic"}:  # one factor for all rows, also for keys that were cached with another
            return "its positions change with the longest text of a batch (rope_type)"
        with (decoder := RaggedDecoder(model, 2)).running():
            if settings._attn_implementation != GROUPED_ATTENTION:
                return "its attention cannot be replaced"
        mismatch = _mismatch(model, decoder)
    except (RuntimeError, LookupError, AttributeError, TypeError, ValueError) as error:
        return f"engine.kind transformers cannot run it ({brief(error)})"
    if mismatch <= (most := BOUNDS.get(str(model.dtype).removeprefix("torch."), 0.5)):
        return ""
    return (
        f"log-probabilities by engine.kind transformers and by the model itself differ by {mismatch:.2g} nats, at most "
        f"{most}: its attention is not known here"
    )


def _mismatch(model: PreTrainedModel, decoder: RaggedDecoder) -> float:
    """Mean difference of log-probabilities between an empty decoder and the model itself, over likely tokens, in nats:
    0.06 for SmolLM2 in bfloat16, 1e-5 in float32; 0.87 for a small GPT-OSS, whose sinks of attention are lacking."""
    ids = np.arange(3, 27) % min(512, model.get_input_embeddings().weight.shape[0])
    parts = [ids.tolist(), ids[::-2].tolist()]
    with decoder.running():
        decoder.append(np.arange(2), [part[:5] for part in parts])
        ours = decoder.append(np.arange(2), [part[5:] for part in parts]).log_softmax(-1)
    with evaluating(model), torch.inference_mode():
        own = torch.stack([model(torch.tensor([part], device=model.device)).logits[0, -1] for part in parts])
    likely, at = own.float().log_softmax(-1).topk(min(8, own.shape[-1]))
    return float((ours.gather(1, at) - likely).abs().mean())


@dataclass(eq=False)
class _Draft:
    """Completion while it is sampled."""

    generator: TransformersGenerator
    params: SamplingParams
    place: Place | None
    """Place within the form of the answer; None if it is free."""
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    allowed: list[tuple[int, ...] | None] = field(default_factory=list)
    odds: dict[int, tuple[float, ...]] = field(default_factory=dict)
    unread: list[int] = field(default_factory=list)
    """Ids that the model has not read yet."""
    text: str = ""
    finish_reason: Literal["stop", "length"] | None = None

    def __post_init__(self) -> None:
        self._force()

    @property
    def choice(self) -> tuple[int, ...] | None:
        """Ids that may come next; None for all."""
        return None if self.place is None else self.place.allowed

    @property
    def mask(self) -> np.ndarray | None:
        """Ids to sample from, where the next token is free; None for all."""
        return self.generator._sampled if self.place is None else self.place.mask

    def take(self, token: int, logprob: float) -> None:
        """Append a sampled token, and the forced tokens that follow it."""
        self._append(token, logprob)
        self._force()

    def _force(self) -> None:
        while self.finish_reason is None and self.choice is not None and len(self.choice) == 1:
            self._append(self.choice[0], 0.0)

    def _append(self, token: int, logprob: float) -> None:
        self.ids.append(token)
        self.unread.append(token)
        self.logprobs.append(logprob)
        if self.place is not None:
            self.allowed.append(self.place.allowed)
            self.place = self.place.after(token)
        ended, full = token == self.generator._end, len(self.ids) == self.params.max_tokens
        if not (ended or full or self._may_stop()):
            return
        written = self.place.text if self.place is not None and ended else None
        self.text = self.generator.text(self.ids[: len(self.ids) - ended]) if written is None else written
        cut = min((at for stop in self.params.stop if (at := self.text.find(stop)) >= 0), default=-1)
        self.text = self.text[:cut] if cut >= 0 else self.text
        if ended or cut >= 0:
            self.finish_reason = "stop"
        elif full:
            self.finish_reason = "length"

    def _may_stop(self) -> bool:
        """Whether a stop text ends in the last token; each token has at least one byte, so a few of them show it."""
        if not (stop := self.params.stop):
            return False
        tail = self.generator.tokenizer.decode(self.ids[-TAIL - max(len(text.encode()) for text in stop) :])
        return any(text in tail for text in stop)

    def completion(self, prompt: list[int], version: int) -> Completion:
        allowed = None if self.place is None else self.allowed
        reason = self.finish_reason or "length"
        odds = self.odds if self.params.odds else None
        return Completion(self.text, reason, prompt, self.ids, self.logprobs, version, allowed=allowed, odds=odds)


@dataclass(eq=False)
class _Kept:
    """Cache of conversations between calls.

    Attributes:
        decoder: Decoder with one row per conversation.
        read: Ids in each row.
        rows: Row of each key.
        weights: Fingerprint of the weights that computed it.
    """

    decoder: RaggedDecoder
    read: list[list[int]]
    rows: dict[int, int]
    weights: tuple[tuple[int, int], ...]

    def held(self, prompts: Sequence[list[int]], keys: Sequence[int]) -> dict[int, tuple[int, int]]:
        """Map the place of each prompt that continues a conversation to its row and the length of the shared prefix."""
        held = {}
        for at, (prompt, key) in enumerate(zip(prompts, keys, strict=True)):
            row = self.rows.get(key)
            if row is not None and (same := common_prefix(self.read[row], prompt)):
                held[at] = row, same
        return held


class _Batch:
    """Batch of prompts that are decoded together.

    Args:
        model: Model to sample from.
        prompts: Ids of each prompt.
        drafts: The ``params.n`` completions of each prompt, in the order of the prompts.
        params: Sampling parameters.
        images: Images of each prompt.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        prompts: list[list[int]],
        drafts: list[_Draft],
        params: SamplingParams,
        images: Sequence[tuple[Image, ...]],
    ) -> None:
        self._model, self._prompts, self._drafts, self._params = model, prompts, drafts, params
        self._images = images
        self._decoder: RaggedDecoder | None = None
        self._shrinks = not params.keys or params.n > 1
        """Whether rows of finished completions are dropped; rows of conversations stay for the next turn."""

    def run(self, noise: NoiseStreams, kept: _Kept | None, held: Sequence[tuple[int, int] | None]) -> None:
        """Sample all drafts.

        Args:
            noise: Random stream of each draft.
            kept: Cached conversations to continue.
            held: For each prompt the row of ``kept`` that it continues and the length of the shared prefix, or None.
        """
        # Forced first tokens are read with the prompt; all its drafts have the same ones.
        own = zip(self._prompts, self._drafts[:: self._params.n], strict=True)
        texts = [prompt + draft.unread for prompt, draft in own]
        for draft in self._drafts:
            draft.unread = []
        # Placeholders of all images are alike, so equal ids are no equal beginning.
        fresh = [at for at, one in enumerate(held) if one is None and not self._images[at]]
        shared: list[tuple[int, int] | None] = [None] * len(texts)
        for at, one in zip(fresh, shared_prefixes([texts[at] for at in fresh], SHARED), strict=True):
            shared[at] = None if one is None else (fresh[one[0]], one[1])
        whole = [at for at, one in enumerate(shared) if one is None]
        self._decoder = RaggedDecoder(self._model, len(whole)) if kept is None else kept.decoder
        with self._decoder.running():
            if kept is not None:
                self._continue(self._decoder, [held[at] for at in whole], [texts[at] for at in whole])
            known = self._decoder.lengths.tolist()
            new = [texts[at][length:] for at, length in zip(whole, known, strict=True)]
            logits = self._decoder.append(np.arange(len(whole)), new, [self._images[at] for at in whole])
            if len(whole) < len(texts):
                logits = self._branch(self._decoder, logits, texts, shared)
            self._write(self._decoder, logits, noise)

    def _continue(
        self, decoder: RaggedDecoder, held: Sequence[tuple[int, int] | None], texts: Sequence[list[int]]
    ) -> None:
        """Give each text the row that it continues; at least its last token is read again, for the next logits."""
        rows = [0 if one is None else one[0] for one in held]
        known = [0 if one is None else min(one[1], len(text) - 1) for one, text in zip(held, texts, strict=True)]
        decoder.keep(np.array(rows, dtype=np.int64), np.array(known, dtype=np.int64))

    def _branch(
        self,
        decoder: RaggedDecoder,
        logits: torch.Tensor,
        texts: Sequence[list[int]],
        shared: Sequence[tuple[int, int] | None],
    ) -> torch.Tensor:
        """Read the rest of the texts that share a prefix with a whole text; return the logits of all texts in order."""
        row_of = {at: row for row, at in enumerate(at for at, one in enumerate(shared) if one is None)}
        rows = [row_of[at if one is None else one[0]] for at, one in enumerate(shared)]
        lengths = [len(text) if one is None else one[1] for text, one in zip(texts, shared, strict=True)]
        decoder.keep(np.array(rows), np.array(lengths))
        late = [at for at, one in enumerate(shared) if one is not None]
        more = decoder.append(np.array(late), [texts[at][lengths[at] :] for at in late])
        order = np.argsort(np.array([*row_of, *late]))
        return torch.cat((logits, more))[torch.from_numpy(order).to(logits.device)]

    def kept(self, keys: Sequence[int], weights: tuple[tuple[int, int], ...]) -> _Kept:
        """Cache of the conversations of this batch, where each prompt has one draft."""
        assert self._decoder is not None  # nosec B101 # for the type checker
        pairs = zip(self._prompts, self._drafts, strict=True)
        read = [prompt + draft.ids[: len(draft.ids) - len(draft.unread)] for prompt, draft in pairs]
        return _Kept(self._decoder, read, {key: row for row, key in enumerate(keys)}, weights)

    def _write(self, decoder: RaggedDecoder, logits: torch.Tensor, noise: NoiseStreams) -> None:
        params, drafts = self._params, self._drafts
        numbers = np.array([k for k, draft in enumerate(drafts) if draft.finish_reason is None], dtype=np.int64)
        at, rows = numbers // params.n, np.arange(len(self._prompts))  # logits of each draft, cache row of each logits
        while len(numbers):
            live = [drafts[k] for k in numbers]
            places = torch.from_numpy(at).to(logits.device)
            tokens, logprobs = sample_tokens(
                logits[places],
                [draft.choice for draft in live],
                noise.draw(numbers),
                params.temperature,
                params.top_p,
                [draft.mask for draft in live],
            )
            for draft, place in zip(live, at, strict=True) if params.odds else ():
                if draft.choice is not None and len(draft.choice) <= params.odds:
                    draft.odds[len(draft.ids)] = tuple(logits[place][list(draft.choice)].softmax(-1).tolist())
            for draft, token, logprob in zip(live, tokens, logprobs, strict=True):
                draft.take(token, logprob)
            going = np.array([draft.finish_reason is None for draft in live])
            if not going.any():
                return
            # Drafts of one prompt with the same ids so far share a row of the cache.
            grown = rows[at[going]] * logits.shape[1] + np.array(tokens)[going]
            numbers = numbers[going]
            _, first, at = np.unique(grown, return_index=True, return_inverse=True)
            rows = grown[first] // logits.shape[1]
            if self._shrinks and ((repeated := len(np.unique(rows)) < len(rows)) or len(rows) < len(decoder.lengths)):
                if not repeated:
                    order = _in_place(rows)
                    rows, first, at = rows[order], first[order], np.argsort(order)[at]
                decoder.keep(rows)
                rows = np.arange(len(rows))
            new = [drafts[k].unread for k in numbers[first]]
            for k in numbers:
                drafts[k].unread = []
            logits = decoder.append(rows, new)


def _in_place(rows: np.ndarray) -> np.ndarray:
    """Order of distinct rows of a cache in which few move: those beyond the end of fewer rows fill the gaps."""
    stays = rows < len(rows)
    order = np.empty_like(rows)
    order[rows[stays]] = np.flatnonzero(stays)
    order[np.setdiff1d(np.arange(len(rows)), rows)] = np.flatnonzero(~stays)
    return order


def _all_but(token: int, model: PreTrainedModel) -> np.ndarray:
    """Mask of all ids but the placeholder of an image, which stands for nothing in an answer."""
    mask = np.ones(model.get_output_embeddings().weight.shape[0], dtype=np.bool_)
    mask[token] = False
    return mask
