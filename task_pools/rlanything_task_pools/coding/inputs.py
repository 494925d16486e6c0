"""Input formats of problems: lines of named values and their limits, which are checked and shown from one source.

    form = Input(
        Line("n k"),
        Row("a_i", "n"),
        "1 <= k <= n <= 200",
        "-9 <= a_i <= 9",
        Whole("the a_i differ", lambda v: len(set(v["a_i"])) == len(v["a_i"])),
    )
    form.read("3 1\\n4 5 6\\n")  # {"n": 3, "k": 1, "a_i": [4, 5, 6]}
    form.limits                  # ("1 <= k <= n <= 200", "-9 <= a_i <= 9", "the a_i differ")

A limit that is a text is a chain of comparisons, in which ``^`` is a power and ``1 <= R, C <= 9`` stands for both. It
may name the values of single lines, and those of one of the `Lines` or `Row`, for each of whose records it then holds.
"""

import ast
import itertools
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rlanything_task_pools.task import TaskFormatError

__all__ = ["Input", "Limit", "Line", "Lines", "Row", "Whole", "integer", "letters", "one_of"]

Reader = Callable[[str], Any]
"""Makes a value of a text, or raises a ValueError."""

MAX_DIGITS = 40
_INTEGER = re.compile(rf"0|-?[1-9][0-9]{{0,{MAX_DIGITS - 1}}}")
_SHOWN = 40
"""Maximum characters of a value in an error message."""


def integer(text: str) -> int:
    """An integer in its one decimal notation: no sign but a minus, no leading zeros.

    Raises:
        ValueError: It is something else, or has more than `MAX_DIGITS` digits.
    """
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"{text!r:.{_SHOWN}} is not an integer of at most {MAX_DIGITS} digits")
    return int(text)


def letters(alphabet: str) -> Reader:
    """The reader of a text of one or more letters of an alphabet."""
    known = frozenset(alphabet)

    def read(text: str) -> str:
        if not text or not known.issuperset(text):
            raise ValueError(f"{text!r:.{_SHOWN}} is not made of {alphabet!r:.{_SHOWN}}")
        return text

    return read


def one_of(*words: str) -> Reader:
    """The reader of one of some words."""

    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"{text!r:.{_SHOWN}} is none of {', '.join(words)}")
        return text

    return read


class Limit:
    """A limit of the values of a record.

    Args:
        text: Its text in the statement.
        test: A function whose parameters are called like the values that it takes.
        chain: A chain of comparisons instead of a function.
    """

    def __init__(self, text: str, test: Callable[..., bool] | None = None, *, chain: str = "") -> None:
        self.text = text
        self.names: tuple[str, ...]
        self.test: Callable[..., bool]
        if test is None:
            self.names, self.test = _chain(chain or text)
        else:
            code = test.__code__
            self.names, self.test = code.co_varnames[: code.co_argcount], test


class Whole:
    """A limit of all values together.

    Args:
        text: Its text in the statement.
        test: A function of the values by name, those of several records as lists in their order.
    """

    def __init__(self, text: str, test: Callable[[dict[str, Any]], bool]) -> None:
        self.text, self.test = text, test


class Lines:
    """A line for each of a number of records.

    Args:
        count: Their number, an expression of names read before.
        form: The names of the values of a line, with blanks between them; or commands, each with the names of its
            values: the line then begins with the command, which is the value ``op``. The value of a form of one name
            is the whole line.
        **readers: The readers of values that are no integers, by name.
    """

    def __init__(self, count: str | int, form: str | Mapping[str, str], **readers: Reader) -> None:
        self.count = _tree(str(count))
        forms = {"": form} if isinstance(form, str) else {op: f"op {names}" for op, names in form.items()}
        self.forms = {op: names.split() for op, names in forms.items()}
        self.names = frozenset(name for names in self.forms.values() for name in names)
        self.readers: dict[str, Reader] = {"op": str, **readers}

    def read(self, lines: Sequence[str], at: int, known: Mapping[str, Any]) -> tuple[int, list["_Group"]]:
        """Number of lines that the part takes from a place on, and its records, grouped by command.

        Raises:
            TaskFormatError: A line is missing or does not have the form.
        """
        count = _value(self.count, known)
        if count > len(lines) - at:
            raise TaskFormatError(f"expected {count} lines after line {at}, got {len(lines) - at}")
        groups = {op: _Group(names, self.readers) for op, names in self.forms.items()}
        for number, line in enumerate(lines[at : at + count], at + 1):
            words = line.split(" ")
            op = "" if "" in groups else words[0]
            if op not in groups:
                raise TaskFormatError(f"line {number}: {op!r:.{_SHOWN}} is none of the commands {', '.join(groups)}")
            groups[op].add(number, words if op or len(groups[op].names) > 1 else [line])
        return count, list(groups.values())


