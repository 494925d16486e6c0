"""Our scores beside those of OSWorld's own metrics, on some two thousand files and values made here.

The metrics of the package desktop-env run in an environment of their own. Where no package index is in reach, the
comparison is skipped.
"""

from collections import defaultdict

import pytest
from isolated import ROOT, Isolated
from osworld_cases import cases
from osworld_comparison import our_score, upstream_scores

from rlanything_verifiers.osworld import METRICS
from rlanything_verifiers.osworld.metrics import UPSTREAM

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "reference" / "osworld-scores.md"
NEAR = 2e-3
"""Most by which two similarities may differ: those of sounds that two programs decode."""


def documented():
    """By metric in the table of disagreements: whether there is a switch."""
    rows = [line.split("|") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    return {row[1].strip(" `"): row[4].strip() == "yes" for row in rows}


def test_the_table_names_each_switch():
    assert {name for name, switch in documented().items() if switch} == set(UPSTREAM)
    assert set(documented()) <= set(METRICS)


def test_scores_are_those_of_osworld_but_for_the_documented_ones(tmp_path):
    listed = cases()
    upstream = upstream_scores(Isolated("osworld").python(), listed, tmp_path)
    compared, apart, unmended = 0, defaultdict(list), []
    for case, theirs in zip(listed, upstream, strict=True):
        ours = our_score(case, "own")
        assert 0 <= ours <= 1
        if theirs is None:
            continue
        compared += 1
        wanted = min(1.0, max(0.0, theirs))
        if abs(ours - wanted) > NEAR:
            apart[case.metric].append(f"{case.name}: ours {ours:.3f}, OSWorld's {theirs:.3f}")
        if case.metric in UPSTREAM and abs(our_score(case, "upstream") - wanted) > NEAR:
            unmended.append(f"{case.metric}: {case.name}: OSWorld's {theirs:.3f}")
    assert compared > 2000
    assert len({case.metric for case in listed}) > 70
    assert set(apart) == set(documented()), {name: found[:3] for name, found in apart.items()}
    assert not unmended, unmended[:5]
    agree = compared - sum(map(len, apart.values()))
    print(f"{len(listed)} cases, {compared} with a score on both sides, {agree} agree")
