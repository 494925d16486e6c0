"""Processes that work on a pool until they are killed, forked from one that has everything imported.

``python pool_writer.py`` reads commands: ``write POOL JOURNAL SEED``, ``swap POOL FOLDER SEED`` and
``create POOL SEED`` fork a worker and answer its process id; ``reap PID`` answers how it ended.

``write`` keeps a journal of its own, synced to disk before and after every call, of what it asked of the pool and what
the pool said. ``swap`` restores the pool from two checkpoints in turn and makes copies of it.
"""

import json
import os
import random
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from toy_tasks import child, outcome, root

from rlanything_task_pools import PoolError, Rejection, TaskPool


def write(path: Path, journal: Path, rng: random.Random) -> None:
    pool, name = TaskPool.open(path), journal.stem
    file = os.open(journal, os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def note(**entry: Any) -> None:
        os.write(file, json.dumps(entry).encode() + b"\n")
        os.fsync(file)

    def ask(label: str, kind: str, slot: int, call: Callable[[], Any], **more: Any) -> None:
        note(label=label, begun=kind, slot=slot, **more)
        try:
            event = call()
        except PoolError:
            note(label=label, refused=True)
        else:
            note(label=label, done=None if event is None else event.index)

    for number in count():
        label = f"{name}/{number}"
        slot = rng.randrange(3)
        stats = {"label": label}
        active, candidate = pool.active(slot), pool.candidate(slot)
        choice = rng.random()
        if choice < 0.4:
            task, role = (active, "active") if candidate is None or rng.random() < 0.5 else (candidate, "candidate")
            n = rng.randint(1, 5)
            played = [outcome(rng.choice([True, False, None]), role, actor=label) for _ in range(n)]
            ask(label, "record", slot, partial(pool.record, slot, task.id, played), n=n, task=task.id)
        elif choice < 0.5:
            reason = Rejection(reason="unsolvable", detail="no plan")
            ask(label, "discarded", slot, partial(pool.discard, slot, reason, stats=stats), task=None)
        elif candidate is None:
            new = child(active, int.from_bytes(label.encode()))
            ask(label, "proposed", slot, partial(pool.propose, slot, new, stats=stats), task=new.id)
        else:
            kind, decide = rng.choice([("accepted", pool.accept), ("rejected", pool.reject)])
            about = candidate.id
            ask(label, kind, slot, partial(decide, slot, "ok", task_id=about, stats=stats), task=about)


def swap(path: Path, folder: Path, rng: random.Random) -> None:
    pool = TaskPool.open(path)
    for number in count():
        pool.restore(folder / rng.choice(["a.db", "b.db"]))
        pool.copy(folder / f"copy-{os.getpid()}-{number}.db")


def create(path: Path, rng: random.Random) -> None:
    TaskPool.create(path, [root(number) for number in range(400)])
    time.sleep(60)


def main() -> None:
    jobs: dict[str, Callable[..., None]] = {"write": write, "swap": swap, "create": create}
    for line in sys.stdin:
        name, *paths, last = line.split()
        if name == "reap":
            answer = os.waitpid(int(last), 0)[1]
        else:
            answer = os.fork()
            if answer == 0:
                try:
                    jobs[name](*map(Path, paths), random.Random(int(last)))
                finally:
                    os._exit(1)
        print(answer, flush=True)


if __name__ == "__main__":
    main()