class Line(Lines):
    """A single line, whose values the limits of all parts may name."""

    def __init__(self, form: str, **readers: Reader) -> None:
        super().__init__(1, form, **readers)


class Row(Lines):
    """A line of integers with blanks between them, a record for each.

    Args:
        name: Name of one of them, such as ``a_i``.
        count: Their number, an expression of names read before.
    """

    def __init__(self, name: str, count: str | int) -> None:
        super().__init__(count, name)

    def read(self, lines: Sequence[str], at: int, known: Mapping[str, Any]) -> tuple[int, list["_Group"]]:
        """See `Lines.read`."""
        count = _value(self.count, known)
        words = lines[at].split(" ") if at < len(lines) else []
        if len(words) != count:
            raise TaskFormatError(f"line {at + 1}: expected {count} values, got {len(words)}")
        group = _Group(self.forms[""], self.readers)
        for word in words:
            group.add(at + 1, [word])
        return 1, [group]


class _Group:
    """Records of one form."""

    def __init__(self, names: list[str], readers: Mapping[str, Reader]) -> None:
        self.names, self.readers = names, readers
        self.numbers: list[int] = []
        self.words: list[list[str]] = []
        self.columns: dict[str, list[Any]] = {}

    def add(self, number: int, words: list[str]) -> None:
        """One more record."""
        if len(words) != len(self.names):
            wanted = f"{len(self.names)} values ({' '.join(self.names)})"
            raise TaskFormatError(f"line {number}: expected {wanted}, got {len(words)}")
        self.numbers.append(number)
        self.words.append(words)

    def parse(self) -> None:
        """Make the values of the words."""
        for name, column in zip(self.names, zip(*self.words, strict=True), strict=False):
            reader = self.readers.get(name, integer)
            values = self.columns[name] = []
            try:
                values.extend(map(reader, column))
            except ValueError as error:
                raise TaskFormatError(f"line {self.numbers[len(values)]}: {name}: {error}") from None

    def check(self, limit: Limit, known: Mapping[str, Any]) -> None:
        """Refuse records that break a limit, if they have all its names."""
        if any(name not in self.columns and name not in known for name in limit.names):
            return
        size = len(self.numbers)
        named = (self.columns[name] if name in self.columns else [known[name]] * size for name in limit.names)
        rows = zip(*named, strict=True)
        for number, row in zip(self.numbers, rows, strict=True):
            if not limit.test(*row):
                values = ", ".join(f"{name} = {x!r:.{_SHOWN}}" for name, x in zip(limit.names, row, strict=True))
                raise TaskFormatError(f"line {number}: {values} breaks {limit.text}")


