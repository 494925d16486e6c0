"""Texts with holes: the sources of programs and the statements that families make."""

from textwrap import dedent


def fill(text: str, /, **values: object) -> str:
    """A text without its common indentation, in which ``@name@`` is replaced by a value.

    Braces and percent signs mean nothing here, since programs are full of them. Lines of a value of several lines
    are indented like the hole.

    >>> fill("    for x in {1, 2}:\\n        @body@", body="print(x)\\nprint(@n@)", n=3)
    'for x in {1, 2}:\\n    print(x)\\n    print(3)\\n'
    """
    lines = dedent(text).strip("\n").splitlines()
    for name, value in values.items():
        hole = f"@{name}@"
        filled: list[str] = []
        for line in lines:
            if hole in line:
                indent = line[: len(line) - len(line.lstrip())]
                line = line.replace(hole, str(value).replace("\n", "\n" + indent))
            filled.extend(line.splitlines() if line else [line])
        lines = filled
    return "\n".join(line.rstrip() for line in lines).rstrip() + "\n"
