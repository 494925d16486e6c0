"""Text from a vLLM server over HTTP: token ids in and out, and new weights by the path of a folder both sides can read.

Written for vLLM 0.31, started with ``VLLM_SERVER_DEV_MODE=1`` (or, for adapters, with ``--enable-lora`` and
``VLLM_ALLOW_RUNTIME_LORA_UPDATING=1``). Those endpoints let anybody who reaches the server change its weights: keep it
in a network of your own.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerBase

from rlanything_agents.backends.controls import Controls, read_object
from rlanything_agents.backends.sampled import Sampled, token_prompts
from rlanything_agents.backends.vllm import EngineFailed, check_temperature
from rlanything_agents.backends.weights import Weights
from rlanything_agents.config.engine import ServerConfig
from rlanything_envs.llm import wire
from rlanything_envs.llm.endpoint import Endpoint, Retries
from rlanything_envs.llm.errors import (
    EndpointRefused,
    NotTrainable,
    RequestFailed,
    RunMustStop,
)
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams
from rlanything_envs.llm.openai import OpenAIGenerator

__all__ = ["UnfitServer", "VLLMServerGenerator"]

logger = logging.getLogger(__name__)

_NEUTRAL = {"min_p": 0.0, "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}
"""Said in each request: the server's defaults are those of the checkpoint's ``generation_config.json``."""

_MOST_BYTES = 64 * 2**20
"""Of one answer; a token with its log-probability takes some hundred bytes, and samples of a prompt come together."""

_ALWAYS_THERE = ("/v1/completions", "/v1/models")

_SAME = 0.05
"""Log-probabilities that differ by less are the same, computed in another batch."""


class UnfitServer(NotTrainable, RunMustStop):
    """A server whose text nothing can learn from, or that takes no new weights; the message says how to start it."""


class VLLMServerGenerator(OpenAIGenerator):
    """Samples with a vLLM server from what a trainer last handed over.

    Before each call the server's weights are compared with those it should have, and afterwards again: one that was
    restarted, or given other weights by somebody else, is sent them anew and asked again. Failures of single requests
    become completions with ``finish_reason="error"``, as with every service.

    Args:
        server: Where it is.
        model: What is trained; it is only ever read.
        tokenizer: Its tokenizer.
        folder: Scratch space of this generator alone, which the server reads under the same path; emptied at once.
        sleeps: Whether the server is to give its GPU memory back between phases.

    Raises:
        MissingExtra: The package openai is not installed.
        MissingKey: The environment variable of the key is unset.
        ValueError: The tokenizer has no end of sequence.
    """

    trainable = True

    def __init__(
        self,
        server: ServerConfig,
        model: Any,
        tokenizer: PreTrainedTokenizerBase,
        folder: Path,
        *,
        sleeps: bool = False,
    ) -> None:
        endpoint = Endpoint(
            model=server.model,
            base_url=server.base_url,
            key_env=server.api_key_env,
            concurrency=server.concurrency,
            connect_timeout_s=server.connect_timeout,
            read_timeout_s=server.read_timeout,
            max_response_bytes=_MOST_BYTES,
            samples_per_request=64,
        )
        super().__init__(endpoint, retries=Retries(attempts=server.attempts, total_s=server.patience))
        self.sleeps = sleeps
        self._weights = Weights(folder, model, tokenizer)
        self._sampled = Sampled(tokenizer, self._weights.vocabulary)
        self._controls = Controls(endpoint, self.retries)
        self._run_id = secrets.token_hex(4)
        self._served = server.model
        self._asleep = self._probed = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.endpoint.model!r}, base_url={self.endpoint.base_url!r})"

    @property
    def version(self) -> int:
        """Of the weights that the next completion is written with."""
        return self._weights.version

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """``params.n`` completions for each prompt, in the order of the prompts.

        Raises:
            ValueError: A prompt is no list of the model's ids, there is not one seed for each, or vLLM has no such
                temperature.
            UnfitServer: The server hides its ids, takes no weights, or reports log-probabilities of another kind.
            EngineFailed: It is out of reach, or keeps losing its weights.
            EndpointRefused: It refuses the key or the model.
        """
        check_temperature(params)
        ids = token_prompts(prompts, self._sampled.vocabulary)
        for _ in range(2):
            self.wake()
            try:
                completions = super().generate(ids, params)
            except EndpointRefused:
                if self._has_weights():
                    raise
            else:
                if self._has_weights():
                    return completions
            logger.warning("%r lost its weights while it generated: what it wrote is thrown away", self)
        raise EngineFailed(
            f"{self!r} lost its weights twice during one call: does it restart, or do two runs share it?"
        )

    async def agenerate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """The same as `generate` for coroutines."""
        return await asyncio.to_thread(self.generate, prompts, params)

    def update_weights(self, source: Any | Path, version: int) -> None:
        """Take over the weights of a model or of a folder; the server reads them when it is next asked.

        Raises:
            ValueError: The folder holds something else.
            OSError: They cannot be written.
        """
        self._weights.put(source, version)

    def sleep(self) -> None:
        """Have the server give its GPU memory back, if it is to sleep.

        Raises:
            EngineFailed: It does not.
        """
        if self.sleeps and not self._asleep:
            self._tell(f"/sleep?level={1 if self._weights.adapters else 2}", {})
            self._asleep = True

    def wake(self) -> None:
        """Have the server take its memory, and the newest weights.

        Raises:
            EngineFailed: It is out of reach, or did not take them.
            UnfitServer: It cannot.
        """
        if self._asleep:
            self._tell("/wake_up?tags=weights", {})
            if not self._weights.adapters:
                self._send_weights()
            self._tell("/wake_up?tags=kv_cache", {})
            self._asleep = False
        if not self._has_weights():
            self._send_weights()
        self._weights.prune()
        if not self._probed:
            self._probe()

    def close(self) -> None:
        """Close all connections and delete the weights on their way; the server goes on."""
        super().close()
        self._controls.close()
        self._weights.clear()

    def _request(self, prompt: Prompt, params: SamplingParams, n: int, seed: int | None) -> tuple[str, dict[str, Any]]:
        path, body = super()._request(prompt, params, n, seed)
        asked = {
            "model": self._served,
            "top_k": params.top_k,
            "logprobs": 0,
            "return_token_ids": True,
            "stop_token_ids": [self._sampled.end],
            "ignore_eos": True,
            "skip_special_tokens": False,
        }
        return path, body | _NEUTRAL | asked

    def _completion(self, prompt: Prompt, choice: wire.Choice, params: SamplingParams) -> Completion:
        ids: Any = prompt
        fields, version = choice.fields, self.version
        if choice.error is not None:
            return self._sampled.error(ids, choice.error, version)
        if fields.get("prompt_token_ids") != ids:
            return self._sampled.error(ids, "MalformedAnswer: the server read another prompt", version)
        logprobs = fields.get("logprobs")
        values = logprobs.get("token_logprobs") if isinstance(logprobs, dict) else None
        reason = fields.get("finish_reason")
        return self._sampled.completion(ids, fields.get("token_ids"), values, reason, params, version)

    @property
    def _mark(self) -> str:
        """Name of the weights that the server should have."""
        return f"rlanything-{self._run_id}-{self._weights.path().name}"

    def _has_weights(self) -> bool:
        """Whether the server has the newest weights, by its own account."""
        mark = self._mark
        if self._weights.adapters:
            cards = self._read("/v1/models").get("data")
            names = [card.get("id") for card in cards if isinstance(card, dict)] if isinstance(cards, list) else []
            return mark in names
        return bool(self._read("/weight_info").get("weight_version") == mark)

    def _send_weights(self) -> None:
        path, mark = self._weights.path(), self._mark
        if self._weights.adapters:
            self._tell("/v1/load_lora_adapter", {"lora_name": mark, "lora_path": str(path)})
            old, self._served = self._served, mark
            if old not in (mark, self.endpoint.model):
                self._forget(old)
            return
        # Half-read weights have no name of their own: whatever fails from here on, they are sent again.
        self._tell("/update_weight_version", {"new_version": f"{mark}-under-way"})
        self._tell("/collective_rpc", {"method": "reload_weights", "kwargs": {"weights_path": str(path)}})
        if self._read("/reset_prefix_cache", {}).get("success") is not True:
            raise EngineFailed(f"{self!r} did not forget what it computed with other weights: is it asked by others?")
        self._tell("/update_weight_version", {"new_version": mark})

    def _forget(self, adapter: str) -> None:
        try:
            self._tell("/v1/unload_lora_adapter", {"lora_name": adapter})
        except (EngineFailed, UnfitServer) as error:  # it was restarted, or dropped it already
            logger.info("%s", error)

    def _read(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What the server answers to something other than a prompt: a JSON object."""
        with self._failing(path):
            return read_object(self._controls.ask(path, body))

    def _tell(self, path: str, body: Mapping[str, Any]) -> None:
        """Have the server do something; what it says to that is not read."""
        with self._failing(path):
            self._controls.ask(path, body)

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
            raise UnfitServer(f"{self!r} cannot take new weights ({error}): {remedy}") from error
        except RequestFailed as error:
            raise EngineFailed(
                f"{self!r}, {path.partition('?')[0]}: {type(error).__name__}: {error}: see the server's log"
            ) from error

    def _probe(self) -> None:
        """Ask for one token at two temperatures: are ids there, and log-probabilities of the untouched distribution?

        Raises:
            UnfitServer: They are not.
        """
        seen = []
        for temperature in (1.0, 2.0):
            params = SamplingParams(1, temperature=temperature, seed=0)
            path, body = self._request([self._sampled.end], params, 1, 0)
            choices = self._read("/v1" + path, body | {"logprobs": 5}).get("choices")
            choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
            logprobs = choice.get("logprobs")
            tops = logprobs.get("top_logprobs") if isinstance(logprobs, dict) else None
            if not choice.get("token_ids") or not isinstance(tops, list) or not tops or not isinstance(tops[0], dict):
                raise UnfitServer(
                    f"{self!r} does not return the ids it samples and their log-probabilities: nothing can learn from "
                    "its text; it must be a vLLM server (0.31)"
                )
            seen.append({token: value for token, value in tops[0].items() if type(value) in (int, float)})
        first, second = seen
        if any(abs(first[token] - second[token]) > _SAME for token in first.keys() & second.keys()):
            raise UnfitServer(
                f"{self!r} reports log-probabilities that temperature has changed: start it with "
                "--logprobs-mode raw_logprobs, its default"
            )
        self._probed = True
