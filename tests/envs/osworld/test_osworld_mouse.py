"""Each kind of generated task is solved by mouse and keyboard, by a player that sees the text of the observation alone.

So each element that a solution clicks is in the text at that moment.
"""

from collections.abc import Iterator

import pytest

from benchmarks.osworld_mouse import MOUSE, Hands, NotInTheText, easiest, solve
from rlanything_envs.osworld.desktop.protocol import Desktop
from rlanything_envs.osworld.env import OSWorldEnv
from rlanything_task_pools.osworld.kinds import KINDS

QUICK = {"rename_files"}


@pytest.fixture(scope="module")
def env(bwrap_desktop: Desktop) -> Iterator[OSWorldEnv]:
    made = OSWorldEnv(200, backend=bwrap_desktop, observation=("accessibility_text",))
    yield made
    made.close()


def test_every_kind_has_a_solution():
    assert list(MOUSE) == list(KINDS)


def marks(kind: str) -> list[pytest.MarkDecorator]:
    broken = pytest.mark.xfail(raises=NotInTheText, reason="LibreOffice 7.4 crashes at OK of Slide Properties")
    return [pytest.mark.slow] * (kind not in QUICK) + [broken] * (kind == "slide_design")


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=marks(kind)) for kind in MOUSE])
def test_a_player_that_reads_the_text_wins(env, kind):
    assert solve(env, kind, easiest(kind)) == 1


@pytest.mark.slow
def test_what_is_not_in_the_text_cannot_be_clicked(env):
    hands = Hands(env, easiest("rename_files"))
    with pytest.raises(NotInTheText, match=r'no line push-button "Nowhere"'):
        hands.click('push-button "Nowhere"')
