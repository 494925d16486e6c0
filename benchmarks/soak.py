"""Does anything grow that should not? Episodes, judged programs and desktop resets by the thousand, looked at often.

``python -m benchmarks.soak`` plays 100,000 AlfWorld episodes through Gymnasium, judges 10,000 programs in the sandbox
and resets a desktop 200 times. After each tenth it counts, for this process and all its descendants: resident memory,
open files, processes, and what lies in the folder for temporary files. The first two tenths are for warming up: caches
fill, pools start. From then on memory may grow by a twentieth and 16 MB, and nothing else at all; what grows more is
named, and the exit code is 1.
"""

import argparse
import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from random import Random

import gymnasium as gym
import psutil
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import rlanything_envs  # noqa: F401 (registers the environments)
from rlanything_envs.osworld.desktop import make_desktop
from rlanything_task_pools import get_domain
from rlanything_verifiers.coding import Job, judge_many

LOOKS = 10
WARM = 2
"""Looks before which growth is warming up."""
MEMORY = 16.0
"""Megabytes that memory may grow by, besides a twentieth: pages of allocators and of descendants that come and go."""


@dataclass(frozen=True)
class Look:
    """Resources of this process and its descendants at one moment.

    Attributes:
        done: Units of work done so far.
        memory: Resident, in megabytes.
        files: Open files and sockets.
        processes: Of them all, zombies included.
        temporary: Entries of the folder for temporary files, at any depth.
    """

    done: int
    memory: float
    files: int
    processes: int
    temporary: int

    @classmethod
    def now(cls, done: int) -> "Look":
        """Look."""
        gc.collect()
        memory = files = processes = 0
        me = psutil.Process()
        for process in (me, *me.children(recursive=True)):
            try:
                processes += 1
                memory += process.memory_info().rss
                files += process.num_fds()
            except (
                psutil.Error
            ):  # it ended while it was looked at, or is a zombie: counted, and with nothing to its name
                continue
        return cls(done, memory / 1e6, files, processes, _entries(tempfile.gettempdir()))


def _entries(folder: str) -> int:
    return sum(len(folders) + len(files) for _, folders, files in os.walk(folder))


def growth(looks: Sequence[Look]) -> list[str]:
    """Growth from the end of the warm-up to the last measurement, in words."""
    first, last = looks[WARM - 1], looks[-1]
    grown = [
        f"{name}: {getattr(first, name)} -> {getattr(last, name)}"
        for name in ("files", "processes", "temporary")
        if getattr(last, name) > getattr(first, name)
    ]
    if last.memory > 1.05 * first.memory + MEMORY:
        grown.append(f"memory: {first.memory:.0f} -> {last.memory:.0f} MB")
    return grown


def alfworld(episodes: int) -> Iterator[int]:
    """Random play in one environment, up to ten steps an episode; every episode's task is generated from its number."""
    domain, rng = get_domain("alfworld"), Random(0)
    tasks = [domain.generate(seed) for seed in range(512)]
    with closing(gym.make(domain.env_id, tasks=tasks, max_episode_steps=10)) as env:
        for _ in range(episodes):
            _, info = env.reset(options={"task": rng.choice(tasks)})
            over = False
            while not over:
                _, _, terminated, truncated, info = env.step(rng.choice(info["admissible_commands"]))
                over = terminated or truncated
            yield 1


def coding(programs: int) -> Iterator[int]:
    """Programs of every fate: right, wrong, endless, crashing, greedy, and such as leave files and children behind."""
    kinds = (
        "print(int(input()) * 2)",
        "print(int(input()) + 1)",
        "raise SystemExit(3)",
        "x = bytearray(10 ** 10)",
        "import os\nopen('left', 'w').write('x' * 10000)\nos.fork()\nprint(int(input()) * 2)",
    )
    tests = [("2\n", "4\n"), ("5\n", "10\n")]
    for first in range(0, programs, 50):
        count = min(50, programs - first)
        jobs = [Job(f"{kinds[n % len(kinds)]}\n# {first + n}", tests) for n in range(count)]
        if first % 1000 == 0:  # a second each: a few are enough
            jobs[0] = Job(f"while True: pass\n# {first}", tests)
        judge_many(jobs, cache=False)
        yield count


def osworld(resets: int, backend: str) -> Iterator[int]:
    """A desktop on which a file is left before each reset."""
    with closing(make_desktop(backend)) as machine:
        machine.start()
        for number in range(resets):
            machine.client.upload(f"~/Desktop/{number}.txt", b"left behind")
            machine.client.act("pyautogui.press('down')")
            machine.client.screenshot()
            machine.reset()
            yield 1


@contextmanager
def bar(console: Console, name: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar to advance."""
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(name, total=total)
        yield lambda count: progress.advance(task, count)


def soak(console: Console, name: str, unit: str, work: Iterator[int], total: int) -> list[str]:
    """Do the work, look ten times, print the table; what has grown."""
    looks, done, start = [], 0, time.perf_counter()
    with bar(console, name, total) as advance:
        for count in work:
            done += count
            advance(count)
            if done >= total * (len(looks) + 1) // LOOKS:
                looks.append(Look.now(done))
    seconds = time.perf_counter() - start
    table = Table(title=f"{name}: {done:,} {unit} in {seconds:.0f} s")
    for column in (unit, "memory, MB", "open files", "processes", "temporary files"):
        table.add_column(column, justify="right")
    for look in looks:
        cells = (f"{look.done:,}", f"{look.memory:.0f}", look.files, look.processes, look.temporary)
        table.add_row(*map(str, cells))
    console.print(table)
    return [f"{name}, {line}" for line in growth(looks)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=100_000, help="of AlfWorld; 0 for none")
    parser.add_argument("--programs", type=int, default=10_000, help="to judge; 0 for none")
    parser.add_argument("--resets", type=int, default=200, help="of a desktop; 0 for none")
    parser.add_argument("--desktop", default="bwrap", help="backend of the desktop")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as alone:  # what other programs leave in theirs is not counted
        os.environ["TMPDIR"] = tempfile.tempdir = alone
        sys.exit(soak_all(chosen, Console()))


def soak_all(chosen: argparse.Namespace, console: Console) -> bool:
    """Everything that was chosen; whether anything grew."""
    grown = []
    if chosen.episodes:
        grown += soak(console, "AlfWorld", "episodes", alfworld(chosen.episodes), chosen.episodes)
    if chosen.programs:
        grown += soak(console, "Coding", "programs", coding(chosen.programs), chosen.programs)
    if chosen.resets:
        resets = osworld(chosen.resets, chosen.desktop)
        grown += soak(console, f"OSWorld, {chosen.desktop}", "resets", resets, chosen.resets)
    for line in grown:
        console.print(f"[red]grown:[/] {line}")
    if not grown:
        console.print("nothing grew")
    return bool(grown)


if __name__ == "__main__":
    main()
