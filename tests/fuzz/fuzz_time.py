"""Time that grows faster than the input: regular expressions of modules, and inputs that such readers choke on."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

__all__ = ["Use", "attacks", "modules", "pumped", "seconds", "too_long", "uses"]

GUEST = "rlanything_envs.osworld.desktop.guest"
"""Runs within a desktop, on its packages and on its time."""
_WHOLE = ("match", "fullmatch")
_ANYWHERE = ("search", "findall", "finditer", "sub", "subn", "split")
#: A character of each category, in the letters that the parser of expressions uses.
_MEMBERS = {"SPACE": " ", "DIGIT": "7", "WORD": "a"}
_OTHERS = ("!", "\0")
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)


@dataclass(frozen=True)
class Use:
    """A regular expression as a module uses it.

    Attributes:
        place: Module and line.
        pattern: The expression, compiled.
        anywhere: Whether it is searched for at every place of a text, and not at its beginning alone.
    """

    place: str
    pattern: re.Pattern[Any]
    anywhere: bool

    def __call__(self, text: str) -> None:
        """Apply it to a text as the module does."""
        content: Any = text.encode("latin-1") if isinstance(self.pattern.pattern, bytes) else text
        if self.anywhere:
            for _ in self.pattern.finditer(content):
                pass
        else:
            self.pattern.match(content)


def modules(*packages: str) -> Iterator[ModuleType]:
    """The modules of packages, those below them included."""
    for name in packages:
        yield (package := importlib.import_module(name))
        below = [found.name for found in pkgutil.iter_modules(getattr(package, "__path__", ()), f"{name}.")]
        yield from modules(*(name for name in below if name != GUEST))


def uses(module: ModuleType) -> tuple[list[Use], list[str]]:
    """Every regular expression of a module with the way it is used, and the calls whose expression is not known."""
    found: list[Use] = []
    unknown: list[str] = []
    tree = ast.parse(Path(str(module.__file__)).read_text())
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        method, owner = node.func.attr, node.func.value
        place = f"{module.__name__} line {node.lineno}"
        if isinstance(owner, ast.Name) and owner.id == "re" and method in (*_WHOLE, *_ANYWHERE):
            if isinstance(node.args[0], ast.Constant):
                found.append(Use(place, re.compile(node.args[0].value), method in _ANYWHERE))
            else:
                unknown.append(place)
        elif isinstance(owner, ast.Name) and isinstance(pattern := getattr(module, owner.id, None), re.Pattern):
            found.append(Use(f"{place} {owner.id}", pattern, method in _ANYWHERE))
        elif isinstance(owner, ast.Name) and owner.id == "re" and method == "compile":
            names = [name for name, value in vars(module).items() if isinstance(value, re.Pattern)]
            used = {name for name in names if re.search(rf"\b{name}\b(?! = )", Path(str(module.__file__)).read_text())}
            unknown += [f"{module.__name__} {name}" for name in names if name not in used]
            if not any(getattr(parent, "lineno", -1) <= node.lineno for parent in tree.body if _assigns(parent, node)):
                unknown.append(place)
    return found, unknown


def _assigns(statement: ast.stmt, call: ast.Call) -> bool:
    """Whether a statement of a module gives the expression a name, by which its uses are found."""
    return isinstance(statement, ast.Assign | ast.AnnAssign) and any(node is call for node in ast.walk(statement))


def attacks(pattern: re.Pattern[Any], length: int) -> Iterator[str]:
    """Texts made of what a pattern takes: the beginning of a match, one or two of its characters again and again, and
    an end that fits nowhere.
    """
    text = pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern
    parsed = _parser.parse(text, pattern.flags & ~re.UNICODE & ~re.LOCALE)
    atoms, first = list(_atoms(parsed)), list(_atoms(parsed, branches=1))
    characters = list(dict.fromkeys(letter for atom in atoms for letter in atom))[:7]
    beginnings = [
        "",
        *("".join(atom[0] for atom in path[:n]) for path in (atoms, first) for n in range(1, min(len(path), 6))),
    ]
    pumps = characters + [a + b for a in characters for b in characters if a != b][:12]
    pumps += [beginning for beginning in beginnings if len(beginning) > 2]
    for beginning in dict.fromkeys(beginnings):
        for pump in pumps:
            for end in ("", *_OTHERS, *characters[:4]):
                yield beginning + pump * (length // len(pump)) + end


def _atoms(parsed: Any, branches: int | None = None) -> Iterator[str]:
    """For each piece of an expression, some characters that it takes; of alternatives all, or the first so many."""
    for code, argument in parsed:
        if code is _constants.LITERAL:
            yield chr(argument)
        elif code in (_constants.NOT_LITERAL, _constants.ANY):
            yield "x"
        elif code is _constants.IN:
            yield "".join(_members(argument))[:4]
        elif code is _constants.CATEGORY:
            yield _member(argument)
        elif code is _constants.BRANCH:
            for branch in argument[1][:branches]:
                yield from _atoms(branch, branches)
        elif code in _REPEATS:
            least, _, repeated = argument
            yield from list(_atoms(repeated, branches)) * min(max(least, 1), 4)
        elif isinstance(argument, tuple | list | _parser.SubPattern):
            for part in argument if not isinstance(argument, _parser.SubPattern) else [argument]:
                if isinstance(part, _parser.SubPattern):
                    yield from _atoms(part, branches)


def _members(items: list[tuple[Any, Any]]) -> Iterator[str]:
    if items[0][0] is _constants.NEGATE:
        taken = {chr(value) for code, value in items[1:] if code is _constants.LITERAL}
        yield from (letter for letter in "x 7" if letter not in taken)
        return
    for code, value in items:
        if code is _constants.LITERAL:
            yield chr(value)
        elif code is _constants.RANGE:
            yield chr(value[0])
        elif code is _constants.CATEGORY:
            yield _member(value)


def _member(category: Any) -> str:
    name = str(category).removeprefix("CATEGORY_")
    return "!" if name.startswith("NOT_") else _MEMBERS.get(name, "a")


UNITS: tuple[bytes, ...] = (
    *(b" ", b"\n", b"\t\n", b"0", b"-", b"+", b"1 ", b"-0 ", b"00\n", b"1.", b"1e5 ", b"0.1\n", b"a", b"a ", b"a b\n"),
    *(b"yes ", b"YeS\n", b"[", b"[[],", b"{", b'{"a":', b'"', b"'", b"\\", b"(", b"<", b"<!--", b"<a ", b"&#0;", b"\0"),
    *(b"`", b"```\n", b"```python\n", b"~~~\n", b"SUBMIT\n", b"RUN ", b"> ", b"# ", b"import ", b"\nfrom a import b"),
    *(b"Error: ", b"\xff", b"\xc3\xa9", b"\x1b[0m", b"at 0x7f", b"\n\x1d result ", b"\n\x1d result OK ", b"</think>"),
    *(b"1" * 1000 + b" ", b"0" * 999 + b"x ", b"9" * 4000 + b",", b'"a", ', b"1e308, ", b"if there are ", b"ACTION: "),
)
"""What an input is made of, again and again."""


def pumped(size: int) -> Iterator[bytes]:
    """Inputs of a size: one unit again and again, with something else before or after it."""
    for unit in UNITS:
        body = unit * (size // len(unit))
        yield body
        yield body + b"x"
        yield b"1" + body + b"`"


def seconds(size: int) -> float:
    """Processor time that a reading of so many bytes may take on the machine of `_REFERENCE`: generous, and linear."""
    return 0.05 + size * 1e-5


_REFERENCE = 0.007
"""Processor seconds of `_reference` on the machine on which `seconds` was chosen."""


def _reference() -> None:
    """Work like a reader's: calls and short strings."""
    for line in ("word " * 40_000).split(" "):
        line.strip(" \t").startswith(("a", "b"))


def too_long(once: Callable[[], object], size: int) -> str | None:
    """How much longer than `seconds` a reading of so many bytes takes, in words.

    A busy machine makes processor time longer too, so what is too long is measured again, and on a slower machine it
    may take as much longer as the reference does.
    """
    allowed = seconds(size)
    taken = min(_measured(once, allowed))
    if taken <= allowed:
        return None
    allowed *= max(1, min(_measured(_reference, 0)) / _REFERENCE)
    return f"{taken:.2f} s for {size}, at most {allowed:.2f} s" if taken > allowed else None


def _measured(once: Callable[[], object], enough: float) -> Iterator[float]:
    for _ in range(3):
        begin = time.process_time()
        once()
        taken = time.process_time() - begin
        yield taken
        if taken <= enough:
            return
