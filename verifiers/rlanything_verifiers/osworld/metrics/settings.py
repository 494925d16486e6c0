"""Settings files of LibreOffice, GIMP, VLC, Thunderbird and VS Code."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, make_dataclass
from typing import Any, Literal

from rlanything_verifiers.osworld.errors import EvaluatorError
from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.matching import ValueRule
from rlanything_verifiers.osworld.metrics.document_rules import FontName
from rlanything_verifiers.osworld.opening import xml
from rlanything_verifiers.osworld.registry import metric

_OOR = "{http://openoffice.org/2001/registry}"
_OFFICE = "/org.openoffice."
_LONGEST_PATTERN = 200
"""Characters; no name of a language is longer, and `fnmatch` takes half a minute for ten thousand brackets."""


# --- LibreOffice: registrymodifications.xcu ---


@dataclass(frozen=True)
class Minutes:
    """A number of minutes."""

    minutes: int


@dataclass(frozen=True)
class Locales:
    """Patterns of names of languages, such as ``en*``."""

    locale_set: list[str]

    def __post_init__(self) -> None:
        if any(len(pattern) > _LONGEST_PATTERN for pattern in self.locale_set):
            raise EvaluatorError(f"locale_set: patterns of at most {_LONGEST_PATTERN} characters are needed")


def _registry(file: File, path: str, name: str) -> str | None:
    """The value of a property; None where the user never set it. Items later in the file win."""
    found = None
    for item in xml(file).iter("item"):
        if item.get(f"{_OOR}path") == _OFFICE + path:
            for prop in item.iter("prop"):
                if prop.get(f"{_OOR}name") == name:
                    found = prop.findtext("value")
    return found


@metric
def check_auto_saving_time(result: File, rules: Minutes) -> float:
    """LibreOffice saves by itself every so many minutes."""
    return float(_registry(result, "Office.Common/Save/Document", "AutoSaveTimeIntervall") == str(rules.minutes))


@metric
def find_default_font(result: File, rules: FontName) -> float:
    """Writer's standard font."""
    return float(_registry(result, "Office.Writer/DefaultFont", "Standard") == rules.font_name)


@metric
def check_presenter_console_disable(result: File) -> float:
    """Impress does not open the presenter's screen."""
    return float((_registry(result, "Office.Impress/Misc/Start", "EnablePresenterScreen") or "").lower() == "false")


@metric
def check_libre_locale(result: File, rules: Locales) -> float:
    """The language of LibreOffice's settings."""
    found = _registry(result, "Setup/L10N", "ooSetupSystemLocale") or _registry(result, "Setup/L10N", "ooLocale") or ""
    return float(any(fnmatch.fnmatchcase(found, wanted) for wanted in rules.locale_set))


# --- GIMP: gimprc and others, one (key value) a line ---


@dataclass(frozen=True)
class KeyValue:
    """A key, or two, and the value as it is written in the file."""

    key: str | list[str]
    value: str


@metric
def check_config_status(result: File, rules: KeyValue) -> float:
    """A line has the expected setting."""
    keys = rules.key if isinstance(rules.key, list) else [rules.key]

    def says(line: str) -> bool:
        words = line.strip().lstrip("(").rstrip(")").split()
        return words[: len(keys)] == keys and len(words) > len(keys) and words[-1] == rules.value

    return float(any(says(line) for line in result.lines() if not line.startswith("#")))


# --- VLC: vlcrc, one key=value a line; what is commented out has its default ---


@dataclass(frozen=True)
class SliderColours:
    """The colours of the volume, or that all of them are dark."""

    type: Literal["match", "blackish"]
    expected_qt_slider_colours: str | None = None

    def __post_init__(self) -> None:
        if self.type == "match" and self.expected_qt_slider_colours is None:
            raise EvaluatorError("slider colours of the type match need expected_qt_slider_colours")


