"""Exceptions for programs, tests and checkers that cannot be judged, raised before anything runs."""


class JudgeError(ValueError):
    """A job cannot be judged; the message names the place and the remedy."""
