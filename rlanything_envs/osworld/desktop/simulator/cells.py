"""What is typed into a cell, and what a cell shows."""

from __future__ import annotations

import re
from datetime import datetime

from rlanything_envs.osworld.desktop.simulator.calculator import Content
from rlanything_envs.osworld.desktop.simulator.formulas import Formula
from rlanything_envs.osworld.desktop.simulator.functions import Value

__all__ = ["edit_text", "read_typed", "shown"]

_NUMBER = re.compile(r"[+-]?(?:\d+(?:,\d{3})*|\d*)(?:\.\d*)?(?:[eE][+-]?\d{1,3})?")
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_US = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")


def read_typed(text: str) -> tuple[Content | None, str | None]:
    """The content that a text becomes, as LibreOffice reads it in English.

    Returns:
        The content (None for an empty cell), and a number format where the text asks for one.
    """
    plain = text.strip()
    if text == "":
        return None, None
    if text.startswith("'"):
        return text[1:], None
    if text.startswith("=") and len(text) > 1:
        return Formula(text + ")" * _open_brackets(text)), None
    if plain.upper() in ("TRUE", "FALSE"):
        return plain.upper() == "TRUE", None
    number = _number(plain)
    if number is not None:
        return number, None
    if plain.endswith("%") and (number := _number(plain[:-1])) is not None:
        return number / 100, "0.00%"
    if plain.startswith("$") and (number := _number(plain[1:])) is not None:
        return number, "[$$-409]#,##0.00;[RED]\\-[$$-409]#,##0.00"
    day = _day(plain)
    return (day, "yyyy\\-mm\\-dd" if "-" in plain else "mm/dd/yyyy") if day else (text, None)


def _open_brackets(formula: str) -> int:
    """How many brackets are missing at the end; those in texts do not count."""
    bare = re.sub(r'"[^"]*"', "", formula)
    return min(20, max(0, bare.count("(") - bare.count(")")))


def _number(text: str) -> float | int | None:
    if not (len(text) < 100 and any(letter.isdigit() for letter in text) and text.isascii()):
        return None
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text.replace(",", ""))
    if number in (float("inf"), float("-inf")):
        return None
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def _day(text: str) -> datetime | None:
    iso, us = _ISO.fullmatch(text), _US.fullmatch(text)
    try:
        if iso:
            return datetime(int(iso[1]), int(iso[2]), int(iso[3]))
        return datetime(int(us[3]), int(us[1]), int(us[2])) if us else None
    except ValueError:
        return None


def shown(value: Value, number_format: str = "General") -> str:
    """What a cell shows."""
    match value:
        case None:
            return ""
        case bool():
            return "TRUE" if value else "FALSE"
        case datetime():
            return f"{value:%m/%d/%Y}" if number_format == "mm/dd/yyyy" else f"{value:%Y-%m-%d}"
        case int() | float():
            if "%" in number_format:
                digits = number_format.partition(".")[2].count("0")
                return f"{value * 100:.{digits}f}%"
            if "." in number_format and number_format.strip("#,0.") == "":
                text = f"{value:,.{number_format.partition('.')[2].count('0')}f}"
                return text if "," in number_format else text.replace(",", "")
            return _general(value)
        case _:
            return str(value)


def _general(number: float) -> str:
    """Up to ten digits, no more than are needed."""
    if float(number).is_integer() and abs(number) < 1e15:
        return str(int(number))
    text = f"{number:.10g}"
    return text.replace("e", "E") if "e" in text else text


def edit_text(content: Content | None, number_format: str = "General") -> str:
    """What is in the input line for a content: all digits, and formulas as they were typed."""
    match content:
        case Formula():
            return content.text
        case bool() | datetime() | None:
            return shown(content, number_format)
        case int() | float():
            if "%" in number_format:
                return f"{content * 100:.15g}%"
            return str(int(content)) if float(content).is_integer() and abs(content) < 1e15 else f"{content:.15g}"
        case _:
            text = str(content)
            return f"'{text}" if text[:1] == "=" or _number(text.strip()) is not None else text
