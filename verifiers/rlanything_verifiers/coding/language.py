"""Languages of programs: their names, and the tags of fenced blocks that denote them."""

from dataclasses import dataclass
from typing import Literal, get_args

from .errors import JudgeError

Language = Literal["python", "cpp"]
"""Names of the languages in which a program can be judged."""

LANGUAGES: tuple[Language, ...] = get_args(Language)


@dataclass(frozen=True, slots=True)
class Tag:
    """Meaning of a fence's tag.

    Attributes:
        title: Usual name of the language, for messages: ``"C++"``.
        language: Its name here; None for a known language that cannot be judged.
    """

    title: str
    language: Language | None = None


TITLES: dict[Language, str] = {"python": "Python", "cpp": "C++"}
"""Usual names of the languages."""

_TAKEN: dict[Language, str] = {
    "python": "python python3 py py3 python3.11 python3.12 python3.13 python3.14 cpython pypy pypy3",
    "cpp": "cpp c++ cc cxx cplusplus g++ gnu++ c++11 c++14 c++17 c++20 c++23 cpp11 cpp14 cpp17 cpp20 cpp23 hpp",
}
_KNOWN = {
    "Bash": "bash sh shell zsh",
    "C": "c c11 c17 c99 gcc",
    "C#": "c# cs csharp",
    "Dart": "dart",
    "Elixir": "elixir ex exs",
    "Fortran": "fortran f90",
    "Go": "go golang",
    "Haskell": "haskell hs",
    "Java": "java java8 java11 java17 java21",
    "JavaScript": "javascript js node nodejs",
    "Julia": "julia jl",
    "Kotlin": "kotlin kt",
    "Lua": "lua",
    "OCaml": "ocaml ml",
    "Pascal": "pascal delphi",
    "Perl": "perl pl",
    "PHP": "php",
    "Python 2": "python2 py2 python2.7 pypy2",
    "R": "r",
    "Racket": "racket rkt",
    "Ruby": "ruby rb",
    "Rust": "rust rs",
    "Scala": "scala",
    "Scheme": "scheme scm",
    "SQL": "sql mysql sqlite",
    "Swift": "swift",
    "TypeScript": "typescript ts",
}

TAGS: dict[str, Tag] = {
    **{tag: Tag(TITLES[language], language) for language, tags in _TAKEN.items() for tag in tags.split()},
    **{tag: Tag(title) for title, tags in _KNOWN.items() for tag in tags.split()},
}
"""Every tag that denotes a programming language, in lower case."""


def find_tag(text: str) -> Tag | None:
    """The meaning of a fence's tag, in any case; None where it names no programming language."""
    return TAGS.get(text.strip().lower())


def check_language(name: object) -> Language:
    """A validated name of a language.

    Raises:
        JudgeError: The language is unknown; the message lists the known ones.
    """
    for language in LANGUAGES:
        if name == language:
            return language
    tag = find_tag(name) if isinstance(name, str) else None
    meant = f"; write {tag.language!r}" if tag is not None and tag.language is not None else ""
    raise JudgeError(f"language: expected one of {', '.join(map(repr, LANGUAGES))}, got {name!r:.60}{meant}")
