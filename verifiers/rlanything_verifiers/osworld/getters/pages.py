"""Getters of the page in the browser's active tab: its address and its elements."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, unquote, urlsplit

from rlanything_verifiers.osworld.errors import EvaluatorError, Unreadable
from rlanything_verifiers.osworld.getters.browser import PORTS, Prefix, active_url_from_accessTree
from rlanything_verifiers.osworld.registry import Context, getter

_PROGRAM = Path(__file__).with_name("page_program.py").read_text(encoding="utf-8")

Places = dict[str, dict[str, str]]
"""By class of elements: for the place of an element, from 0, the name of its text."""


@dataclass(frozen=True, kw_only=True)
class Query(Prefix):
    """Parameters of an address.

    Attributes:
        parse_keys: Their names.
        replace: Other names for some of them.
        split_list: Whether values are lists with commas between.
    """

    parse_keys: list[str]
    replace: dict[str, str] = field(default_factory=dict)
    split_list: bool = False

    def __post_init__(self) -> None:
        if unknown := set(self.replace) - set(self.parse_keys):
            raise EvaluatorError(f"replace: {min(unknown)!r:.60} is none of parse_keys")


@getter
def active_tab_url_parse(context: Context, config: Query) -> dict[str, Any] | None:
    """Parameters of the active tab's address; those that it has not are empty."""
    if (url := active_url_from_accessTree(context, config)) is None:
        return None
    try:
        given = parse_qs(urlsplit(url).query)
    except ValueError as error:
        raise Unreadable(f"the address {url!r:.80}: {error}") from error
    found = {config.replace.get(name, name): given.get(name, [""])[0] for name in config.parse_keys}
    return {name: value.split(",") for name, value in found.items()} if config.split_list else dict(found)


@dataclass(frozen=True, kw_only=True)
class DashPart(Prefix):
    """A part of an address between two slashes.

    Attributes:
        partIndex: Its place, from 0, or from -1 for the last.
        needDeleteId: Whether to leave out what follows a question mark.
        returnType: Whether it is wanted as a text or as an object with one `key`.
    """

    partIndex: int
    needDeleteId: bool = False
    returnType: Literal["string", "json"]
    key: str = ""


@getter
def url_dashPart(context: Context, config: DashPart) -> str | dict[str, Any] | None:
    """A part of the active tab's address between two slashes."""
    parts = [] if (url := active_url_from_accessTree(context, config)) is None else url.split("/")
    if not -len(parts) <= config.partIndex < len(parts):
        return None
    part = parts[config.partIndex]
    part = part.split("?")[0] if config.needDeleteId else part
    return part if config.returnType == "string" else {config.key: part}


