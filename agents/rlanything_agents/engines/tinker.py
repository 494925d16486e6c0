"""Tinker: a service that samples from adapters and trains them, through its SDK (package ``tinker``).

The base model, its adapters and their optimizers are at the service; this process has tokenizers alone. Two models of a
run are two adapters. The SDK reads the key from ``$TINKER_API_KEY`` and the address from ``$TINKER_BASE_URL``; neither
is a setting of a run, and keys are redacted in every message. The SDK repeats a request that may succeed later; what it
gives up, or what takes longer than `PATIENCE_S`, ends the run resumably (`ServiceFailed`).
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerBase

from rlanything_agents.config import CheckpointConfig
from rlanything_agents.engines.completions import CompletionReader, token_prompts
from rlanything_agents.engines.vllm import EngineFailed, seeded
from rlanything_agents.engines.vllm_client import RETRIES
from rlanything_envs.errors import MissingExtra
from rlanything_envs.llm.errors import MissingKey
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams, SeenPrompt, cut_at_stop
from rlanything_envs.llm.log import redact
from rlanything_verifiers.installed import install
from rlanything_verifiers.plain_text import printable

__all__ = ["Adapter", "ServiceFailed", "TinkerGenerator", "TinkerService", "numbers"]

KEY, ADDRESS = "TINKER_API_KEY", "TINKER_BASE_URL"
PATIENCE_S = RETRIES.total_s
"""Maximum seconds of a request with all attempts of the SDK, as of one to a vLLM server."""
_REMEDIES = {
    "AuthenticationError": f"set ${KEY} to a valid key",
    "PermissionDeniedError": f"set ${KEY} to a key that may use this model",
    "BillingError": "settle the bill of the account",
    "NotFoundError": f"choose a base model and a checkpoint that the service has, or set ${ADDRESS} to another one",
    "RateLimitError": "wait, or ask for a higher limit",
    "TimeoutError": f"see whether the service at ${ADDRESS} is up",
    "APIConnectionError": f"see whether the service at ${ADDRESS} is up",
}
"""Remedy by the name of a class of the SDK's exceptions, or of one that it derives from."""
_OF_ONE_REQUEST = ("BadRequestError", "UnprocessableEntityError", "RequestFailedError")
"""Exceptions about one request alone: a prompt that is too long, or one that failed at the service."""


class ServiceFailed(EngineFailed):
    """The service is out of reach, refuses the key, the account or the model, or returned what it cannot have computed.

    It is a failure of the infrastructure: the run ends, and the same command resumes from the last checkpoint.
    """


