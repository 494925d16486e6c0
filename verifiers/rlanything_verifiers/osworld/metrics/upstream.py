"""OSWorld's reading of metrics of which ours differs on purpose; `evaluate` has the switch."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from rlanything_verifiers.osworld.deck import DeckRun
from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.metrics import documents, slides, text
from rlanything_verifiers.osworld.metrics.slides import Exam
from rlanything_verifiers.osworld.metrics.text import KeyRules, Settings
from rlanything_verifiers.osworld.metrics.values import Expected
from rlanything_verifiers.osworld.registry import upstream_reading
from rlanything_verifiers.osworld.word import read_document


class _UpstreamExam(Exam):
    def same_color(self, one: DeckRun, other: DeckRun) -> bool:
        return one.color is None or other.color is None or super().same_color(one, other)


_ALL = Exam()


@upstream_reading
def compare_pptx_files(result: File, expected: File, *, options: Exam = _ALL) -> float:
    """A colour that only one of two texts sets does not count: black letters pass for red ones."""
    return slides.compare_pptx_files(result, expected, options=_UpstreamExam(**vars(options)))


@upstream_reading
def compare_contains_image(result: File, expected: File) -> float:
    """Only places that both documents have count: a picture behind the end of the other passes."""
    ones, others = (read_document(file).paragraphs for file in (result, expected))
    pairs = [pair for part, gold in zip(ones, others, strict=False) for pair in zip(part.runs, gold.runs, strict=False)]
    return float(all(run.picture == model.picture for run, model in pairs))


@upstream_reading
def evaluate_strike_through_last_paragraph(result: File, expected: File) -> float:
    """An empty last paragraph passes for one that is struck through."""
    if documents.compare_docx_files(result, expected) != 1:
        return 0.0
    paragraphs = read_document(result).paragraphs
    return float(bool(paragraphs) and all(run.strike for run in paragraphs[-1].runs))


@upstream_reading
def check_json(result: File, rules: KeyRules, *, is_yaml: bool = False) -> float:
    """A key that is not there fails, also where its value must not be something."""
    value = text.json_value(result, is_yaml)
    there = all(text.has_key(value, rule) for rule in rules.unexpect)
    return text.check_json(result, rules, is_yaml=is_yaml) if there else 0.0


@upstream_reading
def check_json_keybindings(result: File, rules: Expected) -> float:
    """Comments, but for one in the first line, and trailing commas make the file unreadable."""
    whole = result.text()
    values = map(_plain_json, (whole, whole.partition("\n")[2]))
    return float(rules.expected in next((value for value in values if isinstance(value, list)), ()))


@upstream_reading
def check_json_settings(result: File, rules: Settings) -> float:
    """Comments and trailing commas make the file unreadable."""
    return text.check_json_settings(result, rules) if _plain_json(result.text()) is not None else 0.0


def _plain_json(content: str) -> Any:
    """The value of a text in JSON; None where it is none."""
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(content)
    return None
