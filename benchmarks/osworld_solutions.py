"""Eight hand-made solutions on the real desktop: does a solved task score 1, however loaded the machine is?

``python -m benchmarks.osworld_solutions --rounds 5 --load 8`` plays each solution five times with eight busy processes
in the background, and each task once without its solution (``DONE`` at once). It prints a table and exits with 1
unless every solution scored 1 each time and nothing else did.

A solution is what an agent sends: PyAutoGUI code, by keyboard and mouse, one action after the other, each as soon as
the environment has answered the one before. A `Click` names an element and is sent as a click on its centre, read from
the accessibility tree as an agent would. No solution waits, tries again or looks at the score. Four tasks are OSWorld's
published files, read from ``$RLANYTHING_TEST_DATA`` or ``shared/data``; the others are generated.
"""

import argparse
import contextlib
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from rlanything_envs.osworld.accessibility import read_elements
from rlanything_envs.osworld.desktop.protocol import Client, Desktop
from rlanything_envs.osworld.env import OSWorldEnv
from rlanything_task_pools import Task
from rlanything_task_pools.osworld import generate, keys, load


@dataclass(frozen=True)
class Click:
    """A click on the first element of a role and name."""

    role: str
    name: str


Line = str | Click


@dataclass(frozen=True)
class Solution:
    """A task and the actions that solve it."""

    name: str
    program: str
    task: Task
    lines: Sequence[Line]


@dataclass
class Scores:
    """Scores with and without the solution, and seconds of an episode with it."""

    solved: list[float] = field(default_factory=list)
    idle: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


#: Lines for the published tasks, by the beginning of their files' names.
PUBLISHED: dict[str, tuple[str, str, Sequence[Line]]] = {
    "gimp/7767eef2": (
        "theme of GIMP",
        "GIMP",
        [
            "pyautogui.hotkey('alt', 'e')",
            "pyautogui.press('up', presses=5); pyautogui.press('enter')",
            Click("table-cell", "Theme"),
            Click("table-cell", "Light"),
            Click("push-button", "OK"),
        ],
    ),
    "chrome/2ad9387a": (
        "folder of bookmarks",
        "Chromium",
        [
            "pyautogui.hotkey('ctrl', 'shift', 'o')",
            Click("push-button", "Organize"),
            Click("menu-item", "Add new folder"),
            "pyautogui.write('Favorites'); pyautogui.press('enter')",
        ],
    ),
    "libreoffice_impress/2cd43775": (
        "saving every three minutes",
        "Impress",
        [
            "pyautogui.hotkey('alt', 'f12')",
            "pyautogui.press('down', presses=12); pyautogui.press('right'); pyautogui.press('down')",
            "pyautogui.press('tab', presses=3); pyautogui.press('space'); pyautogui.press('tab')",
            "pyautogui.hotkey('ctrl', 'a'); pyautogui.write('3'); pyautogui.press('enter')",
        ],
    ),
    "os/e0df059f": (
        "folder renamed by a command",
        "terminal",
        [
            "pyautogui.hotkey('ctrl', 'alt', 't')",
            "pyautogui.write('mv ~/Desktop/todo_list_Jan_1 ~/Desktop/todo_list_Jan_2\\n')",
        ],
    ),
}


def solutions() -> list[Solution]:
    """The eight solutions; fewer where published task files are missing."""
    found = []
    for name, (title, program, lines) in PUBLISHED.items():
        if paths := [path for folder in data_folders() for path in sorted(folder.glob(f"{name}*.json"))]:
            found.append(Solution(title, program, load(paths[0]), lines))
    undo, files, bookmark = (
        generate(1, kinds=kind, difficulty=difficulty)
        for kind, difficulty in (("gimp_settings", 0.0), ("rename_files", 0.5), ("bookmarks", 0.34))
    )
    slides = generate(1, "valid_unseen", kinds="slide_titles", difficulty=0.0)
    found.append(Solution("undo levels of GIMP", "GIMP", undo, keys(undo)))
    found.append(Solution("site among the bookmarks", "Chromium", bookmark, bookmarked(bookmark)))
    found.append(Solution("title of a slide", "Impress", slides, keys(slides)))
    found.append(Solution("file renamed", "file manager", files, keys(files)))
    return found


