"""Exceptions of evaluators, as opposed to faults of the state that an agent left."""

from collections.abc import Collection

__all__ = [
    "BadReference",
    "BridgeError",
    "EvaluatorError",
    "MissingLibrary",
    "MissingProgram",
    "UnknownFunction",
    "UnknownGetter",
    "Unreadable",
    "VerifierError",
]


class EvaluatorError(ValueError):
    """An evaluator that cannot be carried out as written; the message names the place in its JSON."""


class _Unknown(EvaluatorError):
    def __init__(self, what: str, name: object, place: str, known: Collection[str], remedy: str) -> None:
        names = ", ".join(sorted(known))
        super().__init__(f"{place}: the {what} {name!r:.80} is none of the {len(known)} built in: {names}; {remedy}")
        self.name = name


class UnknownFunction(_Unknown):
    """An evaluator names a function that is not there."""

    def __init__(self, name: object, place: str, known: Collection[str]) -> None:
        remedy = "use one of these, or give check_evaluator and evaluate a Bridge to desktop-env"
        super().__init__("function", name, place, known, remedy)


class UnknownGetter(_Unknown):
    """An evaluator names a getter that is not there."""

    def __init__(self, name: object, place: str, known: Collection[str]) -> None:
        super().__init__("getter", name, place, known, "use one of these")


class VerifierError(RuntimeError):
    """The verifier itself failed: there is no score, and the failure is no evidence about the agent."""


class MissingLibrary(VerifierError):
    """A library that a function needs is not installed."""

    def __init__(self, library: str, extra: str | None = "desktop") -> None:
        source = library if extra is None else f"'rlanything-envs[{extra}]'"
        super().__init__(f"{library} is not installed: pip install {source}")
        self.library = library


class MissingProgram(VerifierError):
    """A program that a function needs is not installed."""

    def __init__(self, program: str, package: str) -> None:
        super().__init__(f"the program {program} is not installed: on Debian and Ubuntu, apt-get install {package}")
        self.program = program


class BadReference(VerifierError):
    """A file that the task brings along to compare with cannot be read."""


class BridgeError(VerifierError):
    """The interpreter with desktop-env is not there or did not answer."""


class Unreadable(Exception):
    """A file that an agent left behind is malformed or beyond the limits: the check that needs it scores 0."""
