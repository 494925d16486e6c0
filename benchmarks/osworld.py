"""Times of desktops: start, reset, action and observation, one alone and several in parallel.

``python -m benchmarks.osworld`` prints four tables, medians and extremes of a few rounds, with the targets beside
them: one desktop, the environment on it, the environment on the simulated desktop, and several desktops at once.
Nothing is cached between rounds, and every desktop is ended. The times are by the clock: a busy machine makes all of
them longer, so the load of the machine is printed before and after.

An agent's step on a desktop is one key press and the screenshot after it, without waiting for the screen to settle;
a step of the environment waits. The sheet is a maximised Calc window at 1920 by 1080, about 1,000 visible cells.
"""

import argparse
import base64
import io
import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import median

import gymnasium as gym
import openpyxl

import rlanything_envs  # noqa: F401 (registers the environments)
from rlanything_envs.osworld.desktop import make_desktop
from rlanything_envs.osworld.desktop.protocol import Client, Desktop
from rlanything_task_pools import Task
from rlanything_task_pools.osworld import make_task, read_payload

#: Upper bound of each figure in seconds, by backend.
TARGETS = {
    "bwrap": {"start to first screenshot": 1.0, "reset to a pristine home": 0.5},
    "docker": {"start to first screenshot": 3.0, "reset to a pristine home": 2.0},
}
LOOKS = {"step: key press and screenshot": 0.15, "accessibility tree, open sheet": 1.5}
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


def side_by_side(backend: str, count: int, looks: int) -> Times:
    """Times of desktops that share the machine, each with a sheet open and an agent of its own."""
    times: Times = {}
    machines: list[Desktop] = [make_desktop(backend) for _ in range(count)]

    def begin(machine: Desktop) -> float:
        return timed(lambda: (machine.start(), machine.client.screenshot_array()))

    def play(machine: Desktop) -> list[float]:
        return [timed(lambda: step(machine.client)) for _ in range(looks)]

    try:
        with ThreadPoolExecutor(count) as threads:
            times["all started"] = [timed(lambda: times.update(start=list(threads.map(begin, machines))))]
            times["all sheets open"] = [timed(lambda: list(threads.map(lambda m: open_sheet(m.client), machines)))]
            begun = time.perf_counter()
            steps = [seconds for player in threads.map(play, machines) for seconds in player]
            times["step: key press and screenshot"] = steps
            times["a step of any desktop every"] = [(time.perf_counter() - begun) / len(steps)]
            trees = threads.map(lambda m: timed(m.client.accessibility_tree), machines)
            times["accessibility tree, open sheet"] = list(trees)
            times["reset to a pristine home"] = list(threads.map(lambda m: timed(m.reset), machines))
    finally:
        for machine in machines:
            machine.close()
    return times


def task_with(path: str, content: bytes) -> Task:
    """A task that begins with an open file."""
    config = [
        {"type": "write_file", "parameters": {"path": path, "base64": base64.b64encode(content).decode()}},
        {"type": "open", "parameters": {"path": path}},
    ]
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
        "editor": task_with("/home/user/Desktop/a.txt", b"hello\n" * 20),
        "sheet": task_with("/home/user/Desktop/a.xlsx", workbook()),
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
    parser.add_argument("--desktops", type=int, default=8, help="how many side by side; 0 for none")
    args = parser.parse_args()
    print(
        f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.1f} before; {args.backend}, {args.rounds} rounds"
    )
    report("one desktop", alone(args.backend, args.rounds, args.looks), TARGETS[args.backend] | LOOKS)
    report("environment", through_the_environment(args.backend, args.looks), ENVIRONMENT)
    report("environment, simulated desktop", through_the_environment("simulator", args.looks), {})
    if args.desktops:
        report(f"{args.desktops} desktops at once", side_by_side(args.backend, args.desktops, args.looks), {})
    print(f"\nload {os.getloadavg()[0]:.1f} after")


if __name__ == "__main__":
    main()