def _vlc(file: File, key: str, default: str) -> str:
    found = default
    for line in file.text(lenient=False).splitlines():
        name, equals, value = line.partition("=")
        if equals and name.strip() == key:
            found = value.strip()
    return found


VLC_SETTINGS: dict[str, tuple[str, str, str, Callable[[str], str]]] = {
    "is_vlc_recordings_folder": ("recording_file_path", "input-record-path", "", str),
    "check_qt_bgcone": ("expected_qt_bgcone", "qt-bgcone", "1", str),
    "check_qt_max_volume": ("expected_qt_max_volume", "qt-max-volume", "125", str),
    "check_qt_minimal_view": ("expected_qt_minimal_view", "qt-minimal-view", "0", str),
    "check_global_key_play_pause": (
        "expected_global_key_play_pause",
        "global-key-play-pause",
        "",
        lambda key: "1" if key else "0",
    ),
    "check_one_instance_when_started_from_file": (
        "expected_one_instance_when_started_from_file",
        "one-instance-when-started-from-file",
        "1",
        str,
    ),
}
"""Metric -> field of its rules, key in vlcrc, default of VLC, and the reading of the value that is compared."""


def _vlc_metric(name: str, rule: str, key: str, default: str, reading: Callable[[str], str]) -> None:
    def check(result: File, rules: Any) -> float:
        return float(reading(_vlc(result, key, default)) == str(getattr(rules, rule)))

    check.__name__, check.__doc__ = name, f"VLC's setting ``{key}``."
    check.__annotations__["rules"] = make_dataclass("VlcRules", [(rule, int | str)], frozen=True)
    metric(check)


for _name, _setting in VLC_SETTINGS.items():
    _vlc_metric(_name, *_setting)


@metric
def check_qt_slider_colours(result: File, rules: SliderColours) -> float:
    """The colours of VLC's volume slider."""
    found = _vlc(result, "qt-slider-colours", "153;210;153;20;210;20;255;199;15;245;39;29")
    if rules.type == "match":
        return float(found == rules.expected_qt_slider_colours)
    return float(all(value.strip().isdecimal() and len(value) <= 3 and int(value) < 100 for value in found.split(";")))


@dataclass(frozen=True)
class Playing:
    """A file or a stream."""

    type: Literal["file_name", "url"]
    file_name: str | None = None
    url: str | None = None

    def __post_init__(self) -> None:
        if getattr(self, self.type) is None:
            raise EvaluatorError(f"playing something of the type {self.type} needs {self.type}")


_PLAYED_FILE = tuple(
    f"category[@name='meta']/info[@name='{n}']" for n in ("filename", "title", "uri", "location", "name")
)
_PLAYED_STREAM = (
    *(f"category[@name='meta']/info[@name='{name}']" for name in ("url", "URI", "location", "title", "filename")),
    *(f"category[@name='Stream 0']/info[@name='{name}']" for name in ("Codec", "Type", "Language")),
)
"""Where VLC says what it plays: the first of these that is there counts."""


@metric
def is_vlc_playing(result: File, rules: Playing) -> float:
    """VLC plays a file, or a stream, after its status page."""
    if (root := xml(result)).findtext("state") != "playing":
        return 0.0
    places = _PLAYED_FILE if rules.type == "file_name" else _PLAYED_STREAM
    played = next((text for place in places if (text := root.findtext(f"information/{place}"))), "")
    if rules.type == "file_name":
        name = rules.file_name or ""
        return float(played == name or played.endswith(("/" + name, "\\" + name)))
    url = rules.url or ""
    return float(bool(played) and (url in played or played == url.rpartition("/")[2]))


# --- Thunderbird: prefs.js, msgFilterRules.dat, folders in mbox format ---


@dataclass(frozen=True)
class Preferences:
    """Rules for preferences by their names, that have to hold and that must not."""

    expect: dict[str, ValueRule] = field(default_factory=dict)
    unexpect: dict[str, ValueRule] = field(default_factory=dict)


