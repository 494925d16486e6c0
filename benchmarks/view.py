"""Load times of the pages of a large run in a browser.

``python -m benchmarks.view`` makes a run of 100 MB on disk from the records of a real one (its texts made longer with
random words, so that they pack no better than those of a language model), serves it by ``rlanything view`` in a
process of its own, and opens pages in headless Chromium, each in a new browser context. It prints, as medians and
extremes of a few rounds, the time to the first paint and to the content. The times are by the clock: a busy machine
makes all of them longer, so its load is printed before and after.

The real run is that of ``--run``; without it a small one is trained first.
"""

import argparse
import gzip
import json
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from rlanything_agents.runs.folder import RunFolder

TARGET = 2.0
"""Seconds to the first paint that no page is to exceed."""
EPISODES = 128
"""Of an iteration."""

Times = dict[str, list[float]]


def real_run(folder: Path) -> Path:
    """A small run of the quickstart."""
    from rlanything_agents.config import load_config
    from rlanything_agents.runs.progress import Reporter
    from rlanything_agents.runs.train import train

    small = [
        "name=small", "threads=1", "iterations=3", "warm_start={demonstrations: 60, epochs: 2, judge_steps: 200}",
        "rollout={tasks: 8, rollouts: 8, max_steps: 30}", "evaluation={episodes: 16, judge_episodes: 8}",
    ]  # fmt: skip
    config = load_config(Path(__file__).parent.parent / "configs" / "quickstart.yaml", small)
    train(config, RunFolder(folder), Reporter.silent(), command="python -m benchmarks.view")
    return folder


def longer(text: str, rng: random.Random, words: int) -> str:
    """A text with random words after it; four letters of 5 bits each pack to some 3 bytes."""
    return f"{text} " + " ".join(f"{rng.getrandbits(20):04x}" for _ in range(words))


def large_run(source: Path, target: Path, megabytes: float) -> tuple[int, int]:
    """Write a run of this size; returns its iterations and the bytes its episodes unpack to."""
    rng, real = random.Random(0), RunFolder(source)
    shutil.copytree(
        source, target, ignore=shutil.ignore_patterns("checkpoints", "trajectories", "metrics.jsonl", "screens")
    )
    records = []
    for path in sorted(real.trajectories.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            records += [json.loads(line) for line in file]
    rows, run = real.rows(), RunFolder(target)
    run.trajectories.mkdir()
    size = unpacked = iteration = 0
    while size < megabytes * 1e6:
        iteration += 1
        lines = []
        for k in range(EPISODES):
            record = json.loads(json.dumps(records[(iteration * EPISODES + k) % len(records)])) | {
                "iteration": iteration
            }
            for turn in record["turns"]:
                turn["thought"] = longer(turn["thought"], rng, 24)
                turn["observation"] = longer(turn["observation"], rng, 8)
                turn["judgements"] = [longer(text, rng, 12) for text in turn["judgements"]]
            lines.append(json.dumps(record) + "\n")
        content = "".join(lines).encode()
        packed = gzip.compress(content, 6)
        (run.trajectories / f"{iteration:04d}.jsonl.gz").write_bytes(packed)
        run.append_metrics(rows[iteration % len(rows)] | {"iteration": iteration})
        size, unpacked = size + len(packed), unpacked + len(content)
    return iteration, unpacked


def visit(chromium: Any, address: str, hash_: str, content: str, times: Times, name: str) -> None:
    """Load a page, and measure the times until first paint and until its content."""
    context = chromium.new_context(viewport={"width": 1360, "height": 860})
    page = context.new_page()
    context.add_cookies([cookie_of(address)])
    begin = time.perf_counter()
    page.goto(f"{address.split('?')[0]}{hash_}", wait_until="commit")
    page.wait_for_selector(content, state="attached", timeout=60_000)
    times.setdefault(f"{name}: content", []).append(time.perf_counter() - begin)
    while not page.evaluate("performance.getEntriesByName('first-contentful-paint').length"):
        page.wait_for_timeout(20)  # the page's own policy forbids the `eval` that the driver would poll with
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    times.setdefault(f"{name}: first paint", []).append(paint / 1e3)
    context.close()


def cookie_of(address: str) -> dict[str, str]:
    found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=(.*)", address)
    assert found is not None, address
    return {"name": f"rlanything-view-{found[1]}", "value": found[2], "url": f"http://127.0.0.1:{found[1]}"}


def measure(run: Path, iterations: int, rounds: int, browser: str) -> Times:
    """Start a viewer for each round, so that nothing is at hand, and visit its pages."""
    from playwright.sync_api import sync_playwright

    times: Times = {}
    middle = iterations // 2
    pages: dict[str, tuple[str, str]] = {
        "overview": ("", ".chart text.tick"),
        "tasks": ("#/run/tasks", "table.tasks tbody tr"),
        "lineage of a slot": ("#/run/slot/0", "article.version"),
        "episodes of an iteration": (f"#/run/episodes/{middle}", "table.groups tbody tr"),
        "last episode of an iteration": (f"#/run/episode/{middle}/{EPISODES - 1}", "li.turn"),
        "all iterations, one slot": ("#/run/episodes/all?slot=1", "table.groups tbody tr"),
        "words that are nowhere": ("#/run/episodes/all?q=zqzqzq", "p:text('Nothing fits.')"),
    }
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for _ in range(rounds):
            begin = time.perf_counter()
            with started(run) as address:
                times.setdefault("viewer: started, address printed", []).append(time.perf_counter() - begin)
                for name, (hash_, content) in pages.items():
                    visit(chromium, address, hash_, content, times, name)
        chromium.close()
    return times


@contextmanager
def started(run: Path) -> Iterator[str]:
    """A viewer in a process of its own; its address."""
    command = [sys.executable, "-m", "rlanything_agents", "view", str(run), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield str(json.loads(process.stdout.readline())["url"])
    finally:
        process.terminate()
        process.wait(20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, help="folder of a real run; else a small one is trained")
    parser.add_argument("--megabytes", type=float, default=100.0, help="size of the packed episodes")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--chromium", default=shutil.which("chromium") or "chromium")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        source = args.run or real_run(Path(scratch) / "small")
        run = Path(scratch) / "run"
        iterations, unpacked = large_run(source, run, args.megabytes)
        print(
            f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores, load "
            f"{os.getloadavg()[0]:.1f} before; {iterations} iterations of {EPISODES} episodes, "
            f"{args.megabytes:g} MB packed, {unpacked / 1e6:.0f} MB unpacked; {args.rounds} rounds\n"
        )
        times = measure(run, iterations, args.rounds, args.chromium)
    print(f"{'page, cold viewer and browser context':44}{'median':>10}{'lowest':>10}{'highest':>10}   target")
    for name, values in sorted(times.items(), key=lambda item: item[0].split(":")[0] != "viewer"):
        row = "".join(f"{1e3 * value:>7.0f} ms" for value in (median(values), min(values), max(values)))
        print(f"{name:44}{row}" + (f"   below {TARGET:g} s" if name.endswith("first paint") else ""))
    print(f"\nload {os.getloadavg()[0]:.1f} after")


if __name__ == "__main__":
    main()
