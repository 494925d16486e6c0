"""Reading and writing ``game.tw-pddl``, the game files of ALFWorld."""

import json
import os
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from rlanything_verifiers.plain_file import read_plain

from .errors import GameFormatError
from .game import Game, check_sentence
from .pddl import parse_problem
from .problem import problem_text

#: Largest file read, in bytes. The largest official one has 140,000.
MAX_FILE = 4_000_000
GAME_FILE = "game.tw-pddl"

_TASK_PREFIX = "Your task is to: "


def load_game(source: str | os.PathLike[str] | Mapping[str, Any]) -> Game:
    """Read a game.

    Only the problem, the task sentence and the walkthrough are used: the rules are those of the ALFRED
    domain, whatever domain and grammar text the file carries. No ``traj_data.json`` is needed.

    Args:
        source: A ``.tw-pddl`` file, a folder with a ``game.tw-pddl``, or the content of such a file.

    Raises:
        GameFormatError: The content is malformed; the message names file, place and remedy.
        GameFormatError: The goal is none of the six ALFWorld shapes.
        OSError: The file cannot be read, or is not a regular file.
    """
    if isinstance(source, Mapping):
        return _from_mapping(source)
    path = Path(source)
    if path.is_dir():
        path = path / GAME_FILE
    raw = read_plain(path, MAX_FILE + 1)
    try:
        if len(raw) > MAX_FILE:
            raise GameFormatError(f"the file is larger than {MAX_FILE} bytes")
        try:
            data = json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise GameFormatError(
                f"the file is not JSON ({error!s:.80}); expected a game.tw-pddl of ALFWorld"
            ) from error
        return _from_mapping(data)
    except GameFormatError as error:
        raise type(error)(f"{path}: {error}") from error


def _from_mapping(data: object) -> Game:
    if not isinstance(data, Mapping):
        raise GameFormatError("expected a mapping with 'pddl_problem' and 'grammar'")
    problem, grammar = data.get("pddl_problem"), data.get("grammar", "")
    if not isinstance(problem, str) or not isinstance(grammar, str):
        raise GameFormatError("'pddl_problem' and 'grammar' must be text; take both from a game.tw-pddl of ALFWorld")
    scene, goal = parse_problem(problem)
    return Game(scene, goal, _sentence(grammar), data.get("walkthrough"))


def _sentence(grammar: str) -> str:
    """The task sentence in a grammar, empty if there is none."""
    start = grammar.find(_TASK_PREFIX)
    if start < 0:
        return ""
    start += len(_TASK_PREFIX)
    end = grammar.find('"', start)
    if end < 0:
        raise GameFormatError("grammar: the task sentence has no closing quote")
    return check_sentence(grammar[start:end])


def dump_game(game: Game) -> dict[str, Any]:
    """The content of a standard ``game.tw-pddl``, which ALFWorld and TextWorld play just as we do.

    The walkthrough is the game's own if it has one, else a plan; ``solvable`` is false where neither exists.
    """
    from .planner import prove

    walkthrough = game.walkthrough
    if walkthrough is None:
        plan = prove(game)
        walkthrough = None if plan is None else tuple(plan)
    grammar = _resource("grammar.twl2").replace("TASK SENTENCE", game.sentence)
    if game.scene.holding is not None:  # official games begin with empty hands, which their intro does not mention
        grammar = grammar.replace("#look.feedback#\\n\\n#task#", "#look.feedback#\\n\\n#carried#\\n\\n#task#", 1)
    return {
        "pddl_domain": _resource("domain.pddl"),
        "grammar": grammar,
        "pddl_problem": problem_text(game),
        "solvable": walkthrough is not None,
        "walkthrough": list(walkthrough or ()),
    }


def write_game(game: Game, path: str | os.PathLike[str]) -> Path:
    """Write a ``.tw-pddl`` file.

    Args:
        game: The game.
        path: The file (it must end in ``.tw-pddl``, or TextWorld will not take it), or a folder for a
            ``game.tw-pddl``. Folders are made as needed.

    Returns:
        The file written.

    Raises:
        GameFormatError: The name has another ending.
    """
    target = Path(path)
    if target.suffix == "":
        target = target / GAME_FILE
    if target.suffix != ".tw-pddl":
        raise GameFormatError(f"{target}: TextWorld recognises games by the ending .tw-pddl; rename it")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(dump_game(game)), encoding="utf-8")
    return target


@cache
def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
