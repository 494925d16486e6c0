"""Does a server speak the guest protocol? Requests and the expected shapes of their answers are data."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlanything_envs.osworld.desktop.errors import DesktopError
from rlanything_envs.osworld.desktop.transport import Response, Transport

__all__ = ["Check", "check_guest", "differences"]

_STEPS = Path(__file__).with_name("conformance.json")
_SECONDS = 180.0
_TYPES: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "number": (int, float),
    "bool": (bool,),
    "any": (object,),
}


@dataclass(frozen=True, slots=True)
class Check:
    """One request and the fault of its answer.

    Attributes:
        name: the check.
        problem: None where the answer was right.
        optional: a server without it can still serve every published task.
    """

    name: str
    problem: str | None
    optional: bool = False

    @property
    def passed(self) -> bool:
        """Whether the answer was right."""
        return self.problem is None


def check_guest(url: str, token: str | None = None) -> Iterator[Check]:
    """Make the requests one after the other and judge each answer.

    They move the pointer, and write below ``/tmp`` what they delete at the end.

    Args:
        url: ``http://host:port`` or ``unix:/path/of/socket``.
        token: the bearer token, for guests that want one.

    Raises:
        SettingError: that is not an address.
    """
    transport = Transport(url, token)
    folder = f"/tmp/conformance-{secrets.token_hex(4)}"
    for step in json.loads(_STEPS.read_text())["steps"]:
        step = _filled(step, folder)
        try:
            problem = _judge(step, _ask(transport, step))
        except DesktopError as error:
            problem = str(error)
        yield Check(step["name"], problem, bool(step.get("optional")))


def _filled(value: Any, folder: str) -> Any:
    if isinstance(value, str):
        return value.replace("{dir}", folder)
    if isinstance(value, list):
        return [_filled(item, folder) for item in value]
    return {key: _filled(item, folder) for key, item in value.items()} if isinstance(value, dict) else value


def _ask(transport: Transport, step: Mapping[str, Any]) -> Response:
    path = step["path"]
    if step["method"] == "GET":
        return transport.get(path, timeout=_SECONDS)
    if "file" in step:
        name, data = step["file"]
        return transport.post_file(path, step["form"], name, base64.b64decode(data), timeout=_SECONDS)
    if "form" in step:
        return transport.post_form(path, step["form"], timeout=_SECONDS)
    return transport.post(path, step.get("json"), timeout=_SECONDS)


def _judge(step: Mapping[str, Any], answer: Response) -> str | None:
    """The fault of an answer; None where there is none."""
    allowed = step["status"] if isinstance(step["status"], list) else [step["status"]]
    if answer.status not in allowed:
        return f"HTTP status {answer.status}, expected {' or '.join(map(str, allowed))}: {answer.reason[:200]}"
    if step["kind"] == "png" and not answer.body.startswith(b"\x89PNG\r\n\x1a\n"):
        return f"not a PNG: {answer.body[:16]!r}"
    value = answer.json()
    if step["kind"] == "json" and value is None and answer.body.strip() != b"null":
        return f"not JSON: {answer.body[:60]!r}"
    if "bytes" in step and answer.body != base64.b64decode(step["bytes"]):
        return f"other bytes than were stored: {answer.body[:60]!r}"
    if "contains" in step and step["contains"] not in (text := answer.body.decode(errors="replace")):
        return f"no {step['contains']!r} in {text[:200]!r}"
    found = [*differences(step.get("shape"), value, types=True), *differences(step.get("equals"), value)]
    return "; ".join(found) or None


def differences(expected: Any, value: Any, *, types: bool = False, where: str = "the answer") -> Iterator[str]:
    """The place where a value differs from its expected form.

    Args:
        expected: JSON; a dictionary speaks only of the keys it has, None of nothing. With ``types``, the name of a
            type (``"str"``, with ``?`` where null is allowed) stands for any value of it.
        value: JSON.
        types: whether texts are names of types.
        where: name of the place.
    """
    if expected is None:
        return
    if isinstance(expected, dict):
        if not isinstance(value, dict):
            yield f"{where} is {value!r}, not an object"
            return
        for key, item in expected.items():
            if key not in value:
                yield f"{where} has no {key!r}"
            else:
                yield from differences(item, value[key], types=types, where=f"{where}[{key!r}]")
    elif isinstance(expected, list):
        if not isinstance(value, list) or len(value) != len(expected):
            yield f"{where} is {value!r}, not a list of {len(expected)}"
            return
        for i, (item, other) in enumerate(zip(expected, value, strict=True)):
            yield from differences(item, other, types=types, where=f"{where}[{i}]")
    elif types and isinstance(expected, str):
        if value is None and expected.endswith("?"):
            return
        kinds = _TYPES[expected.rstrip("?")]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds and object not in kinds):
            yield f"{where} is {value!r}, not {expected}"
    elif expected != value:
        yield f"{where} is {value!r}, not {expected!r}"
