"""What can go wrong between a prompt and its answer, by name.

A failure of one request becomes a completion with ``finish_reason="error"``; only what makes every further
request pointless is raised, and it brings along what had been answered by then.
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
    "RequestFailed",
    "RequestRejected",
    "RunMustStop",
    "ServerBusy",
    "ServiceLost",
    "TimedOut",
    "is_outage",
]


class MissingKey(LookupError):
    """The environment variable that should hold the key is unset, empty, or holds what cannot be a key."""


class NoAnswer(LookupError):
    """A generator that plays prepared answers has none for this prompt."""


class NotTrainable(TypeError):
    """The weights behind this generator are out of reach."""


class RunMustStop(RuntimeError):
    """What no caller may take for one failed request and go on: whoever runs the whole ends it here, resumably."""


class ServiceLost(RunMustStop):
    """The service gave no answer, and it was asked to end the run rather than to go on without."""


class AnswerNotStored(RunMustStop, OSError):
    """An answer could not be written to its log: a resumed run would ask again and might take another course."""


class GenerationStopped(RuntimeError):
    """No further request makes sense.

    Attributes:
        completions: What the call had by then, shaped and ordered as its result would have been; samples that were
            never asked for have ``finish_reason="error"``. Empty where the error did not come from a call.
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
        outage: Whether it says something of the service, and not of this request alone.
        wait_s: Seconds the service asked to wait, or None.
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
    """HTTP 408, 425, 429 or 5xx: overloaded or broken for the moment."""

    retry = True


class RequestRejected(RequestFailed):
    """The service will not answer this request: too long a prompt, an unknown field."""

    outage = False


class ConnectionLost(RequestFailed):
    """No connection, or one that broke before the whole answer was there."""

    retry = True


class TimedOut(RequestFailed):
    """Silence for longer than the timeouts allow."""

    retry = True
    charged = True


class MalformedAnswer(RequestFailed):
    """Bytes that are no UTF-8, no JSON, or not the agreed schema."""

    retry = True
    charged = True


class AnswerTooLarge(RequestFailed):
    """More bytes than the endpoint allows; reading stopped there."""

    charged = True


_OUTAGES = frozenset(
    [EndpointRefused.__name__, *(kind.__name__ for kind in RequestFailed.__subclasses__() if kind.outage)]
)


def is_outage(error: str | None) -> bool:
    """Whether the failure that `Completion.error` tells of is the service's: down, slow, refusing or lying.

    It goes by the name that the text begins with, so it knows a failure in a log as well as a fresh one.

    >>> [is_outage(text) for text in ("ConnectionLost: refused (try 6 of 6)", "RequestRejected: HTTP 400", None)]
    [True, False, False]
    """
    return (error or "").partition(":")[0] in _OUTAGES
