"""Tasks played by a person on the terminal, or by the lines of a script. An environment and typed lines come in;
messages on the screen and a transcript go out.

- `game`: episodes without a screen; `session`: a game on the screen, with commands such as ``:hint``.
- `input`: sources of answers, continued lines and completion.
"""
