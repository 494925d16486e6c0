"""Formulas as MathML, when the site is built: browsers show them without a script and without a network."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

__all__ = ["on_page_content"]

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """Replace what the Markdown extension marked as a formula (hook of mkdocs)."""
    return _FORMULA.sub(_mathml, content)


def _mathml(found: re.Match[str]) -> str:
    block = found[2] == "["
    formula = convert(html.unescape(found[3]).strip(), display="block" if block else "inline")
    return f'<div class="formula">{formula}</div>' if block else formula
