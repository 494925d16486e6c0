"""The episode of one client of the server, and what a client is told of an error."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from threading import Lock
from typing import Any

from fastapi import HTTPException
from nemo_gym.failure_kinds import SESSION_LOST

from rlanything_envs.adapters.serving import UNEXPECTED, check_request, client_error
from rlanything_envs.conversation import Conversation, Turn
from rlanything_envs.curriculum import CurriculumSource, Group
from rlanything_envs.errors import InfrastructureError, SettingError
from rlanything_task_pools import Task

__all__ = ["REASON", "REFUSED", "Session", "refusal"]

_log = logging.getLogger(__name__)

_FAILED, REFUSED = "rlanything:environment_failed", "rlanything:request_refused"
"""Failure kinds of this server, in NeMo Gym's form for those that are not in its vocabulary."""
REASON = 2000
"""Maximum characters of a ``failure_reason``: as many as NeMo Gym's own."""
_NAME = 200
"""Maximum characters of a group's name."""


class Session:
    """The episode of a client. Its methods run in threads, one at a time."""

    def __init__(self) -> None:
        self.used = time.monotonic()
        self.waiting = self.steps = 0
        self._over = False
        self._lock = Lock()
        self._conversation: Conversation | None = None
        self._ended: Callable[[bool | None, float | None, int], Any] = _forget
        self._replied: tuple[str | None, Turn] | None = None
        self._failed: Exception | None = None

    def done(self, running: Any) -> None:
        """A request is done with; called in the server's thread."""
        self.waiting -= 1

    def locked(self, work: Callable[[], Turn]) -> Turn | Exception:
        """Do something while nothing else happens; returns a turn, or an error for the client."""
        with self._lock:
            self.used = time.monotonic()
            try:
                return work()
            except Exception as error:
                failed: Exception = error
                if not isinstance(error, HTTPException):
                    failed = self._failed = _of_error(error)
                    self._end(None)
                return failed
            finally:
                self.used = time.monotonic()

    def begin(
        self, env_id: str, arguments: Mapping[str, Any], source: CurriculumSource | None, row: Mapping[str, Any]
    ) -> Turn:
        """Begin the episode of a row; one that is running counts for nothing."""
        if self._over:
            raise refusal(409, "the session is closed", SESSION_LOST)
        self._end(None)
        self.steps, self._replied, self._failed = 0, None, None
        task, seed, name = (row.get(key) for key in ("task", "seed", "group"))
        if name is not None and (not isinstance(name, str) or len(name) > _NAME or source is None):
            raise ValueError(f"group {name!r:.80}: give a name of up to {_NAME} characters, and the server a pool")
        if task is None and seed is None and name is None:
            raise ValueError("the row has neither 'task' nor 'seed' nor 'group'")
        if isinstance(task, str) and task.startswith("{"):
            task = Task.from_json(task)
        self._conversation = Conversation(env_id, **arguments)
        check_request(self._conversation, task, seed)
        if name is not None and source is not None:
            group = source.join(name)
            self._ended = partial(_report, source, group)
            task = group.task
        turn = self._conversation.start(task, seed=seed)
        if turn.screen is not None:
            raise SettingError("NeMo Gym's Gymnasium-style servers carry text alone: leave out the screenshot")
        return turn

    def answer(self, text: str, request: object) -> Turn:
        """Send an answer; a request that was answered already gets the same message again."""
        if self._failed is not None:
            raise self._failed
        if request is not None and self._replied is not None and self._replied[0] == request:
            return self._replied[1]
        if self._conversation is None:
            raise refusal(409, "no episode is running in this session", SESSION_LOST)
        turn = self._conversation.answer(text)
        self.steps += 1
        self._replied = (request if isinstance(request, str) else None), turn
        if turn.done:
            self._end(turn.won, turn.reward)
        return turn

    def end(self, success: bool | None) -> None:
        """End the session, and with this outcome an episode that is running."""
        with self._lock:
            self._over = True
            self._end(success)

    def _end(self, success: bool | None, score: float | None = None) -> None:
        conversation, self._conversation = self._conversation, None
        ended, self._ended = self._ended, _forget
        try:
            if conversation is not None:
                conversation.close()
        except Exception:
            _log.exception("an environment could not be closed")
        ended(success, score, self.steps)


def _forget(success: bool | None, score: float | None, steps: int) -> None:
    """Outcomes of episodes without a curriculum go nowhere."""


def _report(source: CurriculumSource, group: Group, success: bool | None, score: float | None, steps: int) -> None:
    source.end(group, success, score=score, steps=steps)


def refusal(status: int, reason: str, kind: str) -> HTTPException:
    """The error of a request, in which NeMo Gym's agents find why it failed."""
    return HTTPException(status, {"failure_reason": reason[:REASON], "failure_kind": kind})


def _of_error(error: Exception) -> HTTPException:
    """An error as the client may see it: one of the interface, or none but that something failed."""
    if (message := client_error(error)) is None:
        _log.error("an episode failed", exc_info=error)
        message = UNEXPECTED
    elif not isinstance(error, InfrastructureError):
        return refusal(400, message, REFUSED)
    return refusal(500, message, _FAILED)
