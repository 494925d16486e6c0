"""Generated and published tasks are solved on a real desktop, by keyboard and mouse and nothing else.

What acts is the lines alone. The test looks at the desktop to know when a program has started or saved, as a person
would, so that a slow machine is not taken for a wrong oracle.
"""

import time
from collections.abc import Callable, Iterator

import pytest
from osworld_tasks import published

from rlanything_envs.errors import InfrastructureError
from rlanything_envs.osworld.desktop.protocol import Desktop
from rlanything_envs.osworld.env import OSWorldEnv
from rlanything_envs.osworld.settle import Settle
from rlanything_task_pools import Task
from rlanything_task_pools.osworld import HELD_OUT, AssetError, generate, keys, read_payload
from rlanything_task_pools.osworld.guest import InlineFiles
from rlanything_verifiers.osworld import evaluate

BACKSTOP = 60.0
"""Seconds for a program to start or to save; an idle machine takes two."""
MARKS = {
    "libreoffice_calc": "<table-cell",
    "libreoffice_writer": "<paragraph",
    "libreoffice_impress": "<document-presentation",
    "gimp": 'name="GNU Image Manipulation Program"',
}
"""What the accessibility tree has when a program is ready for keys."""


@pytest.fixture(scope="module")
def env(bwrap_desktop: Desktop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OSWorldEnv]:
    made = OSWorldEnv(
        40,
        backend=bwrap_desktop,
        observation=("screenshot",),
        settle=Settle(quiet=0.4, every=0.1, cap=10.0),
        assets=tmp_path_factory.mktemp("assets"),
    )
    yield made
    made.close()


def until(ready: Callable[[], bool]) -> None:
    """Wait, not for ever; what is not ready by then shows in the score."""
    end = time.monotonic() + BACKSTOP
    while not ready() and time.monotonic() < end:
        time.sleep(0.3)


def play(
    env: OSWorldEnv, desktop: Desktop, task: Task, lines: list[str], last: str = "DONE", *, won: bool = True
) -> float:
    """The score after some lines; where they are to win, they get the time that programs take to save."""
    env.reset(seed=0, options={"task": task})
    payload, client = read_payload(task.payload), desktop.client
    if lines and (mark := next((MARKS[app] for app in payload.related_apps if app in MARKS), "")):
        until(lambda: mark in client.accessibility_tree())
        env.step("time.sleep(1)")
    for line in lines:
        _, reward, terminated, truncated, info = env.step(line)
        assert (reward, terminated, truncated, info["error"]) == (0, False, False, "")
    if won and lines:
        until(lambda: evaluate(payload.evaluator, client, last_action="DONE", files=InlineFiles()) == 1)
    _, reward, terminated, _, info = env.step(last)
    assert terminated
    assert not info["error"]
    return reward


SOLVED = [
    ("rename_files", 0.5),
    ("sort_files", 0.0),
    ("make_folders", 1.0),
    ("write_files", 1.0),
    ("count_lines", 1.0),
    ("permissions", 1.0),
    ("edit_text", 1.0),
    ("edit_json", 1.0),
    ("sheet_cells", 0.34),
    ("sheet_totals", 0.0),
    ("sheet_sort", 0.5),
    ("sheet_layout", 0.67),
    ("sheet_format", 1.0),
    ("document_text", 0.34),
    ("document_format", 0.67),
    ("slide_titles", 0.5),
    ("office_settings", 0.34),
    ("gimp_settings", 1.0),
]
QUICK = {"document_text"}
"""In an office program; the published task below is for a terminal."""


@pytest.mark.parametrize(
    ("kind", "difficulty"), [pytest.param(*row, marks=() if row[0] in QUICK else pytest.mark.slow) for row in SOLVED]
)
def test_generated_tasks(env, bwrap_desktop, kind, difficulty):
    task = generate(1, "valid_unseen" if kind in HELD_OUT else "train", kinds=kind, difficulty=difficulty)
    lines = keys(task)
    assert lines
    assert play(env, bwrap_desktop, task, lines) == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rename_files", "edit_config"])
def test_doing_nothing_or_something_else_does_not_score(env, bwrap_desktop, kind):
    task = generate(1, kinds=kind, difficulty=0)
    assert play(env, bwrap_desktop, task, []) == 0
    assert play(env, bwrap_desktop, task, keys(task), "FAIL") == 0
    assert play(env, bwrap_desktop, task, keys(task, "evaluator2"), won=False) == 0


# --- published tasks ---


RENAME = [
    "pyautogui.hotkey('ctrl', 'alt', 't'); time.sleep(2)",
    "pyautogui.write('mv ~/Desktop/todo_list_Jan_1 ~/Desktop/todo_list_Jan_2\\n')",
]
BY_MOUSE = [
    "pyautogui.click(153, 1063); time.sleep(2)",  # the terminal in the panel
    RENAME[1],
]
AUTOSAVE = [
    "pyautogui.hotkey('alt', 't')",
    "pyautogui.press('up'); pyautogui.press('enter'); time.sleep(4)",
    "pyautogui.press('down', presses=12); pyautogui.press('right'); pyautogui.press('down'); time.sleep(1)",
    "pyautogui.press('tab', presses=3); pyautogui.press('space'); pyautogui.press('tab')",
    "pyautogui.hotkey('ctrl', 'a'); pyautogui.write('3'); pyautogui.press('enter'); time.sleep(3)",
]


LIGHT = [
    "pyautogui.hotkey('alt', 'e'); time.sleep(1)",
    "pyautogui.press('up', presses=5); pyautogui.press('enter'); time.sleep(4)",
    "pyautogui.press('down', presses=8); time.sleep(1)",
    "pyautogui.press('tab'); pyautogui.press('down', presses=2, interval=2); time.sleep(3)",
    "pyautogui.hotkey('alt', 'o'); time.sleep(3)",
]


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("os/e0df059f", RENAME),
        pytest.param("os/e0df059f", BY_MOUSE, marks=pytest.mark.slow),
        pytest.param("libreoffice_impress/2cd43775", AUTOSAVE, marks=pytest.mark.slow),
        pytest.param("gimp/7767eef2", LIGHT, marks=pytest.mark.slow),
    ],
)
def test_published_tasks(env, bwrap_desktop, name, lines):
    task = published(name)
    assert play(env, bwrap_desktop, task, []) == 0
    assert play(env, bwrap_desktop, task, lines) == 1


@pytest.mark.parametrize("name", [pytest.param("os/4783cc41", marks=pytest.mark.slow), "os/a462a795"])
def test_published_tasks_that_cannot_be_done(env, bwrap_desktop, name):
    task = published(name)
    assert play(env, bwrap_desktop, task, [], "FAIL") == 1
    assert play(env, bwrap_desktop, task, [], "DONE") == 0


def test_a_published_task_whose_files_are_not_here(env):
    """Its set-up is fine, but its evaluator needs a script of the Internet: no score, and no blame."""
    with pytest.raises(InfrastructureError, match=r"eval\.sh.*fetch-assets") as failed:
        env.reset(seed=0, options={"task": published("os/5ced85fc")})
    assert isinstance(failed.value.__cause__, AssetError)
