"""Whether a reworded instruction keeps its meaning: all exact names and most words must remain."""

import re

__all__ = ["likeness", "lost", "names_in"]

SHARE = 0.5
"""Share of the longer words of a plain instruction that another wording keeps."""
LONG = 4
"""Letters of a longer word."""

_QUOTED = re.compile(r"""["“]([^"“”]{1,200})["”]|(?<![A-Za-z0-9])'([^'\n]{1,200})'(?![A-Za-z0-9])""")
_EXACT = re.compile(r"#?[A-Za-z0-9_%~$/-]*[0-9./_#%~$][A-Za-z0-9./_%~$-]*")


def names_in(instruction: str) -> list[str]:
    """Exact names in an instruction: quoted texts, numbers, cells, paths, colours; each once."""
    quoted = [(one or two).strip() for one, two in _QUOTED.findall(instruction)]
    exact = [found.rstrip(".,-/") for found in _EXACT.findall(_QUOTED.sub(" ", instruction))]
    return [name for name in dict.fromkeys([*quoted, *exact]) if re.search(r"[A-Za-z0-9]", name)]


def lost(plain: str, words: str) -> str:
    """The parts of a plain instruction that another wording leaves out, in words; empty if there are none."""
    for name in names_in(plain):
        if not re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", words):
            return f"{name!r:.120} is not named"
    wanted, given = _long(plain), _long(words)
    if wanted and len(wanted & given) < SHARE * len(wanted):
        missing = ", ".join(sorted(wanted - given)[:6])
        return f"too few words of the plain instruction are kept; {missing} are among those left out"
    return ""


def likeness(one: str, other: str) -> float:
    """Share of common words of two texts, from 0 to 1."""
    first, second = (set(re.findall(r"\w+", text.lower())) for text in (one, other))
    return len(first & second) / max(1, len(first | second))


def _long(text: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Za-z]+", text) if len(word) >= LONG}
