"""What an evaluator read of a desktop, kept as text, so that it can be judged again without the desktop."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from typing import Any

from rlanything_envs.errors import InfrastructureError
from rlanything_envs.osworld.desktop.observation import GuestOutput

__all__ = ["KeptGuest", "NotKept", "Recorder"]


class NotKept(InfrastructureError):
    """The kept results do not hold what the verifier asks for, or are malformed: there is no score."""


_PLAIN: dict[str, Callable[[Any], bool]] = {
    "accessibility_tree": lambda value: isinstance(value, str),
    "desktop_path": lambda value: isinstance(value, str),
    "list_directory": lambda value: value is None or isinstance(value, dict),
    "terminal_output": lambda value: value is None or isinstance(value, str),
}
"""Questions of `rlanything_verifiers.osworld.guest.Guest` whose answers are JSON as they are, with a check of each."""
_BYTES = ("read_file", "wallpaper")
_SIZES = ("screen_size", "window_size")


class Recorder:
    """A desktop for an evaluator, which records each question and its answer.

    Args:
        guest: A `rlanything_verifiers.osworld.guest.Guest`.
    """

    def __init__(self, guest: Any) -> None:
        self._guest = guest
        self._said: list[list[Any]] = []

    def __getattr__(self, name: str) -> Any:
        question = getattr(self._guest, name)

        def ask(*arguments: Any, **options: Any) -> Any:
            answer = question(*arguments, **options)
            self._said.append([_key(name, arguments, options), _written(name, answer)])
            return answer

        return ask

    def to_json(self, last_action: str | None) -> bytes:
        """All questions and answers, and the agent's last action, as one line."""
        return json.dumps({"last_action": last_action, "said": self._said}).encode() + b"\n"


class KeptGuest:
    """A `rlanything_verifiers.osworld.guest.Guest` that answers from what a `Recorder` wrote.

    A question that was asked several times gets its answers in their order, and then the last one again.

    Args:
        line: JSON by `Recorder.to_json`, of unknown origin.

    Attributes:
        last_action: The agent's last action.

    Raises:
        NotKept: It is malformed.
    """

    def __init__(self, line: bytes) -> None:
        try:
            record = json.loads(line)
            self.last_action: str | None = record["last_action"]
            said = [(key, value) for key, value in record["said"]]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise NotKept(f"the kept results are not what was written ({type(error).__name__})") from None
        if not (self.last_action is None or isinstance(self.last_action, str)):
            raise NotKept("the kept results name no last action")
        self._said: dict[str, list[Any]] = {}
        for key, value in said:
            self._said.setdefault(str(key), []).append(value)

    def __getattr__(self, name: str) -> Any:
        if name not in (*_PLAIN, *_BYTES, *_SIZES, "execute"):
            raise AttributeError(name)

        def ask(*arguments: Any, **options: Any) -> Any:
            key = _key(name, arguments, options)
            if (answers := self._said.get(key)) is None:
                raise NotKept(f"the verifier asks the desktop for what was not kept: {key[:120]}")
            return _read(name, answers.pop(0) if len(answers) > 1 else answers[0])

        return ask


def _key(name: str, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> str:
    return json.dumps([name, arguments, options], sort_keys=True, default=str)


def _written(name: str, value: Any) -> Any:
    if value is None or name in _PLAIN:
        return value
    if name in _BYTES:
        return base64.b64encode(value).decode()
    return list(value) if name in _SIZES else [value.output, value.error, value.returncode]


def _read(name: str, value: Any) -> Any:
    """An answer in the type of its question.

    Raises:
        NotKept: It has another one.
    """
    try:
        if name in _PLAIN and _PLAIN[name](value):
            return value
        if name in _BYTES:
            return None if value is None else base64.b64decode(value, validate=True)
        if name in _SIZES and (value is not None or name == "window_size"):
            return None if value is None else _size(*value)
        if name == "execute":
            return _output(*value)
    except (TypeError, ValueError, binascii.Error):
        pass
    raise NotKept(f"the kept results answer {name} with {type(value).__name__}, which is not its type")


def _size(width: int, height: int) -> tuple[int, int]:
    return int(width), int(height)


def _output(output: str, error: str, returncode: int) -> GuestOutput:
    if not (isinstance(output, str) and isinstance(error, str) and isinstance(returncode, int)):
        raise TypeError
    return GuestOutput(output, error, returncode)
