"""Getters of Chrome and Chromium: their profile and their window."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rlanything_verifiers.osworld.database import query
from rlanything_verifiers.osworld.errors import Unreadable
from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.getters.desktop import Destination, Nothing
from rlanything_verifiers.osworld.getters.files import guest_file
from rlanything_verifiers.osworld.opening import xml
from rlanything_verifiers.osworld.registry import Context, getter
from rlanything_verifiers.osworld.structured import read_json

_PROFILE = "~/.config/google-chrome"
_FONTS = {"default_fixed_font_size": 13, "default_font_size": 16, "minimum_font_size": 13}

PORTS = (1337, 9222)
"""Where the browsers of OSWorld's tasks listen for a debugger."""

_TABS = (
    "import urllib.request as u\n"
    f"for port in {PORTS}:\n"
    "    try: print(u.urlopen(f'http://127.0.0.1:{port}/json/list', timeout=10).read().decode()); break\n"
    "    except OSError: pass\n"
)
"""Command that lists the open tabs in the guest."""


def _read(context: Context, name: str, *keys: str) -> Any:
    """The value at a path of keys of a JSON file of the profile; None where there is none."""
    if (file := guest_file(context, f"{_PROFILE}/{name}")) is None:
        return None
    value = read_json(file)
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _preference(context: Context, *keys: str) -> Any:
    return _read(context, "Default/Preferences", *keys)


def _flag(value: object) -> str:
    return "true" if value else "false"


@getter
def default_search_engine(context: Context, config: Nothing) -> str:
    """The name of the search engine; Google where the user chose none."""
    return str(_preference(context, "default_search_provider_data", "template_url_data", "short_name") or "Google")


@getter
def profile_name(context: Context, config: Nothing) -> str | None:
    """The name of the profile."""
    return None if (name := _preference(context, "profile", "name")) is None else str(name)


@getter
def chrome_language(context: Context, config: Nothing) -> str:
    """The language of the browser."""
    return str(_read(context, "Local State", "intl", "app_locale") or "en-US")


@getter
def chrome_font_size(context: Context, config: Nothing) -> dict[str, Any]:
    """The sizes of letters."""
    return _FONTS | found if isinstance(found := _preference(context, "webkit", "webprefs"), dict) else dict(_FONTS)


@getter
def bookmarks(context: Context, config: Nothing) -> dict[str, Any] | None:
    """The folders of bookmarks by name."""
    return found if isinstance(found := _read(context, "Default/Bookmarks", "roots"), dict) else None


@getter
def enabled_experiments(context: Context, config: Nothing) -> list[Any] | None:
    """The experiments that are switched on; None where the browser has stored no state."""
    found = _read(context, "Local State", "browser", "enabled_labs_experiments")
    return found if isinstance(found, list) else None if _read(context, "Local State") is None else []


@getter
def enable_do_not_track(context: Context, config: Nothing) -> str:
    """The setting "Do Not Track": ``true`` or ``false``."""
    return _flag(_preference(context, "enable_do_not_track"))


@getter
def enable_enhanced_safety_browsing(context: Context, config: Nothing) -> str:
    """Whether safe browsing is at its strongest: ``true`` or ``false``."""
    return _flag(_preference(context, "safebrowsing", "enhanced"))


@getter
def enable_safe_browsing(context: Context, config: Nothing) -> str:
    """Whether safe browsing is on: ``true`` or ``false``."""
    return _flag(_preference(context, "safebrowsing", "enhanced") or _preference(context, "safebrowsing", "enabled"))


@getter
def new_startup_page(context: Context, config: Nothing) -> str:
    """Whether the browser starts with a new tab: ``true`` or ``false``."""
    session = _preference(context, "session")
    return _flag(session is None or _preference(context, "session", "restore_on_startup") == 5)


@getter
def data_delete_automacally(context: Context, config: Nothing) -> str:
    """Whether data of sites is deleted when the browser closes: ``true`` or ``false``."""
    return _flag(_preference(context, "profile", "default_content_setting_values") is not None)


def _extensions(context: Context) -> list[Mapping[str, Any]]:
    found = _preference(context, "extensions", "settings")
    return [value for value in found.values() if isinstance(value, dict)] if isinstance(found, dict) else []


@getter
def find_unpacked_extension_path(context: Context, config: Nothing) -> list[Any]:
    """Where the extensions are."""
    return [str(extension["path"]) for extension in _extensions(context) if "path" in extension]


@getter
def find_installed_extension_name(context: Context, config: Nothing) -> list[Any]:
    """Names of the extensions."""
    manifests = [extension.get("manifest") for extension in _extensions(context)]
    return [str(each["name"]) for each in manifests if isinstance(each, dict) and "name" in each]


@getter
def history(context: Context, config: Destination) -> list[Any] | None:
    """The pages that were visited: address, title, time."""
    file = guest_file(context, f"{_PROFILE}/Default/History", config.dest)
    return None if file is None else query(file, "SELECT url, title, last_visit_time FROM urls")


@getter
def cookie_data(context: Context, config: Destination) -> list[Any] | None:
    """The rows of Chrome's table of cookies."""
    file = guest_file(context, f"{_PROFILE}/Default/Cookies", config.dest)
    return None if file is None else query(file, "SELECT * FROM cookies")


@dataclass(frozen=True, kw_only=True)
class Prefix:
    """Prefix of the address that the address bar shows."""

    goto_prefix: str = "https://"


@getter
def active_url_from_accessTree(context: Context, config: Prefix) -> str | None:
    """The address of the active tab, as the address bar shows it, with what it leaves out."""
    root = xml(File("accessibility.xml", context.guest.accessibility_tree().encode(errors="replace")))
    for application in root.iter("application"):
        if application.get("name") in ("Google Chrome", "Chromium"):
            for entry in application.iter("entry"):
                if entry.get("name") == "Address and search bar" and entry.text:
                    return entry.text if "://" in entry.text else config.goto_prefix + entry.text
    return None


@getter
def open_tabs_info(context: Context, config: Nothing) -> list[Any] | None:
    """Title and address of the open tabs, the active one first, of a browser that listens for a debugger."""
    if not (printed := context.guest.execute(["python3", "-I", "-c", _TABS]).output).strip():
        return None
    try:
        found = json.loads(printed)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"the list of tabs: {error}") from error
    return [
        {"title": str(tab.get("title")), "url": str(tab.get("url"))}
        for tab in (found if isinstance(found, list) else [])
        if isinstance(tab, dict) and tab.get("type") == "page"
    ]


@getter
def active_tab_info(context: Context, config: Prefix) -> dict[str, Any] | None:
    """Title and address of the active tab."""
    return tabs[0] if (tabs := open_tabs_info(context, Nothing())) else None
