"""Reasoning of a model before its answer: ``<think> ... </think>``."""

from __future__ import annotations

__all__ = ["split_thought"]


def split_thought(text: str) -> tuple[str, str]:
    """Reasoning and answer of a model's text; the answer is empty where the reasoning is not closed.

    >>> split_thought("<think>cold?</think>Action: open fridge 1")
    ('cold?', 'Action: open fridge 1')
    """
    thought, mark, answer = text.rpartition("</think>")
    if mark:
        return thought.replace("<think>", "", 1).strip(), answer.strip()
    before, mark, thought = text.partition("<think>")
    return (thought.strip(), before.strip()) if mark else ("", text.strip())
