"""``study guided``: whether a critique makes rewrites better, for players that never learn."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import pandas as pd  # type: ignore[import-untyped]
from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console

from rlanything_agents.runs.folder import write_atomically
from studies.guiding import STAGE_NAMES, GuidedArm, Guiding
from studies.jobs import Job, Key, Progress
from studies.plan import Name, StudyError
from studies.report import write_frame
from studies.statistics import Estimate, estimate, paired_difference, points
from studies.study import run_board
from studies.tables import Table, interval_note

__all__ = [
    "GuidedFile",
    "guided_tables",
    "read_guided",
    "run_guided",
    "write_guided",
]

SETTINGS = "guided.json"
BASELINES = ({"scripted": "random", "llm": "llm_other"}, {"scripted": "blind", "llm": "llm_blind"})
"""Arms that the others with the same rewriter are compared with: one with a wrong critique, and one with none."""


class GuidedFile(BaseModel):
    """The content of a guided file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    meaning: str
    seeds: Annotated[int, Field(gt=0)]
    settings: Guiding
    players: dict[Name, str]
    """Meaning of each player."""
    arms: Annotated[dict[Name, GuidedArm], Field(min_length=1)]

    @property
    def asks_a_model(self) -> bool:
        """Whether in any arm a language model rewrites."""
        return any(arm.rewriter == "llm" for arm in self.arms.values())


