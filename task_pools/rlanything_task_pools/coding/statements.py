"""Statements of problems: a task in plain style or as a story, and the sections input, output and constraints."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rlanything_task_pools.coding.inputs import Input
from rlanything_task_pools.rng_stream import RngStream

__all__ = ["STYLES", "Setting", "Statement", "bullets", "tell"]

STYLES = ("plain", "story")
"""Styles of statements: precise and short, or in a small setting."""


@dataclass(frozen=True)
class Statement:
    """The text of a problem: the task in each of the `STYLES`, and the sections that they share."""

    plain: str
    """The task in plain style."""
    story: str
    """The task in a setting."""
    reads: str
    """Description of the input."""
    prints: str
    """The format of the output."""
    input: Input
    """The format and the limits of the input, which the gate checks."""

    def text(self, style: str = "plain") -> str:
        """The task in a style, then input, output and constraints."""
        limits = "\n".join(f"- {limit}" for limit in self.input.limits)
        task = self.story if style == "story" else self.plain
        return f"{task}\n\nInput\n{self.reads}\n\nOutput\n{self.prints}\n\nConstraints\n{limits}"


@dataclass(frozen=True)
class Setting:
    """The setting of a story."""

    opening: str
    """Introduction of the setting, in a few sentences."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Nouns of the task, each with its name in the setting; both have a plural with s."""


def tell(
    rng: RngStream, task: Sequence[str], settings: Sequence[Setting], *, reads: str, prints: str, input: Input
) -> Statement:
    """The statement of a task, plainly and in one of some settings.

    Args:
        rng: Draws the setting.
        task: Paragraphs; empty ones are left out.
        settings: Settings to draw from.
        reads: Description of the input, the same for all styles, so without words of a setting.
        prints: The format of the output, in the same way.
        input: The format and the limits.
    """
    setting, plain = rng.pick(settings), "\n\n".join(filter(None, task))
    words = {
        change(old) + plural: change(new) + plural
        for old, new in setting.words.items()
        for plural in ("", "s")
        for change in (str, str.capitalize)
    }
    told = re.sub(r"[A-Za-z]+", lambda match: words.get(match[0], match[0]), plain) if words else plain
    return Statement(plain, f"{setting.opening}\n\n{told}", reads, prints, input)


def bullets(*points: str) -> str:
    """A list of points, without the empty ones."""
    return "\n".join(f"- {point}" for point in points if point)
