"""What may be wrong with something to judge, before any of it runs."""


class JudgeError(ValueError):
    """Something cannot be judged as asked; the message names the place and the remedy."""


class EmptyTests(JudgeError):
    """There are no tests: a program that was asked nothing has passed nothing."""


class TestFormatError(JudgeError):
    """A test is not a pair of input and expected output."""

    __test__ = False  # the name is not that of a test class


class ProgramFormatError(JudgeError):
    """The program is neither text nor bytes, or its entry point is no name."""


class LanguageError(JudgeError):
    """There is no language of this name, or the sandbox or the task does not take it."""


class CheckerError(JudgeError):
    """A checker is unknown or malformed, or does not suit the tests."""
