"""Every reader of untrusted content refuses what is malformed by its own errors, in bounded time and memory."""

from __future__ import annotations

from itertools import islice

import pytest
from fuzz_bounds import TooLong, bounded
from fuzz_mutations import hostile_inputs, mutations
from fuzz_table import Target
from hypothesis import HealthCheck, given, settings
from targets import TARGETS

by_name = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)


@by_name
def test_examples_are_read(target: Target) -> None:
    assert len(target.seeds) > 0
    for example in target.seeds:
        with bounded(len(example)):
            assert target(example), example[:200]


@by_name
def test_hostile_content_is_read_or_refused(target: Target) -> None:
    for number, content in enumerate(islice(hostile_inputs(target.seeds), 0, None, 2 if target.effort < 20 else 5)):
        with bounded(len(content)):
            try:
                target(content)
            except (Exception, TooLong) as error:
                raise AssertionError(f"input {number} of {len(content)} bytes, {content[:200]!r}") from error


@by_name
def test_changed_examples_are_read_or_refused(target: Target) -> None:
    @settings(max_examples=25 if target.effort < 20 else 5, suppress_health_check=list(HealthCheck))
    @given(mutations(target.seeds))
    def check(content: bytes) -> None:
        with bounded(len(content)):
            target(content)

    check()


def test_names_are_unique() -> None:
    assert len({target.name for target in TARGETS}) == len(TARGETS)
