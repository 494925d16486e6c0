"""The browser: tabs, addresses, bookmarks, history, cookies, settings."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Literal

from rlanything_verifiers.osworld.errors import EvaluatorError
from rlanything_verifiers.osworld.matching import pattern, searches
from rlanything_verifiers.osworld.metrics.values import ExpectedList, ExpectedObject
from rlanything_verifiers.osworld.registry import metric
from rlanything_verifiers.osworld.structured import children
from rlanything_verifiers.osworld.urls import same_url, without_query

_CHOICES = 100_000
"""Ways to choose one address for each author that are tried."""


@dataclass(frozen=True)
class Url:
    """An address."""

    type: Literal["url"]
    url: str


@dataclass(frozen=True)
class Urls:
    """Addresses."""

    type: Literal["url"]
    urls: list[str]


@dataclass(frozen=True)
class UrlPatterns:
    """Regular expressions."""

    expected: list[str]

    def __post_init__(self) -> None:
        for source in self.expected:
            pattern(source)


@dataclass(frozen=True)
class UrlPattern:
    """A regular expression."""

    pattern: str

    def __post_init__(self) -> None:
        pattern(self.pattern)


@dataclass(frozen=True)
class SearchQuery:
    """Pattern of the address of a search."""

    expect: UrlPattern


@dataclass(frozen=True)
class Bookmarks:
    """The folders of the bookmarks bar, its addresses, or those in its folder "Liked Authors"."""

    type: Literal["bookmark_bar_folders_names", "bookmark_bar_websites_urls", "liked_authors_websites_urls"]
    names: list[str] | None = None
    urls: list[str | list[str]] | None = None

    def __post_init__(self) -> None:
        wanted = "names" if self.type == "bookmark_bar_folders_names" else "urls"
        if getattr(self, wanted) is None:
            raise EvaluatorError(f"{self.type} needs {wanted}")


@dataclass(frozen=True)
class Domains:
    """Names of domains."""

    type: Literal["domains"]
    domains: list[str]


@dataclass(frozen=True)
class Keywords:
    """Words."""

    type: Literal["keywords"]
    keywords: list[str]


@dataclass(frozen=True)
class Experiments:
    """Names of experiments, in order."""

    type: Literal["names"]
    names: list[str]


@dataclass(frozen=True)
class FontSize:
    """A size, or the bounds of a size."""

    type: Literal["value", "range"]
    value: float | None = None
    min: float | None = None
    max: float | None = None

    def __post_init__(self) -> None:
        names = ("value",) if self.type == "value" else ("min", "max")
        if any(getattr(self, name) is None for name in names):
            raise EvaluatorError(f"a font size of the type {self.type} needs {' and '.join(names)}")


@dataclass(frozen=True)
class Shortcut:
    """Name or command of a desktop entry."""

    type: Literal["name", "exec"]
    name: str | None = None
    exec: str | None = None

    def __post_init__(self) -> None:
        if getattr(self, self.type) is None:
            raise EvaluatorError(f"a shortcut of the type {self.type} needs {self.type}")


@dataclass(frozen=True)
class Items:
    """Texts."""

    items: list[str]


def _address(tab: str | dict[str, Any]) -> str:
    found = tab.get("url") if isinstance(tab, dict) else tab
    return found if isinstance(found, str) else ""


@metric
def is_expected_active_tab(result: str | dict[str, Any], rules: Url) -> float:
    """The active tab shows the address."""
    return float(same_url(rules.url, _address(result)))


@metric
def is_expected_active_tab_approximate(result: str | dict[str, Any], rules: Url) -> float:
    """The active tab shows the address, whatever its query."""
    return float(without_query(rules.url) == without_query(_address(result)))


@metric
def is_expected_url_pattern_match(result: str | dict[str, Any], rules: UrlPatterns) -> float:
    """All regular expressions occur in the address of the active tab."""
    address = _address(result)
    return float(bool(address) and all(searches(pattern(source), address) for source in rules.expected))


@metric
def is_expected_search_query(result: str | dict[str, Any], rules: SearchQuery) -> float:
    """The regular expression occurs in the address of the active tab."""
    return float(searches(pattern(rules.expect.pattern), _address(result)))


@metric
def is_expected_tabs(result: list[Any], rules: Urls) -> float:
    """The open tabs show the addresses, and no others."""
    addresses = [_address(tab) for tab in result]
    return float(
        len(addresses) == len(rules.urls)
        and all(any(same_url(wanted, found) for found in addresses) for wanted in rules.urls)
    )


@metric
def is_expected_installed_extensions(result: list[str], rules: ExpectedList) -> float:
    """The extensions are installed; others do not matter."""
    return float(set(map(str, rules.expected)) <= set(result))


@metric
def is_expected_bookmarks(result: dict[str, Any], rules: Bookmarks) -> float:
    """The bookmarks bar holds the expected entries, and no others of the kind."""
    bar = children(result.get("bookmark_bar"))
    if rules.type == "bookmark_bar_folders_names":
        return float({item.get("name") for item in bar if item.get("type") == "folder"} == set(rules.names or ()))
    if rules.type == "bookmark_bar_websites_urls":
        return float(_links(bar) == {url for url in rules.urls or () if isinstance(url, str)})
    folders = [item for item in bar if item.get("type") == "folder" and item.get("name") == "Liked Authors"]
    links = _links(children(folders[0])) if folders else set()
    choices = [links & set([urls] if isinstance(urls, str) else urls) for urls in rules.urls or ()]
    return float(any(set(choice) == links for choice in itertools.islice(itertools.product(*choices), _CHOICES)))


@metric
def is_expected_bookmark_names(result: dict[str, Any], rules: ExpectedObject) -> float:
    """The bookmarks bar holds the expected addresses under their names, and no others."""
    sites = [item for item in children(result.get("bookmark_bar")) if item.get("type") == "url"]
    return float({(str(item.get("name")), str(item.get("url"))) for item in sites} == rules.expected.items())


def _links(items: list[dict[str, Any]]) -> set[str]:
    return {str(item.get("url")) for item in items if item.get("type") == "url"}


@metric
def is_cookie_deleted(result: list[Any], rules: Domains) -> float:
    """No cookie of the domains is left. A cookie is a row of Chrome's table: its domain comes second."""
    hosts = [row[1] for row in result if isinstance(row, list | tuple) and len(row) > 1 and isinstance(row[1], str)]
    return float(not any(same_url(domain, host) for domain in rules.domains for host in hosts))