class Input:
    """The format of a problem's input, with its limits.

    Args:
        *parts: `Line`, `Lines` and `Row` in the order of the input; and limits, as texts, `Limit` or `Whole`, in the
            order in which a statement lists them.

    Raises:
        ValueError: A limit has a name that no part has, or only together with another part of several records.
    """

    def __init__(self, *parts: Lines | Limit | Whole | str) -> None:
        self.parts = [part for part in parts if isinstance(part, Lines)]
        limits = [part for part in parts if not isinstance(part, Lines)]
        self.limits = tuple(limit if isinstance(limit, str) else limit.text for limit in limits)
        """Lines of the section constraints in a statement."""
        self._whole = [limit for limit in limits if isinstance(limit, Whole)]
        self._checks: list[list[Limit]] = [[] for _ in self.parts]
        for limit in limits:
            if not isinstance(limit, Whole):
                for each in _each(limit) if isinstance(limit, str) else [limit]:
                    for place in self._places(each):
                        self._checks[place].append(each)

    def _places(self, limit: Limit) -> list[int]:
        """The parts whose records have to obey a limit: those of several records, or the last line it names."""
        single = {name: i for i, part in enumerate(self.parts) if isinstance(part, Line) for name in part.names}
        rest = {name for name in limit.names if name not in single}
        if not rest:
            return [max(single[name] for name in limit.names)]
        places = [i for i, part in enumerate(self.parts) if not isinstance(part, Line) and rest <= part.names]
        if not places:
            raise ValueError(f"limit {limit.text!r}: no part has {', '.join(sorted(rest))}")
        return places

    def read(self, text: str) -> dict[str, Any]:
        """The values of an input by name, those of several records as lists; in linear time, but for the limits.

        Raises:
            TaskFormatError: The text does not have the format, to the last blank, or breaks a limit.
        """
        if not text.endswith("\n"):
            raise TaskFormatError("the last line has no end")
        lines, at = text[:-1].split("\n"), 0
        single: dict[str, Any] = {}
        lists: dict[str, list[Any]] = {}
        for part, limits in zip(self.parts, self._checks, strict=True):
            taken, groups = part.read(lines, at, single)
            at += taken
            for group in groups:
                group.parse()
                for limit in limits if not isinstance(part, Line) else ():
                    group.check(limit, single)
            for name in part.names:
                values = _column(name, groups)
                if isinstance(part, Line):
                    single[name] = values[0]
                else:
                    lists.setdefault(name, []).extend(values)
            if isinstance(part, Line):
                for limit in limits:
                    groups[0].check(limit, single)
        if at < len(lines):
            raise TaskFormatError(f"line {at + 1}: the input should have ended before this line")
        known = lists | single
        for whole in self._whole:
            if not whole.test(known):
                raise TaskFormatError(f"broken: {whole.text}")
        return known


def _column(name: str, groups: Sequence[_Group]) -> list[Any]:
    """The values of a name in the order of the lines."""
    having = [group for group in groups if name in group.columns]
    if len(having) == 1:
        return having[0].columns[name]
    pairs = [pair for group in having for pair in zip(group.numbers, group.columns[name], strict=True)]
    return [value for _, value in sorted(pairs, key=operator.itemgetter(0))]


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {"<=": operator.le, "<": operator.lt, "=": operator.eq}
_OPERATIONS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
}


def _each(text: str) -> list[Limit]:
    """The limits that a chain of comparisons stands for: one for each of several terms between commas."""
    words = re.split(r"(<=|<|=)", text)
    terms = [[term.strip() for term in word.split(",")] for word in words]
    return [Limit(text, chain=" ".join(chain)) for chain in itertools.product(*terms)]


def _chain(text: str) -> tuple[tuple[str, ...], Callable[..., bool]]:
    """The names in a chain of comparisons, and the function of their values."""
    words = re.split(r"(<=|<|=)", text)
    trees, compare = [_tree(word) for word in words[::2]], [_COMPARISONS[mark] for mark in words[1::2]]
    if not compare:
        raise ValueError(f"limit {text!r} compares nothing: give a test, too")
    names = tuple(dict.fromkeys(n.id for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Name)))

    def test(*values: Any) -> bool:
        known = dict(zip(names, values, strict=True))
        sides = [_value(tree, known) for tree in trees]
        return all(holds(left, right) for holds, left, right in zip(compare, sides, sides[1:], strict=False))

    if len(names) == 1 and len(trees) == 3 and isinstance(trees[1], ast.Name):  # the most common ones, and the fastest
        low, high, first, second = _value(trees[0], {}), _value(trees[2], {}), *compare
        return names, lambda value: first(low, value) and second(value, high)
    return names, test


def _tree(text: str) -> ast.expr:
    return ast.parse(text.strip().replace("^", "**"), mode="eval").body


def _value(tree: ast.expr, known: Mapping[str, Any]) -> Any:
    """The value of an expression of integers and names."""
    match tree:
        case ast.Constant(value):
            return value
        case ast.Name(name):
            return known[name]
        case ast.UnaryOp(ast.USub(), operand):
            return -_value(operand, known)
        case ast.BinOp(left, op, right) if type(op) in _OPERATIONS:
            return _OPERATIONS[type(op)](_value(left, known), _value(right, known))
    raise ValueError(f"{ast.unparse(tree)!r} is not an expression of integers and names")
