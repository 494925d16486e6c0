"""Exceptions of evaluators, as opposed to faults of the state that an agent left."""

__all__ = ["EvaluatorError", "MissingRequirement", "Unreadable", "VerifierError"]


class EvaluatorError(ValueError):
    """An evaluator that cannot be carried out as written; the message names the place in its JSON."""


class VerifierError(RuntimeError):
    """The verifier itself failed: there is no score, and the failure is no evidence about the agent."""


class MissingRequirement(VerifierError):
    """A library or program that a function needs is not installed; the message says how to install it."""


class Unreadable(Exception):
    """A file that an agent left behind is malformed or beyond the limits: the check that needs it scores 0."""