@dataclass(frozen=True)
class Filters:
    """Filters that there have to be, and others that there must not."""

    expect: list[dict[str, Any]] = ()  # type: ignore[assignment]
    unexpect: list[dict[str, Any]] = ()  # type: ignore[assignment]


_PREFERENCE = re.compile(r'user_pref\("(?!")([^"\\]*(?:\\.[^"\\]*){0,1000})", (.+)\);')


@metric
def check_thunderbird_prefs(result: File, rules: Preferences) -> float:
    """Preferences that the user set."""
    found: dict[str, Any] = {}
    for line in result.lines():
        if match := _PREFERENCE.fullmatch(line.strip()):
            try:
                found[match[1]] = json.loads(match[2])
            except (ValueError, RecursionError):
                continue
    return float(
        all(name in found and rule.holds(found[name]) for name, rule in rules.expect.items())
        and not any(name in found and rule.holds(found[name]) for name, rule in rules.unexpect.items())
    )


_FILTER_LINE = re.compile(r'(name|enabled|type|action|actionValue|condition)="(.*)"')
_CONDITION = re.compile(
    r"\b(?:AND|OR) \([\w ]+,[\w \']+,"
    r'(?:"[^"\\]*(?:\\.[^"\\]*){0,1000}"|(?![)"])[^()"]*(?:(?<!\bAND )(?<!\bOR )\([^()"]*){0,1000})\)|\bALL\b'
)
"""A value without quotes ends where the next condition begins: to look for its end from each would take hours."""


def _filters(file: File) -> Iterator[dict[str, Any]]:
    """The filters; each ends with its condition."""
    found: dict[str, Any] = {}
    for line in file.lines():
        if match := _FILTER_LINE.fullmatch(line.strip()):
            key, value = match[1], match[2].replace('\\"', '"').replace("\\\\", "\\")
            if key == "name":
                found = {}
            found[key] = _CONDITION.findall(value) if key == "condition" else value
            if key == "condition":
                yield dict(found)


@metric
def check_thunderbird_filter(result: File, rules: Filters) -> float:
    """Filters of messages; fields that a description leaves out may have any value."""
    filters = list(_filters(result))

    def there(wanted: dict[str, Any]) -> bool:
        return any(all(key in each and each[key] == value for key, value in wanted.items()) for each in filters)

    return float(all(map(there, rules.expect)) and not any(map(there, rules.unexpect)))


@metric
def check_thunderbird_folder(
    result: File | list[File],
    expected: File | list[File],
    *,
    ignore_status: bool = False,
    ignore_keys: bool = False,
    remove_deleted: bool = True,
    remove_duplicate: bool = True,
) -> float:
    """The folders hold the same messages, in any order."""

    def messages(file: File) -> list[str]:
        found = []
        for part in re.split(r"^From [^\n]*\n", file.text(), flags=re.MULTILINE):
            if remove_deleted and re.search(r"^X-Mozilla-Status: 000[89]", part, re.MULTILINE):
                continue
            if ignore_status:
                part = re.sub(r"^X-Mozilla-Status2?:[^\n]*\n", "", part, flags=re.MULTILINE)
            if ignore_keys:
                part = re.sub(r"^X-Mozilla-Keys:[^\n]*\n", "", part, flags=re.MULTILINE)
            found.append(part.strip())
        found = [part for part in found if part]
        return sorted(set(found) if remove_duplicate else found)

    ones, others = (each if isinstance(each, list) else [each] for each in (result, expected))
    return float(list(map(messages, ones)) == list(map(messages, others)))


# --- VS Code: its list of extensions ---


@dataclass(frozen=True)
class Extension:
    """The name of an extension, and whether it has to be there."""

    type: Literal["contain", "not_contain"]
    expected: str


@metric
def is_extension_installed(result: str, rules: Extension) -> float:
    """A list of extensions has one, or has it not."""
    return float((rules.expected in result) is (rules.type == "contain"))
