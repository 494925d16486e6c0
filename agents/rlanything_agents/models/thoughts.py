"""What a model thinks before it answers: ``<think> ... </think>``."""

from __future__ import annotations

__all__ = ["split_thought"]


def split_thought(text: str) -> tuple[str, str]:
    """What a model thought, and what it answered after it; the answer is empty where a thought does not end.

    >>> split_thought("<think>cold?</think>Action: open fridge 1")
    ('cold?', 'Action: open fridge 1')
    """
    thought, mark, answer = text.rpartition("</think>")
    if mark:
        return thought.replace("<think>", "", 1).strip(), answer.strip()
    before, mark, thought = text.partition("<think>")
    return (thought.strip(), before.strip()) if mark else ("", text.strip())
