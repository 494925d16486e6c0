"""Times of desktops: start, reset, action and observation, one alone and several in parallel.

``python -m benchmarks.osworld`` prints five tables, medians and extremes of a few rounds, with the targets beside
them: one desktop, the environment on it, resets of tasks with an open
application, as they come and prepared in the background (`OSWorldEnv.prepare`), and several desktops at once. Nothing
is cached between rounds, and every desktop is ended. The times are by the clock: a busy machine makes all of them
longer, so the load of the machine is printed before and after. ``--only resets`` prints one of the tables, and
``--desktops 1 8 16 32`` measures so many at once in one run.

An agent's step on a desktop is one key press and the screenshot after it, without waiting for the screen to settle;
a step of the environment waits. The sheet is a maximised Calc window at 1920 by 1080, about 1,000 visible cells.
"""

import argparse
import base64
import contextlib
import io
import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import median
from typing import Any

import gymnasium as gym
import openpyxl
import psutil

import rlanything_envs  # noqa: F401 (registers the environments)
from rlanything_envs.osworld.desktop import make_desktop
from rlanything_envs.osworld.desktop.protocol import Client, Desktop
from rlanything_envs.osworld.env import OSWorldEnv
from rlanything_task_pools import Task
from rlanything_task_pools.osworld import make_task, read_payload

#: Commands that open an application, by what it is.
PROGRAMS = {
    "terminal": ["lxterminal"],
    "file manager": ["thunar"],
    "editor": ["mousepad"],
    "sheet": ["soffice", "--calc"],
    "document": ["soffice", "--writer"],
    "browser": ["google-chrome"],
    "image editor": ["gimp"],
}

#: Upper bound of each figure in seconds, by backend.
TARGETS = {
    "bwrap": {"start to first screenshot": 1.0, "reset to a pristine home": 0.5},
    "docker": {"start to first screenshot": 3.0, "reset to a pristine home": 2.0},
}
LOOKS = {"step: key press and screenshot": 0.15, "accessibility tree, open sheet": 1.5}
RESETS = {f"{name}: reset, prepared": 1.0 for name in PROGRAMS}
ENVIRONMENT = {"step: screenshot, editor": 0.15, "step: screenshot, sheet": 0.15}

Times = dict[str, list[float]]


def timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def workbook() -> bytes:
    """A sheet of 40 rows and 6 columns."""
    book, file = openpyxl.Workbook(), io.BytesIO()
    for i in range(40):
        book.active.append([f"item {i}", i, i * i, f"note {i}", i / 7, "end"])
    book.save(file)
    return file.getvalue()


def open_sheet(client: Client) -> None:
    """Open a workbook and wait until its cells are there.

    Raises:
        RuntimeError: they do not come within a minute.
    """
    client.upload("~/Desktop/a.xlsx", workbook())
    client.open_file("/home/user/Desktop/a.xlsx")
    for _ in range(120):
        if 'name="A40"' in client.accessibility_tree():
            return
        time.sleep(0.5)
    raise RuntimeError("the cells of the sheet never appeared")


def step(client: Client) -> None:
    client.act("pyautogui.press('down')")
    client.screenshot_array()


def alone(backend: str, rounds: int, looks: int) -> Times:
    """Times of a desktop that has the machine for itself."""
    times: Times = {}
    for _ in range(rounds):
        machine = make_desktop(backend)
        try:
            one_round(machine, looks, lambda name, work: times.setdefault(name, []).append(timed(work)))
        finally:
            machine.close()
    return times


