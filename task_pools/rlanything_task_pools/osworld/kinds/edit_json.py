"""Settings in a JSON file are changed in a text editor."""

import json
from typing import Any

from rlanything_task_pools.osworld.checks import json_is
from rlanything_task_pools.osworld.kinds._editing import SAVE, with_line
from rlanything_task_pools.osworld.kinds.base import DESKTOP, Kind, Level, State, draw_several, opened
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream


def make(rng: RngStream, words: Words) -> State:
    """An object with settings, two of them in an object of their own."""
    service, inner = draw_several(rng, words.services, 2)
    name = f"{service}.json"
    path = f"{DESKTOP}/{name}"
    number, word, flag, deep, last = draw_several(rng, words.settings, 5)
    city, other, third = draw_several(rng, words.places, 3)
    low = 10 + rng.below(40)
    value = {number: low, word: city, flag: False, inner: {deep: low + 1, last: third}}
    new: dict[tuple[str, ...], Any] = {(number,): low + 5, (word,): other, (flag,): True, (inner, deep): low + 7}

    def level(changed: list[tuple[str, ...]], steps: float) -> Level:
        now = json.loads(json.dumps(value))
        for key in changed:
            (now[key[0]] if key[1:] else now)[key[-1]] = new[key]
        listed = [
            f'"{key[-1]}"{f" in {chr(34)}{key[0]}{chr(34)}" if key[1:] else ""} to {json.dumps(new[key])}'
            for key in changed
        ]
        text = json.dumps(now, indent=2) + "\n"
        old, lines = (json.dumps(value, indent=2) + "\n").splitlines(), []
        for place, (line, wanted) in enumerate(zip(old, text.splitlines(), strict=True)):
            if line != wanted:
                lines += with_line(place, wanted)
        return Level(
            f'In the settings file "{name}" on the Desktop, set {" and ".join(listed)}. Change nothing else, and '
            "save the file.",
            json_is(path, now),
            {path: text.encode()},
            steps,
            ("Texts are in double quotes, numbers and true are not.", "Press Ctrl+S to save the file."),
            [*lines, SAVE],
        )

    return State(
        files={path: (json.dumps(value, indent=2) + "\n").encode()},
        levels=[
            level([(number,)], 3),
            level([(word,), (number,)], 5),
            level([(inner, deep), (flag,)], 5.5),
            level([(inner, deep), (flag,), (number,), (word,)], 9),
        ],
        opened=[opened(path)],
    )


KIND = Kind("edit_json", ("os",), make)
