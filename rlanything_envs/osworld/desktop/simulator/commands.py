"""The shell's commands for files and folders."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping

from rlanything_envs.osworld.desktop.simulator.files import DiskError, File, Folder
from rlanything_envs.osworld.desktop.simulator.process import Process, Usage
from rlanything_envs.osworld.desktop.simulator.shell_words import fits

__all__ = ["COMMANDS"]

_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "r": "\r", "a": "\a", "b": "\b"}
_MOST_PRINTED = 1 << 20


def _ls(process: Process) -> None:
    options, words = process.options("laA1hRrtdFS")
    several, hidden = len(words) > 1, bool({"a", "A"} & set(options))
    blocks: list[str] = []
    files: list[str] = []
    for word in words or ["."]:
        node = process.disk.find(process.path(word))
        if node is None:
            process.fail(f"ls: cannot access '{word}': No such file or directory", 2)
        elif isinstance(node, File) or "d" in options:
            files.append(_row(word, node, "l" in options))
        else:
            paths = [process.path(word)]
            if "R" in options:
                paths = [path for path in process.disk.walk(paths[0]) if process.disk.is_folder(path)]
            for path in paths:
                shown = word + path[len(paths[0]) :]
                head = f"{shown}:\n" if several or "R" in options else ""
                blocks.append(head + _listing(process, path, hidden, "a" in options, "l" in options))
    process.out = "\n".join(["".join(f"{line}\n" for line in files)] * bool(files) + blocks)


def _listing(process: Process, path: str, hidden: bool, dots: bool, long: bool) -> str:
    names = [name for name in process.disk.names(path) if hidden or not name.startswith(".")]
    rows = [".", ".."] * dots + names
    nodes = [(name, process.disk.find(posixpath.normpath(f"{path}/{name}"))) for name in rows]
    lines = [_row(name, node, long) for name, node in nodes if node is not None]
    if process.columns and not long and lines:
        return _in_columns(lines, process.columns)
    return "total 0\n" * long + "".join(f"{line}\n" for line in lines)


def _in_columns(names: list[str], width: int) -> str:
    """Names below each other in as many columns as a terminal has room for."""
    for rows in range(1, len(names) + 1):
        columns = [names[i : i + rows] for i in range(0, len(names), rows)]
        widths = [max(map(len, column)) for column in columns]
        if sum(widths) + 2 * (len(widths) - 1) <= width or rows == len(names):
            break
    lines = []
    for row in range(rows):
        cells = [column[row].ljust(w) for column, w in zip(columns, widths, strict=True) if row < len(column)]
        lines.append("  ".join(cells).rstrip())
    return "".join(f"{line}\n" for line in lines)


def _row(name: str, node: File | Folder, long: bool) -> str:
    if not long:
        return name
    kind = "d" if isinstance(node, Folder) else "-"
    bits = "".join(letter if node.mode >> (8 - i) & 1 else "-" for i, letter in enumerate("rwxrwxrwx"))
    size = len(node.data) if isinstance(node, File) else 40
    return f"{kind}{bits} 1 user user {size:>5} Jan  1 00:00 {name}"


def _mkdir(process: Process) -> None:
    options, words = process.options("pv", "m")
    for word in _some(words):
        try:
            process.disk.make_folder(process.path(word), parents="p" in options)
        except DiskError as error:
            process.fail(f"mkdir: cannot create directory ‘{word}’: {error.reason}")


def _rmdir(process: Process) -> None:
    _, words = process.options("")
    for word in _some(words):
        try:
            if process.disk.names(process.path(word)):
                raise DiskError("Directory not empty", word)
            process.disk.remove(process.path(word))
        except DiskError as error:
            process.fail(f"rmdir: failed to remove '{word}': {error.reason}")


def _rm(process: Process) -> None:
    options, words = process.options("rRfvid")
    for word in words if "f" in options else _some(words):
        node = process.disk.find(process.path(word))
        if node is None:
            if "f" not in options:
                process.fail(f"rm: cannot remove '{word}': No such file or directory")
        elif isinstance(node, Folder) and not {"r", "R"} & set(options):
            process.fail(f"rm: cannot remove '{word}': Is a directory")
        elif _holds(process.path(word), process.folder):
            process.fail(f"rm: refusing to remove '{word}': the working directory is in it")
        else:
            process.disk.remove(process.path(word))


def _holds(path: str, folder: str) -> bool:
    return (folder + "/").startswith(path.rstrip("/") + "/")


def _transfer(name: str, process: Process, act: Callable[[str, str], None], recursive: bool, words: list[str]) -> None:
    """``mv`` and ``cp``: to a new name, or into a folder."""
    if len(words) < 2:
        what = f" destination file operand after '{words[0]}'" if words else " file operand"
        raise Usage(f"missing{what}", hint=True)
    *sources, target = words
    into = process.disk.is_folder(process.path(target))
    if len(sources) > 1 and not into:
        raise Usage(f"target '{target}': No such file or directory")
    for source in sources:
        start = process.path(source)
        end = f"{process.path(target).rstrip('/')}/{posixpath.basename(start)}" if into else process.path(target)
        node = process.disk.find(start)
        if node is None:
            process.fail(f"{name}: cannot stat '{source}': No such file or directory")
        elif isinstance(node, Folder) and not recursive:
            process.fail(f"{name}: -r not specified; omitting directory '{source}'")
        elif isinstance(node, File) and target.endswith("/") and not into:
            process.fail(f"{name}: cannot create regular file '{target}': Not a directory")
        elif start == end:
            process.fail(f"{name}: '{source}' and '{end}' are the same file")
        else:
            try:
                act(start, end)
            except DiskError as error:
                process.fail(f"{name}: cannot {name} '{source}' to '{target}': {error.reason}")


def _mv(process: Process) -> None:
    _, words = process.options("fnvi")
    _transfer("mv", process, process.disk.move, True, words)


def _cp(process: Process) -> None:
    options, words = process.options("rRafvip")
    _transfer("cp", process, process.disk.copy, bool({"r", "R", "a"} & set(options)), words)


def _touch(process: Process) -> None:
    _, words = process.options("cam")
    for word in _some(words, "file operand"):
        if process.disk.find(process.path(word)) is None:
            try:
                process.disk.write(process.path(word), b"")
            except DiskError as error:
                process.fail(f"touch: cannot touch '{word}': {error.reason}")


def _chmod(process: Process) -> None:
    recursive = process.words[:1] == ["-R"]
    words = process.words[recursive:]
    if len(words) < 2:
        raise Usage(f"missing operand after ‘{words[0]}’" if words else "missing operand", hint=True)
    for word in words[1:]:
        try:
            paths = list(process.disk.walk(process.path(word)))
        except DiskError as error:
            process.fail(f"chmod: cannot access '{word}': {error.reason}")
            continue
        for path in paths if recursive else paths[:1]:
            node = process.disk.find(path)
            if node is not None:
                node.mode = _mode(words[0], node.mode)


def _mode(text: str, old: int) -> int:
    """Permission bits after ``755`` or ``u+x,go-w``."""
    if text.isascii() and text.isdigit() and len(text) <= 4 and set(text) <= set("01234567"):
        return int(text, 8) & 0o777
    mode = old
    for part in text.split(","):
        place = next((i for i, letter in enumerate(part) if letter in "+-="), -1)
        who, bits = part[:place], part[place + 1 :]
        if place < 0 or set(who) - set("ugoa") or set(bits) - set("rwxX"):
            raise Usage(f"invalid mode: ‘{text}’", hint=True)
        value = sum({"r": 4, "w": 2, "x": 1, "X": 1}[letter] for letter in set(bits.replace("X", "x")))
        for group in who.replace("a", "ugo") or "ugo":
            shift = {"u": 6, "g": 3, "o": 0}[group]
            if part[place] == "=":
                mode &= ~(7 << shift)
            mode = mode & ~(value << shift) if part[place] == "-" else mode | value << shift
    return mode


def _echo(process: Process) -> None:
    words, newline, escapes = process.words, True, False
    while words and len(words[0]) > 1 and words[0][0] == "-" and set(words[0][1:]) <= set("neE"):
        newline &= "n" not in words[0]
        escapes |= "e" in words[0]
        words = words[1:]
    text = " ".join(words)
    process.out = (_unescaped(text) if escapes else text) + "\n" * newline


def _unescaped(text: str) -> str:
    parts, i = [], 0
    while i < len(text):
        if text[i] == "\\" and text[i + 1 : i + 2] in _ESCAPES:
            parts.append(_ESCAPES[text[i + 1]])
            i += 2
        else:
            parts.append(text[i])
            i += 1
    return "".join(parts)


def _printf(process: Process) -> None:
    """``%s``, ``%d`` and ``%%``; the format is used again until the words are used up."""
    if not process.words:
        raise Usage("usage: printf [-v var] format [arguments]", 2)
    shape, words = _unescaped(process.words[0]), process.words[1:]
    parts: list[str] = []
    while True:
        used, pieces, i = 0, shape.split("%"), 1
        parts.append(pieces[0])
        while i < len(pieces):
            piece = pieces[i]
            if not piece and i + 1 < len(pieces):  # two signs stand for one
                parts.append("%" + pieces[i + 1])
                i += 2
                continue
            if piece[:1] not in ("s", "d"):
                raise Usage(f"`%{piece[:1]}': the simulated printf has %s, %d and %%")
            parts.append((words[used] if used < len(words) else "0" if piece[0] == "d" else "") + piece[1:])
            used, i = used + 1, i + 1
        words = words[used:]
        if not words or not used or sum(map(len, parts)) > _MOST_PRINTED:
            process.out = "".join(parts)
            return


def _find(process: Process) -> None:
    """``find [PATH...] [-name GLOB] [-iname GLOB] [-type f|d]``."""
    words = process.words
    count = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    tests = words[count:]
    if len(tests) % 2 or set(tests[::2]) - {"-name", "-iname", "-type"}:
        raise Usage("the simulated find has the tests -name, -iname and -type")
    for word in words[:count] or ["."]:
        base = process.path(word)
        if process.disk.find(base) is None:
            process.fail(f"find: ‘{word}’: No such file or directory")
            continue
        for path in process.disk.walk(base):
            if all(_passes(process, path, *tests[i : i + 2]) for i in range(0, len(tests), 2)):
                process.out += word + path[len(base) :] + "\n"


def _passes(process: Process, path: str, test: str, value: str) -> bool:
    name = posixpath.basename(path)
    if test == "-type":
        return process.disk.is_folder(path) == (value == "d")
    return fits(name.lower(), value.lower()) if test == "-iname" else fits(name, value)


def _test(process: Process) -> None:
    """``test`` and ``[``: files and texts."""
    words = process.words[:-1] if process.words[-1:] == ["]"] else process.words
    negated = words[:1] == ["!"]
    words = words[negated:]
    match words:
        case ["-e", path]:
            good = process.disk.find(process.path(path)) is not None
        case ["-f", path]:
            good = process.disk.is_file(process.path(path))
        case ["-d", path]:
            good = process.disk.is_folder(process.path(path))
        case ["-s", path]:
            node = process.disk.find(process.path(path))
            good = isinstance(node, Folder) or (node is not None and bool(node.data))
        case ["-x", path]:
            node = process.disk.find(process.path(path))
            good = node is not None and bool(node.mode & 0o100)
        case ["-z", text]:
            good = not text
        case ["-n", text] | [text]:
            good = bool(text)
        case [left, "=" | "==", right]:
            good = left == right
        case [left, "!=", right]:
            good = left != right
        case []:
            good = False
        case _:
            raise Usage("the simulated test has -e -f -d -s -x -z -n = and !=", 2)
    process.status = int(good == negated)


def _pwd(process: Process) -> None:
    process.out = f"{process.folder}\n"


def _names(process: Process) -> None:
    process.out = "".join(f"{posixpath.basename(word.rstrip('/'))}\n" for word in _some(process.words)[:1])


def _folders(process: Process) -> None:
    process.out = "".join(f"{posixpath.dirname(word.rstrip('/')) or '.'}\n" for word in _some(process.words))


def _whoami(process: Process) -> None:
    process.out = "user\n"


def _nothing(process: Process) -> None:
    """``true``, ``sleep``, ``clear`` and the like."""


def _false(process: Process) -> None:
    process.status = 1


def _some(words: list[str], what: str = "operand") -> list[str]:
    if not words:
        raise Usage(f"missing {what}", hint=True)
    return words


COMMANDS: Mapping[str, Callable[[Process], None]] = {
    "[": _test,
    "basename": _names,
    "chmod": _chmod,
    "clear": _nothing,
    "cp": _cp,
    "dirname": _folders,
    "echo": _echo,
    "false": _false,
    "find": _find,
    "ls": _ls,
    "mkdir": _mkdir,
    "mv": _mv,
    "printf": _printf,
    "pwd": _pwd,
    "rm": _rm,
    "rmdir": _rmdir,
    "sleep": _nothing,
    "sync": _nothing,
    "test": _test,
    "touch": _touch,
    "true": _nothing,
    "whoami": _whoami,
}
"""Each command under its name."""
