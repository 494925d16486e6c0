"""Text files are written from a terminal."""

from rlanything_task_pools.osworld.checks import both, folder, text_is
from rlanything_task_pools.osworld.kinds.base import DESKTOP, Kind, Level, State, draw_several, terminal, typed
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream


def make(rng: RngStream, words: Words) -> State:
    """A terminal, a folder with a list, and lines to be written."""
    topic, inner = draw_several(rng, words.topics, 2)
    new, old, kept = (f"{stem}.txt" for stem in draw_several(rng, words.files, 3))
    items = draw_several(rng, words.items, 5)
    place = f"{DESKTOP}/{topic}"
    before = f"{items[0]}\n{items[1]}\n"
    first, second, added = items[2], items[3], items[4]

    def path(*parts: str) -> str:
        return "/".join([f"~/Desktop/{topic}", *parts])

    where = f'in the folder "{topic}" on the Desktop'
    echo = "echo TEXT > FILE writes a line into a file."
    more = "echo TEXT >> FILE appends a line to a file."
    written = f"{first}\n{second}\n"
    lines = [typed(f"echo {first} > {path(new)}\n"), typed(f"echo {second} >> {path(new)}\n")]
    return State(
        files={f"{place}/{old}": before.encode(), f"{place}/{kept}": b"keep\n"},
        levels=[
            Level(
                f'Use the terminal to create the file "{new}" {where} with the single line "{first}".',
                both(text_is(f"{place}/{new}", first), text_is(f"{place}/{old}", before)),
                {f"{place}/{new}": f"{first}\n".encode()},
                1,
                (echo,),
                lines[:1],
            ),
            Level(
                f'Use the terminal to create the file "{new}" {where} with two lines: "{first}", then "{second}".',
                both(text_is(f"{place}/{new}", written), text_is(f"{place}/{old}", before)),
                {f"{place}/{new}": written.encode()},
                2,
                (echo, more),
                lines,
            ),
            Level(
                f'Use the terminal to create the file "{new}" {where} with two lines: "{first}", then "{second}". '
                f'Then append the line "{added}" to the file "{old}" there, which is not empty.',
                both(text_is(f"{place}/{new}", written), text_is(f"{place}/{old}", f"{before}{added}\n")),
                {f"{place}/{new}": written.encode(), f"{place}/{old}": f"{before}{added}\n".encode()},
                3,
                (echo, more),
                [*lines, typed(f"echo {added} >> {path(old)}\n")],
            ),
            Level(
                f'Use the terminal to make the folder "{inner}" {where}. In it, create the file "{new}" with two '
                f'lines: "{first}", then "{second}". Then move the file "{old}" into it as well.',
                both(
                    folder(place, [kept, inner]),
                    text_is(f"{place}/{inner}/{new}", written),
                    text_is(f"{place}/{inner}/{old}", before),
                ),
                {
                    f"{place}/{inner}/{new}": written.encode(),
                    f"{place}/{inner}/{old}": before.encode(),
                    f"{place}/{old}": None,
                },
                4,
                (echo, more, "mkdir FOLDER makes a folder and mv FILE FOLDER moves a file."),
                [
                    typed(f"mkdir {path(inner)}\n"),
                    typed(f"echo {first} > {path(inner, new)}\n"),
                    typed(f"echo {second} >> {path(inner, new)}\n"),
                    typed(f"mv {path(old)} {path(inner)}\n"),
                ],
            ),
        ],
        opened=[terminal()],
    )


KIND = Kind("write_files", ("os",), make)
