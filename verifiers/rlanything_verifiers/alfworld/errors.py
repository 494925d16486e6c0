"""Exceptions for malformed games."""


class GameFormatError(ValueError):
    """A game, scene or goal that cannot be read; the message names the place and the remedy."""


class UnsupportedGoal(GameFormatError):
    """A well-formed goal that is none of the six ALFWorld task shapes."""
