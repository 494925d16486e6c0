"""Permissions of files are changed from a terminal."""

from rlanything_task_pools.osworld.checks import both, mode_is
from rlanything_task_pools.osworld.kinds.base import DESKTOP, Kind, Level, State, draw_several, terminal, typed
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream


def make(rng: RngStream, words: Words) -> State:
    """A folder with two scripts and a secret file, which everybody may read."""
    topic = rng.pick(words.topics)
    one, two, secret = draw_several(rng, words.files, 3)
    place = f"{DESKTOP}/{topic}"
    scripts, hidden = [f"{one}.sh", f"{two}.sh"], f"{secret}.key"
    names = [*scripts, hidden]

    def level(goal: str, modes: dict[str, str], steps: float, hints: tuple[str, ...], commands: list[str]) -> Level:
        return Level(
            f'{goal} The files are in the folder "{topic}" on the Desktop.',
            both(*(mode_is(f"{place}/{name}", modes.get(name, "644")) for name in names)),
            {},
            steps,
            hints,
            [typed(f"{command}\n") for command in commands],
            {f"{place}/{name}": mode for name, mode in modes.items()},
        )

    at = f"~/Desktop/{topic}"
    digits = "The first digit of a mode is for the owner, the second for the group, the third for everybody else."
    return State(
        files={f"{place}/{name}": f"#!/bin/sh\necho {name}\n".encode() for name in names},
        levels=[
            level(
                f'Change the permissions of "{scripts[0]}" to 755.',
                {scripts[0]: "755"},
                1,
                ("chmod 755 FILE changes the permissions of a file.", digits),
                [f"chmod 755 {at}/{scripts[0]}"],
            ),
            level(
                f'Let only the owner read and write "{hidden}", and nobody else do anything with it.',
                {hidden: "600"},
                1.5,
                ("chmod 600 FILE takes all rights from everybody but the owner.", digits),
                [f"chmod 600 {at}/{hidden}"],
            ),
            level(
                f'Change the permissions of both scripts, "{scripts[0]}" and "{scripts[1]}", to 755, and those of '
                f'"{hidden}" to 400.',
                {scripts[0]: "755", scripts[1]: "755", hidden: "400"},
                2.5,
                ("chmod 755 FILE FILE changes the permissions of two files.", digits),
                [f"chmod 755 {at}/*.sh", f"chmod 400 {at}/{hidden}"],
            ),
        ],
        opened=[terminal()],
    )


KIND = Kind("permissions", ("os",), make)
