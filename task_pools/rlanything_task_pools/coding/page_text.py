"""The text of an HTML page, for statements: in one pass, so that the time is linear in any page."""

import html
import re
from contextlib import suppress

__all__ = ["page_text"]

_RAW = frozenset({"script", "style", "title"})
_HIDDEN = frozenset({"head", "button", "nav", "noscript", "select", "svg", "template"})
_FURNITURE = ("material-icons", "copy", "download")
"""A class with a name like these is a control of the web page: an icon, "Copied!", a link to a file."""
_BLOCKS = frozenset({"blockquote", "center", "dd", "div", "dl", "dt", "figure", "form", "hr", "li", "section", "tr"})
_PARAGRAPHS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "ol", "p", "pre", "table", "ul"})
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
_MARKS = {"sup": "^", "sub": "_"}
_DEEPEST = 4
"""Depth to which nested super- and subscripts are distinguished; deeper ones join their surroundings."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_STOP = re.compile(r"[>\"']")
_CLASS = re.compile(r"\bclass=(\"[^\"]*\"|'[^']*'|[^\s>]+)", re.IGNORECASE)
_ALT = re.compile(r"\balt=(\"[^\"]*\"|'[^']*'|[^\s>]+)", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_GAP = re.compile(r"\n{3,}")
_PLAIN_SCRIPT = re.compile(r"-?[A-Za-z0-9]+|['*+]")
_END = {name: re.compile(rf"</{name}", re.IGNORECASE) for name in _RAW}


def page_text(page: str) -> str:
    """The visible text of a page: paragraphs and preformatted text, ``^`` and ``_`` for super- and subscripts.

    Scripts, styles and controls of the web page are left out; a picture becomes its alternative text. A truncated page
    gives the text up to its end.

    >>> page_text("<p>1 &le; <b>A</b><sub>i</sub> &lt; 10<sup>x+1</sup></p><button>Copy</button><pre>a\\n b</pre>")
    '1 ≤ A_i < 10^{x+1}\\n\\na\\n b'
    """
    writer = _Writer()
    place = 0
    while place < len(page):
        start = page.find("<", place)
        writer.text(page[place:] if start < 0 else page[place:start])
        if start < 0:
            break
        place = _markup(page, start, writer)
    return writer.finish()


def _markup(page: str, start: int, writer: "_Writer") -> int:
    """Handle what begins with ``<``; where to go on."""
    if page.startswith("<!--", start):
        return _after(page, "-->", start + 4)
    closing = page.startswith("</", start)
    if page.startswith(("<!", "<?"), start):
        return _after(page, ">", start + 2)
    name = _NAME.match(page, start + 1 + closing)
    if name is None:
        writer.text("<")
        return start + 1
    end = _tag_end(page, name.end())
    if end > len(page):
        return end
    tag = name[0].lower()
    if closing:
        writer.end(tag)
        return end
    writer.start(tag, page[name.end() : end])
    if tag in _RAW:
        found = _END[tag].search(page, end)
        return len(page) if found is None else found.start()
    return end


def _after(page: str, mark: str, place: int) -> int:
    found = page.find(mark, place)
    return len(page) if found < 0 else found + len(mark)


def _tag_end(page: str, place: int) -> int:
    """The place after the ``>`` of a tag; beyond the page if there is none."""
    while (found := _STOP.search(page, place)) is not None:
        if found[0] == ">":
            return found.end()
        place = found.end()
        if page[found.start() - 1] == "=":
            place = page.find(found[0], place) + 1
            if place == 0:
                break
    return len(page) + 1


class _Writer:
    """Collects the text."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.line_start = True
        self.hidden = ""  # the tag whose content is not shown
        self.depth = 0  # of tags of this name within it
        self.preformatted = 0
        self.scripts: list[tuple[str, int]] = []

    def text(self, data: str) -> None:
        if not data or self.hidden:
            return
        with suppress(ValueError):  # a character number of thousands of digits
            data = html.unescape(data)
        if not self.preformatted:
            data = _SPACE.sub(" ", data)
            if self.line_start:
                data = data.lstrip(" ")
        self._put(data)

    def start(self, tag: str, attributes: str) -> None:
        if self.hidden:
            self.depth += tag == self.hidden
            return
        if tag in _RAW or tag in _HIDDEN or _is_furniture(attributes):
            if tag not in _VOID and not attributes.rstrip(">").endswith("/"):
                self.hidden, self.depth = tag, 1
        elif tag in _MARKS and len(self.scripts) < _DEEPEST:
            self.scripts.append((tag, len(self.parts)))
        elif tag == "img":
            found = _ALT.search(attributes)
            described = html.escape(found[1].strip("\"'")) if found is not None else ""
            self.text(f"[image: {described}]" if described else "[image]")
        elif tag == "br":
            self._put("\n")
        elif tag in ("td", "th"):
            self._put("" if self.line_start else "  ")
        else:
            self._break(tag)
            if tag == "li":
                self._put("- ")
            self.preformatted += tag == "pre"

    def end(self, tag: str) -> None:
        if self.hidden:
            if tag == self.hidden:
                self.depth -= 1
                if self.depth == 0:
                    self.hidden = ""
            return
        if self.scripts and self.scripts[-1][0] == tag:
            mark, place = self.scripts.pop()
            script = "".join(self.parts[place:]).strip()
            del self.parts[place:]
            if script:
                plain = _PLAIN_SCRIPT.fullmatch(script) is not None
                self._put(_MARKS[mark] + (script if plain else f"{{{script}}}"))
        if tag == "pre" and self.preformatted:
            self.preformatted -= 1
        self._break(tag)

    def finish(self) -> str:
        while self.scripts:
            self.end(self.scripts[-1][0])
        lines = [line.rstrip() for line in "".join(self.parts).split("\n")]
        return _GAP.sub("\n\n", "\n".join(lines)).strip("\n")

    def _break(self, tag: str) -> None:
        if tag in _PARAGRAPHS:
            self._put("\n\n")
        elif tag in _BLOCKS and not self.line_start:
            self._put("\n")

    def _put(self, data: str) -> None:
        if data:
            self.parts.append(data)
            self.line_start = data[-1] in "\n "


def _is_furniture(attributes: str) -> bool:
    found = _CLASS.search(attributes)
    return found is not None and any(word in found[1].lower() for word in _FURNITURE)
