"""Panels: pinned lists of tasks for evaluation, each a recipe with the hash of its tasks.

A recipe is a JSON file with the generation of the tasks (splits, seeds, knobs), the arguments of their environment, and
the resulting task ids, which are content hashes, with one hash over them. Loading a panel generates the tasks again and
compares them with the recipe. Official games are neither generated nor shipped: their number is pinned, and the hash of
the games found is stored in the result. A game file that cannot be read becomes a task without an outcome; the others
are played.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rlanything_task_pools.domain import Domain, get_domain
from rlanything_task_pools.errors import PoolError
from rlanything_task_pools.knobs import Split
from rlanything_task_pools.pool import TaskPool
from rlanything_task_pools.task import Name, Task, twins

__all__ = [
    "Entry",
    "Panel",
    "Part",
    "Recipe",
    "Unreadable",
    "load_panel",
    "panel_hash",
    "panel_names",
    "pin",
    "pool_panel",
    "read_recipe",
]

MAX_BYTES = 8_000_000
"""Largest recipe that is read; 100,000 ids take 2.5 MB."""

ROOT, ADAPTED = "root", "adapted"
"""Names of the groups of a pool's tasks."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A task of a panel with the name of its group; most panels have one group, without a name."""

    task: Task
    group: str = ""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An official game that exists but cannot be played.

    Attributes:
        task: Its name in results: the pinned id, or else split, folder and trial of its file.
        error: The file and its fault.
        place: Its position among the tasks and the unreadable games of the panel together.
    """

    task: str
    error: str
    place: int


@dataclass(frozen=True, slots=True)
class Panel:
    """The ordered tasks of an evaluation.

    Attributes:
        name: Name of the recipe, or the origin of the tasks.
        meaning: Description in a sentence.
        domain: The domain of all tasks.
        environment: Arguments of the environment that differ from its defaults.
        entries: The tasks.
        total: Number of tasks without a limit.
        unreadable: Official games that cannot be played, in order.
        root: Hash of the root folder of the desktops that its published figures are of.
    """

    name: str
    meaning: str
    domain: str
    environment: Mapping[str, Any]
    entries: tuple[Entry, ...]
    total: int
    unreadable: tuple[Unreadable, ...] = ()
    root: str | None = None

    @property
    def ids(self) -> list[str]:
        """Ids of the tasks in order, with their groups; for an unreadable game its name in results."""
        ids = [f"{entry.group} {entry.task.id}".strip() for entry in self.entries]
        for game in self.unreadable:
            ids.insert(game.place, game.task)
        return ids

    @property
    def hash(self) -> str:
        """16 hex digits over the ids."""
        return panel_hash(self.ids)


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Part(_Strict):
    """Generator arguments for a part of a generated panel's tasks."""

    split: Split
    knobs: dict[str, Any] = {}


class Recipe(_Strict):
    """The generation of a panel and the tasks that it must give."""

    name: Name
    meaning: str
    domain: Name
    environment: dict[str, Any] = {}
    count: Annotated[int, Field(gt=0, le=100_000)]
    parts: tuple[Part, ...] = ()
    """Parts that alternate: task ``i`` is from part ``i`` modulo their number."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the first task of each part."""
    official: str | None = None
    """Split of official games, in place of ``parts``."""
    hash: str | None = None
    """`panel_hash` of ``tasks``; None where the tasks are not pinned."""
    tasks: tuple[str, ...] = ()
    root: str | None = None
    """Hash of the root folder of the desktops that it was measured on; `rlanything doctor` says this machine's."""

    @model_validator(mode="after")
    def _consistent(self) -> Recipe:
        if bool(self.parts) == (self.official is not None):
            raise ValueError("give either parts or official")
        if self.hash is None:
            if self.tasks:
                raise ValueError("tasks without their hash")
        elif len(self.tasks) != self.count:
            raise ValueError(f"count says {self.count}, and {len(self.tasks)} tasks are listed")
        elif (found := panel_hash(self.tasks)) != self.hash:
            raise ValueError(f"the tasks that are listed have the hash {found}, and hash says {self.hash}")
        return self


def panel_hash(ids: Iterable[str]) -> str:
    """16 hex digits of the SHA-256 over task ids in their order."""
    return hashlib.sha256("\n".join(ids).encode()).hexdigest()[:16]


def panel_names() -> list[str]:
    """Names of the shipped panels, sorted."""
    return sorted(file.name.removesuffix(".json") for file in _shipped().iterdir() if file.name.endswith(".json"))


def read_recipe(source: str | os.PathLike[str]) -> Recipe:
    """The recipe of a shipped panel by its name, or of a file.

    Raises:
        PoolError: Neither a panel nor a file has this name.
        PoolError: The file is not a recipe.
    """
    name = os.fspath(source)
    if name in panel_names():
        text = (_shipped() / f"{name}.json").read_bytes()
    elif Path(name).is_file():
        if Path(name).stat().st_size > MAX_BYTES:
            raise PoolError(f"{name}: more than {MAX_BYTES} bytes are not read as the recipe of a panel")
        text = Path(name).read_bytes()
    else:
        raise PoolError(
            f"no panel is called {name!r:.200}: choose from {', '.join(panel_names())}, or name the JSON file of one"
        )
    try:
        return Recipe.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise PoolError(f"panel {name}: {place}: {first['msg']}") from None


