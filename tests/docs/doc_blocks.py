"""The fenced blocks of a Markdown page, in order, with what the page says about running them.

A ``text`` block that follows a block at once is the output the page promises for it. An HTML comment just before a
block instructs whoever runs it, and nobody else sees it (a block titled as a file of the checkout shows that file):

* ``<!-- not run: REASON -->``: it cannot run here;
* ``<!-- needs: PROGRAM -->``: it runs where there is such a program;
* ``<!-- run with: ARGUMENTS -->``: each ``rlanything`` command gets these arguments too, to be quick.

A line ``**Needs**: the core.`` under the title says what has to be installed: the core, extras, other packages.

``<!-- environment: NAME -->`` anywhere marks the whole page as one for a virtual environment of its own, see
``tests/isolated.py``.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from rlanything_envs.osworld.desktop.root import installed

__all__ = ["Block", "Page", "PageError", "read_page"]

_DIRECTIVE = re.compile(r"\A<!--\s*(not run|needs|run with|environment):\s*(\S.*?)\s*-->\s*\Z", re.DOTALL)
_NEEDS = re.compile(r"(?m)^\*\*Needs\*\*: (.+)\.$")
_TITLE = re.compile(r'\btitle="([^"]+)"')


class PageError(ValueError):
    """A page that cannot be read; the message names page, line and remedy."""


def _is_there(program: str) -> bool:
    """Whether this machine has a program, or its desktops have."""
    root = installed()
    return shutil.which(program) is not None or (root is not None and (root.path / "usr/bin" / program).exists())


@dataclass(frozen=True, slots=True)
class Block:
    """One block of code.

    Attributes:
        page: The file.
        line: Of its first line of code, from 1.
        language: First word after the fence; ``bash`` where there is none.
        title: The file the reader is to save it as.
        text: The code.
        output: What it prints, where the page shows it.
        not_run: Why it cannot run, or None.
        needs: The program without which it does not run, or None.
        run_with: Further arguments of its ``rlanything`` commands.
    """

    page: Path
    line: int
    language: str
    title: str | None
    text: str
    output: str | None = None
    not_run: str | None = None
    needs: str | None = None
    run_with: str = ""

    @property
    def runs(self) -> bool:
        """Whether it can run on this machine."""
        return self.not_run is None and (self.needs is None or _is_there(self.needs))

    @property
    def place(self) -> str:
        """Page and line, as editors read it."""
        return f"{self.page.name}:{self.line}"


@dataclass(frozen=True, slots=True)
class Page:
    """A page's blocks, the environment that it wants, if any, and what it says it needs."""

    path: Path
    blocks: tuple[Block, ...]
    environment: str | None = None
    needs: str | None = None


def read_page(path: Path, text: str | None = None) -> Page:
    """Find the blocks of a page.

    Raises:
        PageError: A fence inside a list, or an instruction with no block after it.
    """
    text = path.read_text(encoding="utf-8") if text is None else text
    tokens = MarkdownIt("commonmark").parse(text)
    blocks: list[Block] = []
    said: dict[str, str] = {}
    environment: str | None = None
    after_block = False
    for token in tokens:
        if token.type == "html_block" and (found := _DIRECTIVE.match(token.content)):
            if found[1] == "environment":
                environment = found[2]
            else:
                said[found[1]] = found[2]
            continue
        if token.type != "fence":
            if token.type != "html_block" and said:
                raise PageError(f"{path.name}:{_line(token)}: {list(said)} stands before no block of code")
            after_block = False
            continue
        block = _block(path, token, said)
        if block.language == "text" and after_block:
            blocks[-1] = _with_output(blocks[-1], block.text)
            after_block = False
        else:
            blocks.append(block)
            after_block = block.language != "text"
        said = {}
    if said:
        raise PageError(f"{path.name}: {list(said)} stands before no block of code")
    needs = _NEEDS.search(text)
    return Page(path, tuple(blocks), environment, needs[1] if needs else None)


def _block(path: Path, token: Token, said: dict[str, str]) -> Block:
    line = _line(token) + 1
    language, _, rest = token.info.strip().partition(" ")
    if token.level:
        raise PageError(f"{path.name}:{line}: a block inside a list or a quotation is not run: move it out")
    title = _TITLE.search(rest)
    return Block(
        page=path,
        line=line,
        language=language or "bash",
        title=title[1] if title else None,
        text=token.content,
        not_run=said.get("not run"),
        needs=said.get("needs"),
        run_with=said.get("run with", ""),
    )


def _with_output(block: Block, output: str) -> Block:
    return replace(block, output=output)


def _line(token: Token) -> int:
    return token.map[0] + 1 if token.map else 0
