"""Sound files and films."""

from __future__ import annotations

from rlanything_verifiers.osworld.errors import EvaluatorError
from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.films import film_frames, sound_samples
from rlanything_verifiers.osworld.matching import ValueRule
from rlanything_verifiers.osworld.pictures import frequency_hash
from rlanything_verifiers.osworld.registry import metric
from rlanything_verifiers.osworld.sound import read_tags
from rlanything_verifiers.osworld.sound_likeness import sound_likeness

_MOST_FRAMES = 10_000
"""Frames of a film that are compared."""


@metric
def check_mp3_meta(result: File, rules: dict[str, ValueRule]) -> float:
    """The file's metadata fulfils the rules."""
    tags = read_tags(result)
    return float(all(rule.holds(tags.get(name, "")) for name, rule in rules.items()))


@metric
def compare_audios(result: File, expected: File) -> float:
    """Likeness of two sounds; those of one recording in two formats are above .9."""
    return sound_likeness(sound_samples(result), sound_samples(expected))


@metric
def compare_videos(result: File, expected: File, *, max_frames_to_check: int = 100, threshold: int = 5) -> float:
    """The first frames of two films look alike; films of other lengths do not, where they end before that."""
    if not 1 <= max_frames_to_check <= _MOST_FRAMES:
        raise EvaluatorError(f"max_frames_to_check is {max_frames_to_check}; expected 1 to {_MOST_FRAMES}")
    ones, others = (film_frames(file, max_frames_to_check) for file in (result, expected))
    if len(ones) != len(others):
        return 0.0
    away = [int((frequency_hash(one) ^ frequency_hash(other)).sum()) for one, other in zip(ones, others, strict=True)]
    return float(sum(distance > threshold for distance in away) <= threshold)