def run_guided(
    file: GuidedFile,
    folder: Path,
    *,
    players: Sequence[str] = (),
    arms: Sequence[str] = (),
    seeds: int | None,
    workers: int,
    command: str,
) -> int:
    """Follow every arm of every player, and write the tables.

    Args:
        file: Arms and settings.
        folder: Where everything goes.
        players: Only these; all if empty.
        arms: Only these; all if empty.
        seeds: Seeds 0, 1, ...; as in the file if None.
        workers: Processes in parallel.
        command: The user's command line.

    Returns:
        The number of jobs that failed.

    Raises:
        StudyError: No such player or arm, a language model without a service, or the folder holds a study with other
            settings.
    """
    for given, known in ((players, file.players), (arms, file.arms)):
        if unknown := set(given) - set(known):
            raise StudyError(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if file.asks_a_model and file.settings.curriculum.llm is None and file.settings.model is None:
        raise StudyError(
            "a language model rewrites in this study: name a checkpoint with --llm-model, or a service in the file "
            "under settings.curriculum.llm"
        )
    chosen = {name: arm for name, arm in file.arms.items() if not arms or name in arms}
    file = file.model_copy(update={"arms": chosen})
    stored, new = folder / SETTINGS, json.loads(file.model_dump_json())
    if stored.exists() and {**json.loads(stored.read_text(encoding="utf-8")), "seeds": file.seeds} != new:
        raise StudyError(f"{folder} holds a study with other settings or arms: give this one another --out")
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(stored, json.dumps(new, indent=1) + "\n")
    write_atomically(folder / "command.txt", command + "\n")
    jobs = [
        _job(file, folder, player, seed)
        for seed in range(file.seeds if seeds is None else seeds)
        for player in players or file.players
    ]
    console = Console(highlight=False, markup=False)
    try:
        return run_board(f"{file.name}: {len(jobs)} jobs", jobs, lambda _: Progress(0.0, ""), _note, workers, console)
    finally:
        console.print(f"Tables: {write_guided(folder)}", soft_wrap=True)


def _job(file: GuidedFile, study: Path, player: str, seed: int) -> Job:
    folder = study / "runs" / player / f"seed-{seed}"
    return Job(
        key=Key(player, "all", seed),
        work={
            "kind": "guided",
            "config": {"threads": 1},
            "folder": str(folder),
            "settings": file.settings.model_dump(mode="json"),
            "arms": {
                # The weakness of a player is known of one only.
                name: arm.model_dump(mode="json")
                for name, arm in file.arms.items()
                if player == "clumsy" or arm.critique != "weakness"
            },
            "player": player,
            "seed": seed,
        },
        log=folder / "log.txt",
        results=(folder / "slots.json",),
    )


def _note(job: Job) -> str:
    arms = json.loads(job.results[0].read_text(encoding="utf-8"))
    return f"{len(next(iter(arms.values()), []))} tasks"


def read_guided(folder: Path) -> pd.DataFrame:
    """One row for each task of an arm: player, seed, arm, slot, and the counts of its slot."""
    rows = []
    for path in sorted(folder.glob("runs/*/seed-*/slots.json")):
        player, seed = path.parent.parent.name, int(path.parent.name.removeprefix("seed-"))
        for arm, slots in json.loads(path.read_text(encoding="utf-8")).items():
            rows += [{"player": player, "seed": seed, "arm": arm, "slot": at, **slot} for at, slot in enumerate(slots)]
    return pd.DataFrame(rows)


def guided_tables(rows: pd.DataFrame, file: GuidedFile) -> list[Table]:
    """A table for each player."""
    return [
        _table(rows[rows.player == player], file, player, meaning)
        for player, meaning in file.players.items()
        if len(rows) and (rows.player == player).any()
    ]


def _table(rows: pd.DataFrame, file: GuidedFile, player: str, meaning: str) -> Table:
    arms = [arm for arm in file.arms if (rows.arm == arm).any()]
    accepted = {arm: _accepted(rows[rows.arm == arm]) for arm in arms}
    steps = {arm: _means(rows[rows.arm == arm], "steps") for arm in arms}
    inside = {arm: _means(rows[rows.arm == arm], "inside") for arm in arms}
    lines = []
    for arm in arms:
        found = rows[rows.arm == arm]
        bases = [names[file.arms[arm].rewriter] for names in BASELINES]
        lines.append((
            arm,
            str(int(found.proposed.sum())),
            str(int(found.discarded.sum())),
            points(_shown(accepted[arm])),
            *(_difference(arm, base, accepted, 100) for base in bases),
            points(_shown(inside[arm])),
            _number(estimate(list(steps[arm].values()))),
            *(_difference(arm, base, steps, 1) for base in bases),
            _written(found) if file.asks_a_model else _blamed(found),
        ))  # fmt: skip
    counts = rows.groupby("arm").seed.nunique().tolist()
    tasks = len(rows) // len(arms)
    return Table(
        title=f"{file.name}, {player}: {meaning}",
        note=f"{tasks} failed tasks in all. Accepted: of 100 proposals on trial. Steps: environment steps of all "
        f"groups of a task until it is inside the band, at most {file.settings.groups} groups. Differences: from a "
        f"wrong critique ({' or '.join(BASELINES[0].values())}) and from none, paired over seeds; * the interval "
        f"excludes 0. {interval_note('Means over seeds', counts)}",
        header=("critique", "proposals", "discarded", "accepted, %", "minus wrong", "minus none", "inside, %", "steps",
                "minus wrong", "minus none", "summaries written, of all" if file.asks_a_model
                else "blamed first, %: search, fetch, prepare, place"),
        rows=tuple(lines),
    )  # fmt: skip


def _accepted(rows: pd.DataFrame) -> dict[int, float]:
    """Accepted share of the proposals by seed; seeds without a proposal are left out."""
    sums = rows.groupby("seed")[["accepted", "proposed"]].sum()
    return {int(seed): row.accepted / row.proposed for seed, row in sums.iterrows() if row.proposed}


def _means(rows: pd.DataFrame, column: str) -> dict[int, float]:
    return {int(seed): float(value) for seed, value in rows.groupby("seed")[column].mean().items()}


def _shown(values: dict[int, float]) -> Estimate:
    return estimate(list(values.values())) if values else Estimate(float("nan"), None, None, 0)


def _difference(arm: str, base: str, values: dict[str, dict[int, float]], scale: float) -> str:
    if base not in values or arm == base:
        return "–"
    found = paired_difference(arm, base, values[arm], values[base])
    if found is None:
        return "–"
    return _number(found.estimate, scale, signed=True) + ("*" if found.clear else "")


def _number(value: Estimate, scale: float = 1, *, signed: bool = False) -> str:
    form = "+.1f" if signed else ".0f"
    text = f"{scale * value.mean:{form}}"
    if value.low is None or value.high is None:
        return text
    return f"{text} [{scale * value.low:{form}}, {scale * value.high:{form}}]"


def _blamed(rows: pd.DataFrame) -> str:
    """Percent of the critiques that blame each stage most, of those that blame any."""
    counts: Counter[Any] = Counter(stage for stages in rows.blamed for stage in stages)
    total = sum(counts[stage] for stage in STAGE_NAMES)
    return ", ".join(f"{100 * counts[stage] / total:.0f}" for stage in STAGE_NAMES) if total else "–"


def _written(rows: pd.DataFrame) -> str:
    """Summaries that a model wrote, of all; the others were refused."""
    counts: Counter[str] = Counter(how for found in rows.summaries for how in found)
    return f"{counts['written']} of {counts.total()}" if counts else "–"


def write_guided(folder: Path) -> Path:
    """Write results.parquet and guided.md from the results so far; return the Markdown."""
    file = GuidedFile.model_validate_json((folder / SETTINGS).read_text(encoding="utf-8"))
    rows = read_guided(folder)
    write_frame(rows, folder / "results.parquet")
    tables = guided_tables(rows, file)
    arms = [f"`{arm}`: {content.meaning}" for arm, content in file.arms.items()]
    page = folder / "guided.md"
    text = "\n".join([*(table.markdown() for table in tables), *arms]) if tables else "Nothing has ended yet."
    write_atomically(page, text + "\n")
    return page