def data_folders() -> list[Path]:
    """Where OSWorld's task files may be."""
    named, root = os.environ.get("RLANYTHING_TEST_DATA"), Path(__file__).resolve().parent.parent
    places = [Path(named)] if named else [root / "shared" / "data", root.parent / "shared" / "data"]
    return [place / "osworld" / "upstream" for place in places]


def bookmarked(task: Task) -> list[Line]:
    """The actions that put the site of a generated task on the bookmarks bar."""
    address, _, name = task.goal.partition("the address ")[2].partition(" under the name ")
    name = name.split('"')[1]
    return [
        "pyautogui.hotkey('ctrl', 'shift', 'o')",
        Click("push-button", "Organize"),
        Click("menu-item", "Add new bookmark"),
        f"pyautogui.write({name!r}); pyautogui.press('tab'); pyautogui.write({address!r}); pyautogui.press('enter')",
    ]


def play(env: OSWorldEnv, task: Task, lines: Sequence[Line]) -> float:
    """The score after some actions and ``DONE``, or after ``FAIL``.

    Raises:
        RuntimeError: the episode ended otherwise.
    """
    env.reset(seed=0, options={"task": task})
    for line in lines:
        action = line if isinstance(line, str) else clicked(env.client, line)
        _, score, terminated, truncated, info = env.step(action)
        if line == "FAIL" and terminated:
            return score
        if terminated or truncated:
            raise RuntimeError(f"the episode ended after {line!r}: {info['error'] or info['agent_crash']}")
    _, reward, _, _, info = env.step("DONE")
    if info["error"] or info["agent_crash"]:
        raise RuntimeError(f"no score: {info['error'] or info['agent_crash']}")
    return reward


def clicked(client: Client, line: Click) -> str:
    """A click as PyAutoGUI code; that on an element which is not there does nothing."""
    for element in read_elements(client.accessibility_tree()):
        if (element.role, element.name) == (line.role, line.name):
            return f"pyautogui.click({element.x}, {element.y})"
    return f"print('there is no {line.role} named {line.name}')"


@contextlib.contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep processes busy in the background."""
    parent = os.getpid()
    code = f"import os\nwhile os.getppid() == {parent}: sum(range(1000000))"
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def measure(chosen: Sequence[Solution], rounds: int, load: int, backend: str | Desktop = "bwrap") -> dict[str, Scores]:
    """Scores by the names of the solutions: some rounds with it, one without.

    Args:
        chosen: what is played.
        rounds: episodes of each solution.
        load: busy processes in the background.
        backend: the desktop.
    """
    scores = {solution.name: Scores() for solution in chosen}
    env = OSWorldEnv(40, backend=backend, observation=("screenshot",))
    try:
        with busy(load):
            for number in range(rounds):
                for solution in chosen:
                    found, begin = scores[solution.name], time.monotonic()
                    found.solved.append(play(env, solution.task, solution.lines))
                    found.seconds.append(time.monotonic() - begin)
                    if not number:
                        found.idle.append(play(env, solution.task, []))
                    print(f"{solution.name}: {found.solved[-1]:g}, {found.seconds[-1]:.0f} s", file=sys.stderr)
    finally:
        env.close()
    return scores


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--load", type=int, default=8, help="busy processes in the background")
    parser.add_argument("--only", nargs="*", default=[""], help="parts of the names of the solutions to play")
    args = parser.parse_args()
    chosen = [solution for solution in solutions() if any(part in solution.name for part in args.only)]
    print(
        f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f} before; {args.rounds} rounds beside {args.load} busy processes"
    )
    scores = measure(chosen, args.rounds, args.load)
    print("\n| solution | program | full score | without it | seconds of an episode |\n|---|---|---|---|---|")
    for solution in chosen:
        found = scores[solution.name]
        full, seconds = sum(score == 1 for score in found.solved), median(found.seconds)
        print(f"| {solution.name} | {solution.program} | {full} of {args.rounds} | {found.idle[0]:g} | {seconds:.0f} |")
    print(f"\nload {os.getloadavg()[0]:.1f} after")
    good = all(set(found.solved) == {1.0} and set(found.idle) == {0.0} for found in scores.values())
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
