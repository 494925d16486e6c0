"""A text is edited: lines are added, replaced and removed."""

from rlanything_task_pools.osworld.checks import text_is
from rlanything_task_pools.osworld.kinds._editing import SAVE, appended, retyped, with_line, without_line
from rlanything_task_pools.osworld.kinds.base import DESKTOP, Kind, Level, State, draw_several, opened
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream


def make(rng: RngStream, words: Words) -> State:
    """A text of a few lines, in which a name occurs several times."""
    name = f"{rng.pick(words.files)}.txt"
    path = f"{DESKTOP}/{name}"
    one, other, third = draw_several(rng, words.people, 3)
    place, elsewhere = draw_several(rng, words.places, 2)
    first, second, new = draw_several(rng, words.sentences, 3)
    lines = [f"{one} lives in {place}.", first, f"{one} likes {rng.pick(words.items)}.", second, f"{one} met {other}."]
    lines = [lines[i] for i in rng.shuffled(len(lines))]
    gone = lines.index(second)

    def level(goal: str, after: list[str], steps: float, hints: tuple[str, ...], keys: list[str]) -> Level:
        text = "\n".join(after) + "\n"
        goal = f'In the file "{name}" on the Desktop, {goal} Save the file.'
        return Level(goal, text_is(path, text), {path: text.encode()}, steps, hints, [*keys, SAVE])

    save = "Press Ctrl+S to save the file."
    renamed = [line.replace(one, third) for line in lines]
    return State(
        files={path: ("\n".join(lines) + "\n").encode()},
        levels=[
            level(
                f'add the line "{new}" at the end.',
                [*lines, new],
                2,
                ("Ctrl+End goes to the end.", save),
                appended([new]),
            ),
            level(
                f'remove the line "{second}".',
                [line for line in lines if line != second],
                3,
                (f"It is line {gone + 1}.", "Home and Shift+Down select a line, Delete removes it.", save),
                without_line(gone),
            ),
            level(
                f'replace the first line by "{new}" and remove the last line.',
                [new, *lines[1:-1]],
                5,
                ("Home and Shift+End select a line.", save),
                with_line(0, new) + without_line(len(lines) - 1),
            ),
            level(
                f'replace the name "{one}" by "{third}" everywhere, and "{place}" by "{elsewhere}".',
                [line.replace(place, elsewhere) for line in renamed],
                7,
                (f'"{one}" occurs three times.', "Ctrl+A selects the whole text, which can be typed anew.", save),
                retyped("\n".join(line.replace(place, elsewhere) for line in renamed) + "\n"),
            ),
        ],
        opened=[opened(path)],
    )


KIND = Kind("edit_text", ("os",), make)
