"""Client of a vLLM server, for the process that gives the server its weights and for others.

Each request names all its parameters, each answer is checked against its request, and answers count only if the server
had the right weights before the request and after the answer.
"""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from transformers import PreTrainedTokenizerBase

from rlanything_agents.config.engine import ServerConfig
from rlanything_agents.engines.completions import CompletionReader, banned, images_of_prompts, token_prompts
from rlanything_agents.engines.controls import Controls, read_object
from rlanything_agents.engines.vllm import EngineFailed, check_temperature, seeded
from rlanything_agents.models.image_reader import ImageReader
from rlanything_envs.llm import wire
from rlanything_envs.llm.endpoint import Endpoint, Retries
from rlanything_envs.llm.errors import EndpointRefused, RequestFailed
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams, SeenPrompt
from rlanything_envs.llm.openai import OpenAIGenerator

__all__ = ["GENERATE", "ServedGenerator", "ServedWeights", "VLLMClient", "WeightsLost", "read_tops"]

GENERATE = "/inference/v1/generate"
"""Endpoint for token ids with images; ``--enable-scale-out`` opens it."""

_NEUTRAL = {"top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}
"""Neutral parameters of each request; the server's defaults come from the checkpoint's ``generation_config.json``."""

_MOST_BYTES = 64 * 2**20
"""Maximum bytes of one answer; a token with its log-probability takes some hundred bytes, and all samples of a prompt
arrive together."""

LONGEST_SILENCE_S = 900.0
"""Maximum seconds until an answer arrives, and until new weights are loaded."""
KEY = "VLLM_API_KEY"
"""Environment variable of the key of all servers, as ``vllm serve`` reads it."""
CONCURRENCY = 256
"""Maximum requests to a server at once; it batches them, by default as many (vLLM's ``max_num_seqs``)."""
RETRIES = Retries(attempts=6, total_s=1800.0)
"""Attempts of a request, and most seconds of all of them together."""
_ID = re.compile(r"[0-9]{1,9}")
_ALWAYS_THERE = ("/v1/completions", "/v1/models")


class WeightsLost(EngineFailed):
    """Server that no longer has the weights it was last given; its completions since then are discarded."""


@dataclass(frozen=True, slots=True)
class ServedWeights:
    """Name of the weights that a server should have.

    Attributes:
        mark: Unique name of this transfer of weights.
        adapters: Whether they are adapters, which the server offers as a model of this name.
        version: Version of the weights.
        vocabulary: Number of ids of the model.
        stops: Ids that the server lets follow a complete form.
    """

    mark: str
    adapters: bool
    version: int
    vocabulary: int
    stops: tuple[int, ...] = ()


class VLLMClient(OpenAIGenerator):
    """Generator on a vLLM server, with checks of its answers and of its weights.

    Args:
        server: Address, served model and limits.
        images: How the model reads images; None for one that reads text alone.

    Raises:
        MissingExtra: The package openai is not installed.
        MissingKey: The environment variable of the key holds characters that no key has.
    """

    trainable = True
    _reader: CompletionReader

    def __init__(self, server: ServerConfig, images: ImageReader | None = None) -> None:
        endpoint = Endpoint(
            model=server.model,
            base_url=server.base_url,
            key_env=KEY if os.environ.get(KEY) else None,
            concurrency=CONCURRENCY,
            read_timeout_s=LONGEST_SILENCE_S,
            max_response_bytes=_MOST_BYTES,
            samples_per_request=64,
        )
        super().__init__(endpoint, retries=RETRIES)
        self._controls = Controls(endpoint, self.retries)
        self._images = images

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.endpoint.model!r}, base_url={self.endpoint.base_url!r})"

    @property
    @abstractmethod
    def served(self) -> ServedWeights:
        """Weights that the server should have."""

    @property
    def version(self) -> int:
        """Version of the weights of the next completion."""
        return self.served.version

    def close(self) -> None:
        """Close all connections; the server keeps running."""
        super().close()
        self._controls.close()

    def _completions(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]] | None:
        """Sample completions; None if the server lost its weights during the call.

        Seeds depend on the place of a prompt, as with an engine in this process.
        """
        images = images_of_prompts(prompts, self._images)
        ids = [
            SeenPrompt.of(own, seen)
            for own, seen in zip(token_prompts(prompts, self._reader.vocabulary), images, strict=True)
        ]
        if params.seed is not None and not params.seeds:
            seeds = tuple(own.seed or 0 for own in seeded(params, len(ids)))
            params = replace(params, seed=None, seeds=seeds)
        try:
            completions = super().generate(ids, params)
        except EndpointRefused:
            if self._has_weights():
                raise
            return None
        if self._lacking:  # the client goes on without the field, and with answers that nothing can learn from
            raise EngineFailed(f"{self!r} refuses a form, see the warning above: it must be a vLLM server (0.32)")
        return completions if self._has_weights() else None

    def _has_weights(self) -> bool:
        """Whether the server reports the weights that it should have."""
        mark = self.served.mark
        if self.served.adapters:
            cards = self._read("/v1/models").get("data")
            names = [card.get("id") for card in cards if isinstance(card, dict)] if isinstance(cards, list) else []
            return mark in names
        return bool(self._read("/weight_info").get("weight_version") == mark)

    def _prompt(self, prompt: Prompt, at: int) -> Prompt:
        return prompt  # `_completions` has checked it

    def _request(self, prompt: Prompt, params: SamplingParams, n: int, seed: int | None) -> tuple[str, dict[str, Any]]:
        path, body = super()._request(prompt.ids if isinstance(prompt, SeenPrompt) else prompt, params, n, seed)
        model = self.served.mark if self.served.adapters else self.endpoint.model
        bias = banned(self._images) or {}
        fields: dict[str, Any] = {
            "logprobs": params.odds,
            "stop_token_ids": [self._reader.end],
            "ignore_eos": True,
            "skip_special_tokens": False,
        }
        if (expression := self._reader.expression(params)) is not None:
            fields["structured_outputs"] = {"regex": expression}
            bias |= self._reader.bias
        if bias or expression is not None:
            fields["logit_bias"] = {str(token): value for token, value in bias.items()}
        body |= _NEUTRAL | fields
        if isinstance(prompt, SeenPrompt) and self._images is not None:
            parts = [{"type": "image_url", "url": self._images.data_url(image)} for image in prompt.images]
            ids = self._images.collapsed(prompt.ids, prompt.images)
            settings = {name: value for name, value in body.items() if name not in ("model", "prompt")}
            path = f"{self._controls.root}{GENERATE}"
            body = {"token_ids": ids, "content_parts": parts, "sampling_params": settings, "output_mode": "text"}
        else:
            body["return_tokens_as_token_ids"] = params.odds > 0
        return path, body | {"model": model, "return_token_ids": True}

    def _completion(self, prompt: Prompt, choice: wire.Choice, params: SamplingParams) -> Completion:
        ids: Any = prompt.ids if isinstance(prompt, SeenPrompt) else prompt
        fields, version = choice.fields, self.version
        if choice.error is not None:
            return self._reader.error(ids, choice.error, version)
        if fields.get("prompt_token_ids") != ids:
            return self._reader.error(ids, "MalformedAnswer: the server read another prompt", version)
        values, reason = _logprobs(fields.get("logprobs")), fields.get("finish_reason")
        tops = read_tops(fields.get("logprobs")) if params.odds else ()
        return self._reader.read(ids, fields.get("token_ids"), values, reason, params, version, tops)

    def _read(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a control request, and return the JSON object of the answer."""
        with self._failing(path):
            return read_object(self._controls.request(path, body))

    def _command(self, path: str, body: Mapping[str, Any]) -> None:
        """Send a control request, and ignore the body of the answer."""
        with self._failing(path):
            self._controls.request(path, body)

    @contextmanager
    def _failing(self, path: str) -> Iterator[None]:
        try:
            yield
        except EndpointRefused as error:
            if path in _ALWAYS_THERE or not any(status in str(error) for status in ("HTTP 404", "HTTP 405")):
                raise
            remedy = (
                "start it with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1"
                if "lora" in path
                else "start it with VLLM_SERVER_DEV_MODE=1, in a network of your own"
            )
            raise EngineFailed(f"{self!r} cannot take new weights ({error}): {remedy}") from error
        except RequestFailed as error:
            raise EngineFailed(
                f"{self!r}, {path.partition('?')[0]}: {error.kind}: {error}: see the server's log"
            ) from error


class ServedGenerator(VLLMClient):
    """Generator on a server that gets its weights from another process (from a `VLLMServerGenerator`).

    Args:
        server: Address, served model and limits.
        tokenizer: Tokenizer of the model.
        images: How the model reads images; None for one that reads text alone.
    """

    def __init__(
        self, server: ServerConfig, tokenizer: PreTrainedTokenizerBase, images: ImageReader | None = None
    ) -> None:
        super().__init__(server, images)
        self._tokenizer = tokenizer
        self._served: ServedWeights | None = None

    @property
    def served(self) -> ServedWeights:
        """Weights that the server should have.

        Raises:
            WeightsLost: `take` has not named any yet.
        """
        if self._served is None:
            raise WeightsLost(f"{self!r}: nobody has said which weights it is to have")
        return self._served

    def take(self, served: ServedWeights) -> None:
        """Accept only completions of these weights from now on.

        Raises:
            ValueError: The tokenizer has no end of sequence.
        """
        self._served, self._reader = served, CompletionReader(self._tokenizer, served.vocabulary, served.stops)

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """Sample ``params.n`` completions for each prompt, in the order of the prompts.

        Raises:
            ValueError: A prompt is not a list of the model's ids, there is not one seed for each prompt, or vLLM does
                not accept the temperature.
            WeightsLost: The server has other weights, or lost its weights during the call.
            EngineFailed: The server is out of reach.
            EndpointRefused: The server refuses the key or the model.
        """
        check_temperature(params)
        if self._has_weights() and (completions := self._completions(prompts, params)) is not None:
            return completions
        raise WeightsLost(f"{self!r} lost its weights: was it restarted, or do two runs share it?")


def read_tops(logprobs: Any) -> list[dict[int, float]]:
    """Log-probabilities of the most probable ids of each token, from an untrusted answer; anything else is left out."""
    tops = logprobs.get("top_logprobs") if isinstance(logprobs, dict) else None
    if not isinstance(tops, list) or not all(isinstance(top, dict) for top in tops):
        return []
    named = ({str(name).removeprefix("token_id:"): value for name, value in top.items()} for top in tops)
    return [
        {int(name): value for name, value in top.items() if _ID.fullmatch(name) and type(value) in (int, float)}
        for top in named
    ]


def _logprobs(found: Any) -> Any:
    """Log-probabilities of the sampled ids, from those of ``/v1/completions`` or of `GENERATE`; unchecked."""
    if not isinstance(found, dict):
        return None
    content = found.get("content")
    if not isinstance(content, list):
        return found.get("token_logprobs")
    return [item.get("logprob") if isinstance(item, dict) else None for item in content]
