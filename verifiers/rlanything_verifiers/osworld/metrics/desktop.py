"""The desktop itself: folders, clipboard, clock, favourites, windows, the accessibility tree."""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from rlanything_verifiers.osworld.errors import EvaluatorError
from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.libraries import library
from rlanything_verifiers.osworld.matching import likeness
from rlanything_verifiers.osworld.metrics.values import ExpectedList
from rlanything_verifiers.osworld.opening import xml
from rlanything_verifiers.osworld.registry import metric
from rlanything_verifiers.osworld.structured import children

NAMESPACES = {
    short: f"https://accessibility.ubuntu.example.org/ns/{name}"
    for short, name in (
        ("st", "state"),
        ("attr", "attributes"),
        ("cp", "component"),
        ("doc", "document"),
        ("docattr", "document/attributes"),
        ("txt", "text"),
        ("val", "value"),
        ("act", "action"),
    )
}
"""Of the accessibility tree."""

_CLOCK = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")

_SEARCH = 2000
"""Characters of an XPath expression."""


@dataclass(frozen=True)
class Pieces:
    """One text or several."""

    expected: str | list[str]


@dataclass(frozen=True)
class ElementRule:
    """An element of the accessibility tree.

    Attributes:
        xpath: finds it; goes before `selectors`.
        selectors: find it in the language of style sheets; one of them is enough.
        text: its text; None where that does not matter.
        exact: whether it has to say exactly that; otherwise the score is how like it is.
    """

    xpath: str | None = None
    selectors: list[str] | None = None
    text: str | None = None
    exact: bool = True

    def __post_init__(self) -> None:
        self.find()

    def find(self) -> Any:
        """The compiled search.

        Raises:
            EvaluatorError: there is none, or it is malformed.
        """
        etree, css = library("lxml.etree"), library("lxml.cssselect")
        if (self.xpath is None and not self.selectors) or len(self.xpath or "") > _SEARCH:
            raise EvaluatorError(f"an xpath of at most {_SEARCH} characters or a list of selectors is needed")
        try:
            if self.xpath is not None:
                return etree.XPath(self.xpath, namespaces=NAMESPACES)
            return css.CSSSelector(", ".join(self.selectors or ()), namespaces=NAMESPACES)
        except (etree.XPathError, css.SelectorError) as error:
            raise EvaluatorError(f"{error}: {self.xpath or self.selectors!r:.80}") from error

    def score(self, root: Any) -> float:
        """Score of the best element, in [0, 1]."""
        found = self.find()(root)
        if not isinstance(found, list) or not found:
            return 0.0
        if self.text is None:
            return 1.0
        texts = [str(getattr(element, "text", None) or "") for element in found]
        return max(float(text == self.text) if self.exact else likeness(text, self.text) for text in texts)


@metric
def check_accessibility_tree(result: str, rules: list[ElementRule], *, osname: Literal["ubuntu"] = "ubuntu") -> float:
    """The accessibility tree has all elements; the product of how well each fits."""
    root = xml(File("accessibility.xml", result.encode(errors="replace")))
    return math.prod(rule.score(root) for rule in rules)


@metric
def check_moved_jpgs(result: dict[str, Any], rules: ExpectedList) -> float:
    """The folder holds the expected names and nothing else."""
    names = [str(child.get("name")) for child in children(result)]
    return float(sorted(names) == sorted(map(str, rules.expected)))


@metric
def check_file_exists(result: dict[str, Any], rules: str) -> float:
    """The folder holds a file of that name."""
    return float(any(child.get("type") == "file" and child.get("name") == rules for child in children(result)))


@metric
def compare_time_in_speedtest_results(result: File, expected: str) -> float:
    """The first measurement in a table of speeds is less than so many minutes old, by the time of day alone."""
    lines = result.lines()
    fields = lines[1].split(",") if len(lines) > 1 else []
    clock = _CLOCK.fullmatch(fields[1][-5:]) if len(fields) > 1 else None
    if clock is None:
        return 0.0
    now = datetime.now()
    away = abs(int(clock[1]) * 60 + int(clock[2]) - now.hour * 60 - now.minute)
    return float(min(away, 24 * 60 - away) < _minutes(expected))


def _minutes(text: str) -> int:
    if not text.isdecimal() or len(text) > 6:
        raise EvaluatorError(f"a number of minutes is needed, got {text!r:.40}")
    return int(text)


@metric
def is_in_vm_clickboard(result: Pieces, expected: str) -> float:
    """The output of a command, such as the content of the clipboard, contains the texts."""
    pieces = result.expected if isinstance(result.expected, list) else [result.expected]
    return float(all(piece in expected for piece in pieces))


@metric
def is_utc_0(result: str) -> float:
    """``timedatectl`` names a time zone without offset."""
    zone = re.search(r"^[ \t]*Time zone:.*$", result, re.MULTILINE)
    return float(zone is not None and zone[0].rstrip().endswith("+0000)"))


@metric
def check_gnome_favorite_apps(result: str, rules: ExpectedList) -> float:
    """A printed list of applications has the expected ones and no others."""
    try:
        apps = ast.literal_eval(result.strip()[:100_000].removeprefix("@as "))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):  # TypeError: a set of lists
        return 0.0
    named = isinstance(apps, list) and all(isinstance(app, str) for app in apps)
    return float(named and sorted(apps) == sorted(map(str, rules.expected)))


@metric
def check_text_enlarged(result: str) -> float:
    """The scaling factor of texts is above 1."""
    try:
        return float(float(result) > 1.0)
    except ValueError:
        return 0.0


@metric
def is_vlc_fullscreen(result: dict[str, int], expected: dict[str, int]) -> float:
    """The window is as large as the screen."""
    return float(all(result.get(side) == expected.get(side) is not None for side in ("width", "height")))