@dataclass(frozen=True, kw_only=True)
class Elements(Prefix):
    """Elements of a page, and the names that their texts get.

    Attributes:
        category: How elements are found; the attributes that belong to other categories do not count.
        class_singleObject: By class, the name of the first one's text.
        class_multiObject: By class, names by place; of the category ``class&url``, texts that have to be there.
        class_multiObject_child: The same for the texts directly in the first element of a class.
        class_multiObject_only_child: The same for the first headings ``h3`` in the elements of a class.
        class_multiObject_search_exist: By class, texts that have to be there; ``is_other_exist`` asks for others.
        class_multiObject_li: By class, texts of entries in lists of products that have to be there.
        url_include_expected: Texts that have to be in the address.
        url_include_expected_multichoice: The same, with the name under which each is kept.
        xpathObject: Names of texts by path.
        inputObject: Names of typed values by path.
    """

    category: Literal["class", "class&url", "xpath", "input"]
    class_singleObject: dict[str, str] = field(default_factory=dict)
    class_multiObject: dict[str, dict[str, str] | list[str]] = field(default_factory=dict)
    class_multiObject_child: Places = field(default_factory=dict)
    class_multiObject_only_child: Places = field(default_factory=dict)
    class_multiObject_search_exist: dict[str, list[str]] = field(default_factory=dict)
    class_multiObject_li: dict[str, list[str]] = field(default_factory=dict)
    url_include_expected: list[str] = field(default_factory=list)
    url_include_expected_multichoice: dict[str, str] = field(default_factory=dict)
    xpathObject: dict[str, str] = field(default_factory=dict)
    inputObject: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kind = list if self.category == "class&url" else dict
        if self.category.startswith("class") and not all(isinstance(v, kind) for v in self.class_multiObject.values()):
            what = "lists of texts" if kind is list else "names by place"
            raise EvaluatorError(f"class_multiObject: {what} are needed for the category {self.category}")
        for places in self.by_place().values():
            for names in places.values():
                if not all(place.isdecimal() and len(place) < 7 for place in names):
                    raise EvaluatorError(f"places of elements are numbers from 0, got {', '.join(names)!r:.60}")

    def by_place(self) -> Mapping[str, Mapping[str, Any]]:
        """By kind of text and class: names by place."""
        if self.category != "class":
            return {}
        return {
            "text": self.class_multiObject,
            "own": self.class_multiObject_child,
            "heading": self.class_multiObject_only_child,
        }

    def queries(self) -> list[tuple[str, str]]:
        """What to look up in the page: kind and class or path."""
        found = [(kind, name) for kind, places in self.by_place().items() for name in places]
        if self.category == "class":
            found += [("text", name) for name in (*self.class_multiObject_search_exist, *self.class_singleObject)]
        elif self.category == "class&url":
            found += [("text", name) for name in self.class_multiObject]
            found += [("entry", name) for name in self.class_multiObject_li]
        else:
            found += [("path", path) for path in self.xpathObject if self.category == "xpath"]
            found += [("input", path) for path in self.inputObject if self.category == "input"]
        return list(dict.fromkeys(found))


@getter
def active_tab_html_parse(context: Context, config: Elements) -> dict[str, Any] | None:
    """Texts of elements of the active tab's page, in a browser that listens for a debugger; nothing without a page."""
    if (url := active_url_from_accessTree(context, config)) is None:
        return None
    queries = config.queries()
    question = {"ports": PORTS, "url": _plain(url), "queries": queries}
    printed = context.guest.execute(["python3", "-I", "-c", _PROGRAM, json.dumps(question)])
    try:
        answer = json.loads(printed.output or "null")
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"the elements of the page: {error}") from error
    if not isinstance(answer, list) or len(answer) != len(queries):
        return {}
    texts = {
        query: [str(text) for text in found] if isinstance(found, list) else []
        for query, found in zip(queries, answer, strict=True)
    }
    return _named(config, texts, _plain(url).lower())


def _named(config: Elements, texts: Mapping[tuple[str, str], list[str]], url: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind, classes in config.by_place().items():
        for name, places in classes.items():
            for place, key in places.items():
                found[key] = _nth(texts[kind, name], int(place))
    if config.category == "class":
        for name, wanted in config.class_multiObject_search_exist.items():
            there = texts["text", name]
            found.update((text, text in there) for text in wanted if text != "is_other_exist")
            if "is_other_exist" in wanted:
                found["is_other_exist"] = any(text not in wanted for text in there)
        found.update((key, _nth(texts["text", name], 0)) for name, key in config.class_singleObject.items())
    elif config.category == "class&url":
        for kind, classes in (("text", config.class_multiObject), ("entry", config.class_multiObject_li)):
            for name, listed in classes.items():
                there = [text.lower() for text in texts[kind, name]]
                lower = [text.lower() for text in listed]
                found.update((text, True) for text in lower if text in there)
                other = any(all(text not in each for each in lower) for text in there)
                found["is_other_exist"] = found.get("is_other_exist", False) or other
        in_url = {text: text for text in config.url_include_expected} | config.url_include_expected_multichoice
        for text, key in in_url.items():
            found.setdefault(key.lower(), text.lower() in url)
    else:
        kind, paths = ("path", config.xpathObject) if config.category == "xpath" else ("input", config.inputObject)
        found.update((key, _nth(texts[kind, path], 0)) for path, key in paths.items())
    return found


def _nth(texts: list[str], place: int) -> str:
    return texts[place] if place < len(texts) else ""


def _plain(url: str) -> str:
    """An address without what the address bar and the debugger write in different ways."""
    return unquote(url).rstrip("/")
