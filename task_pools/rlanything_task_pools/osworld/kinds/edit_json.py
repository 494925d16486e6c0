"""Settings in a JSON file are changed in a text editor."""

import json
from typing import Any

from rlanything_task_pools.dice import Dice
from rlanything_task_pools.osworld.checks import json_has
from rlanything_task_pools.osworld.kinds._editing import SAVE, with_line
from rlanything_task_pools.osworld.kinds.base import DESKTOP, Kind, Rung, State, draw_several, opened
from rlanything_task_pools.osworld.words import Words


def make(dice: Dice, words: Words) -> State:
    """An object with settings, two of them in an object of their own."""
    service, inner = draw_several(dice, words.services, 2)
    name = f"{service}.json"
    path = f"{DESKTOP}/{name}"
    number, word, flag, deep, last = draw_several(dice, words.settings, 5)
    city, other, third = draw_several(dice, words.places, 3)
    low = 10 + dice.below(40)
    value = {number: low, word: city, flag: False, inner: {deep: low + 1, last: third}}
    new: dict[tuple[str, ...], Any] = {(number,): low + 5, (word,): other, (flag,): True, (inner, deep): low + 7}

    def rung(changed: list[tuple[str, ...]], steps: float) -> Rung:
        now = json.loads(json.dumps(value))
        for key in changed:
            spot = now
            for step in key[:-1]:
                spot = spot[step]
            spot[key[-1]] = new[key]
        after = _flat(now)
        listed = [
            f'"{key[-1]}"{f" in {chr(34)}{key[0]}{chr(34)}" if key[1:] else ""} to {json.dumps(new[key])}'
            for key in changed
        ]
        text = json.dumps(now, indent=2) + "\n"
        old, lines = (json.dumps(value, indent=2) + "\n").splitlines(), []
        for place, (line, wanted) in enumerate(zip(old, text.splitlines(), strict=True)):
            if line != wanted:
                lines += with_line(place, wanted)
        return Rung(
            f'In the settings file "{name}" on the Desktop, set {" and ".join(listed)}. Change nothing else, and '
            "save the file.",
            json_has(path, *after.items()),
            {path: text.encode()},
            steps,
            ("Texts are in double quotes, numbers and true are not.", "Press Ctrl+S to save the file."),
            [*lines, SAVE],
        )

    return State(
        files={path: (json.dumps(value, indent=2) + "\n").encode()},
        rungs=[
            rung([(number,)], 3),
            rung([(word,), (number,)], 5),
            rung([(inner, deep), (flag,)], 5.5),
            rung([(inner, deep), (flag,), (number,), (word,)], 9),
        ],
        opened=[opened(path)],
    )


def _flat(value: Any, key: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    if not isinstance(value, dict):
        return {key: value}
    return {path: end for name, inner in value.items() for path, end in _flat(inner, (*key, name)).items()}


KIND = Kind("edit_json", ("os",), make, simulated=True)
