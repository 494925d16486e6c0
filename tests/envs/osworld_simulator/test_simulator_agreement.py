"""Tasks played by the same actions on the simulator and on real desktops: how often both agree."""

import pytest

from benchmarks.agreement import Agreement, compare, tasks_of
from rlanything_envs.osworld.desktop.protocol import Desktop

VERDICTS, FIRST = 0.95, 0.95
"""Shares of episodes, a little below those of ``python -m benchmarks.agreement``."""


def told(one: Agreement) -> str:
    return f"{one.kind}, {one.way}: {one.simulated.outcome} / {one.real.outcome} {one.real.error}, {one.actions}"


@pytest.mark.slow
def test_verdicts_and_first_screens_agree(real: Desktop) -> None:
    found = compare(tasks_of(1))
    assert sum(one.valid for one in found) >= VERDICTS * len(found), [one.real.error for one in found]
    for attribute, least in (("verdict", VERDICTS), ("first", FIRST)):
        differ = [told(one) for one in found if not getattr(one, attribute)]
        assert len(differ) <= (1 - least) * len(found), differ
