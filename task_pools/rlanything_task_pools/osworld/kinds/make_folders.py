"""Folders are made, one in another."""

from rlanything_task_pools.osworld.checks import both, folder
from rlanything_task_pools.osworld.kinds._browsing import chosen
from rlanything_task_pools.osworld.kinds.base import DESKTOP, Kind, Level, State, draw_several, named, opened, pressed
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream


def make(rng: RngStream, words: Words) -> State:
    """A folder with two files, in which folders are to be made."""
    topic, one, two, inner = draw_several(rng, words.topics, 4)
    person = rng.pick(words.people)
    first, second = f"{one}_{person}", two
    place = f"{DESKTOP}/{topic}"
    names = [f"{stem}.txt" for stem in draw_several(rng, words.files, 2)]

    def new(name: str) -> list[str]:
        return [pressed("ctrl+shift+n"), named(name)]

    def level(goal: str, made: list[str], steps: float, hints: tuple[str, ...], keys: list[str]) -> Level:
        inside = {name: [other.partition("/")[2] for other in made if other.startswith(f"{name}/")] for name in made}
        checks = [folder(f"{place}/{name}", held) for name, held in inside.items()]
        top = folder(place, [*names, *(name for name in made if "/" not in name)])
        return Level(goal, both(top, *checks), {f"{place}/{name}/": b"" for name in made}, steps, hints, keys)

    where = f'In the folder "{topic}" on the Desktop'
    how = "Press Ctrl+Shift+N in the file manager to make a folder."
    into = "Open the new folder before you make the one inside."
    enter = chosen(names, [first], first) + "; " + pressed("enter")
    return State(
        files={f"{place}/{name}": f"{name}\n".encode() for name in names},
        levels=[
            level(f'{where}, make a new folder named "{first}".', [first], 2, (how,), new(first)),
            level(
                f'{where}, make two new folders named "{first}" and "{second}".',
                [first, second],
                4,
                (how, "Make both in the same place, not one in the other."),
                new(first) + new(second),
            ),
            level(
                f'{where}, make a new folder named "{first}", and in it a folder named "{inner}".',
                [first, f"{first}/{inner}"],
                5,
                (how, into),
                [*new(first), enter, *new(inner)],
            ),
            level(
                f'{where}, make new folders named "{first}" and "{second}", and in "{first}" a folder named "{inner}".',
                [first, second, f"{first}/{inner}"],
                7,
                (how, into),
                [
                    *new(second),
                    *new(first),
                    chosen(names, [first, second], first) + "; " + pressed("enter"),
                    *new(inner),
                ],
            ),
        ],
        opened=[opened(place)],
    )


KIND = Kind("make_folders", ("os",), make)