class TinkerService:
    """Connection of a run to the service, opened at its first use.

    Args:
        sdk: Module of the SDK; the installed one if None.

    Raises:
        MissingExtra: The SDK is not installed.
    """

    def __init__(self, sdk: Any = None) -> None:
        if sdk is None and importlib.util.find_spec("tinker") is None:
            raise MissingExtra(f"engine.kind tinker needs the package tinker: {install('train', 'tinker')}")
        os.environ.setdefault("TINKER_TELEMETRY", "0")  # the SDK would send its maker tracebacks of this process
        self.sdk: Any = sdk or importlib.import_module("tinker")
        self._client: Any = None
        self._lock = threading.Lock()
        self._counted: Counter[str] = Counter()

    @property
    def client(self) -> Any:
        """The SDK's ``ServiceClient``, with an open session.

        Raises:
            MissingKey: There is no key, or it has not the form of one.
            ServiceFailed: The service is out of reach, or refuses the key.
        """
        with self._lock:
            if self._client is None:
                self._client = self.settled("open a session", self._open)
            return self._client

    def connect(self) -> None:
        """Open a session, as `client` does."""
        _ = self.client

    def _open(self) -> Any:
        try:
            client = self.sdk.ServiceClient()
            getattr(client, "holder", None)  # versions before 0.38 connect at once, later ones when this is read
        except Exception as error:
            if "api_key" in str(error).lower():
                raise MissingKey(f"Tinker: {_said(error)}: set ${KEY}") from None
            raise
        return _Held(client)

    def settled(self, what: str, begin: Callable[[], Any]) -> Any:
        """Begin a request, and wait for its result.

        Args:
            what: What is requested, for a message.
            begin: Begins it; returns a future of the SDK, or the result.

        Raises:
            ServiceFailed: It failed, or there is no result after `PATIENCE_S`.
        """
        try:
            begun = begin()
            if isinstance(begun, _Held):
                return begun.value
            return begun.result(timeout=PATIENCE_S) if hasattr(begun, "result") else begun
        except (MissingKey, EngineFailed):
            raise
        except Exception as error:  # the SDK raises its own exceptions, those of httpx, and assertions
            # Without the cause: it holds the headers of the request, and with them the key.
            raise ServiceFailed(f"Tinker, {what}: {_said(error)}: {_remedy(error)}") from None

    def count(self, **tokens: int) -> None:
        """Add tokens to the counts; from any thread."""
        with self._lock:
            self._counted.update(tokens)

    def counted(self) -> dict[str, int]:
        """Tokens since the last call: ``prefill`` of prompts, a prompt of several samples once; ``sampled``; and
        ``trained``, of the rows of forward and backward passes with their prompts.
        """
        with self._lock:
            counts = {name: self._counted[name] for name in ("prefill", "sampled", "trained")}
            self._counted.clear()
        return counts

    def close(self) -> None:
        """End the session; the service then frees its adapters. Checkpoints stay."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None and hasattr(client, "close"):
            with contextlib.suppress(Exception):  # the service ends a session without heartbeats by itself
                client.close("success").result(timeout=10.0)


class _Held:
    """Value that is no future, whatever methods it has."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Adapter:
    """Adapter of one model at the service, made or restored at its first use.

    Args:
        service: The service.
        config: Base model, by its name at the service, and rank of the adapter.
        vocabulary: Number of ids of the model.
        seed: Seed of the adapter's first weights.
    """

    def __init__(self, service: TinkerService, config: CheckpointConfig, vocabulary: int, seed: int) -> None:
        self.service, self.base, self.vocabulary = service, config.checkpoint, vocabulary
        self._rank = config.lora.rank if config.lora else 0
        self._seed, self._path = seed % 2**31, ""
        self._client: Any = None

    @property
    def client(self) -> Any:
        """The SDK's ``TrainingClient``.

        Raises:
            MissingKey: See `TinkerService.client`.
            ServiceFailed: The service has no such base model or checkpoint, or is out of reach.
        """
        if self._client is None:
            service, options = self.service.client, {"base_model": self.base, "rank": self._rank, "seed": self._seed}
            if self._path:
                what = f"restore {self._path}"
                begin = lambda: service.create_training_client_from_state_with_optimizer(self._path)  # noqa: E731
            else:
                what = f"make an adapter of rank {self._rank} on {self.base}"
                begin = lambda: service.create_lora_training_client(**options)  # noqa: E731
            self._client = self.service.settled(what, begin)
        return self._client

    def restore(self, path: str) -> None:
        """Continue from a checkpoint at the service, weights and optimizer, at the next use."""
        self._client, self._path = None, path

    def save(self, name: str) -> str:
        """Store weights and optimizer at the service under a name; returns their path there."""
        saved = self.service.settled(f"save {name}", lambda: self.client.save_state(name))
        path = getattr(saved, "path", None)
        if not isinstance(path, str) or not path.startswith("tinker://") or len(path) > 1000:
            raise ServiceFailed(f"Tinker, save {name}: the service returned no path of the checkpoint: {path!r:.100}")
        return path

    def sampler(self) -> Any:
        """The SDK's ``SamplingClient`` of the current weights."""
        what = f"hand over the weights of an adapter on {self.base}"
        return self.service.settled(what, self.client.save_weights_and_get_sampling_client)


