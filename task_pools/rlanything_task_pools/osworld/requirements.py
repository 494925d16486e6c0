"""What a desktop must have for a task to be won: stated by the task, or implied by its set-up and its evaluator."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from rlanything_task_pools.osworld.payload import Payload

__all__ = ["Requirements", "requirements_of"]

_APPLICATIONS = {
    "chrome": "google-chrome",
    "gimp": "gimp",
    "libreoffice_calc": "soffice",
    "libreoffice_impress": "soffice",
    "libreoffice_writer": "soffice",
    "thunderbird": "thunderbird",
    "vlc": "vlc",
    "vs_code": "code",
    "vscode": "code",
}
"""Programs of the applications that OSWorld's ``related_apps`` names; ``os`` is no program."""

_SUFFIXES = {
    **dict.fromkeys((".csv", ".doc", ".docx", ".odp", ".ods", ".odt", ".ppt", ".pptx", ".xls", ".xlsx"), "soffice"),
    **dict.fromkeys((".avi", ".mkv", ".mov", ".mp3", ".mp4", ".wav", ".webm"), "vlc"),
    ".xcf": "gimp",
}
"""Programs that open a file."""

_LIVE = frozenset(
    {"active_tab_html_parse", "active_tab_info", "active_tab_url_parse", "active_url_from_accessTree"}
    | {"gotoRecreationPage_and_get_html_content", "info_from_website", "page_info", "url_dashPart"}
)
"""Getters of a page that the browser shows, or that is fetched; with an address of the web they need the web."""

_PASSED = frozenset(
    {"command", "do", "else", "env", "exec", "if", "nohup", "sudo", "then", "time", "until", "while", "!"}
)
"""Words before the name of a program."""
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-")
_PLAIN_LOCALES = frozenset({"", "C", "C.UTF-8", "C.utf8", "POSIX"})
_MOST_LINES, _MOST_WORDS = 50, 200
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Requirements:
    """Programs by name, schemas of settings, locales, and whether the internet must be there."""

    programs: frozenset[str] = frozenset()
    schemas: frozenset[str] = frozenset()
    locales: frozenset[str] = frozenset()
    network: bool = False


class _Found:
    """Requirements while they are gathered."""

    def __init__(self) -> None:
        self.programs: set[str] = set()
        self.schemas: set[str] = set()
        self.locales: set[str] = set()
        self.network = False

    def command(self, command: object) -> None:
        """Add what a command names: a text for the shell, or a list of words."""
        if isinstance(command, list):
            words = [word for word in command if isinstance(word, str)]
            if len(words) == 1:
                self.command(words[0])
            else:
                self._words(words)
        elif isinstance(command, str) and "<<" not in command:
            for words in _simple_commands(command):
                self._words(words)

    def _words(self, words: list[str]) -> None:
        while words and (words[0] in _PASSED or "=" in words[0] or words[0].startswith("-")):
            name, _, value = words[0].partition("=")
            if name in ("LANG", "LC_ALL") and value not in _PLAIN_LOCALES:
                self.locales.add(value)
            words = words[1:]
        name = words[0] if words else ""
        if name and len(name) <= _LONGEST_NAME and _PLAIN.issuperset(name):
            self.programs.add(name)
        if name == "gsettings" and len(words) > 2 and "." in words[2]:
            self.schemas.add(words[2])


def requirements_of(payload: Payload) -> Requirements:
    """The requirements of a task. An infeasible one needs only what its set-up starts: to win is to say so.

    A task states them as ``source.requires``: ``programs``, ``schemas``, ``locales`` (lists of texts), ``network``.
    """
    found = _Found()
    evaluator = payload.evaluator
    feasible = evaluator.get("func") != "infeasible"
    for step in payload.config:
        _step(found, step.type, step.parameters, feasible)
    if feasible:
        found.programs |= {_APPLICATIONS[app] for app in payload.related_apps if app in _APPLICATIONS}
        for step in evaluator.get("postconfig") or ():
            if isinstance(step, Mapping) and isinstance(step.get("parameters"), Mapping):
                _step(found, step.get("type"), step["parameters"], False)
        for getter in _getters(evaluator):
            if getter.get("type") == "vm_command_line":
                found.command(getter.get("command"))
        live = any(getter.get("type") in _LIVE for getter in _getters(evaluator))
        found.network |= live and any(_is_web(text) for text in _texts(evaluator))
    stated = payload.source.get("requires")
    if isinstance(stated, Mapping):
        for name, known in (("programs", found.programs), ("schemas", found.schemas), ("locales", found.locales)):
            known.update(text for text in _items(stated.get(name)) if isinstance(text, str))
        found.network |= stated.get("network") is True
    return Requirements(
        frozenset(found.programs), frozenset(found.schemas), frozenset(found.locales), bool(found.network)
    )


def _step(found: _Found, kind: object, parameters: Mapping[str, Any], feasible: bool) -> None:
    if kind in ("command", "execute", "launch"):
        found.command(parameters.get("command"))
    elif kind == "open":
        program = _SUFFIXES.get(PurePosixPath(str(parameters.get("path"))).suffix.lower())
        found.programs |= set() if program is None else {program}
    if kind in ("chrome_open_tabs", "launch") and feasible:
        found.network |= any(_is_web(text) for text in _texts(parameters))


def _simple_commands(text: str) -> list[list[str]]:
    """The simple commands of a text for the shell; none where the quotes of a line do not match."""
    found: list[list[str]] = [[]]
    for line in text.splitlines()[:_MOST_LINES]:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        lexer.commenters = ""
        found.append([])
        try:
            for number, word in enumerate(lexer):
                if number > _MOST_WORDS:
                    break
                if word and set(word) <= set("|&;()"):
                    found.append([])
                else:
                    found[-1].append(word)
        except ValueError:
            return []
    return found


def _getters(evaluator: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for name in ("result", "expected"):
        yield from (item for item in _items(evaluator.get(name)) if isinstance(item, Mapping))


def _items(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [] if value is None else [value]


def _texts(value: object) -> Iterator[str]:
    """All texts in a JSON value but those of files that are fetched before."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        if value.get("type") != "cloud_file":
            for item in value.values():
                yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _is_web(text: str) -> bool:
    if not text.startswith(("http://", "https://")):
        return False
    try:
        host = (urlsplit(text).hostname or "").strip(".")
        return "." in host and host != "127.0.0.1"  # a mere "https://www." is a prefix
    except ValueError:
        return False
