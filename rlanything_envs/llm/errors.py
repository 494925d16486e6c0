"""Exceptions of text generators.

A failure of one request becomes a completion with ``finish_reason="error"``; only a failure that would repeat for
every further request is raised, and it carries the completions so far.
"""

from __future__ import annotations

from collections.abc import Sequence

from rlanything_envs.llm.generator import Completion

__all__ = [
    "AnswerNotStored",
    "AnswerTooLarge",
    "BudgetExceeded",
    "ConnectionLost",
    "EndpointRefused",
    "GenerationStopped",
    "MalformedAnswer",
    "MissingKey",
    "NoAnswer",
    "NotTrainable",
    "PromptTooLong",
    "RequestFailed",
    "RequestRejected",
    "RunMustStop",
    "ServerBusy",
    "ServiceLost",
    "TimedOut",
    "is_outage",
    "is_time_out",
    "is_too_long",
]


class MissingKey(LookupError):
    """The environment variable of the key is unset, empty, or holds a text that cannot be a key."""


class NoAnswer(LookupError):
    """A replayed or scripted generator has no answer for this prompt."""


class NotTrainable(TypeError):
    """The weights behind this generator are out of reach."""


class RunMustStop(RuntimeError):
    """A failure that must end the run, resumably; callers must not treat it as one failed request.

    Attributes:
        exit_code: Exit code of a command that ends with it (``EX_TEMPFAIL`` of sysexits.h).
    """

    exit_code = 75


class ServiceLost(RunMustStop):
    """The service gave no answer, and the run is configured to end rather than to go on without it."""


class AnswerNotStored(RunMustStop, OSError):
    """An answer could not be written to its log, so a resumed run would query again and might differ."""


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
        retry: Whether the same request may succeed later.
        charged: Whether the service may have counted tokens for it.
        outage: Whether the failure is the service's and not that of this request alone.
        wait_s: Seconds of the service's ``Retry-After``, or None.
    """

    retry = False
    charged = False
    outage = True

    def __init__(self, message: str, *, wait_s: float | None = None, charged: bool | None = None) -> None:
        super().__init__(message)
        self.wait_s = wait_s
        if charged is not None:
            self.charged = charged


class ServerBusy(RequestFailed):
    """HTTP 408, 425, 429 or 5xx: the service is overloaded or temporarily broken."""

    retry = True


class RequestRejected(RequestFailed):
    """The service refuses this request, such as one with an unknown field."""

    outage = False


class PromptTooLong(RequestRejected):
    """The service refuses this request because prompt and answer together outgrow the model's context."""


class ConnectionLost(RequestFailed):
    """The connection failed, or broke before the whole answer had arrived."""

    retry = True


class TimedOut(RequestFailed):
    """The service sent no data within a timeout."""

    retry = True
    charged = True


class MalformedAnswer(RequestFailed):
    """The answer is not UTF-8, not JSON, or not of the expected schema."""

    retry = True
    charged = True


class AnswerTooLarge(RequestFailed):
    """The answer has more bytes than the endpoint allows; the rest was not read."""

    charged = True


_OUTAGES = frozenset(
    [EndpointRefused.__name__, *(kind.__name__ for kind in RequestFailed.__subclasses__() if kind.outage)]
)


def is_outage(error: str | None) -> bool:
    """Whether the failure in `Completion.error` is the service's: down, slow, refusing, or answering nonsense.

    The error's name at the beginning of the text decides, so failures read from a log are recognised as well.

    >>> [is_outage(text) for text in ("ConnectionLost: refused (try 6 of 6)", "RequestRejected: HTTP 400", None)]
    [True, False, False]
    """
    return (error or "").partition(":")[0] in _OUTAGES


def is_too_long(error: str | None) -> bool:
    """Whether the failure in `Completion.error` is a refusal of a prompt that is too long; see `is_outage`."""
    return (error or "").partition(":")[0] == PromptTooLong.__name__


def is_time_out(error: str | None) -> bool:
    """Whether the failure in `Completion.error` is an answer that did not come in time; see `is_outage`."""
    return (error or "").partition(":")[0] == TimedOut.__name__
