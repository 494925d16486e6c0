"""Generator for any service with an OpenAI-compatible interface: vLLM, ``transformers serve``, llama.cpp, hosted
models.

One background thread runs all requests; `OpenAIGenerator.generate` submits to it from any number of threads.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import importlib.util
import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlanything_envs.errors import MissingExtra
from rlanything_envs.llm import wire
from rlanything_envs.llm.background import BackgroundLoop
from rlanything_envs.llm.budget import Budget, Usage
from rlanything_envs.llm.choices import matches
from rlanything_envs.llm.endpoint import Endpoint, Retries
from rlanything_envs.llm.errors import (
    EndpointRefused,
    GenerationStopped,
    GeneratorError,
    RequestFailed,
    RunMustStop,
)
from rlanything_envs.llm.generator import Completion, Locked, Prompt, SamplingParams, cut_at_stop
from rlanything_envs.llm.log import PromptLog, Record
from rlanything_envs.llm.replay import RecordedAnswers, number_samples
from rlanything_verifiers.installed import install

if TYPE_CHECKING:
    from rlanything_envs.llm.client import Client

__all__ = ["OpenAIGenerator"]

logger = logging.getLogger(__name__)

_BUDGET_POLL_S = 0.05
"""Seconds between two checks whether the budget has room; answers take longer than that."""


class OpenAIGenerator(Locked):
    """Text generator of a service over HTTP; safe to share between threads.

    A request that fails for good becomes a completion with ``finish_reason="error"`` and the reason in ``error``, and
    the others of its batch go on. A failure of all requests (a refused key, an exhausted budget) is raised, with all
    answers so far in the exception and in the log.

    The form or the schema of the answers (`SamplingParams`) goes to the service as structured output, see
    `wire.request`. A service that refuses a field (HTTP 400 or 422 that names it) gets the request once more without
    it, and all later ones without it; one that ignores it is recognised by its answers. Both are logged once, as a
    warning: the answers are free text then, or those of a schema in the service's own form (``response_format``).

    Args:
        endpoint: The service and its model.
        retries: Number and waits of retries.
        budget: Limit on tokens and dollars; several generators may share one.
        log: Log of prompts and answers, each written as soon as it arrives.
        recorded: Answers of an earlier run, used instead of new requests: with the same log, an interrupted run goes on
            where it ended.

    Raises:
        MissingExtra: The package ``openai`` is not installed, or older than version 3.
        MissingKey: The environment variable of the key is unset.

    Examples:
        A model served with ``vllm serve Qwen/Qwen3-8B`` or ``transformers serve Qwen/Qwen3-8B``::

            endpoint = Endpoint(model="Qwen/Qwen3-8B", base_url="http://localhost:8000/v1")
            with OpenAIGenerator(endpoint, log=PromptLog("runs/prompts.jsonl")) as generator:
                chat = [{"role": "user", "content": "Name a fruit."}]
                samples = generator.generate([chat], SamplingParams(max_tokens=32, n=2, seed=0))[0]

        Without a service, failures are completions too:

        >>> nobody = Endpoint(model="m", base_url="http://127.0.0.1:9/v1")
        >>> with OpenAIGenerator(nobody, retries=Retries(attempts=1)) as generator:
        ...     ((lost,),) = generator.generate([[{"role": "user", "content": "hi"}]], SamplingParams(max_tokens=8))
        >>> lost.finish_reason
        'error'
    """

    trainable = False
    parallel_calls = True
    """Calls from several threads run at once."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        retries: Retries | None = None,
        budget: Budget | None = None,
        log: PromptLog | None = None,
        recorded: RecordedAnswers | None = None,
    ) -> None:
        if importlib.util.find_spec("openai") is None:
            raise MissingExtra(f"OpenAIGenerator needs the package openai: {install('llm')}")
        super().__init__()
        endpoint.key()
        self.endpoint = endpoint
        self.retries = retries or Retries()
        self.budget = budget or Budget()
        self.log = log
        self.recorded = recorded
        self._lacking: set[str] = set()
        """Fields of structured output that the service refuses, or ignores for a schema."""
        self._warned = False
        """Whether a service that ignores the form of its answers was reported."""
        self._service: _Service | None = None

    def __repr__(self) -> str:
        return f"OpenAIGenerator(model={self.endpoint.model!r}, base_url={self.endpoint.base_url!r})"

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """``params.n`` completions for each prompt, in the order of the prompts.

        Blocks its thread. Chats go to ``/chat/completions``, token ids to
        ``/completions``. Samples of one prompt get different seeds, made from ``params.seed``.

        Raises:
            ValueError: A prompt is empty or malformed; nothing has been sent then.
            BudgetExceeded: The budget ran out; ``completions`` holds what was answered.
            EndpointRefused: The service refuses key, model or address; ``completions`` as above.
            MissingKey: The environment variable of the key is unset.
            RunMustStop: The log cannot be written.
        """
        future = self._start(prompts, params)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def update_weights(self, source: Any | Path, version: int) -> None:
        """Always raises GeneratorError: the weights belong to the service."""
        raise GeneratorError(f"{self!r}: the weights belong to the service")

    def close(self) -> None:
        """Cancel running requests and close all connections; a later call opens new ones."""
        with self._lock:
            service, self._service = self._service, None
        if service is not None:
            service.close()

    def __enter__(self) -> OpenAIGenerator:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_service": None}

    def _prompt(self, prompt: Prompt, at: int) -> Prompt:
        """A copy of a prompt; a subclass accepts more than services do. See `wire.check_prompt`."""
        return wire.check_prompt(prompt, at)

    def _start(
        self, prompts: Sequence[Prompt], params: SamplingParams
    ) -> concurrent.futures.Future[list[list[Completion]]]:
        self.endpoint.key()
        batch = _Batch([self._prompt(prompt, at) for at, prompt in enumerate(prompts)], params)
        if self.recorded is not None:
            batch.found = self.recorded.take(batch.prompts, params)
        with self._lock:
            if self._service is None or not self._service.loop.alive:
                self._service = _Service(self.endpoint)
            # Within the lock, so that `close` cannot run in between.
            return self._service.loop.submit(self._run(batch, self._service))

    async def _run(self, batch: _Batch, service: _Service) -> list[list[Completion]]:
        size = self.endpoint.samples_per_request
        jobs = []
        for at, samples in enumerate(batch.found):
            missing = [sample for sample, completion in enumerate(samples) if completion is None]
            jobs += [
                self._fill(batch, service, at, missing[first : first + size]) for first in range(0, len(missing), size)
            ]
        # Another failure than that of a request (a full disk, a bug) must not leave requests that nothing awaits.
        for outcome in await asyncio.gather(*jobs, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome
        if batch.halt is not None:
            raise type(batch.halt)(str(batch.halt), batch.completions())
        return batch.completions()

    async def _fill(self, batch: _Batch, service: _Service, at: int, missing: list[int]) -> None:
        """Request samples of the prompt ``at`` until each has an answer or a failure."""
        async with service.slots:
            while missing and batch.halt is None:
                try:
                    asked = await self._ask(batch, service, at, missing)
                except GenerationStopped as halt:
                    batch.halt = batch.halt or halt
                    if not isinstance(halt, EndpointRefused):
                        return
                    # Recorded like an answer, so that a run that goes on without the service can be repeated.
                    asked = _refused(halt, len(missing))
                if asked.failure:
                    logger.warning("%r, prompt %d: %s", self, at, asked.failure)
                for sample, choice in zip(missing, asked.choices, strict=False):
                    batch.found[at][sample] = self._completion(batch.prompts[at], choice, batch.own[at])
                    self._record(batch, at, sample, asked)
                    asked = replace(asked, usage=Usage())
                missing = missing[len(asked.choices) :]

    async def _ask(self, batch: _Batch, service: _Service, at: int, missing: list[int]) -> _Result:
        """Send one request, and once more for each field of structured output that the service refuses."""
        asked = await self._send(batch, service, at, missing)
        while (name := asked.structured) and _refuses(asked.failure, name):
            if name not in self._lacking:
                self._lacking.add(name)
                logger.warning("%r refuses the field %s: %s", self, name, asked.failure[:300])
            again = await self._send(batch, service, at, missing)
            asked = replace(
                again,
                usage=asked.usage + again.usage,
                attempts=asked.attempts + again.attempts,
                seconds=asked.seconds + again.seconds,
            )
        return asked

    async def _send(self, batch: _Batch, service: _Service, at: int, missing: list[int]) -> _Result:
        """Send one request, with its retries."""
        prompt, params, n = batch.prompts[at], batch.own[at], len(missing)
        key, first = batch.numbered[at]
        seed = None if params.seed is None else wire.sample_seed(key, first + missing[0])
        path, body = self._request(prompt, params, n, seed)
        structured = next((name for name in wire.STRUCTURED if name in body and name not in self.endpoint.extra), "")
        most = Usage(wire.prompt_tokens(prompt), params.max_tokens * n, estimated=True)
        loop, spent = asyncio.get_running_loop(), Usage()
        await self._reserve(most)
        start = loop.time()
        for attempt in range(1, self.retries.attempts + 1):
            used = most
            try:
                async with asyncio.timeout_at(start + self.retries.total_s):
                    answer = await service.client.post(path, body)
                used = answer.usage or _estimate(most, answer)
                return _Result(answer.choices[:n], spent + used, attempt, loop.time() - start, structured)
            except TimeoutError:
                failure = RequestFailed("TimedOut", f"no answer within {self.retries.total_s:g} s of Retries.total_s")
            except RequestFailed as error:
                failure = error
                used = most if error.charged else Usage()
            except GenerationStopped:
                used = Usage()
                raise
            finally:
                self.budget.settle(most, used)
            spent += used
            wait = self.retries.wait_s(attempt, failure.wait_s, random.random())
            given_up = f"{failure.kind}: {failure} (try {attempt} of {self.retries.attempts}"
            if not failure.retry or attempt == self.retries.attempts:
                break
            if loop.time() + wait >= start + self.retries.total_s:
                given_up += f", the next would come after {self.retries.total_s:g} s of Retries.total_s"
                break
            logger.info("%r, prompt %d: %s), again in %.1f s", self, at, given_up, wait)
            await asyncio.sleep(wait)
            try:
                await self._reserve(most)
            except GenerationStopped as halt:  # what was spent so far is recorded
                batch.halt = batch.halt or halt
                break
        lost = wire.Choice("", "error", f"{given_up})")
        return _Result((lost,) * n, spent, attempt, loop.time() - start, structured, failure=f"{given_up})")

    def _request(self, prompt: Prompt, params: SamplingParams, n: int, seed: int | None) -> tuple[str, dict[str, Any]]:
        """Path and body of a request; a subclass adds fields for services that accept more."""
        return wire.request(self.endpoint, prompt, params, n, seed, self._lacking)

    def _completion(self, prompt: Prompt, choice: wire.Choice, params: SamplingParams) -> Completion:
        """The completion of a choice."""
        if not self._warned and "structured_outputs" not in self._lacking and _strays(choice, params):
            self._warned = True
            if params.own_form is None:
                self._lacking.add("structured_outputs")  # for its schemas the service has another field
            logger.warning("%r ignores the field structured_outputs, so its answers are free text", self)
        text, stopped = cut_at_stop(choice.text, params.stop)
        reason = "stop" if stopped and choice.finish_reason == "length" else choice.finish_reason
        return Completion(text, reason, error=choice.error)

    async def _reserve(self, most: Usage) -> None:
        while not self.budget.reserve(most):
            await asyncio.sleep(_BUDGET_POLL_S)

    def _record(self, batch: _Batch, at: int, sample: int, asked: _Result) -> None:
        completion = batch.found[at][sample]
        if self.log is None or completion is None:
            return
        (key, first), params = batch.numbered[at], batch.own[at]
        record = Record(
            key=key,
            sample=first + sample,
            model=self.endpoint.model,
            prompt=batch.prompts[at],
            params=params.settings,
            text=completion.text,
            finish_reason=completion.finish_reason,
            error=completion.error,
            usage=asked.usage,
            attempts=asked.attempts,
            seconds=round(asked.seconds, 3),
        )
        try:
            self.log.write(record, self.endpoint.secrets())
        except OSError as error:
            raise RunMustStop(
                f"{self.log.path}: an answer cannot be stored ({error.strerror or error}): make the file writable and "
                f"room on its disk"
            ) from error


class _Service:
    """The thread, the connections and the slots of one process."""

    def __init__(self, endpoint: Endpoint) -> None:
        from rlanything_envs.llm.client import Client

        self.client: Client = Client(endpoint)
        self.slots = asyncio.Semaphore(endpoint.concurrency)
        self.loop = BackgroundLoop(f"llm {endpoint.model}")

    def close(self) -> None:
        if self.loop.alive:
            self.loop.submit(self.client.aclose()).result(timeout=5)
        self.loop.close()


@dataclass(slots=True)
class _Batch:
    """One call: its prompts, the completions so far, and the reason to stop early."""

    prompts: list[Prompt]
    params: SamplingParams
    own: list[SamplingParams] = field(init=False)
    numbered: list[tuple[str, int]] = field(init=False)
    found: list[list[Completion | None]] = field(init=False)
    halt: GenerationStopped | None = None

    def __post_init__(self) -> None:
        self.own = self.params.each(len(self.prompts))
        self.numbered = number_samples(self.prompts, self.params)
        self.found = [[None] * self.params.n for _ in self.prompts]

    def completions(self) -> list[list[Completion]]:
        """All samples; those that were never requested as errors."""
        unasked = Completion("", "error", error=f"not asked: {self.halt}")
        return [[sample or unasked for sample in samples] for samples in self.found]


@dataclass(frozen=True, slots=True)
class _Result:
    """Result of one request, its retries included."""

    choices: tuple[wire.Choice, ...]
    usage: Usage
    attempts: int
    seconds: float
    structured: str = ""
    """Field of structured output that was sent."""
    failure: str = ""


def _strays(choice: wire.Choice, params: SamplingParams) -> bool:
    """Whether a whole answer is not of the form that was sent with its prompt, or not of its schema."""
    if choice.finish_reason != "stop" or params.stop:
        return False
    if (form := params.own_form) is not None:
        return not matches(form, choice.text.strip())
    objects = params.schema is not None and params.schema.get("type") == "object"
    return objects and not choice.text.strip().startswith('{"')


def _refused(halt: EndpointRefused, number: int) -> _Result:
    lost = wire.Choice("", "error", f"{type(halt).__name__}: {halt}")
    return _Result((lost,) * number, Usage(), 1, 0.0)


def _estimate(most: Usage, answer: wire.Answer) -> Usage:
    written = sum(wire.text_tokens(choice.text) for choice in answer.choices)
    return Usage(most.prompt_tokens, written, estimated=True)


def _refuses(failure: str, name: str) -> bool:
    """Whether a failed request was refused for this field of it."""
    refused = failure.startswith(("RequestRejected: HTTP 400", "RequestRejected: HTTP 422"))
    return refused and any(word in failure.lower() for word in wire.STRUCTURED[name])
