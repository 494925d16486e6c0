"""Exceptions of text generators.

A failure of one request becomes a completion with ``finish_reason="error"``; only a failure that would repeat for
every further request is raised, and it carries the completions so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rlanything_envs.llm.generator import Completion

__all__ = [
    "BudgetExceeded",
    "EndpointRefused",
    "Failure",
    "GenerationStopped",
    "GeneratorError",
    "MissingKey",
    "RequestFailed",
    "RunMustStop",
    "is_failure",
    "is_outage",
]

Failure = Literal[
    "ServerBusy", "RequestRejected", "PromptTooLong", "ConnectionLost", "TimedOut", "MalformedAnswer", "AnswerTooLarge"
]
"""What failed in one request. ``ServerBusy``: HTTP 408, 425, 429 or 5xx. ``RequestRejected``: the service refuses this
request, such as one with an unknown field. ``PromptTooLong``: it refuses it because prompt and answer together outgrow
the model's context. ``ConnectionLost``: no connection, or it broke before the whole answer had arrived. ``TimedOut``:
no data within a timeout. ``MalformedAnswer``: not UTF-8, not JSON, or not of the expected schema. ``AnswerTooLarge``:
more bytes than the endpoint allows; the rest was not read."""


class MissingKey(LookupError):
    """The environment variable of the key is unset, empty, or holds a text that cannot be a key."""


class GeneratorError(RuntimeError):
    """A generator cannot do this: a replayed one has no answer for a prompt, its weights are out of reach, or a JSON
    schema uses what has no form of answers."""


class RunMustStop(RuntimeError):
    """A failure that must end the run, resumably; callers must not treat it as one failed request.

    Attributes:
        exit_code: Exit code of a command that ends with it (``EX_TEMPFAIL`` of sysexits.h).
    """

    exit_code = 75


class GenerationStopped(RuntimeError):
    """No further request makes sense.

    Attributes:
        completions: Completions of the call so far, in the shape and order of its result; samples that were never
            requested have ``finish_reason="error"``. Empty where the error did not come from a call.
    """

    def __init__(self, message: str, completions: Sequence[Sequence[Completion]] = ()) -> None:
        super().__init__(message)
        self.completions = [list(samples) for samples in completions]

    def __reduce__(self) -> tuple[type[GenerationStopped], tuple[str, list[list[Completion]]]]:
        return type(self), (str(self), self.completions)


class BudgetExceeded(GenerationStopped):
    """The next request could cost more tokens or money than the budget has left."""


class EndpointRefused(GenerationStopped):
    """The service refuses the key, the model or the address: every request would fail in the same way."""


class RequestFailed(RuntimeError):
    """One request brought no usable answer.

    Attributes:
        kind: What failed; it begins the text in `Completion.error`.
        charged: Whether the service may have counted tokens for it.
        wait_s: Seconds of the service's ``Retry-After``, or None.
    """

    def __init__(
        self, kind: Failure, message: str, *, wait_s: float | None = None, charged: bool | None = None
    ) -> None:
        super().__init__(kind, message)
        self.kind = kind
        self.charged = kind in _CHARGED if charged is None else charged
        self.wait_s = wait_s

    def __str__(self) -> str:
        return str(self.args[1])

    @property
    def retry(self) -> bool:
        """Whether the same request may succeed later."""
        return self.kind in _RETRIED


_RETRIED: frozenset[Failure] = frozenset(("ServerBusy", "ConnectionLost", "TimedOut", "MalformedAnswer"))
_CHARGED: frozenset[Failure] = frozenset(("TimedOut", "MalformedAnswer", "AnswerTooLarge"))
_OUTAGES = frozenset((EndpointRefused.__name__, *_RETRIED))


def is_outage(error: str | None) -> bool:
    """Whether the failure in `Completion.error` is the service's: down, slow, refusing, or answering nonsense.

    The name at the beginning of the text decides, so failures read from a log are recognised as well.

    >>> [is_outage(text) for text in ("ConnectionLost: refused (try 6 of 6)", "RequestRejected: HTTP 400", None)]
    [True, False, False]
    """
    return (error or "").partition(":")[0] in _OUTAGES


def is_failure(error: str | None, kind: Failure) -> bool:
    """Whether the failure in `Completion.error` is of this kind; see `is_outage`."""
    return (error or "").partition(":")[0] == kind