def one_round(machine: Desktop, looks: int, note: Callable[[str, Callable[[], object]], None]) -> None:
    note("start to first screenshot", lambda: (machine.start(), machine.client.screenshot()))
    client = machine.client
    note("sheet opened, cells readable", lambda: open_sheet(client))
    for _ in range(looks):
        note("screenshot, array", client.screenshot_array)
        note("screenshot, PNG", client.screenshot)
        note("action: pointer moved", lambda: client.act("pyautogui.moveTo(500, 500)"))
        note("step: key press and screenshot", lambda: step(client))
    for _ in range(max(1, looks // 4)):
        note("accessibility tree, open sheet", client.accessibility_tree)
    note("reset to a pristine home", machine.reset)
    note("accessibility tree, empty desktop", client.accessibility_tree)
    note("end", machine.close)


def resets(backend: str, rounds: int) -> Times:
    """Times of resets to tasks that open an application, observed as by default: screenshot and tree."""
    times: Times = {}
    for name, command in PROGRAMS.items():
        task = task_with([{"type": "launch", "parameters": {"command": command}}])
        env = OSWorldEnv(backend=backend, tasks=[task])
        try:
            env.reset()  # makes the desktop, too
            for _ in range(rounds):
                times.setdefault(f"{name}: reset", []).append(timed(env.reset))
                env.prepare(task)
                times.setdefault(f"{name}: prepared after", []).append(timed(env._ahead.wait))
                times.setdefault(f"{name}: reset, prepared", []).append(timed(env.reset))
        finally:
            env.close()
    return times


def side_by_side(backend: str, count: int, looks: int, sheets: bool = True) -> Times:
    """Times of desktops that share the machine, each with its own agent and, if so wished, a sheet open."""
    times: Times = {}
    machines: list[Desktop] = [make_desktop(backend) for _ in range(count)]

    def begin(machine: Desktop) -> float:
        return timed(lambda: (machine.start(), machine.client.screenshot_array()))

    def play(machine: Desktop) -> list[float]:
        return [timed(lambda: step(machine.client)) for _ in range(looks)]

    try:
        with ThreadPoolExecutor(count) as threads:
            times["all started"] = [timed(lambda: times.update(start=list(threads.map(begin, machines))))]
            memory = [proportional_megabytes()]
            if sheets:
                times["all sheets open"] = [timed(lambda: list(threads.map(lambda m: open_sheet(m.client), machines)))]
                memory.append(proportional_megabytes())
            begun = time.perf_counter()
            steps = [seconds for player in threads.map(play, machines) for seconds in player]
            times["step: key press and screenshot"] = steps
            times["a step of any desktop every"] = [(time.perf_counter() - begun) / len(steps)]
            trees = threads.map(lambda m: timed(m.client.accessibility_tree), machines)
            times["accessibility tree"] = list(trees)
            times["reset to a pristine home"] = list(threads.map(lambda m: timed(m.reset), machines))
    finally:
        for machine in machines:
            machine.close()
    print(
        f"\n{count} at once: {1 / times['a step of any desktop every'][0]:.0f} steps/s of all together, "
        f"proportional set size of each {memory[0] / count:.0f} MB"
        + (f", {memory[1] / count:.0f} MB with the sheet open" if sheets else "")
    )
    return times


def proportional_megabytes() -> float:
    """Proportional set size of all processes below this one: memory shared by several counts in parts."""
    total = 0
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            total += process.memory_full_info().pss
    return total / 2**20


def opened(path: str, content: bytes) -> list[dict[str, Any]]:
    """The steps that make a file and open it."""
    return [
        {"type": "write_file", "parameters": {"path": path, "base64": base64.b64encode(content).decode()}},
        {"type": "open", "parameters": {"path": path}},
    ]


def task_with(config: list[dict[str, Any]]) -> Task:
    """A task with some steps of set-up."""
    payload = {
        "instruction": "Press keys.",
        "config": config,
        "evaluators": {"evaluator1": {"func": "infeasible"}},
        "instructions": {"evaluator1": "Press keys."},
        "current": "evaluator1",
    }
    return make_task(read_payload(payload))


def through_the_environment(backend: str, looks: int) -> Times:
    """Times of whole steps: act, let the screen settle, observe."""
    times: Times = {}
    tasks = {
        "editor": task_with(opened("/home/user/Desktop/a.txt", b"hello\n" * 20)),
        "sheet": task_with(opened("/home/user/Desktop/a.xlsx", workbook())),
    }
    for name, task in tasks.items():
        for kind, observation in (("screenshot", ["screenshot"]), ("text", "text")):
            env = gym.make(
                "RLAnything/OSWorld-v0", tasks=[task], backend=backend, observation=observation, max_turns=999
            )
            try:
                env.reset()  # makes the desktop, too
                times.setdefault(f"reset: {name} opened and settled", []).append(timed(env.reset))
                for _ in range(looks):
                    press = timed(partial(env.step, "pyautogui.press('down')"))
                    times.setdefault(f"step: {kind}, {name}", []).append(press)
            finally:
                env.close()
    return times


def report(title: str, times: Times, targets: dict[str, float]) -> None:
    print(f"\n{title:36}{'median':>10}{'lowest':>10}{'highest':>10}   target")
    for name, values in times.items():
        row = "".join(f"{1e3 * value:>7.0f} ms" for value in (median(values), min(values), max(values)))
        print(f"{name:36}{row}" + (f"   at most {1e3 * targets[name]:.0f} ms" if name in targets else ""))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="bwrap", choices=("bwrap", "docker"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--looks", type=int, default=20, help="actions and screenshots a round")
    parser.add_argument("--desktops", type=int, nargs="*", default=[8], help="how many in parallel")
    parser.add_argument("--no-sheets", action="store_true", help="desktops at once without an open sheet")
    parser.add_argument("--only", choices=("alone", "environment", "resets", "desktops"))
    args = parser.parse_args()
    print(
        f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.1f} before; {args.backend}, {args.rounds} rounds"
    )
    wanted = {args.only} if args.only else {"alone", "environment", "resets", "desktops"}
    if "alone" in wanted:
        report("one desktop", alone(args.backend, args.rounds, args.looks), TARGETS[args.backend] | LOOKS)
    if "environment" in wanted:
        report("environment", through_the_environment(args.backend, args.looks), ENVIRONMENT)
    if "resets" in wanted:
        report("tasks with an open application", resets(args.backend, args.rounds), RESETS)
    for count in args.desktops if "desktops" in wanted else ():
        report(f"{count} desktops at once", side_by_side(args.backend, count, args.looks, not args.no_sheets), {})
    print(f"\nload {os.getloadavg()[0]:.1f} after")


if __name__ == "__main__":
    main()
