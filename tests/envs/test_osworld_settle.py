"""When a screen counts as settled; time is counted, not waited for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_envs.osworld.settle import Limit, Settle, changed


class Film:
    """A screen that shows one picture after the other, and a clock that its looks and sleeps move on."""

    def __init__(self, pictures):
        self.pictures, self.looks, self.now = pictures, 0, 0.0

    def look(self):
        self.looks += 1
        return self.pictures[min(self.looks, len(self.pictures)) - 1]

    def settled(self, settle):
        return settle.wait(self.look, clock=lambda: self.now, sleep=self.sleep)

    def sleep(self, seconds):
        self.now += seconds


def picture(value=0, caret=False):
    pixels = np.full((100, 200, 3), value, np.uint8)
    if caret:
        pixels[10:14, 5] = 255
    return pixels


def test_a_screen_that_rests_is_taken_after_the_quiet_time():
    film = Film([picture()])
    film.settled(Settle(quiet=0.06, every=0.03))
    assert (film.looks, film.now) == (3, pytest.approx(0.06))


def test_changes_are_waited_for():
    film = Film([picture(value) for value in (0, 1, 2, 3)])
    assert (film.settled(Settle(quiet=0.06, every=0.03)) == 3).all()
    assert film.now == pytest.approx(0.15)


def test_a_blinking_caret_counts_as_rest():
    film = Film([picture(caret=bool(i % 2)) for i in range(1000)])
    film.settled(Settle(tolerance=0.0005, quiet=0.06, every=0.03))
    assert film.now == pytest.approx(0.06)
    film = Film([picture(caret=bool(i % 2)) for i in range(1000)])
    film.settled(Settle(tolerance=0, quiet=0.06, every=0.03, cap=2))
    assert film.now == pytest.approx(2, abs=0.04)


def test_a_screen_that_never_rests_is_taken_at_the_cap():
    film = Film([picture(i % 200) for i in range(1000)])
    film.settled(Settle(cap=0.5))
    assert film.now == pytest.approx(0.5, abs=0.04)


def test_slow_changes_add_up():
    """Each look differs from the one before by less than the tolerance, but not from the first."""
    pictures = []
    for i in range(40):
        pixels = picture()
        pixels[:, : 2 * i] = 255
        pictures.append(pixels)
    film = Film(pictures)
    film.settled(Settle(tolerance=0.015, quiet=0.1, every=0.03, cap=10))
    assert film.looks > 30


def test_change_is_a_share():
    one, other = picture(), picture()
    assert changed(one, other) == 0
    other[:50] = 1
    assert changed(one, other) == 0.5
    assert changed(one, other[:50]) == 1
    assert changed(np.zeros((0, 0, 3), np.uint8), np.zeros((0, 0, 3), np.uint8)) == 0


@pytest.mark.parametrize("field", ["tolerance", "quiet", "every", "cap"])
@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), "1", True, None])
def test_numbers_that_cannot_be(field, value):
    with pytest.raises(ValueError, match=field):
        Settle(**{field: value})


def test_a_tolerance_is_a_share():
    with pytest.raises(ValueError, match="at most 1"):
        Settle(tolerance=1.1)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.floats(0, 1), st.floats(0.01, 1))
def test_it_always_ends_by_the_cap(values, quiet, every):
    film = Film([picture(value) for value in values])
    film.settled(Settle(quiet=quiet, every=every, cap=2))
    assert film.now <= 2 + every


def test_a_screen_at_rest_is_waited_on_while_programs_compute():
    film = Film([picture()])
    busy = iter([True, True, False])
    settle = Settle(quiet=0.06, every=0.03)
    settle.wait(film.look, busy=lambda: next(busy), clock=lambda: film.now, sleep=film.sleep)
    assert film.now == pytest.approx(0.12)
    film = Film([picture()])
    settle.wait(film.look, busy=lambda: True, clock=lambda: film.now, sleep=film.sleep)
    assert film.now == pytest.approx(2, abs=0.04)


def test_seconds_in_which_programs_are_kept_from_the_processors_do_not_count():
    film = Film([picture()])
    settle = Settle(quiet=0.06, every=0.03, cap=2)
    settle.wait(film.look, busy=lambda: True, held=lambda: 0.8 * film.now, clock=lambda: film.now, sleep=film.sleep)
    assert film.now == pytest.approx(10, abs=0.1)


@pytest.mark.parametrize("held", [lambda now: now, lambda now: float("nan"), lambda now: float("inf")])
def test_a_limit_ends_whatever_the_guest_reports(held):
    now = 0.0
    limit = Limit(2, lambda: held(now), lambda: now)
    ends = []
    for tenth in range(300):
        now = tenth / 10
        ends.append(limit.over)
    assert not any(ends[:20])
    assert all(ends[200:])
