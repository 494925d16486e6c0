"""The episodes of a run, to be read and spoiled."""

import gzip
import json
from pathlib import Path
from typing import Any


def read_episodes(run: Path, iteration: int = 1) -> list[dict[str, Any]]:
    with gzip.open(run / "trajectories" / f"{iteration:04d}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write_episodes(run: Path, episodes: list[dict[str, Any]], iteration: int = 1) -> None:
    with gzip.open(run / "trajectories" / f"{iteration:04d}.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(episode) + "\n" for episode in episodes)
