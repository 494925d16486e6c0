"""A spare desktop: what is prepared, taken, refused and ended. Real ones are in osworld/test_osworld_real_env.py."""

import threading

import pytest

from rlanything_envs.osworld.ahead import Ahead


class Spare:
    """What `Ahead` uses of a `Machine`."""

    def __init__(self, name):
        self.name, self.running, self.ended = name, False, 0

    def replace(self):
        self.running, self.ended = False, self.ended + 1


@pytest.fixture
def ahead():
    made = Ahead(Spare("second"))
    yield made
    made.close()


def set_up(log, error=None):
    def work(machine):
        machine.running = True
        log.append(machine.name)
        if error is not None:
            raise error
        return f"seen on {machine.name}"

    return work


def test_a_prepared_desktop_is_exchanged_for_the_used_one(ahead):
    log, first = [], Spare("first")
    ahead.prepare("a", set_up(log))
    second, seen = ahead.take("a", first)
    assert (second.name, second.ended, seen) == ("second", 0, "seen on second")
    ahead.prepare("a", set_up(log))
    assert ahead.take("a", second) == (first, "seen on first")
    assert (first.ended, log) == (1, ["second", "first"])


def test_another_task_takes_nothing_and_does_not_prepare_again(ahead):
    log = []
    assert ahead.take("a", Spare("first")) is None
    ahead.prepare("a", set_up(log))
    assert ahead.take("b", Spare("first")) is None
    ahead.prepare("a", set_up(log))
    assert ahead.take("a", Spare("first"))[0].name == "second"
    assert log == ["second"]


def test_what_fails_in_the_background_is_left_to_the_reset(ahead):
    log, first = [], Spare("first")
    ahead.prepare("a", set_up(log, OSError("no")))
    assert ahead.take("a", first) is None
    assert first.ended == 0
    ahead.prepare("a", set_up(log))
    taken, _ = ahead.take("a", first)
    assert (taken.name, taken.ended, log) == ("second", 1, ["second", "second"])


def test_closing_ends_a_desktop_that_is_being_prepared(ahead):
    begun = threading.Event()

    def work(machine):
        machine.running = True
        begun.set()
        while machine.running:  # its steps fail once it has ended
            threading.Event().wait(0.001)
        raise OSError("gone")

    ahead.prepare("a", work)
    begun.wait()
    ahead.close()
    assert ahead.take("a", Spare("first")) is None
