"""Domains are found by name, and light to find."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from rlanything_task_pools import Domain, domain_names, get_domain
from rlanything_task_pools.errors import UnknownName
from rlanything_task_pools.osworld import HELD_OUT, KINDS

SPLITS = ("train", "valid_seen", "valid_unseen")
DRAWS: dict[str, list[tuple[int, str, dict[str, Any]]]] = {
    "alfworld": [(seed, split, {}) for split in SPLITS for seed in range(20)],
    "coding": [(7, "train", {"families": "number_filters", "difficulty": 0})],
    "osworld": [
        (0, "train", {"kinds": "edit_text"}),
        *((7, "valid_unseen" if kind in HELD_OUT else "train", {"kinds": kind}) for kind in KINDS),
    ],
}
"""Seed, split and knobs. Of the first one nothing heavy is needed; documents of an office need its libraries."""


@pytest.mark.parametrize(
    ("name", "env_id"),
    [("alfworld", "RLAnything/AlfWorld-v0"), ("coding", "RLAnything/Coding-v0"), ("osworld", "RLAnything/OSWorld-v0")],
)
def test_installed_domains(name: str, env_id: str) -> None:
    assert name in domain_names()
    domain = get_domain(name)
    assert isinstance(domain, Domain)
    assert (domain.name, domain.env_id) == (name, env_id)


def test_unknown_domain_lists_what_there_is() -> None:
    with pytest.raises(UnknownName, match=r"no domain named 'chess'.*alfworld"):
        get_domain("chess")


@pytest.mark.parametrize("name", DRAWS)
def test_generating_imports_nothing_heavy_and_is_the_same_in_every_process(name: str) -> None:
    code = """
import json, os, sys
from rlanything_task_pools import get_domain
domain = get_domain(sys.argv[1])
children = open(f"/proc/self/task/{os.getpid()}/children").read()
first, *rest = json.loads(sys.argv[2])
found = [domain.generate(*first[:2], **first[2]).id]
heavy = "torch transformers trl textworld alfworld pandas gymnasium yaml docker openpyxl docx pptx PIL lxml".split()
heavy = set(heavy) & set(sys.modules)
print(found + [domain.generate(seed, split, **knobs).id for seed, split, knobs in rest])
sys.exit(f"imported {heavy}, started {children}" if heavy or children else 0)
"""
    here = str([get_domain(name).generate(seed, split, **knobs).id for seed, split, knobs in DRAWS[name]])
    done = subprocess.run(
        [sys.executable, "-c", code, name, json.dumps(DRAWS[name])],
        env={**os.environ, "PYTHONHASHSEED": "123"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == here
