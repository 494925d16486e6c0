"""Parser of fenced blocks as language models write them: indented, quoted, in a list, unclosed, in tags.

One pass over the lines, each of which is read a fixed number of times.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rlanything_envs.coding.words import word_of

__all__ = ["Block", "dedented", "looks_like_code", "read_items"]

_TAGS = ("answer", "code", "solution", "program", "final_answer", "python")
"""Tags that may enclose a program without a fence: ``<answer>...</answer>``."""
_LEAD = 120  # most characters before a fence on the same line
_LIST = " \t>*-+0123456789.)("
_CODE = (
    "print(",
    "input(",
    "sys.std",
    "def ",
    "lambda ",
    "import sys",
    "open(0",
    "exit(",
    "#include",
    "int main",
    "cout",
    "printf(",
    "System.out",
    "console.log",
    "fmt.Print",
    "println!",
)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block.

    Attributes:
        tag: The first word after the fence in lower case; empty for none.
        body: The lines in it, each with its line end.
    """

    tag: str
    body: str


@dataclass(slots=True)
class _Fence:
    """A block that is not closed yet."""

    mark: str
    length: int
    indent: int
    quoted: bool
    tag: str
    lines: list[str] = field(default_factory=list)

    def closed_by(self, line: str) -> str | None:
        """The part of the block on the line that closes it; None where the line does not close it."""
        stripped = line.strip()
        before = stripped.rstrip(self.mark)
        if len(stripped) - len(before) < self.length:
            return None
        if not before:
            return "" if _indent(line) < self.indent + 4 else None  # deeper ones belong to a string of the program
        return line[: line.rindex(stripped) + len(before)] if self.mark == "`" and "`" not in before else None

    def add(self, line: str) -> None:
        """Append a line, without the indentation of the fence."""
        self.lines.append(line[min(self.indent, _indent(line)) :])

    def block(self) -> Block:
        return Block(self.tag, "".join(f"{line}\n" for line in self.lines))


def read_items(text: str) -> list[str | Block]:
    """The lines outside of blocks, and the blocks.

    A fence is three or more backticks or tildes, at the beginning of a line or after an action word, a label or the
    number of a list; it ends with the text where it is left open. ``<answer>`` and ``<code>`` hold a block as well if
    there is no fence in them and what they hold looks like a program.
    """
    reader = _Reader()
    for line in text.split("\n"):
        reader.read(line)
    return reader.finish()


class _Reader:
    def __init__(self) -> None:
        self.items: list[str | Block] = []
        self.fence: _Fence | None = None
        self.tag = ""  # of the tag that is open
        self.inside = 0  # index of the item at which it was opened

    def read(self, line: str) -> None:
        if (fence := self.fence) is not None and fence.quoted:
            line = _unquoted(line)
        if self.tag and line.rstrip().lower().endswith(f"</{self.tag}>"):
            before = line.rstrip()[: -len(self.tag) - 3]
            if before.strip():
                self._read_inside(before)
            self._end_fence()
            self._end_tag()
        else:
            self._read_inside(line)

    def _read_inside(self, line: str) -> None:
        fence = self.fence
        if fence is None:
            self._read_outside(line)
        elif (last := fence.closed_by(line)) is not None:
            if last.strip():
                fence.add(last)
            self._end_fence()
        elif (again := _opening(line)) and again[1].tag and _goes_on(fence, again[1]):  # the block was not closed
            self._end_fence()
            self.fence = again[1]
        else:
            fence.add(line)

    def _read_outside(self, line: str) -> None:
        tag = "" if self.tag else _opened_tag(line)
        if tag:
            self.tag, self.inside = tag, len(self.items)
            rest = line.lstrip()[len(tag) + 2 :]
            if rest.strip():
                self.read(rest)
            return
        opened = _opening(line)
        if opened is None:
            self.items.append(line)
            return
        before, fence, inline = opened
        if before.strip():
            self.items.append(before)
        if inline:
            fence.add(inline)
            self.items.append(fence.block())
        else:
            self.fence = fence

    def _end_fence(self) -> None:
        if self.fence is not None:
            self.items.append(self.fence.block())
            self.fence = None

    def _end_tag(self) -> None:
        inside = [item for item in self.items[self.inside :] if isinstance(item, str)]
        first = next((place for place, line in enumerate(inside) if line.strip()), None)
        whole = len(inside) == len(self.items) - self.inside
        if whole and first is not None:
            start = first + 1 if word_of(inside[first]) else first
            body = "".join(f"{line}\n" for line in inside[start:])
            if looks_like_code(body):
                self.items[self.inside :] = [*inside[:start], Block("", body)]
        self.tag = ""

    def finish(self) -> list[str | Block]:
        self._end_fence()
        if self.tag:
            self._end_tag()
        return self.items


def _opening(line: str) -> tuple[str, _Fence, str] | None:
    """Text before a fence, the block it opens, and the block's only line where it is closed on the same one."""
    start = line.find("```")
    if start < 0 and not line.lstrip(_LIST).startswith("~~~"):
        return None
    start = line.index("~~~") if start < 0 else start
    mark, before, rest = line[start], line[:start], line[start:].lstrip(line[start])
    length = len(line) - start - len(rest)
    listed = not before.strip(_LIST)
    if start > _LEAD or not (listed or _leads(before)):
        return None
    fence = _Fence(mark, length, len(before) if listed else 0, listed and ">" in before, _tag(rest))
    if fence.quoted:
        fence.indent = 0
    if mark == "`" and "`" in rest:
        inner = rest.rstrip().rstrip("`").strip()
        if not rest.rstrip().endswith("`" * length) or "`" in inner or not inner:
            return None
        word, _, code = inner.partition(" ")
        tagged = bool(code) and word.isalnum() and looks_like_code(code) and not looks_like_code(word)
        return before, _Fence(mark, length, 0, False, _tag(word) if tagged else ""), code if tagged else inner
    if not listed and len(rest.split(maxsplit=1)) > 1:
        return None
    return "" if listed else before, fence, ""


def _leads(before: str) -> bool:
    """Whether the text before a fence on the same line announces a block."""
    stripped = before.rstrip(" \t*_")
    return stripped.endswith((":", ">")) or word_of(stripped) is not None


def _goes_on(fence: _Fence, other: _Fence) -> bool:
    return other.mark == fence.mark and other.length >= fence.length and other.indent < fence.indent + 4


def _tag(info: str) -> str:
    """The language tag after a fence: ``python``, ``{.python}``, ``python:main.py``."""
    word = info.strip()[:_LEAD].lstrip("{.").partition(" ")[0]
    for end in ":{},;":
        word = word.partition(end)[0]
    return word.lower()


def _opened_tag(line: str) -> str:
    head = line.lstrip()[:20].lower()
    if not head.startswith("<"):
        return ""
    return next((tag for tag in _TAGS if head.startswith(f"<{tag}>")), "")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _unquoted(line: str) -> str:
    inner = line.lstrip(" \t")
    return inner.removeprefix(">").removeprefix(" ") if inner.startswith(">") else line


def dedented(code: str) -> str:
    """A program without the indentation that all of its lines share; blank lines do not count."""
    lines = code.split("\n")
    margins = [line[: _indent(line)] for line in lines if line.strip()]
    low, high = min(margins, default=""), max(margins, default="")  # a common prefix of these two is common to all
    margin = next((i for i, c in enumerate(low) if c != high[i : i + 1]), len(low))
    return "\n".join(line[margin:] for line in lines) if margin else code


def looks_like_code(text: str) -> bool:
    """Whether a text has marks of common programming languages that prose and input lack."""
    return any(mark in text for mark in _CODE)