def load_panel(source: str | os.PathLike[str] | Recipe, limit: int | None = None) -> Panel:
    """A panel with its tasks, after comparison with the pinned ones.

    Args:
        source: A name, a file, or a recipe.
        limit: Maximum tasks, from the beginning.

    Raises:
        PoolError: There is no such panel, its recipe is malformed, the limit is not positive, none of its games
            can be read, or the tasks or their number differ from the recipe.
        UnknownName, KnobError: The recipe names an unknown domain, split or knob.
        PoolError: The official games are not found.
    """
    recipe = source if isinstance(source, Recipe) else read_recipe(source)
    count = _limited(recipe.count, limit)
    tasks, unreadable = _made(recipe, count)
    if recipe.hash is not None:
        unreadable = [replace(game, task=recipe.tasks[game.place]) for game in unreadable]
    entries = tuple(Entry(task) for task in tasks)
    panel = Panel(
        recipe.name,
        recipe.meaning,
        recipe.domain,
        recipe.environment,
        entries,
        recipe.count,
        tuple(unreadable),
        recipe.root,
    )
    if not entries:
        raise PoolError(f"panel {recipe.name}: not one of {count} games can be read; the first: {unreadable[0].error}")
    if recipe.hash is not None:
        _compare(recipe, panel)
    return panel


def _made(recipe: Recipe, count: int) -> tuple[list[Task], list[Unreadable]]:
    domain = get_domain(recipe.domain)
    if recipe.official is not None:
        return _load_games(domain, _official_files(domain, recipe)[:count])
    tasks = []
    for number in range(count):
        turn, place = divmod(number, len(recipe.parts))
        part = recipe.parts[place]
        tasks.append(domain.generate(recipe.seed + turn, split=part.split, **part.knobs))
    if same := twins(tasks):
        raise PoolError(f"panel {recipe.name}: tasks {same[0]} and {same[1]} are the same ({tasks[same[0]].id})")
    return tasks, []


def _load_games(domain: Domain, paths: Sequence[Path]) -> tuple[list[Task], list[Unreadable]]:
    """The tasks of official games, and the games that cannot be read or solved, each in the order of the paths."""
    tasks: list[Task] = []
    unreadable: list[Unreadable] = []
    for place, path in enumerate(paths):
        try:
            tasks.append(domain.load(path))
        except (ValueError, OSError) as error:
            unreadable.append(Unreadable("/".join(path.parts[-4:-1]), f"{error}", place))
    return tasks, unreadable


def pin(recipe: Recipe) -> Recipe:
    """The recipe with the ids of the tasks that it gives on this machine, and their hash; its JSON is a panel file.

    Raises:
        PoolError: An official game cannot be read.
    """
    tasks, unreadable = _made(recipe, recipe.count)
    if unreadable:
        raise PoolError(f"panel {recipe.name}: {len(unreadable)} games cannot be read: {unreadable[0].error}")
    ids = [task.id for task in tasks]
    return Recipe.model_validate({**recipe.model_dump(), "tasks": ids, "hash": panel_hash(ids)})


def pool_panel(path: str | os.PathLike[str], limit: int | None = None) -> Panel:
    """The tasks of a pool: the root of each slot, followed by its active task where that differs.

    Args:
        path: Path of the pool; a run may go on writing to it.
        limit: Maximum tasks, from the beginning.

    Raises:
        PoolError: The limit is not positive, or the pool has tasks of several domains.
        PoolError: There is no pool at the path.
    """
    with TaskPool.open(path) as pool, pool.snapshot():
        entries: dict[tuple[str, str], Entry] = {}
        for slot in pool.slots:
            root, active = pool.root(slot), pool.active(slot)
            entries.setdefault((ROOT, root.id), Entry(root, ROOT))
            if active.id != root.id:
                entries.setdefault((ADAPTED, active.id), Entry(active, ADAPTED))
    domains = sorted({entry.task.domain for entry in entries.values()})
    if len(domains) != 1:
        raise PoolError(f"{path} has tasks of {len(domains)} domains ({', '.join(domains)}): a panel is of one")
    chosen = tuple(entries.values())[: _limited(len(entries), limit)]
    return Panel(
        f"pool {path}",
        "The roots of a pool, and what became of those that were adapted.",
        domains[0],
        {},
        chosen,
        len(entries),
    )


def _limited(count: int, limit: int | None) -> int:
    if limit is not None and limit < 1:
        raise PoolError(f"a limit of {limit} leaves no task: give at least 1")
    return count if limit is None else min(count, limit)


def _compare(recipe: Recipe, panel: Panel) -> None:
    found = panel.ids
    pinned = recipe.tasks[: len(found)]
    if list(pinned) == found:
        return
    number = next(i for i, (one, other) in enumerate(zip(pinned, found, strict=True)) if one != other)
    raise PoolError(
        f"panel {recipe.name}: expected the hash {panel_hash(pinned)} over {len(found)} tasks, found "
        f"{panel_hash(found)}; the first that differs is task {number}, expected {pinned[number]}, found "
        f"{found[number]}. Another version of the generator makes other tasks: use the release that pinned the panel"
    )


def _official_files(domain: Domain, recipe: Recipe) -> list[Path]:
    try:
        official = import_module(f"{__package__}.{domain.name}.official")
    except ModuleNotFoundError as error:
        raise PoolError(f"panel {recipe.name}: the domain {domain.name} has no official games") from error
    games: list[Path] = official.find_games(split=recipe.official)
    if len(games) != recipe.count:
        raise PoolError(
            f"panel {recipe.name}: expected {recipe.count} games of the split {recipe.official}, found {len(games)}; "
            f"{official.how_to_get()}"
        )
    return games


def _shipped() -> Any:
    return files(__package__) / "panels"
