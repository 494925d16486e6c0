"""Exceptions for malformed games."""


class GameFormatError(ValueError):
    """A game, scene or goal that cannot be read; the message names the place and the remedy."""
