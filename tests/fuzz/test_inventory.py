"""Every place where content is taken apart is known, and tested with content made to hurt."""

from __future__ import annotations

from pathlib import Path

from fuzz_sources import calls, modules
from inventory import OWN, PRIMITIVE_ENDINGS, PRIMITIVES, READERS, TESTED
from targets import TARGETS

ROOT = Path(__file__).resolve().parents[2]


def test_every_reader_is_in_the_inventory() -> None:
    found = {
        name
        for name, tree in modules()
        if any(call in PRIMITIVES or call.rpartition(".")[2] in PRIMITIVE_ENDINGS for call, _ in calls(tree))
    }
    known = {*READERS, *TESTED, *OWN}
    assert found - known == set(), "say in tests/fuzz/inventory.py who wrote what they read, and add a target"
    assert known - found == set(), "these read nothing any more"


def test_no_reader_stands_twice() -> None:
    assert len({*READERS, *TESTED, *OWN}) == len(READERS) + len(TESTED) + len(OWN)


def test_targets_and_tests_are_there() -> None:
    names = {target.name for target in TARGETS}
    assert {target for targets in READERS.values() for target in targets} <= names
    assert [path for path in TESTED.values() if not (ROOT / path).is_file()] == []
