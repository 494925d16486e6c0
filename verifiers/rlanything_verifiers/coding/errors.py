"""Exceptions for programs, tests and checkers that cannot be judged, raised before anything runs."""


class JudgeError(ValueError):
    """A job cannot be judged; the message names the place and the remedy."""


class EmptyTests(JudgeError):
    """There are no tests, so that no program could pass."""


class TestFormatError(JudgeError):
    """A test is not a pair of input and expected output."""

    __test__ = False  # the name is not that of a test class


class ProgramFormatError(JudgeError):
    """The program is neither text nor bytes, or its entry point is not a name."""


class LanguageError(JudgeError):
    """The language is unknown, or the sandbox or the task does not accept it."""


class CheckerError(JudgeError):
    """A checker is unknown or malformed, or does not suit the tests."""
