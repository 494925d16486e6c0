"""Hand-made solutions score 1 on a loaded machine, and their tasks score 0 without them.

One round of `benchmarks.osworld_solutions`, which plays five.
"""

from types import SimpleNamespace

import pytest

from benchmarks.osworld_solutions import Click, Solution, bookmarked, clicked, measure, solutions
from rlanything_task_pools.osworld import generate

NAMES = [
    "theme of GIMP",
    "undo levels of GIMP",
    "folder of bookmarks",
    "site among the bookmarks",
    "saving every three minutes",
    "title of a slide",
    "file renamed",
    "folder renamed by a command",
]
LOAD = 8


@pytest.fixture(scope="module")
def known() -> dict[str, Solution]:
    return {solution.name: solution for solution in solutions()}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_solution_scores_on_a_loaded_machine_and_nothing_else_does(name, known, bwrap_desktop):
    if name not in known:
        pytest.skip("no published tasks: set RLANYTHING_TEST_DATA to a folder with osworld/upstream/*/*.json")
    scores = measure([known[name]], 1, LOAD, bwrap_desktop)[name]
    assert (scores.solved, scores.idle) == ([1.0], [0.0])


def test_there_are_eight_solutions(known):
    generated = {"undo levels of GIMP", "site among the bookmarks", "title of a slide", "file renamed"}
    assert generated <= set(known) <= set(NAMES)


def test_a_bookmark_is_read_from_its_task():
    task = generate(1, kinds="bookmarks", difficulty=0.34)
    last = bookmarked(task)[-1]
    assert "www.quietlibrary.example" in last
    assert "write('Quietlibrary')" in last


def test_a_click_is_sent_to_the_centre_of_its_element():
    tree = (
        '<desktop-frame xmlns:cp="https://accessibility.ubuntu.example.org/ns/component" '
        'xmlns:st="https://accessibility.ubuntu.example.org/ns/state">'
        '<push-button name="OK" st:showing="true" cp:screencoord="(10, 20)" cp:size="(30, 40)"/></desktop-frame>'
    )
    client = SimpleNamespace(accessibility_tree=lambda: tree)
    assert clicked(client, Click("push-button", "OK")) == "pyautogui.click(25, 40)"
    assert clicked(client, Click("push-button", "No")) == "print('there is no push-button named No')"
