"""``openai:MODEL`` and ``qwen3vl:MODEL``: any model behind an OpenAI-compatible service."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rlanything_agents.config.seeds import seed_of
from rlanything_agents.tools.benchmark.agent import Solo
from rlanything_agents.tools.benchmark.errors import Outgrown
from rlanything_agents.tools.benchmark.player import ChatPlayer, History, Message, Response
from rlanything_agents.tools.benchmark.qwen3vl import Qwen3VLHistory
from rlanything_agents.tools.benchmark.settings import MOST
from rlanything_envs.errors import InfrastructureError
from rlanything_envs.llm.budget import Budget, Usage
from rlanything_envs.llm.endpoint import Endpoint, Retries
from rlanything_envs.llm.errors import EndpointRefused, RunMustStop, is_failure
from rlanything_envs.llm.generator import Completion, SamplingParams
from rlanything_envs.llm.log import PromptLog, Record, prompt_key, read_log, usage_of
from rlanything_envs.llm.openai import OpenAIGenerator
from rlanything_envs.llm.replay import RecordedAnswers

if TYPE_CHECKING:
    from rlanything_agents.tools.benchmark.episode import Episode
    from rlanything_agents.tools.benchmark.settings import ChatSettings

__all__ = ["ServiceAgent"]

WITNESS = 16
"""Tokens of the short answer that shows whether a service is up and takes a chat."""


class ServiceAgent(Solo):
    """Sends one request per turn; an interrupted benchmark continues from the log of prompts and answers.

    Args:
        model: Name of the model at the service.
        settings: Address, sampling, budget.
        log: File of prompts and answers.
        kind: How the model is prompted: by the environment's messages, or as in `qwen3vl`.
        retries: Number and waits of retries.

    Raises:
        ValueError: The address is malformed, or a setting is out of range.
        MissingExtra: The package ``openai`` is not installed.
        MissingKey: The environment variable of the key is unset.
        GeneratorError: The log is malformed.
    """

    executor = "threads"
    parallel = 8
    sees = True

    def __init__(
        self,
        model: str,
        settings: ChatSettings,
        log: Path,
        *,
        kind: Literal["openai", "qwen3vl"] = "openai",
        retries: Retries | None = None,
    ) -> None:
        self.name = f"{kind}:{model}"
        self.settings = settings = settings.sized(MOST)
        self.log = _MeteredLog(log)
        self._generator = OpenAIGenerator(
            Endpoint(
                model=model,
                base_url=settings.base_url,
                key_env=settings.key_env,
                concurrency=256,  # ``parallel`` is the limit
            ),
            retries=retries,
            budget=Budget(max_dollars=settings.max_dollars, price=settings.price, spent=usage_of(log)),
            log=self.log,
            recorded=RecordedAnswers(log, model),
        )

    def player(self, episode: Episode) -> ServicePlayer:
        """A player that samples with the seeds of the episode."""
        chat = self.settings
        history = Qwen3VLHistory(chat) if self.name.startswith("qwen3vl:") else History(chat.max_history, chat.images)
        return ServicePlayer(self._generator, self.log, chat, episode.seed, history)

    def close(self) -> None:
        """Cancel pending requests."""
        self._generator.close()


class ServicePlayer(ChatPlayer):
    """A model behind a service, in one episode."""

    def __init__(
        self, generator: OpenAIGenerator, log: _MeteredLog, settings: ChatSettings, seed: int, history: History
    ) -> None:
        super().__init__(history)
        self._generator, self._log, self._settings, self._seed = generator, log, settings, seed
        self._turns = 0

    def reply(self, messages: list[Message]) -> Response:
        """Request one completion.

        Raises:
            Outgrown: The service refuses the chat for its length, after the agent has written a part of it; or the
                length of the answer alone keeps the service from giving it in time.
            InfrastructureError: The request failed after all retries.
            GenerationStopped: No further request can succeed: the key is refused, or the budget is spent.
            RunMustStop: The service refuses every request, after it has answered some.
        """
        params = SamplingParams(
            self._settings.answer_tokens,
            temperature=self._settings.divisor,
            seed=seed_of(self._seed, "turn", self._turns),
            choices=(self.form,),
        )
        completion = self._ask(messages, params)
        if is_failure(completion.error, "TimedOut") and self._answers_shortly(messages, params):
            completion = self._ask(messages, params)  # the service may have come back in between
            if is_failure(completion.error, "TimedOut") and self._answers_shortly(messages, params):
                raise Outgrown("slow", f"the service answers this chat shortly, and not in full: {completion.error}")
        if is_failure(completion.error, "PromptTooLong"):
            if self._turns:
                raise Outgrown("overlong", f"the chat has outgrown the model's context: {completion.error}")
            raise InfrastructureError(
                f"the task's first message and an answer of {params.max_tokens} tokens do not fit into the model's "
                f"context: lower --max-tokens, or serve the model with a longer context: {completion.error}"
            )
        if completion.finish_reason == "error":
            service = self._settings.base_url
            raise InfrastructureError(
                f"the service at {service} gave no answer (--base-url names another): {completion.error}"
            )
        self._turns += 1
        return Response(completion.text, self._log.usage(prompt_key(messages, params)))

    def _ask(self, messages: list[Message], params: SamplingParams) -> Completion:
        try:
            ((completion,),) = self._generator.generate([messages], params)
        except EndpointRefused as error:
            if self._log.answered:
                raise RunMustStop(f"the service stopped answering; the same command resumes: {error}") from error
            raise EndpointRefused(
                f"{error} (--base-url names the service, --key-env the variable of its key)"
            ) from error
        return completion

    def _answers_shortly(self, messages: list[Message], params: SamplingParams) -> bool:
        """Whether the service gives a short answer to a chat now: then it is up, and takes a chat of this length."""
        # With its own seed it is asked, and never found in the log.
        short = replace(params, max_tokens=min(WITNESS, params.max_tokens), choices=(), seed=time.time_ns())
        return self._ask(messages, short).finish_reason != "error"


class _MeteredLog(PromptLog):
    """A log with the token usage of each answer, also of those recorded earlier.

    Attributes:
        answered: Whether the service has answered any request.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self._lock = threading.Lock()
        records = list(read_log(path)) if Path(path).exists() else []
        self._usages = {record.key: record.usage for record in records}
        self.answered = any(record.finish_reason != "error" for record in records)

    def write(self, record: Record, secrets: Iterable[str] = ()) -> None:
        with self._lock:
            self._usages[record.key] = record.usage
            self.answered |= record.finish_reason != "error"
        super().write(record, secrets)

    def usage(self, key: str) -> Usage:
        with self._lock:
            return self._usages[key]