@metric
def check_history_deleted(result: list[Any], rules: Keywords) -> float:
    """No address with one of the words is left in the history."""
    addresses = [str(row[0]) for row in result if isinstance(row, list | tuple) and row]
    return float(not any(word in address for word in rules.keywords for address in addresses))


@metric
def check_enabled_experiments(result: list[str], rules: Experiments) -> float:
    """The experiments are switched on, and no others."""
    return float([name.partition("@")[0] for name in result] == rules.names)


@metric
def check_font_size(result: dict[str, Any], rules: FontSize) -> float:
    """The size of letters is as expected, or between the bounds."""
    size = result.get("default_font_size")
    if not isinstance(size, int | float):
        return 0.0
    if rules.type == "value":
        return float(size == rules.value)
    return float(rules.min is not None and rules.max is not None and rules.min < size < rules.max)


@metric
def is_shortcut_on_desktop(result: dict[str, str], rules: Shortcut) -> float:
    """One of the starters on the desktop has the name, or runs the command."""
    key, value = ("Name", rules.name) if rules.type == "name" else ("Exec", rules.exec)
    return float(any(f"{key}={value}" in text.splitlines() for text in result.values()))


@metric
def is_added_to_steam_cart(result: dict[str, Any], rules: Items) -> float:
    """The page contains all texts."""
    content = str(result.get("content") or "")
    return float(all(item in content for item in rules.items))
