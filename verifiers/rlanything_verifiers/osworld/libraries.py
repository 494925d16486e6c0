"""Libraries and programs that metrics and getters need; `evaluate` asks for them before it reads a file of an agent.

What is missing on this machine must not be found out by a file that an agent chose to leave: it could choose that
there is no score.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable
from typing import Any

from rlanything_verifiers.installed import install
from rlanything_verifiers.osworld.errors import MissingRequirement

__all__ = ["ask_for", "library", "needs", "program"]

_INSTALLED_BY = {
    "docx": ("python-docx", "desktop"),
    "PIL": ("pillow", "desktop"),
    "imageio_ffmpeg": ("imageio-ffmpeg", "video"),
    "pptx": ("python-pptx", "desktop"),
    "yaml": ("pyyaml", "desktop"),
}
"""Distribution and extra of a module, where they are not its name and ``desktop``."""

_PROGRAMS = {"tesseract": "tesseract-ocr"}
"""Debian packages of programs."""

_WORD = ("docx", "lxml", "PIL", "rapidfuzz")
_SLIDES = ("pptx", "lxml")
_PDF = ("pypdfium2", "pypdf", "PIL", "rapidfuzz")
_MODULES = {
    "images": ("PIL",),
    "archives": (*_WORD, *_SLIDES, *_PDF),
    "document_rules": _WORD,
    "documents": _WORD,
    "pages": ("lxml",),
    "pdfs": _PDF,
    "slide_rules": _SLIDES,
    "slides": _SLIDES,
    "sound": ("imageio_ffmpeg",),
    "tables": ("openpyxl", "lxml", "rapidfuzz", "regex"),
}
"""What all functions of a module of metrics or getters need."""

_FUNCTIONS = {
    "active_url_from_accessTree": ("lxml",),
    "audio_in_slide": ("lxml",),
    "background_image_in_slide": ("lxml",),
    "check_accessibility_tree": ("lxml", "cssselect", "rapidfuzz"),
    "check_auto_saving_time": ("lxml",),
    "check_json": ("regex", "yaml"),
    "check_libre_locale": ("lxml", "regex"),
    "check_list": ("regex",),
    "check_mp3_meta": ("regex",),
    "check_presenter_console_disable": ("lxml",),
    "check_python_file_by_test_suite": ("pygame",),
    "check_thunderbird_prefs": ("regex",),
    "compare_image_text": ("PIL", "tesseract"),
    "content_from_vm_file": ("openpyxl", "lxml"),
    "find_default_font": ("lxml",),
    "fuzzy_match": ("rapidfuzz",),
    "is_expected_search_query": ("regex",),
    "is_expected_url_pattern_match": ("regex",),
    "is_vlc_playing": ("lxml",),
}
"""What single functions need; it goes before `_MODULES`."""


def needs(function: Callable[..., Any]) -> tuple[str, ...]:
    """Modules and programs that a metric or getter may use, by name."""
    module = getattr(function, "__module__", "").rpartition(".")[2]
    return _FUNCTIONS.get(getattr(function, "__name__", ""), _MODULES.get(module, ()))


def ask_for(name: str) -> None:
    """Make sure that a module or a program is there; nothing is imported.

    Raises:
        MissingRequirement: it is not.
    """
    if name in _PROGRAMS:
        program(name)
    elif importlib.util.find_spec(name) is None:
        raise _missing(name)


def library(name: str) -> Any:
    """A module that is imported when it is first needed.

    Raises:
        MissingRequirement: it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise _missing(name.partition(".")[0]) from error


def program(name: str) -> str:
    """The path of a program.

    Raises:
        MissingRequirement: it is not installed.
    """
    if (path := shutil.which(name)) is None:
        raise MissingRequirement(
            f"the program {name} is not installed: on Debian and Ubuntu, apt-get install {_PROGRAMS[name]}"
        )
    return path


def _missing(name: str) -> MissingRequirement:
    package, extra = _INSTALLED_BY.get(name, (name, "desktop"))
    return MissingRequirement(f"{package} is not installed: {install(extra)}")
