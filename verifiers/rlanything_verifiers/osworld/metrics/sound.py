"""Sound files."""

from __future__ import annotations

from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.matching import ValueRule
from rlanything_verifiers.osworld.registry import metric
from rlanything_verifiers.osworld.sound import read_tags


@metric
def check_mp3_meta(result: File, rules: dict[str, ValueRule]) -> float:
    """The file's metadata fulfils the rules."""
    tags = read_tags(result)
    return float(all(rule.holds(tags.get(name, "")) for name, rule in rules.items()))
