"""Official ALFWorld games as tasks: found in a data folder in an order that is the same on every machine."""

import os
import re
from pathlib import Path

from rlanything_task_pools.alfworld.generate import make_task
from rlanything_task_pools.alfworld.household import room_of
from rlanything_task_pools.collection import Collection
from rlanything_task_pools.errors import PoolError
from rlanything_task_pools.task import Task
from rlanything_verifiers.alfworld import GameFormatError, load_game, prove
from rlanything_verifiers.alfworld.gamefile import GAME_FILE
from rlanything_verifiers.installed import install

DATA_VARIABLE = "ALFWORLD_DATA"
OFFICIAL_SPLITS = ("train", "valid_seen", "valid_unseen", "valid_train")

_FOLDER = re.compile(r"(?P<task>[a-z_]+)-(?P<object>\w+)-(?P<inside>\w+)-(?P<home>\w+)-(?P<scene>\d+)")


def how_to_get() -> str:
    """The way to the official games."""
    return (
        f"to get the games, {install('alfworld')}, run `alfworld-download`, "
        f"and set ${DATA_VARIABLE} to the folder that holds json_2.1.1"
    )


def find_games(data_dir: str | os.PathLike[str] | None = None, split: str = "train") -> list[Path]:
    """The game files of an official split, ordered by folder and trial name.

    Like ALFWorld itself, leaves out games with sliced things and movable receptacles. ``traj_data.json`` is
    not needed.

    Args:
        data_dir: Folder that holds ``json_2.1.1``, or such a folder itself; default ``$ALFWORLD_DATA``.
        split: ``train``, ``valid_seen``, ``valid_unseen`` or ``valid_train``.

    Raises:
        PoolError: No folder is named, it does not exist, or it holds no game of the split.
    """
    if split not in OFFICIAL_SPLITS:
        raise PoolError(f"no official split is called {split!r}; choose from {', '.join(OFFICIAL_SPLITS)}")
    # The environment is read here, and alfworld is not imported: importing it sets the variable.
    named = data_dir if data_dir is not None else os.environ.get(DATA_VARIABLE)
    if not named:
        raise PoolError(f"no folder of ALFWorld games: pass data_dir or set ${DATA_VARIABLE}; {how_to_get()}")
    base = Path(named).expanduser()
    folder = next((f for f in (base / "json_2.1.1" / split, base / split) if f.is_dir()), base / "json_2.1.1" / split)
    games = _playable(folder, f"*/*/{GAME_FILE}")
    if not games:
        raise PoolError(f"no {GAME_FILE} under {folder}; {how_to_get()}")
    return games


def load_all(source: str | os.PathLike[str]) -> Collection:
    """The games of a folder and those below it, ordered by path, without the kinds that `find_games` leaves out.

    A single ``game.tw-pddl`` file is read too. A game that cannot be read or solved is refused.
    """
    tasks: dict[str, Task] = {}
    refused: dict[str, str] = {}
    path = Path(source)
    for game in [path] if path.is_file() else _playable(path, f"**/{GAME_FILE}"):
        try:
            task = load(game)
        except (OSError, GameFormatError) as error:
            refused[str(game)] = str(error)
            continue
        tasks.setdefault(task.id, task)
    return Collection(tuple(tasks.values()), refused)


def _playable(folder: Path, pattern: str) -> list[Path]:
    games = [
        path
        for path in folder.glob(pattern)
        if "movable" not in path.parent.parent.name and "Sliced" not in path.parent.parent.name
    ]
    return sorted(games, key=lambda path: path.relative_to(folder).parts)


def load(source: str | os.PathLike[str]) -> Task:
    """The task of one ``game.tw-pddl`` file, or of the folder that holds it, proved solvable.

    Room, scene and split are read from the path, where it follows the official data.

    Raises:
        GameFormatError: The file is not such a game.
        GameFormatError: No plan reaches the goal, or it is true from the start.
    """
    path = Path(source)
    game = load_game(path)
    proof = prove(game)
    if not proof:
        raise GameFormatError(
            f"{path}: {'no plan reaches the goal' if proof is None else 'won before the first action'}"
        )
    names = path.absolute().parts
    match = next((m for name in reversed(names) if (m := _FOLDER.fullmatch(name))), None)
    number = int(match["scene"]) if match else None
    try:
        room_of(number or 0)
    except ValueError:  # no room has this number: it says nothing
        number = None
    split = next((name for name in reversed(names) if name in OFFICIAL_SPLITS), "none")
    return make_task(game, proof, scene_number=number, source="official", split=split)
