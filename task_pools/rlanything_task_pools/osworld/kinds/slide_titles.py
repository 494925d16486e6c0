"""Titles and texts of slides are changed."""

from rlanything_task_pools.osworld.checks import compared
from rlanything_task_pools.osworld.kinds._slides import SAVE, WORDS_ONLY
from rlanything_task_pools.osworld.kinds.base import DESKTOP, Kind, Level, State, draw_several, opened, pressed, typed
from rlanything_task_pools.osworld.office import Slide, Slides
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream


def make(rng: RngStream, words: Words) -> State:
    """Two slides with a title and a text each."""
    name = f"{rng.pick(words.files)}.pptx"
    path = f"{DESKTOP}/{name}"
    one, two, first_new, second_new = (f"About {place}" for place in draw_several(rng, words.places, 4))
    text, other, new = draw_several(rng, words.sentences, 3)
    before = [Slide(one, text), Slide(two, other)]

    def level(goal: str, after: list[Slide], steps: float, hints: tuple[str, ...], keys: list[str]) -> Level:
        gold = Slides(after).to_bytes()
        return Level(
            f'In the presentation "{name}" on the Desktop, {goal}. Save the file.',
            compared("compare_pptx_files", path, gold, **WORDS_ONLY),
            {path: gold},
            steps,
            (*hints, "Press Ctrl+S to save the file."),
            [*keys, SAVE],
        )

    first = f'change the title of the first slide to "{first_new}"'
    second = f'the title of the second slide to "{second_new}"'
    body = f'replace the text below the title of the first slide by "{new}"'
    how = "Double-click a title to change it."
    return State(
        files={path: Slides(before).to_bytes()},
        levels=[
            level(first, [Slide(first_new, text), before[1]], 3, (how,), _typed(1, first_new)),
            level(
                f"{first} and {body}",
                [Slide(first_new, new), before[1]],
                6,
                (how,),
                _typed(1, first_new) + _typed(2, new),
            ),
            level(
                f"{first} and {second}",
                [Slide(first_new, text), Slide(second_new, other)],
                6.5,
                (how, "Page Down shows the next slide."),
                [*_typed(1, first_new), pressed("escape", "pagedown"), *_typed(1, second_new)],
            ),
        ],
        opened=[opened(path)],
    )


def _typed(frame: int, text: str) -> list[str]:
    return [pressed("escape*2", f"tab*{frame}", "f2"), f"{pressed('ctrl+a')}; {typed(text)}", pressed("escape*2")]


KIND = Kind("slide_titles", ("libreoffice_impress",), make)
