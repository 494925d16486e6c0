"""Generator on a vLLM server over HTTP, which also gives the server its weights: by the path of a folder that both can
read, in shared memory if the server is on this machine.

Written for vLLM 0.32, started with ``VLLM_SERVER_DEV_MODE=1`` (or, for adapters, with ``--enable-lora`` and
``VLLM_ALLOW_RUNTIME_LORA_UPDATING=1``), and with ``--enable-scale-out`` for a model that sees. These endpoints let
anybody who reaches the server change its weights: keep it in a network of your own.
"""

from __future__ import annotations

import logging
import secrets
import socket
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from transformers import PreTrainedTokenizerBase

from rlanything_agents.config.engine import ServerConfig
from rlanything_agents.engines.completions import LEAST, CompletionReader
from rlanything_agents.engines.handover import PROBE_PARAMS, reset_with_retries
from rlanything_agents.engines.vllm import EngineFailed, check_temperature
from rlanything_agents.engines.vllm_client import GENERATE, ServedWeights, VLLMClient, read_tops
from rlanything_agents.engines.vllm_worker import WORKER_EXTENSION
from rlanything_agents.engines.weights import Weights
from rlanything_agents.models.image_reader import image_reader
from rlanything_envs.llm.choices import Repeat, pattern
from rlanything_envs.llm.errors import EndpointRefused, RequestFailed
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams

__all__ = ["VLLMServerGenerator"]

logger = logging.getLogger(__name__)

_SAME = 0.05
"""Greatest difference between log-probabilities of the same distribution, computed in different batches."""


_MOST_TOPS = 20
"""Maximum log-probabilities of a token that a server returns by default (``--max-logprobs``)."""

_FORMS = "it must be a vLLM server (0.32) with structured outputs"

_ON_PROCESSORS = f"--enforce-eager --worker-extension-cls {WORKER_EXTENSION}"
"""Options of a server on a processor, without which it goes on with parts of its first weights."""


def on_this_machine(url: str) -> bool:
    """Whether an address belongs to this machine: whether a socket can be bound to it."""
    try:
        for family, kind, number, _, address in socket.getaddrinfo(urlsplit(url).hostname, 0, type=socket.SOCK_DGRAM):
            with socket.socket(family, kind, number) as probe:
                probe.bind(address)
    except (OSError, UnicodeError):
        return False
    return True