class TinkerGenerator:
    """Generator that samples from an adapter at the service, with the log-probabilities of the sampled tokens.

    It samples from the weights of the last `update_weights`, or, before the first one, from the adapter as it is. The
    service knows no forms of answers: ``SamplingParams.choices`` is ignored, and every completion is free. It ends a
    completion at the template's end of sequence alone; what follows one of the texts ``stop`` is cut off here, with its
    tokens. Samples of a seed depend on the service's batching, so runs with it are not repeatable bit for bit.

    Args:
        adapter: Adapter to sample from.
        tokenizer: Tokenizer of its base model.

    Raises:
        ValueError: The tokenizer has no end of sequence.
    """

    trainable = True
    parallel_calls = True

    def __init__(self, adapter: Adapter, tokenizer: PreTrainedTokenizerBase) -> None:
        self._adapter, self._service = adapter, adapter.service
        self._reader = CompletionReader(tokenizer, adapter.vocabulary)
        self._sampler: Any = None
        self._lock = threading.Lock()
        self.version = 0
        """Version of the weights of the next completion."""

    def __repr__(self) -> str:
        return f"TinkerGenerator({self._adapter.base!r})"

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """Sample ``params.n`` completions for each prompt, in the order of the prompts.

        A prompt that the service refuses, or whose completions it cannot have sampled, gets completions with
        ``finish_reason="error"``.

        Raises:
            ValueError: A prompt is not a list of the model's ids, or has an image, or there is not one seed for each.
            MissingKey: See `TinkerService.client`.
            ServiceFailed: The service is out of reach, or refuses every request.
        """
        if any(isinstance(prompt, SeenPrompt) for prompt in prompts):
            raise ValueError("a prompt holds an image: engine.kind tinker samples for models that read text alone")
        ids, sampler = token_prompts(prompts, self._adapter.vocabulary), self._current()
        own = seeded(params, len(ids))
        begun = [self._begin(sampler, prompt, each) for prompt, each in zip(ids, own, strict=True)]
        return [self._completions(prompt, future, each) for prompt, future, each in zip(ids, begun, own, strict=True)]

    def update_weights(self, source: Any, version: int) -> None:
        """Sample from the adapter as it is now.

        Args:
            source: The adapter that this generator was made for.
            version: Version of its weights.

        Raises:
            ValueError: It is another one: weights of this process cannot be given to the service.
            ServiceFailed: The service does not hand the weights over.
        """
        if source is not self._adapter:
            raise ValueError("engine.kind tinker samples from weights at the service, not from those of a module")
        with self._lock:
            self._sampler, self.version = source.sampler(), version

    def close(self) -> None:
        """End the session with the service."""
        self._service.close()

    def _current(self) -> Any:
        with self._lock:
            if self._sampler is None:
                self._sampler = self._adapter.sampler()
            return self._sampler

    def _begin(self, sampler: Any, prompt: list[int], params: SamplingParams) -> Callable[[], Any]:
        """Send a request; returns what waits for its response."""
        types = self._service.sdk.types
        chosen = types.SamplingParams(
            max_tokens=params.max_tokens,
            seed=None if params.seed is None else params.seed % 2**31,
            stop=[self._reader.end],
            temperature=params.temperature,
            top_p=params.top_p,
        )
        try:
            sent = sampler.sample(
                prompt=types.ModelInput.from_ints(prompt), num_samples=params.n, sampling_params=chosen
            )
        except Exception as error:
            failed = error
            return lambda: _raised(failed)
        return lambda: sent.result(timeout=PATIENCE_S)

    def _completions(self, prompt: list[int], wait: Callable[[], Any], params: SamplingParams) -> list[Completion]:
        try:
            response = wait()
        except Exception as error:
            if not set(_names(error)).intersection(_OF_ONE_REQUEST):
                raise ServiceFailed(f"Tinker, sample from {self!r}: {_said(error)}: {_remedy(error)}") from None
            return [self._reader.error(prompt, f"RequestRejected: {_said(error)}", self.version)] * params.n
        sequences = getattr(response, "sequences", None)
        if not isinstance(sequences, (list, tuple)) or len(sequences) != params.n:
            fault = f"MalformedAnswer: the service did not return {params.n} sequences"
            return [self._reader.error(prompt, fault, self.version)] * params.n
        read = [self._completion(prompt, sequence, params) for sequence in sequences]
        self._service.count(prefill=len(prompt), sampled=sum(len(each.token_ids or ()) for each in read))
        return read

    def _completion(self, prompt: list[int], sequence: Any, params: SamplingParams) -> Completion:
        ids, logprobs = _plain(getattr(sequence, "tokens", None)), _plain(getattr(sequence, "logprobs", None))
        reason = getattr(sequence, "stop_reason", None)
        free = SamplingParams(params.max_tokens, stop=params.stop)
        completion = self._reader.read(prompt, ids, logprobs, reason, free, self.version)
        if completion.error is not None or not params.stop:
            return completion
        kept = self._until_stop(ids, params.stop)
        if kept == len(ids):
            return completion
        return self._reader.read(prompt, ids[:kept], logprobs[:kept], "stop", free, self.version)

    def _until_stop(self, ids: list[int], stop: Sequence[str]) -> int:
        """Number of tokens up to the one that completes a stop text; all where there is none."""

        def stopped(count: int) -> bool:
            return cut_at_stop(str(self._reader.tokenizer.decode(ids[:count])), stop)[1]

        if not stopped(len(ids)):
            return len(ids)
        low, high = 1, len(ids)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if stopped(middle) else (middle + 1, high)
        return low


def numbers(found: Any, count: int) -> np.ndarray | None:
    """Array of ``count`` finite numbers from an untrusted tensor or list; None if it is something else."""
    data = found.get("data") if isinstance(found, Mapping) else getattr(found, "data", found)
    try:
        values = np.asarray(data, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return values if values.shape == (count,) and bool(np.isfinite(values).all()) else None


def _plain(found: Any) -> Any:
    """List of plain numbers from a list or an array of the SDK; anything else unchanged."""
    return found.tolist() if isinstance(found, np.ndarray) and found.ndim == 1 else found


def _raised(error: Exception) -> Any:
    raise error


def _names(error: BaseException) -> list[str]:
    return [kind.__name__ for kind in type(error).__mro__]


def _said(error: BaseException) -> str:
    """Class and text of an error of the service on one line, without the key."""
    key = os.environ.get(KEY)
    text = str(redact(" ".join(str(error).split()), [key] if key else []))
    return printable(f"{type(error).__name__}: {text}" if text else type(error).__name__, 400)


def _remedy(error: BaseException) -> str:
    found = (_REMEDIES[name] for name in _names(error) if name in _REMEDIES)
    return next(found, "try later: the same command resumes")
