"""``openai:MODEL``: any model behind an OpenAI-compatible service."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rlanything_agents.config.seeds import seed_of
from rlanything_agents.tools.benchmark.player import ChatPlayer, Message, Response
from rlanything_envs.errors import InfrastructureError
from rlanything_envs.llm.budget import Budget, Usage
from rlanything_envs.llm.endpoint import Endpoint, Retries
from rlanything_envs.llm.generator import SamplingParams
from rlanything_envs.llm.log import PromptLog, Record, prompt_key, read_log, usage_of
from rlanything_envs.llm.openai import OpenAIGenerator
from rlanything_envs.llm.replay import RecordedAnswers

if TYPE_CHECKING:
    from rlanything_agents.tools.benchmark.episode import Episode
    from rlanything_agents.tools.benchmark.settings import ChatSettings

__all__ = ["ServiceAgent"]


class ServiceAgent:
    """Sends one request per turn; an interrupted benchmark continues from the log of prompts and answers.

    Args:
        model: Name of the model at the service.
        settings: Address, sampling, budget.
        log: File of prompts and answers.

    Raises:
        ValueError: The address is malformed, or a setting is out of range.
        MissingExtra: The package ``openai`` is not installed.
        MissingKey: The environment variable of the key is unset.
        LogFormatError: The log is malformed.
    """

    executor: Literal["threads"] = "threads"
    parallel = 8

    def __init__(self, model: str, settings: ChatSettings, log: Path, *, retries: Retries | None = None) -> None:
        self.name = f"openai:{model}"
        self.settings = settings
        self.log = _MeteredLog(log)
        self._generator = OpenAIGenerator(
            Endpoint(
                model=model,
                base_url=settings.base_url,
                key_env=settings.key_env,
                concurrency=256,  # ``parallel`` is the limit
                extra={"temperature": 0} if settings.temperature == 0 else {},
            ),
            retries=retries,
            budget=Budget(
                max_tokens=settings.max_total_tokens,
                max_dollars=settings.max_dollars,
                price=settings.price,
                spent=usage_of(log),
            ),
            log=self.log,
            recorded=RecordedAnswers(log, model),
        )

    def check(self, episodes: Sequence[Episode]) -> None:
        """Nothing to look at."""

    def player(self, episode: Episode) -> ServicePlayer:
        """A player that samples with the seeds of the episode."""
        return ServicePlayer(self._generator, self.log, self.settings, episode.seed)

    def close(self) -> None:
        """Cancel pending requests."""
        self._generator.close()


class ServicePlayer(ChatPlayer):
    """A model behind a service, in one episode."""

    def __init__(self, generator: OpenAIGenerator, log: _MeteredLog, settings: ChatSettings, seed: int) -> None:
        super().__init__(settings.max_history)
        self._generator, self._log, self._settings, self._seed = generator, log, settings, seed
        self._turns = 0

    def reply(self, messages: list[Message]) -> Response:
        """Request one completion.

        Raises:
            InfrastructureError: The request failed after all retries.
            GenerationStopped: No further request can succeed: the key is refused, or the budget is spent.
        """
        params = SamplingParams(
            self._settings.max_tokens,
            temperature=self._settings.temperature or 1.0,  # the endpoint sends a 0
            seed=seed_of(self._seed, "turn", self._turns),
            form=self.form,
        )
        self._turns += 1
        ((completion,),) = self._generator.generate([messages], params)
        if completion.finish_reason == "error":
            raise InfrastructureError(f"the service gave no answer: {completion.error}")
        return Response(completion.text, self._log.usage(prompt_key(messages, params)))


class _MeteredLog(PromptLog):
    """A log with the token usage of each answer, also of those recorded earlier."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self._lock = threading.Lock()
        self._usages = {record.key: record.usage for record in read_log(path)} if Path(path).exists() else {}

    def write(self, record: Record, secrets: Iterable[str] = ()) -> None:
        with self._lock:
            self._usages[record.key] = record.usage
        super().write(record, secrets)

    def usage(self, key: str) -> Usage:
        with self._lock:
            return self._usages[key]