class VLLMServerGenerator(VLLMClient):
    """Generator that samples with a vLLM server, from the weights that a trainer last handed over.

    Before and after each call the generator checks the name of the server's weights. A server that was restarted, or
    that another program gave other weights, gets the weights and the prompts once more. Failures of single requests
    become completions with ``finish_reason="error"``, as with every service. Other processes may sample from the same
    server with a `ServedGenerator`; only this generator gives it weights.

    Args:
        server: Address, served model and limits.
        model: Trained model; the generator only reads it.
        tokenizer: Tokenizer of the model.
        folder: Scratch folder of this generator alone, which a server that cannot read this machine's shared memory
            reads under the same path; emptied on construction.
        sleeps: Whether the server frees its GPU memory between phases.

    Raises:
        MissingExtra: The package openai is not installed.
        MissingKey: The environment variable of the key holds characters that no key has.
        ValueError: The tokenizer has no end of sequence.
    """

    def __init__(
        self,
        server: ServerConfig,
        model: Any,
        tokenizer: PreTrainedTokenizerBase,
        folder: Path,
        *,
        sleeps: bool = False,
    ) -> None:
        super().__init__(server, image_reader(model))
        self.sleeps = sleeps
        self._weights = Weights(folder, model, tokenizer, same_machine=on_this_machine(server.base_url))
        self._tokenizer = tokenizer
        self._reader = CompletionReader(tokenizer, self._weights.vocabulary)
        self._run_id = secrets.token_hex(4)
        self._sent = 0
        self._adapter = ""
        self._asleep = self._probed = self._checked = False
        self._packs: bool | None = None
        self._waking = threading.Lock()

    @property
    def served(self) -> ServedWeights:
        """Weights that the server should have; `wake` loads them into it."""
        mark = f"rlanything-{self._run_id}-{self._weights.path().name}-{self._sent}"
        stops = tuple(sorted(self._reader.stops))
        return ServedWeights(mark, self._weights.adapters, self._weights.version, self._weights.vocabulary, stops)

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """Sample ``params.n`` completions for each prompt, in the order of the prompts.

        Raises:
            ValueError: A prompt is not a list of the model's ids, there is not one seed for each prompt, or vLLM does
                not accept the temperature.
            EngineFailed: The server hides its ids, takes no weights, or reports log-probabilities after temperature.
            EngineFailed: The server is out of reach, or lost its weights twice during the call.
            WeightsDiffer: The server has other weights than the trainer.
            EndpointRefused: The server refuses the key or the model.
        """
        check_temperature(params)
        for _ in range(2):
            with self._waking:  # of several threads one gives the server its weights
                self.wake()
                mark = self.served.mark
            # The server may have lost its weights, and have got them again from another thread.
            if (completions := self._completions(prompts, params)) is not None and mark == self.served.mark:
                return completions
            logger.warning("%r lost its weights while it generated: its completions are thrown away", self)
        raise EngineFailed(
            f"{self!r} lost its weights twice during one call: does it restart, or do two runs share it?"
        )

    def update_weights(self, source: Any | Path, version: int) -> None:
        """Store the weights of a model or of a folder; the server loads them at its next use.

        Raises:
            ValueError: The folder does not hold such weights.
            OSError: The weights cannot be written.
        """
        self._weights.put(source, version)

    def sleep(self) -> None:
        """Free the server's GPU memory, if ``sleeps`` is set.

        Raises:
            EngineFailed: The server does not go to sleep.
        """
        if self.sleeps and not self._asleep:
            self._command(f"/sleep?level={1 if self._weights.adapters else 2}", {})
            self._asleep = True

    def wake(self) -> None:
        """Wake the server, and load the newest weights into it.

        Raises:
            EngineFailed: The server is out of reach, or did not load them.
            EngineFailed: The server takes no weights, or hides what training needs.
            WeightsDiffer: The server has other weights than the trainer.
        """
        if self._asleep:
            self._command("/wake_up?tags=weights", {})
            if not self._weights.adapters:
                self._send_weights()
            self._command("/wake_up?tags=kv_cache", {})
            self._asleep = False
        if not self._has_weights():
            self._send_weights()
        self._weights.prune()
        if not self._probed:
            self._probe()
        if not self._checked:
            self._check()

    def serve(self) -> ServedWeights:
        """Load the newest weights into the server for other processes, and return their name.

        Raises:
            EngineFailed, WeightsDiffer: See `wake`.
        """
        self.wake()
        return self.served

    def close(self) -> None:
        """Close all connections and delete the weights in transit; the server keeps running."""
        super().close()
        self._weights.clear()

    def _send_weights(self) -> None:
        self._sent += 1  # completions of the previous transfer, still under way elsewhere, have another name
        self._checked = False
        mark = self.served.mark
        if self._weights.adapters:
            self._load("/v1/load_lora_adapter", lambda path: {"lora_name": mark, "lora_path": path})
            old, self._adapter = self._adapter, mark
            if old:
                self._forget(old)
            return
        # The name "under-way" marks half-loaded weights: after any failure from here on they are sent again.
        self._command("/update_weight_version", {"new_version": f"{mark}-under-way"})
        method = "reload_and_pack" if self._can_pack() else "reload_weights"
        self._load("/collective_rpc", lambda path: {"method": method, "kwargs": {"weights_path": path}})
        if not reset_with_retries(lambda: self._read("/reset_prefix_cache", {}).get("success") is True):
            raise EngineFailed(f"{self!r} did not reset its prefix cache after a change of weights: do others use it?")
        if self._images is not None:  # what it saw with the weights before
            self._command("/reset_encoder_cache", {})
        self._command("/update_weight_version", {"new_version": mark})

    def _load(self, request: str, body: Callable[[str], dict[str, Any]]) -> None:
        """Have the server load the newest weights; through the disk if it cannot read this machine's shared memory."""
        try:
            self._command(request, body(str(self._weights.path())))
        except EngineFailed as error:
            # A server on this machine may run in its own container, or as another user.
            if _unreached(error) or not self._weights.leave_memory():
                raise
            logger.warning("weights go to this server through the disk, not through shared memory: %s", error)
            self._command(request, body(str(self._weights.path())))

    def _can_pack(self) -> bool:
        """Whether the server was started with `PackingWorker`."""
        if self._packs is None:
            try:
                info = self._read("/server_info?config_format=json").get("vllm_config")
            except EngineFailed as error:
                logger.info("%s", error)
                info = None
            self._packs = WORKER_EXTENSION in str(info)
        return self._packs

    def _check(self) -> None:
        """Compare log-probabilities of the server with those of the model's own forward pass.

        Raises:
            WeightsDiffer: They differ.
        """
        if (reference := self._weights.reference) is not None:
            completions = self._completions(reference.prompts, PROBE_PARAMS)
            if completions is None:  # it lost the weights meanwhile, and gets them again before the next use
                return
            reference.check(completions, f"{self!r} (on a processor start it with {_ON_PROCESSORS})", self.version)
        self._checked = True

    def _forget(self, adapter: str) -> None:
        try:
            self._command("/v1/unload_lora_adapter", {"lora_name": adapter})
        except EngineFailed as error:  # it was restarted, or dropped it already
            logger.info("%s", error)

    def _probe(self) -> None:
        """Sample one token at two temperatures and one of a form, to learn what the server's log-probabilities are.

        Raises:
            EngineFailed: Ids or log-probabilities are missing, temperature changes the log-probabilities, or the server
                does not keep to a form; or the model sees, and the server reads no token ids with images.
        """
        if self._images is not None:
            try:
                self._command(GENERATE, {"token_ids": [self._reader.end], "sampling_params": {"max_tokens": 1}})
            except EngineFailed as error:
                if _unreached(error):
                    raise
                raise EngineFailed(f"{self!r} reads no images ({error}): start it with --enable-scale-out") from error
        first, second = (self._tops(temperature, 5) for temperature in (1.0, 2.0))
        if any(abs(first[token] - second[token]) > _SAME for token in first.keys() & second.keys()):
            raise EngineFailed(
                f"{self!r} reports log-probabilities that temperature has changed: start it with "
                "--logprobs-mode raw_logprobs, its default"
            )
        # Where a form may end or go on with one text, the other ids that it allows are ends of a sequence.
        texts = self._reader.spellings.texts
        word = min((text for text in texts if text.isalnum() and text.isascii()), key=len)
        form = pattern(Repeat(word.decode(), 0, 1))
        try:
            found = {token for token, value in self._tops(1.0, _MOST_TOPS, form).items() if value > LEAST}
        except (EngineFailed, EndpointRefused) as error:
            if _unreached(error):
                raise
            raise EngineFailed(f"{self!r} refuses a form ({error}): {_FORMS}") from error
        if self._reader.end not in found or len(found) == _MOST_TOPS:
            raise EngineFailed(f"{self!r} allows the ids {sorted(found)} where a form ends: {_FORMS}")
        ends = {token for token in found if token >= len(texts) or not (texts[token] and word.startswith(texts[token]))}
        self._reader = CompletionReader(self._tokenizer, self._weights.vocabulary, ends)
        self._probed = True

    def _tops(self, temperature: float, count: int, expression: str | None = None) -> dict[int, float]:
        """Most probable ids of the first token of an answer, with their log-probabilities.

        Args:
            temperature: Temperature of the request.
            count: Number of ids; all where the model has fewer, since asking for more ends a server on a processor.
            expression: Form of the answer.
        """
        path, body = self._request([self._reader.end], SamplingParams(1, temperature=temperature, seed=0), 1, 0)
        body |= {"logprobs": min(count, self._weights.vocabulary), "return_tokens_as_token_ids": True}
        if expression is not None:
            body["structured_outputs"] = {"regex": expression}
        choices = self._read("/v1" + path, body).get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        tops = read_tops(choice.get("logprobs"))
        if not choice.get("token_ids") or not tops:
            raise EngineFailed(
                f"{self!r} does not return the ids it samples and their log-probabilities: nothing can learn from "
                "its text; it must be a vLLM server (0.32)"
            )
        return tops[0]


def _unreached(error: Exception) -> bool:
    """Whether a command failed without an answer of the server."""
    cause = error.__cause__
    return isinstance(cause, RequestFailed) and cause.kind in ("ConnectionLost", "TimedOut")
